"""The readers as graph classes: each makes an op whose value is the reader that a session has of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline import errors
from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import node
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.input.reader_ops import read_ops
from pipeline.files.opening import MAX_RECORD_BYTES, byte_limit
from pipeline.files.tfrecord import TFRecordOptions
from pipeline.on_error import Skips
from pipeline.readers import base, fixed, lmdb, text, tfrecord, whole


class ReaderBase:
    """What all readers offer: ops that read records of the works (file names) that a queue gives.

    Args:
        reader_ref: The tensor that stands for the reader.
        supports_serialize: Whether its state can be saved.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize
        self._ops = read_ops("V2" if reader_ref.dtype == dtypes.resource else "")

    @property
    def reader_ref(self) -> Tensor:
        """The tensor that stands for the reader."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether the state of the reader can be saved."""
        return self._supports_serialize

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Read the next record, of the next work in `queue` if there is none in progress.

        Args:
            queue: A queue of strings, or the tensor that stands for it.

        Returns:
            A named tuple `(key, value)` of string scalars; OutOfRangeError when the queue is closed and empty.
        """
        return self._ops.read(self._reader_ref, _queue_ref(queue), name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Read up to `num_records` records of one work, at least one.

        Args:
            queue: As for `read`.
            num_records: An int64 scalar; a negative one is an InvalidArgumentError.

        Returns:
            A named tuple `(keys, values)` of string vectors.
        """
        return self._ops.read_up_to(self._reader_ref, _queue_ref(queue), num_records, name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return how many records were read, an int64 scalar."""
        return self._ops.count("NumRecordsProduced", self._reader_ref, name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return how many works were read to their end, an int64 scalar."""
        return self._ops.count("NumWorkUnitsCompleted", self._reader_ref, name)

    def num_errors(self, name: str | None = None) -> Tensor:
        """Return how many errors were skipped, an int64 scalar."""
        return self._ops.count("NumErrors", self._reader_ref, name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Return the state as a string scalar; UnimplementedError if `supports_serialize` is False."""
        return self._ops.serialize_state(self._reader_ref, name)

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """Return an op that goes back to a state of `serialize_state`, a string scalar."""
        return self._ops.restore_state(self._reader_ref, state, name)

    def reset(self, name: str | None = None) -> Operation:
        """Return an op that gives up the work in progress and sets the counters to 0."""
        return self._ops.reset(self._reader_ref, name)


class WholeFileReader(ReaderBase):
    """Reads whole files: the key is the name of the file, the value all that is in it.

    Args:
        on_error: "raise", or "skip": after an error of a work go on with the next one; `num_errors` counts them.
        max_errors: With "skip", how many errors may be left out; the one after them is raised. None is without limit.
        max_record_bytes: A larger file is a ResourceExhaustedError; None is without limit.
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
    """Reads the lines of text files: the key is `file:number`, counted from 1, the value the line without its end.

    Args:
        skip_header_lines: Lines to leave out at the start of each file; a negative number is an
            InvalidArgumentError of every op of the reader.
        on_error, max_errors: As for WholeFileReader.
        max_record_bytes: A longer line is a ResourceExhaustedError; None is without limit.
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
            "skip_header_lines": _integer(0 if skip_header_lines is None else skip_header_lines, "skip_header_lines")
        }
        limit = byte_limit(max_record_bytes)
        make = _maker(text.TextLineReader, on_error, max_errors, max_record_bytes=limit, **attrs)
        super().__init__(_reader("TextLineReaderV2", name, attrs, make))


class FixedLengthRecordReader(ReaderBase):
    """Reads records of a fixed number of bytes: the key is `file:number`, counted from 0.

    Args:
        record_bytes, header_bytes, footer_bytes: Bytes of a record, before the first one, and after the last one.
        hop_bytes: Bytes from the start of one record to that of the next; None is `record_bytes`.
        encoding: "ZLIB" or "GZIP" for compressed files.
        on_error, max_errors: As for WholeFileReader.

    Numbers out of range are an InvalidArgumentError of every op of the reader.
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
            "record_bytes": _integer(record_bytes, "record_bytes"),
            "header_bytes": _integer(0 if header_bytes is None else header_bytes, "header_bytes"),
            "footer_bytes": _integer(0 if footer_bytes is None else footer_bytes, "footer_bytes"),
            "hop_bytes": _integer(0 if hop_bytes is None else hop_bytes, "hop_bytes"),
            "encoding": _text(encoding, "encoding"),
        }
        make = _maker(fixed.FixedLengthRecordReader, on_error, max_errors, **attrs)
        super().__init__(_reader("FixedLengthRecordReaderV2", name, attrs, make))


class TFRecordReader(ReaderBase):
    """Reads TFRecord files: the key is `file:offset`, that of the record's first byte before compression.

    Args:
        options: TFRecordOptions, a compression type, or None.
        on_error, max_errors: As for WholeFileReader; "skip" leaves out the rest of a corrupt file.
        max_record_bytes: A longer record is a ResourceExhaustedError; None is without limit.

    Raises:
        ValueError: There is no such compression.
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
    """Reads LMDB databases: the work is the path of a database, key and value are those of the entries.

    Args:
        options: Not used.
        on_error, max_errors: As for WholeFileReader.
        max_record_bytes: A longer value is a ResourceExhaustedError; None is without limit.
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
    """Gives the works themselves, as keys and as values.

    Args:
        on_error, max_errors: As for WholeFileReader.
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
    """Make the op of a reader: its value is the native reader, made when a session first needs it."""
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
    """A function from a name to the native reader; ValueError for an `on_error` or `max_errors` that is not right."""
    Skips(on_error, max_errors)
    return lambda name: kind(name=name, on_error=on_error, max_errors=max_errors, **options)


def _queue_ref(queue: Any) -> Tensor:
    return queue if isinstance(queue, Tensor) else queue.queue_ref


def _integer(value: Any, name: str) -> int:
    """The value of an integer attribute; TypeError if it is none."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return int(value)
    except (TypeError, ValueError):
        raise TypeError(f"Expected int for argument '{name}' not {value!r}.") from None


def _text(value: Any, name: str) -> str:
    """The value of a string attribute; "" for None."""
    if value is None:
        return ""
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"Expected string for argument '{name}' not {value!r}.")
    return value if isinstance(value, str) else value.decode()
