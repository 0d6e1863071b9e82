"""Long examples cut into segments; batches carry states from one segment of an example to the next.

A session stores them in `Segments`: each example waits for its next segment's states, then it is ready.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.conditions import ReentrantCondition
from pipeline.errors import CancelledError, OutOfRangeError, invalid

_FIRST_INDEX = -(2**63)


class Sparse(NamedTuple):
    """A sparse tensor's parts."""

    indices: Any
    values: Any
    shape: Any


class StoredExample:
    """A stored example; its states belong to segment `at`."""

    def __init__(
        self, key: bytes, length: int, sequences: Sequence[Any], context: Sequence[Any], steps: int, count: int
    ) -> None:
        self.key, self.length, self.sequences, self.context = key, length, sequences, context
        self.steps, self.count = steps, count
        self.index = self.at = 0
        self.states: dict[int, Any] = {}

    def key_of(self, segment: int) -> bytes:
        """Return a segment's key, or an end marker after the last one."""
        if segment >= self.count:
            return b"STOP:" + self.key
        return b"%05d_of_%05d:%b" % (segment, self.count, self.key)

    def segment(self, sequence: Any) -> Any:
        """Return a sequence's part for this segment, padded with zeros at its end."""
        start, end = self.at * self.steps, (self.at + 1) * self.steps
        if isinstance(sequence, Sparse):
            within = (start <= sequence.indices[:, 0]) & (sequence.indices[:, 0] < end)
            indices = sequence.indices[within]
            indices[:, 0] -= start
            return Sparse(indices, sequence.values[within], np.array([self.steps, *sequence.shape[1:]], np.int64))
        rows = sequence[start:end]
        if len(rows) == self.steps:
            return rows
        nothing = b"" if sequence.dtype == object else 0
        return np.concatenate([rows, np.full((self.steps - len(rows), *rows.shape[1:]), nothing, rows.dtype)])


