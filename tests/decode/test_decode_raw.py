"""decode_raw: dtypes, byte orders, blocks, and rejected input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import InvalidArgumentError
from pipeline.decode.raw import decode_raw

NAMES = {
    "float16": "half",
    "float32": "float",
    "float64": "double",
    **{name: name for name in ["uint16", "int16", "int32", "int64", "complex64", "complex128"]},
}


@pytest.mark.parametrize("dtype", [*NAMES, "int8", "uint8"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_dtypes_and_byte_orders(dtype, order):
    data = np.array([1, 2, 100], np.dtype(dtype).newbyteorder(order)).tobytes()
    decoded = decode_raw(data, dtype, little_endian=order == "<")
    assert decoded.dtype == np.dtype(dtype)
    assert decoded.dtype.isnative
    assert decoded.tolist() == [1, 2, 100]
    block = decode_raw([data, data], dtype, order == "<")
    assert block.tolist() == [[1, 2, 100]] * 2


def test_known_bytes():
    assert decode_raw(b"\x01\x00\x02\x00", np.int16).tolist() == [1, 2]
    assert decode_raw(b"\x3f\x80\0\0\x40\0\0\0", np.complex64, little_endian=False).tolist() == [1 + 2j]
    assert decode_raw("ab", np.uint8).tolist() == [97, 98]
    assert decode_raw(bytearray(b"\xff"), np.int8).tolist() == [-1]


def test_bools_are_never_more_than_one():
    decoded = decode_raw(b"\x00\x01\x02\xff", bool)
    assert decoded.tolist() == [False, True, True, True]
    assert decoded.view(np.uint8).tolist() == [0, 1, 1, 1]


def test_bfloat16():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    assert decode_raw(b"\x80\x3f\x00\x40", bfloat16).astype(np.float32).tolist() == [1, 2]
    assert decode_raw(b"\x3f\x80\x40\x00", bfloat16, little_endian=False).astype(np.float32).tolist() == [1, 2]


def test_shapes():
    assert decode_raw(b"", np.float32).shape == (0,)
    assert decode_raw([b"", b""], np.float32).shape == (2, 0)
    assert decode_raw([], np.float32).shape == (0, 0)
    assert decode_raw(np.zeros((2, 0), object), np.float32).shape == (2, 0, 0)
    records = np.array([[b"ab", b"cd"], [b"ef", b"gh"]], object)
    assert decode_raw(records, np.uint8).tolist() == [[[97, 98], [99, 100]], [[101, 102], [103, 104]]]
    assert decode_raw(np.array(b"ab", object), np.uint8).shape == (2,)
    assert decode_raw((b"ab" for _ in range(3)), np.uint16).shape == (3, 1)


@pytest.mark.parametrize(("dtype", "name"), list(NAMES.items()))
def test_lengths_that_do_not_fit(dtype, name):
    size = np.dtype(dtype).itemsize
    text = f"Input to DecodeRaw has length {size + 1} that is not a multiple of {size}, the size of {name}"
    for records in (b"x" * (size + 1), [b"x" * (size + 1)] * 2):
        with pytest.raises(InvalidArgumentError) as caught:
            decode_raw(records, dtype)
        assert str(caught.value) == text


def test_records_of_different_lengths():
    text = "DecodeRaw requires input strings to all be the same size, but element 1 has size 2 != 4"
    with pytest.raises(InvalidArgumentError) as caught:
        decode_raw([b"ab", b"abcd"], np.uint8)
    assert str(caught.value) == text


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "S4", object, "M8[s]"])
def test_dtypes_that_there_are_not(dtype):
    with pytest.raises(InvalidArgumentError, match="decode_raw does not support out_dtype"):
        decode_raw(b"abcd", dtype)


@pytest.mark.parametrize("records", [[1], [b"a", None], [[b"a"]], np.zeros(2)])
def test_records_that_are_no_bytes(records):
    with pytest.raises(TypeError, match=r"record [01] must be bytes"):
        decode_raw(records, np.uint8)


@given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.booleans())
def test_what_was_written_is_read(values, little):
    data = np.array(values, "<i4" if little else ">i4").tobytes()
    assert decode_raw(data, np.int32, little).tolist() == values


def test_one_record_is_not_copied():
    data = bytes(1000)
    decoded = decode_raw(data, np.float32)
    assert np.shares_memory(decoded, np.frombuffer(data, np.uint8))
    assert not decoded.flags.writeable
    assert decode_raw([data, data], np.float32).shape == (2, 250)
