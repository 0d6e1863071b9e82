"""TensorProto and TensorShapeProto: a tensor's value and a shape as messages."""

from __future__ import annotations

from pipeline.proto.schema import Message, Schema

TENSORS = Schema(
    "tensor",
    """
    enum DataType {
        DT_INVALID = 0; DT_FLOAT = 1; DT_DOUBLE = 2; DT_INT32 = 3; DT_UINT8 = 4; DT_INT16 = 5; DT_INT8 = 6;
        DT_STRING = 7; DT_COMPLEX64 = 8; DT_INT64 = 9; DT_BOOL = 10; DT_QINT8 = 11; DT_QUINT8 = 12; DT_QINT32 = 13;
        DT_BFLOAT16 = 14; DT_QINT16 = 15; DT_QUINT16 = 16; DT_UINT16 = 17; DT_COMPLEX128 = 18; DT_HALF = 19;
        DT_RESOURCE = 20; DT_VARIANT = 21; DT_UINT32 = 22; DT_UINT64 = 23;
        DT_FLOAT_REF = 101; DT_DOUBLE_REF = 102; DT_INT32_REF = 103; DT_UINT8_REF = 104; DT_INT16_REF = 105;
        DT_INT8_REF = 106; DT_STRING_REF = 107; DT_COMPLEX64_REF = 108; DT_INT64_REF = 109; DT_BOOL_REF = 110;
        DT_QINT8_REF = 111; DT_QUINT8_REF = 112; DT_QINT32_REF = 113; DT_BFLOAT16_REF = 114; DT_QINT16_REF = 115;
        DT_QUINT16_REF = 116; DT_UINT16_REF = 117; DT_COMPLEX128_REF = 118; DT_HALF_REF = 119; DT_RESOURCE_REF = 120;
        DT_VARIANT_REF = 121; DT_UINT32_REF = 122; DT_UINT64_REF = 123;
    }
    message TensorShapeProto {
        message Dim {
            int64 size = 1;
            string name = 2;
        }
        repeated Dim dim = 2;
        bool unknown_rank = 3;
    }
    message TensorProto {
        DataType dtype = 1;
        TensorShapeProto tensor_shape = 2;
        int32 version_number = 3;
        bytes tensor_content = 4;
        repeated float float_val = 5;
        repeated double double_val = 6;
        repeated int32 int_val = 7;
        repeated bytes string_val = 8;
        repeated int64 int64_val = 10;
        repeated bool bool_val = 11;
        repeated int32 half_val = 13;
    }
    """,
)


@TENSORS.message
class TensorShapeProto(Message):
    """A shape: one size per dimension, -1 if unknown."""


@TENSORS.message
class TensorProto(Message):
    """A tensor's value: its bytes in `tensor_content`, or its elements in the list for its dtype."""


def shape_message(sizes: tuple[int | None, ...] | list[int] | None) -> TensorShapeProto:
    """Return a shape as a message; None stands for an unknown rank, and within a shape for an unknown size."""
    if sizes is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[{"size": -1 if size is None else size} for size in sizes])
