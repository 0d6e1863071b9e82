"""decode_raw and decode_csv: bytes to typed tensors."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import check_allowed, dtype_of, renamed
from pipeline.compat.ops.making.text import at_most_rank, encoded, one_or_all, text
from pipeline.compat.ops.strings.elements import float_of, int_of
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.decode import raw
from pipeline.decode.csv.block import decode_block
from pipeline.decode.csv.record import ColumnType, RecordFormat
from pipeline.errors import InvalidArgumentError, invalid

_RAW: tuple[str, ...] = ("float16", "float32", "float64", "int32", "uint16", "uint8", "int16", "int8", "int64")
_RAW += ("complex64", "complex128", "bool", "bfloat16")
_CSV = ("float32", "float64", "int32", "int64", "string")


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """Reinterpret string bytes as numbers.

    Args:
        input_bytes: Strings with equal lengths.
        out_type: Dtype for the numbers.
        little_endian: Byte order of the numbers.
        name: Name of the op.
        bytes: Old name for `input_bytes`.

    Returns:
        A tensor shaped like the strings with one more axis; its size is not static.

    Raises:
        InvalidArgumentError: At run time, if a length is not a multiple of the number's size, or lengths differ.
    """
    value = renamed("input_bytes", input_bytes, "bytes", bytes)
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    if value is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'input_bytes'")
    little = bool(little_endian)
    with name_scope(name, "DecodeRaw", [input_bytes]) as scope:
        dtype = dtype_of(out_type)
        check_allowed("out_type", dtype, _RAW)
        tensor = text(value, "bytes", "DecodeRaw")
        sizes = tensor.shape.sizes
        shape = None if sizes is None else [*sizes, None]

        def kernel(values: Any) -> Any:
            return raw.decode_raw(values, dtype.np, little)

        def rows(_: Any, values: Any) -> Any:
            # Strings with different lengths make no array; run per string they are fine.
            try:
                return kernel(values)
            except InvalidArgumentError:
                return None

        attrs = {"out_type": dtype, "little_endian": little}
        return tensor_node("DecodeRaw", [tensor], kernel, dtype, shape, name=scope, attrs=attrs, rows=rows)


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Any = None,
) -> list[Tensor]:
    """Parse CSV records into one tensor per column.

    Args:
        records: Strings, one record each, without a line end.
        record_defaults: One tensor per column with its dtype (float32, float64, int32, int64 or string). Its value
            replaces a missing field; if the tensor is empty, the field must not be missing.
        field_delim: The character between fields.
        use_quote_delim: True if `"` quotes a field.
        name: Name of the op.
        na_value: A field with this text counts as missing, like an empty one.
        select_cols: Column indices to decode, in increasing order; all by default.

    Returns:
        Tensors shaped like `records` with the dtypes from `record_defaults`.

    Raises:
        TypeError, ValueError: An argument is invalid.
        InvalidArgumentError: At run time, if a record does not fit `record_defaults`.
    """
    select = _selected(record_defaults, select_cols)
    delim = encoded("," if field_delim is None else field_delim)
    na = encoded("" if na_value is None else na_value)
    quotes = True if use_quote_delim is None else bool(use_quote_delim)
    with name_scope(name, "DecodeCSV", [records, record_defaults]) as scope:
        tensor = text(records, "records", "DecodeCSV")
        defaults = _defaults(record_defaults)
        parsed = _Csv(delim, na, quotes, select or None)

        def rows(is_row: Sequence[bool], *values: Any) -> Any:
            if not is_row[0] or any(is_row[1:]):
                return None
            try:
                return parsed(*values)
            except InvalidArgumentError:  # run per record, so the error names the record
                return None

        attrs = {"OUT_TYPE": [one.dtype for one in defaults], "field_delim": delim, "use_quote_delim": quotes}
        attrs |= {"na_value": na, "select_cols": select}
        results = [(one.dtype.base_dtype, tensor.shape) for one in defaults]
        return node("DecodeCSV", [tensor, *defaults], results, parsed, scope, attrs, rows=rows).outputs


def _selected(record_defaults: Any, select_cols: Any) -> list[int]:
    select = [] if select_cols is None else [int(column) for column in select_cols]
    if select_cols is not None:
        if any(b <= a for a, b in itertools.pairwise(select)):
            raise ValueError("select_cols is not strictly increasing.")
        if select[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(select) != len(record_defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    return select


def _defaults(record_defaults: Any) -> list[Tensor]:
    if not isinstance(record_defaults, (list, tuple)):
        raise TypeError(f"Expected list for 'record_defaults' argument to 'DecodeCSV' Op, not {record_defaults!r}.")
    try:
        tensors = [convert_to_tensor(one, name=f"record_defaults_{i}") for i, one in enumerate(record_defaults)]
    except (TypeError, ValueError):
        raise TypeError(
            "Tensors in list passed to 'record_defaults' of 'DecodeCSV' Op have types that are invalid. "
            f"Tensors: {record_defaults!r}"
        ) from None
    for one in tensors:
        check_allowed("record_defaults", one.dtype.base_dtype, _CSV)
    if not tensors:
        raise ValueError("Attr 'OUT_TYPE' of 'DecodeCSV' Op passed list of length 0 less than minimum 1.")
    for one in tensors:
        size = at_most_rank(one, 1).shape.num_elements()
        if size is not None and size > 1:
            raise ValueError("Shape of a default must be a length-0 or length-1 vector, or a scalar.")
    return tensors


class _RecordFormat(RecordFormat):
    """Parses numbers as C does: hexadecimal floats, and integers with a plus sign."""

    __slots__ = ()

    def convert(self, field: bytes, dtype: np.dtype[Any]) -> Any:
        found = super().convert(field, dtype)
        if found is None:
            value = float_of(field) if dtype.kind == "f" else int_of(field)
            if value is not None and (dtype.kind == "f" or np.iinfo(dtype).min <= value <= np.iinfo(dtype).max):
                return dtype.type(value)
        return found


class _Csv:
    """The DecodeCSV kernel. It keeps the record format while the default values stay the same objects."""

    def __init__(self, delim: bytes, na: bytes, quotes: bool, select: list[int] | None) -> None:
        self._settings = delim, quotes, na, None if select is None else tuple(select)
        self._format: tuple[tuple[Any, ...], _RecordFormat] | None = None

    def __call__(self, records: Any, *defaults: Any) -> Any:
        form = self._format_of(defaults)
        if isinstance(records, bytes):
            return one_or_all(form.decode(records, 0))
        columns = decode_block(records.ravel().tolist(), form)
        return one_or_all(columns if records.ndim == 1 else [column.reshape(records.shape) for column in columns])

    def _format_of(self, defaults: tuple[Any, ...]) -> _RecordFormat:
        last = self._format
        if last is not None and all(map(operator.is_, last[0], defaults)):
            return last[1]
        if len(self._settings[0]) != 1:
            raise invalid("field_delim should be only 1 char")
        form = _RecordFormat(tuple(map(_column, range(len(defaults)), defaults)), *self._settings)
        self._format = defaults, form
        return form


def _column(index: int, default: Any) -> ColumnType:
    array = (
        default
        if isinstance(default, np.ndarray)
        else np.asarray(default, object if isinstance(default, bytes) else None)
    )
    if array.ndim > 1:
        raise invalid("Each record default should be at most rank 1")
    if array.size > 1:
        raise invalid(f"There should only be 1 default per field but field {index} has {array.size}")
    return ColumnType(array.dtype, array.ravel()[0] if array.size else None)