class Segments:
    """One session's examples.

    Thread safety: all methods may be called from any thread; `_condition` guards everything, and is notified about
    every change.

    Args:
        capacity: Maximum number of stored examples.
        steps: Segment length.
        states: States per example.
        pad: Pad an example's last segment.
    """

    def __init__(self, capacity: int, steps: int, states: int, pad: bool) -> None:
        self._condition = ReentrantCondition()
        self._capacity, self._steps, self._states, self._pad = capacity, steps, states, pad
        self._waiting: dict[bytes, StoredExample] = {}  # by the key of the segment missing its states
        self._ready: list[tuple[int, StoredExample]] = []  # a heap: older examples first
        self._keys: set[bytes] = set()  # keys for unfinished examples
        self._inserted = 0
        self._closed = self._cancelled = False

    def __len__(self) -> int:
        return len(self._ready)

    def close(self, cancel: bool) -> None:
        """Accept no more examples; with `cancel`, also reject those waiting for room."""
        with self._condition:
            self._closed, self._cancelled = True, self._cancelled or cancel
            self._condition.notify_all()

    def insert(self, run: Any, key: bytes, length: int | None, parts: tuple[list[Any], list[Any], list[Any]]) -> None:
        """Wait for room, and add an example: its sequences, context and first states.

        Raises:
            InvalidArgumentError: The sequences do not fit each other, the segments or `length`.
            CancelledError: The store is closed.
        """
        sequences, context, states = parts
        time = self._checked_time(sequences)
        count = -(-time // self._steps)
        example = StoredExample(key, time if length is None else length, sequences, context, self._steps, count)
        whole = count * self._steps
        if not 0 <= example.length <= whole:
            raise invalid(f"Input length should be <= than length from sequences: {example.length} vs. {whole}")
        example.states = dict(enumerate(states))
        with self._condition:
            refused = self._closed
            if not refused:
                run.wait_for(self._condition, lambda: len(self._keys) < self._capacity or self._cancelled, "Enqueue")
            if refused or self._cancelled:
                raise CancelledError(None, None, "The segments of sequences are closed.")
            if key in self._keys:
                raise invalid(
                    f"The key {key!r} is that of another example, which is not finished. Keys must be unique: consider "
                    "setting make_keys_unique=True."
                )
            self._keys.add(key)
            example.index = _FIRST_INDEX + self._inserted
            self._inserted += 1
            heapq.heappush(self._ready, (example.index, example))
            self._condition.notify_all()

    def _checked_time(self, sequences: Sequence[Any]) -> int:
        dense = [_time_of(each) for each in sequences if not isinstance(each, Sparse)]
        times = dense or [_time_of(each) for each in sequences]
        if len(set(dense)) > 1:
            raise invalid(f"All sequence lengths must match, but received lengths: {', '.join(map(str, dense))}")
        time = max(times)
        if not time or (time % self._steps and not self._pad):
            raise invalid(
                f"The length of sequences should be a multiple of: {self._steps}, but saw value: {time}. Consider "
                "setting pad=True."
            )
        return time

    def take(self, run: Any, count: int, fewer: bool) -> list[StoredExample]:
        """Wait for `count` segments, and take them; with `fewer`, take the remaining ones once the store is closed.

        Each example is returned as it is now: its next segment is another object.

        Raises:
            OutOfRangeError: The store is closed, and has too few.
        """
        with self._condition:
            run.wait_for(self._condition, lambda: len(self._ready) >= count or self._closed, "Dequeue")
            if self._closed and not fewer:
                run.wait_for(
                    self._condition, lambda: len(self._ready) >= count or self._unfinished() < count, "Dequeue"
                )
            wanted = min(count, max(1, len(self._ready))) if fewer else count
            if len(self._ready) < wanted:
                raise OutOfRangeError(
                    None,
                    None,
                    f"The segments of sequences are closed and insufficient (requested {wanted}, total size "
                    f"{len(self._ready)})",
                )
            taken = [heapq.heappop(self._ready)[1] for _ in range(wanted)]
            for example in taken:
                if example.at + 1 == example.count:
                    self._keys.remove(example.key)
                else:
                    self._waiting[example.key_of(example.at + 1)] = _following(example)
            self._condition.notify_all()
            return taken

    def _unfinished(self) -> int:
        return len(self._ready) + len(self._waiting)

    def save(self, number: int, keys: Any, values: Any) -> None:
        """Set a state for the segments with these keys; with all states set, a segment is ready.

        Raises:
            InvalidArgumentError: There are fewer or more values than keys; a state is already set.
        """
        if len(values) != len(keys):
            raise invalid(f"Expected a state for each of the {len(keys)} examples of the batch, got {len(values)}")
        with self._condition:
            for key, value in zip(keys.tolist(), values, strict=True):
                if key.startswith(b"STOP:"):
                    continue
                example = self._waiting.get(key)
                if example is None or number in example.states:
                    raise invalid(f"The state of {key!r} was saved before")
                example.states[number] = value
                if len(example.states) == self._states:
                    del self._waiting[key]
                    heapq.heappush(self._ready, (example.index, example))
            self._condition.notify_all()


def _following(example: StoredExample) -> StoredExample:
    """Return an example's next segment, without its states."""
    following = StoredExample(
        example.key, example.length, example.sequences, example.context, example.steps, example.count
    )
    following.index, following.at = example.index, example.at + 1
    return following


def _time_of(sequence: Any) -> int:
    return int(sequence.shape[0])


def batch_of(examples: Sequence[StoredExample], states: int) -> list[Any]:
    """Return a segment batch's components, in the op's output order."""
    steps = examples[0].steps
    batch: list[Any] = [
        np.array([each.index for each in examples], np.int64),
        _strings([each.key_of(each.at) for each in examples]),
        _strings([each.key_of(each.at + 1) for each in examples]),
        np.array([each.at for each in examples], np.int32),
        np.array([each.count for each in examples], np.int32),
        np.array([min(max(each.length - each.at * steps, 0), steps) for each in examples], np.int32),
        np.array([each.length for each in examples], np.int32),
    ]
    for rows in zip(*([each.segment(one) for one in each.sequences] for each in examples), strict=True):
        batch += _stacked(rows)
    for rows in zip(*(each.context for each in examples), strict=True):
        batch += _stacked(rows)
    for number in range(states):
        batch += _stacked([each.states[number] for each in examples])
    return batch


def _strings(keys: list[bytes]) -> Any:
    result = np.empty(len(keys), object)
    result[:] = keys
    return result


def _stacked(rows: Sequence[Any]) -> list[Any]:
    """Return the rows as one array, or as a sparse tensor's three parts."""
    if not isinstance(rows[0], Sparse):
        return [np.stack([np.asarray(each, object) if isinstance(each, bytes) else each for each in rows])]
    indices = [np.insert(each.indices, 0, number, axis=1) for number, each in enumerate(rows)]
    shape = np.max([each.shape for each in rows], axis=0)
    values = np.concatenate([each.values for each in rows])
    return [np.concatenate(indices), values, np.array([len(rows), *shape], np.int64)]
