"""stack, concatenate and pad, compared with NumPy."""

import gc
import sys
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pipeline import concatenate, pad, stack
from pipeline.errors import InvalidArgumentError

DTYPES = (
    "?", "i1", "<i2", ">i4", "<u8", "<f2", ">f4", "<f8", "<c8", ">c16", "S1", "S3", "<U2", ">U5", "V5", "O",
    "<M8[D]", ">m8[s]", [("a", "i1"), ("b", ">f8")], [("a", "i4", (2, 2)), ("o", "O")],
    {"names": ["a"], "formats": ["u2"], "itemsize": 5},
)  # fmt: skip
dtypes = st.sampled_from([np.dtype(dtype) for dtype in DTYPES])
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def filled(shape, dtype, seed=0):
    """Return an array with this dtype and as many distinct elements as it allows."""
    count = int(np.prod(shape))
    numbers = np.arange(count) * 7 + seed
    if dtype.names:
        array = np.zeros(count, dtype)
        for name in dtype.names:
            field = array[name]
            field[...] = filled(field.shape, field.dtype, seed)
        return array.reshape(shape)
    if dtype.kind == "V":
        return np.frombuffer(np.resize(numbers.astype("u1"), count * dtype.itemsize).tobytes(), dtype, count).reshape(
            shape
        )
    if dtype.kind == "O":
        return np.array([*map(str, numbers), None], dtype)[:-1].reshape(shape)
    if dtype.kind in "mM":
        return numbers.astype("i8").astype(dtype).reshape(shape)
    return (numbers % 100).astype(dtype).reshape(shape)


@st.composite
def laid_out(draw, shape, dtype, seed=0):
    """Return `filled` in some layout: contiguous, strided, reversed, reordered, unaligned, broadcast."""
    array = filled(shape, dtype, seed)
    layouts = "C F step reverse offset broadcast transpose" if shape else "C offset"
    layout = draw(st.sampled_from(layouts.split()))
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "step":
        wide = np.zeros([2 * side for side in shape], dtype)[tuple(slice(None, None, 2) for _ in shape)]
        wide[...] = array
        return wide
    if layout == "reverse":
        return array[tuple(slice(None, None, -1) for _ in shape)]
    if layout == "offset" and not dtype.hasobject:
        room = np.zeros(array.nbytes + 1, "u1")
        moved = np.ndarray(shape, dtype, room.data, 1)
        moved[...] = array
        return moved
    if layout == "broadcast" and array.size:
        return np.broadcast_to(array[tuple(slice(0, 1) for _ in shape)], shape)
    if layout == "transpose":
        return filled(shape[::-1], dtype, seed).T
    return array


@st.composite
def batches(draw, vary):
    """Return 1 to 5 arrays with one dtype and rank; the first `vary` axes differ in length."""
    dtype, shape = draw(dtypes), draw(shapes)
    sides = st.integers(0, 4)
    return [
        draw(laid_out((*[draw(sides) for _ in shape[:vary]], *shape[vary:]), dtype, seed))
        for seed in range(draw(st.integers(1, 5)))
    ]


def same(got, expected):
    assert type(got) is np.ndarray
    assert got.dtype == expected.dtype
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, expected, strict=True)


@given(batches(0))
def test_stack_is_numpys(arrays):
    expected = np.stack(arrays).astype(arrays[0].dtype)  # NumPy converts other byte orders to native
    same(stack(arrays), expected)
    out = np.zeros_like(expected, order="C")
    assert stack(iter(arrays), out=out) is out
    same(out, expected)


@given(batches(1).filter(lambda arrays: arrays[0].ndim))
def test_concatenate_is_numpys(arrays):
    expected = np.concatenate(arrays).astype(arrays[0].dtype)
    same(concatenate(arrays), expected)
    out = np.zeros_like(expected, order="C")
    assert concatenate(tuple(arrays), out=out) is out
    same(out, expected)


@given(batches(4), st.booleans())
def test_pad_is_a_loop(arrays, zero):
    dtype = arrays[0].dtype
    value = 0 if zero else filled((1,), dtype, 5).item()
    fill = np.zeros((), dtype)
    if not zero:
        fill.fill(value)
    expected = np.zeros((len(arrays), *np.max([array.shape for array in arrays], axis=0, initial=0)), dtype)
    expected[...] = fill
    for row, array in zip(expected, arrays, strict=True):
        if array.ndim:
            row[tuple(map(slice, array.shape))] = array
    if not arrays[0].ndim:
        expected = np.stack(arrays).astype(dtype)
    same(pad(arrays, value), expected)
    out = filled(expected.shape, dtype, 3).copy()
    assert pad(arrays, value, out=out) is out
    same(out, expected)


@pytest.mark.parametrize("function", [stack, concatenate, pad])
@pytest.mark.parametrize("dtype", ["f4", "O"])
def test_an_array_is_a_sequence_of_its_rows(function, dtype):
    array = filled((3, 2), np.dtype(dtype))
    same(function(array), array.reshape(-1) if function is concatenate else array)


