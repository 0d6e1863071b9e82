"""TensorProto and TensorShapeProto: a tensor's value and a shape as messages."""

from __future__ import annotations

from pipeline.proto.fields import MessageField, MessageListField, Scalar, Scalars
from pipeline.proto.message import Message
from pipeline.proto.scalar_types import BOOL, BYTES, DOUBLE, FLOAT, INT32, INT64, STRING, Enumeration

_NAMES = """
    INVALID FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 QINT32 BFLOAT16 QINT16 QUINT16
    UINT16 COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64
"""
_TYPES = _NAMES.split()


def type_name(number: int) -> str | None:
    """Return the name of one of TensorFlow's dtypes, such as DT_FLOAT for 1 and DT_FLOAT_REF for 101."""
    base = number % 100
    return f"DT_{_TYPES[base]}{'_REF' if number >= 100 else ''}" if 0 <= base < len(_TYPES) and number < 200 else None


DATA_TYPE = Enumeration(type_name)


class _Dim(Message):
    size = Scalar(1, INT64)
    name = Scalar(2, STRING)


class TensorShapeProto(Message):
    """A shape: one size per dimension, -1 if unknown."""

    dim = MessageListField(2, _Dim)
    unknown_rank = Scalar(3, BOOL)
    Dim = _Dim


class TensorProto(Message):
    """A tensor's value: its bytes in `tensor_content`, or its elements in the list for its dtype."""

    dtype = Scalar(1, DATA_TYPE)
    tensor_shape = MessageField(2, TensorShapeProto)
    version_number = Scalar(3, INT32)
    tensor_content = Scalar(4, BYTES)
    float_val = Scalars(5, FLOAT)
    double_val = Scalars(6, DOUBLE)
    int_val = Scalars(7, INT32)
    string_val = Scalars(8, BYTES)
    int64_val = Scalars(10, INT64)
    bool_val = Scalars(11, BOOL)
    half_val = Scalars(13, INT32)


def shape_message(sizes: tuple[int | None, ...] | list[int] | None) -> TensorShapeProto:
    """Return a shape as a message; None stands for an unknown rank, and within a shape for an unknown size."""
    if sizes is None:
        return TensorShapeProto(unknown_rank=True)
    made = TensorShapeProto()
    for size in sizes:
        made.dim.add(size=-1 if size is None else size)
    return made
