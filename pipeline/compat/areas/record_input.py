"""RecordInput: batches of TFRecord records in random order, forever."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.ops.arrays.joining import split
from pipeline.compat.ops.arrays.shaping import reshape
from pipeline.compat.ops.files.paths import Glob
from pipeline.errors import NotFoundError
from pipeline.files.tfrecord import TFRecordOptions
from pipeline.files.tfrecord_cutter import tf_record_iterator
from pipeline.locks import Lock


class _Records:
    """One session's records, epoch after epoch, each record once per epoch. Thread safe."""

    def __init__(self, pattern: str, buffer_size: int, parallelism: int, shift: float, seed: int, kind: str) -> None:
        self._lock = Lock()
        self._settings = pattern, max(1, parallelism), shift, seed, kind
        self._most = max(1, buffer_size)
        self._random = np.random.Generator(np.random.Philox(seed))
        self._epoch = 0
        self._buffer: list[bytes] = []
        self._source: Iterator[bytes] = iter(())

    def take(self, count: int) -> Any:
        result = np.empty(count, object)
        with self._lock:
            for i in range(count):
                result[i] = self._one()
        return result

    def _one(self) -> bytes:
        for attempt in range(2):
            while len(self._buffer) < self._most:
                record = next(self._source, None)
                if record is None:
                    break
                self._buffer.append(record)
            if self._buffer:
                break
            if attempt:
                raise NotFoundError(None, None, f"Found no records at {self._settings[0]}")
            self._source = self._records()
        at = int(self._random.integers(len(self._buffer)))
        self._buffer[at], self._buffer[-1] = self._buffer[-1], self._buffer[at]
        return self._buffer.pop()

    def _records(self) -> Iterator[bytes]:
        """Yield the records for one epoch, from several files in turn."""
        pattern, parallelism, shift, seed, kind = self._settings
        files = sorted(Glob(pattern))
        if not files:
            raise NotFoundError(None, None, f"Found no files at {pattern}")
        # Every epoch has the same file order, rotated by a fraction.
        np.random.Generator(np.random.Philox(seed)).shuffle(files)
        first = int(self._epoch * shift * len(files)) % len(files)
        self._epoch += 1
        waiting = [*files[first:], *files[:first]]
        return self._in_turn([tf_record_iterator(os.fspath(each), kind) for each in waiting], parallelism)

    @staticmethod
    def _in_turn(files: list[Iterator[bytes]], parallelism: int) -> Iterator[bytes]:
        opened, waiting = files[:parallelism], files[parallelism:]
        while opened:
            for each in list(opened):
                record = next(each, None)
                if record is not None:
                    yield record
                    continue
                opened.remove(each)
                if waiting:
                    opened.append(waiting.pop(0))


class RecordInput:
    """Reads records from TFRecord files forever in random order, each once per epoch.

    Args:
        file_pattern: Glob for the files.
        batch_size: Records per run.
        buffer_size: Shuffle buffer size, in records.
        parallelism: Number of files read in turn.
        shift_ratio: Fraction by which the file order is rotated each epoch.
        seed: Seed for the order.
        name: Name of the operation.
        batches: Return this many lists of `batch_size` scalars instead of one vector.
        compression_type: A TFRecordCompressionType, or None.
    """

    def __init__(
        self,
        file_pattern: str,
        batch_size: int = 1,
        buffer_size: int = 1,
        parallelism: int = 1,
        shift_ratio: float = 0,
        seed: int = 0,
        name: str | None = None,
        batches: int | None = None,
        compression_type: Any = None,
    ) -> None:
        self._batch_size = batch_size if batches is None else batch_size * batches
        self._batches, self._pattern, self._name = batches, file_pattern, name
        self._settings = buffer_size, parallelism, shift_ratio, seed
        self._compression = TFRecordOptions.get_compression_type_string(compression_type)

    def get_yield_op(self) -> Any:
        """Return the next records as a string vector; with `batches`, as lists of scalars.

        Raises:
            NotFoundError: At run time, if there are no files or no records.
        """
        size, pattern, settings, kind = self._batch_size, self._pattern, self._settings, self._compression
        key = object()
        attrs = {
            "file_pattern": pattern,
            "file_random_seed": settings[3],
            "file_shuffle_shift_ratio": float(settings[2]),
            "file_buffer_size": settings[0],
            "file_parallelism": settings[1],
            "batch_size": size,
            "compression_type": kind,
        }

        def kernel(run: Any) -> Any:
            return run.state(key, lambda: _Records(pattern, *settings, kind)).take(size)

        records = tensor_node(
            "RecordInput", [], kernel, dtypes.string, None, self._name, attrs=attrs, stateful=True, blocking=True
        )
        if self._batches is None:
            return records
        with name_scope(self._name):
            found: list[list[Any]] = [[] for _ in range(self._batches)]
            for index, record in enumerate(split(records, size, 0)):
                found[index % self._batches].append(reshape(record, []))
            return found
