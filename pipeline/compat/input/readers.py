"""Reader classes for a graph: each makes an op whose value is the session's native reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline import errors
from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import node
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.input.reader_ops import read_ops
from pipeline.compat.queues.arguments import as_int, as_text
from pipeline.files.compression import WINDOW_BITS
from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit
from pipeline.files.tfrecord import TFRecordOptions
from pipeline.on_error import Skips
from pipeline.readers import base, fixed, lmdb, text, tfrecord, whole


class ReaderBase:
    """Base class for readers: ops that read records from work items (file names) in a queue.

    Args:
        reader_ref: The reader's tensor.
        supports_serialize: True if the reader's state can be saved.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize
        self._ops = read_ops("V2" if reader_ref.dtype == dtypes.resource else "")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self._reader_ref.op.name}'>"

    @property
    def reader_ref(self) -> Tensor:
        """The reader's tensor."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """True if the reader's state can be saved."""
        return self._supports_serialize

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Read the next record; take the next work item from `queue` if there is no current one.

        Args:
            queue: A string queue, or its tensor.

        Returns:
            A named tuple `(key, value)` with string scalars. Evaluating it raises OutOfRangeError when the queue is
            closed and empty.
        """
        return self._ops.read(self._reader_ref, _queue_ref(queue), name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Read up to `num_records` records from one work item, at least one.

        Args:
            queue: As in `read`.
            num_records: An int64 scalar; a negative one raises InvalidArgumentError when it is evaluated.

        Returns:
            A named tuple `(keys, values)` with string vectors.
        """
        return self._ops.read_up_to(self._reader_ref, _queue_ref(queue), num_records, name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return the number of records read, an int64 scalar."""
        return self._ops.count("NumRecordsProduced", self._reader_ref, name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return the number of work items read to their end, an int64 scalar."""
        return self._ops.count("NumWorkUnitsCompleted", self._reader_ref, name)

    def num_errors(self, name: str | None = None) -> Tensor:
        """Return the number of errors skipped, an int64 scalar."""
        return self._ops.count("NumErrors", self._reader_ref, name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Return the state as a string scalar; evaluating it needs `supports_serialize`, else UnimplementedError."""
        return self._ops.serialize_state(self._reader_ref, name)

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """Return an op that restores a state from `serialize_state`, a string scalar."""
        return self._ops.restore_state(self._reader_ref, state, name)

    def reset(self, name: str | None = None) -> Operation:
        """Return an op that drops the current work item and sets the counters to 0."""
        return self._ops.reset(self._reader_ref, name)


class WholeFileReader(ReaderBase):
    """Reads whole files: the key is the file name, the value its content.

    Args:
        on_error: "raise", or "skip" to continue with the next work item after an error; `num_errors` counts them.
        max_errors: With "skip", the maximum number of errors; the next one is raised. None means no limit.
        max_record_bytes: A larger file raises ResourceExhaustedError; None means no limit.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        on_error: str = "raise",
        max_errors: int | None = None,
        max_record_bytes: int | None = MAX_RECORD_BYTES,
    ) -> None:
        make = _maker(whole.WholeFileReader, on_error, max_errors, max_record_bytes=byte_limit(max_record_bytes))
        super().__init__(_reader("WholeFileReaderV2", name, {}, make), supports_serialize=True)


class TextLineReader(ReaderBase):
    """Reads lines from text files: the key is `file:number`, counted from 1, the value the line without its end.

    Args:
        skip_header_lines: Lines to skip at the start of each file; with a negative number every op on the reader raises
            InvalidArgumentError.
        on_error, max_errors: As in WholeFileReader.
        max_record_bytes: A longer line raises ResourceExhaustedError; None means no limit.
    """

    def __init__(
        self,
        skip_header_lines: int | None = None,
        name: str | None = None,
        *,
        on_error: str = "raise",
        max_errors: int | None = None,
        max_record_bytes: int | None = MAX_RECORD_BYTES,
    ) -> None:
        attrs = {
            "skip_header_lines": as_int(0 if skip_header_lines is None else skip_header_lines, "skip_header_lines")
        }
        limit = byte_limit(max_record_bytes)
        make = _maker(text.TextLineReader, on_error, max_errors, max_record_bytes=limit, **attrs)
        super().__init__(_reader("TextLineReaderV2", name, attrs, make))


class FixedLengthRecordReader(ReaderBase):
    """Reads records with a fixed size in bytes: the key is `file:number`, counted from 0.

    Args:
        record_bytes, header_bytes, footer_bytes: Bytes per record, before the first, and after the last.
        hop_bytes: Bytes from one record's start to the next one's; None means `record_bytes`.
        encoding: "ZLIB" or "GZIP" for compressed files.
        on_error, max_errors: As in WholeFileReader.

    With a number out of range, every op on the reader raises InvalidArgumentError.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
        *,
        on_error: str = "raise",
        max_errors: int | None = None,
    ) -> None:
        attrs: dict[str, Any] = {
            "record_bytes": as_int(record_bytes, "record_bytes"),
            "header_bytes": as_int(0 if header_bytes is None else header_bytes, "header_bytes"),
            "footer_bytes": as_int(0 if footer_bytes is None else footer_bytes, "footer_bytes"),
            "hop_bytes": as_int(0 if hop_bytes is None else hop_bytes, "hop_bytes"),
            "encoding": as_text(encoding, "encoding"),
        }
        plain = {} if attrs["encoding"] in WINDOW_BITS else {"encoding": ""}  # TensorFlow treats other values like this
        make = _maker(fixed.FixedLengthRecordReader, on_error, max_errors, **{**attrs, **plain})
        super().__init__(_reader("FixedLengthRecordReaderV2", name, attrs, make))


class TFRecordReader(ReaderBase):
    """Reads TFRecord files: the key is `file:offset`, the offset of the record's first byte before compression.

    Args:
        options: TFRecordOptions, a compression type, or None.
        on_error, max_errors: As in WholeFileReader; "skip" drops the rest of a corrupt file.
        max_record_bytes: A longer record raises ResourceExhaustedError; None means no limit.

    Raises:
        ValueError: The compression type is unknown.
    """

    def __init__(
        self,
        name: str | None = None,
        options: Any = None,
        *,
        on_error: str = "raise",
        max_errors: int | None = None,
        max_record_bytes: int | None = MAX_RECORD_BYTES,
    ) -> None:
        try:
            compression = TFRecordOptions.get_compression_type_string(options)
        except errors.InvalidArgumentError as error:
            raise ValueError(error.message) from None
        limit = byte_limit(max_record_bytes)
        make = _maker(tfrecord.TFRecordReader, on_error, max_errors, options=compression, max_record_bytes=limit)
        super().__init__(_reader("TFRecordReaderV2", name, {"compression_type": compression}, make))


class LMDBReader(ReaderBase):
    """Reads LMDB databases: a work item is a database path, keys and values are its entries.

    Args:
        options: Not used.
        on_error, max_errors: As in WholeFileReader.
        max_record_bytes: A longer value raises ResourceExhaustedError; None means no limit.
    """

    def __init__(
        self,
        name: str | None = None,
        options: Any = None,
        *,
        on_error: str = "raise",
        max_errors: int | None = None,
        max_record_bytes: int | None = MAX_RECORD_BYTES,
    ) -> None:
        make = _maker(lmdb.LMDBReader, on_error, max_errors, max_record_bytes=byte_limit(max_record_bytes))
        super().__init__(_reader("LMDBReader", name, {}, make, (dtypes.string._as_ref, (2,))))


class IdentityReader(ReaderBase):
    """Returns the work items themselves, as keys and as values.

    Args:
        on_error, max_errors: As in WholeFileReader.
    """

    def __init__(self, name: str | None = None, *, on_error: str = "raise", max_errors: int | None = None) -> None:
        make = _maker(whole.IdentityReader, on_error, max_errors)
        super().__init__(_reader("IdentityReaderV2", name, {}, make), supports_serialize=True)


def _reader(
    op_type: str,
    name: str | None,
    attrs: dict[str, Any],
    make: Callable[[str], base.ReaderBase],
    output: tuple[DType, Sequence[int]] = (dtypes.resource, ()),
) -> Tensor:
    """Make a reader's op. Its value is the native reader, made by a session when it first needs it."""
    key = object()
    operation: Operation

    def kernel(run: Any) -> base.ReaderBase:
        return run.state(key, lambda: make(operation.name))  # type: ignore[no-any-return]

    attrs = attrs | {"container": "", "shared_name": ""}
    operation = node(op_type, [], [output], kernel, name=name, attrs=attrs, stateful=True)
    return operation.outputs[0]


def _maker(
    kind: Callable[..., base.ReaderBase], on_error: str, max_errors: int | None, **options: Any
) -> Callable[[str], base.ReaderBase]:
    """Return a function from name to native reader; ValueError for a wrong `on_error` or `max_errors`."""
    Skips(on_error, max_errors)  # checks them now, not when a session makes the reader
    return lambda name: kind(name=name, on_error=on_error, max_errors=max_errors, **options)


def _queue_ref(queue: Any) -> Tensor:
    return queue if isinstance(queue, Tensor) else queue.queue_ref