def test_what_is_not_an_array_goes_through_asarray():
    same(stack([1, 2, 3]), np.array([1, 2, 3]))
    same(stack(number / 2 for number in range(3)), np.array([0, 0.5, 1]))
    same(stack([[1, 2], (3, 4)]), np.array([[1, 2], [3, 4]]))
    same(stack([np.float32(1), np.array(2, "f4")]), np.array([1, 2], "f4"))
    same(stack([np.ma.array([1, 2]), np.ma.array([3, 4])]), np.array([[1, 2], [3, 4]]))
    same(pad([[1], [2, 3]]), np.array([[1, 0], [2, 3]]))


@pytest.mark.parametrize("shape", [(100, 128), (64, 1024), (3, 40_000)])
def test_large_batches_are_copied_without_the_gil(shape):
    array = filled(shape, np.dtype("f4"))
    rows = list(array)
    same(stack(rows), array)
    same(stack([row[::-1] for row in rows]), array[:, ::-1])
    same(concatenate(rows), array.reshape(-1))
    same(pad([*rows, array[0, :5]])[:-1], array)


def test_equivalent_dtypes_are_one():
    same(stack([np.array([1], "l"), np.array([2], "q")]), np.array([[1], [2]], "l"))
    swapped = np.dtype("i8").newbyteorder()
    same(stack([np.array([k], np.dtype(swapped.str)) for k in range(3)]), np.arange(3)[:, None].astype(swapped))


@pytest.mark.parametrize("kind", ["S0", "U0", "V0"])
def test_elements_without_bytes(kind):
    array = np.zeros((2, 3), [("empty", kind)])["empty"]
    assert stack([array, array]).dtype == kind
    assert pad([array, array[:1]]).shape == (2, 2, 3)


def test_variable_length_strings():
    string = getattr(np.dtypes, "StringDType", None)
    if string is None:
        pytest.skip("this NumPy has none")
    long, short = np.array(["a string too long to be kept in place", "b"], string()), np.array(["c"], string())
    assert stack([long, long]).tolist() == [long.tolist()] * 2
    assert concatenate([long, short]).tolist() == long.tolist() + ["c"]
    assert pad([long, short]).tolist() == [long.tolist(), ["c", ""]]
    assert pad([long, short], "-").tolist() == [long.tolist(), ["c", "-"]]


def test_extension_dtypes_are_raw_rows():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    rows = [np.arange(k, k + 3).astype(ml_dtypes.bfloat16) for k in range(4)]
    assert stack(rows).tobytes() == np.stack(rows).tobytes()
    assert stack(rows).dtype == ml_dtypes.bfloat16
    assert pad([rows[0], rows[1][:1]], 1.5).astype(float).tolist() == [[0, 1, 2], [1, 1.5, 1.5]]


def test_pad_fills_objects_with_the_object_itself():
    value = [1, 2]
    got = pad([np.array(["a"], object), np.array(["a", "b"], object)], value)
    assert got[0, 1] is value
    assert pad([np.array(["a"], object), np.array(["a", "b"], object)])[0, 1] == 0


@pytest.mark.parametrize("function", [stack, concatenate, pad])
def test_no_reference_leaks(function):
    element, dtype = object(), np.dtype([("leak", "f8")])
    arrays = [np.array([element, None]) for _ in range(10)]
    rows = [np.zeros(2, dtype) for _ in range(10)]
    out = np.zeros(function(rows).shape, dtype)
    watched = [element, dtype, arrays, arrays[0], rows[0], out]

    def work():
        function(arrays)
        function(rows)
        function(rows, out=out)
        for bad, to in (([rows[0], 1], None), ([rows[0], rows[0][None]], None), (rows, rows[0])):
            with pytest.raises((TypeError, ValueError)):
                function(bad, out=to)

    work()
    gc.collect()
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(20):
        work()
    gc.collect()
    assert [sys.getrefcount(each) for each in watched] == before


def test_the_list_may_change_meanwhile():
    arrays = [np.full(4096, k % 8, "i8") for k in range(64)]
    stop = threading.Event()

    def disturb():
        while not stop.is_set():
            arrays.clear()
            arrays.extend(np.full(4096, k % 8, "i8") for k in range(64))

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for function in (stack, concatenate, pad):
            for _ in range(100):
                try:
                    got = function(arrays).reshape(-1, 4096)
                except InvalidArgumentError:  # the list was empty
                    continue
                assert (got == (np.arange(len(got)) % 8)[:, None]).all()
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("shape", [(2, 0), (1, 1, 6), (6,), (3, 2)])
def test_a_value_that_reshapes_an_array_comes_before_anything_is_measured(shape):
    """The memory behind a new dimension is not part of the array."""
    arrays = [np.arange(6.0), np.arange(3.0)]

    class Value:
        def __float__(self):
            if np.prod(shape):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)  # from NumPy 2.5, although it still allows this
                    arrays[0].shape = shape
            return 9.0

    if len(shape) == 1 or not np.prod(shape):
        assert pad(arrays, value=Value()).tolist() == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 9, 9, 9]]
    else:
        with pytest.raises(InvalidArgumentError, match="rank"):
            pad(arrays, value=Value())
