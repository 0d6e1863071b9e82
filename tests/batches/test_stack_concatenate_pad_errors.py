"""Inputs rejected by stack, concatenate and pad, without writing anything."""

import numpy as np
import pytest

from pipeline import concatenate, pad, stack
from pipeline.errors import InvalidArgumentError

A = np.arange(4, dtype="f4")


def message(kind, function, arrays, **kwargs):
    with pytest.raises(kind) as caught:
        function(arrays, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize(
    ("function", "arrays", "text"),
    [
        (stack, [A] * 5 + [A[:3]], "stack: arrays[5] has shape (3,), expected (4,) like arrays[0]"),
        (stack, [A, A[None]], "stack: arrays[1] has shape (1, 4), expected (4,) like arrays[0]"),
        (concatenate, [A[None], A.reshape(2, 2)], "concatenate: arrays[1] has rows of shape (2,), expected (4,)"),
        (concatenate, [A, A[None]], "concatenate: arrays[1] has rank 2, expected rank 1 like arrays[0]"),
        (concatenate, [1, 2], "concatenate: arrays[0] has rank 0, expected at least 1"),
        (pad, [A, A[None]], "pad: arrays[1] has rank 2, expected rank 1 like arrays[0]"),
        (pad, [1, [1]], "pad: arrays[1] has shape (1,), expected () like arrays[0]"),
        (stack, [A, [[1], 2]], "stack: arrays[1] is not an array: "),
    ],
)
def test_shapes(function, arrays, text):
    out = np.full((len(arrays), 4), 7, "f4")
    assert text in message(InvalidArgumentError, function, arrays)
    assert text in message(ValueError, function, arrays, out=out)
    assert (out == 7).all()


@pytest.mark.parametrize("function", [stack, concatenate, pad])
@pytest.mark.parametrize("dtype", ["f8", "i4", ">f4", "O", [("a", "f4")]])
def test_mixed_dtypes(function, dtype):
    other = np.zeros(4, dtype)
    got, expected = other.dtype, A.dtype.newbyteorder("=")
    text = f"{function.__name__}: arrays[2] has dtype {got}, expected {expected} like arrays[0]"
    assert message(TypeError, function, [A, A, other]) == text


@pytest.mark.parametrize("function", [stack, concatenate, pad])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("S1", "S2"),
        ("U2", "U1"),
        ("M8[s]", "M8[D]"),
        ({"names": ["a"], "formats": ["i1"], "offsets": [0], "itemsize": 2},
         {"names": ["a"], "formats": ["i1"], "offsets": [1], "itemsize": 2}),
    ],
)  # fmt: skip
def test_dtypes_that_differ_in_details_only(function, a, b):
    assert "has dtype" in message(TypeError, function, [np.zeros(2, a), np.zeros(2, b)])


@pytest.mark.parametrize("function", [stack, concatenate, pad])
def test_what_holds_no_arrays(function):
    name = function.__name__
    for nothing in ([], (), iter([]), np.zeros((0, 3))):
        assert message(InvalidArgumentError, function, nothing) == f"{name}: expected at least one array, got none"
    for wrong in ("ab", b"ab"):
        expected = f"{name}: expected a sequence of arrays, got {type(wrong).__name__}"
        assert message(TypeError, function, wrong) == expected
    for wrong in (5, None, np.zeros(())):
        message(TypeError, function, wrong)


def read_only(shape):
    array = np.zeros(shape, "f4")
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "text"),
    [
        (lambda s: [0] * 8, "expected an array, got list"),
        (lambda s: np.zeros(s, "f8"), "expected dtype float32, got float64"),
        (lambda s: np.zeros(s, [("a", "f4")]), "expected dtype float32, got [('a', '<f4')]"),
        (lambda s: np.zeros((*s, 1), "f4"), "expected shape {s}, got {more}"),
        (lambda s: np.zeros([2 * k for k in s], "f4")[tuple(slice(0, 2 * k, 2) for k in s)], "expected a C-contiguous"),
        (read_only, "expected a writable array, got a read-only one"),
    ],
)
@pytest.mark.parametrize("function", [stack, concatenate, pad])
def test_out_that_does_not_fit(function, out, text):
    shape = function([A, A]).shape
    made = out(shape)
    text = f"{function.__name__}: out: " + text.format(s=shape, more=(*shape, 1))
    assert message(InvalidArgumentError, function, [A, A], out=made).startswith(text)


@pytest.mark.parametrize("function", [stack, concatenate, pad])
def test_out_that_overlaps(function):
    memory = np.arange(12, dtype="f4")
    shape = function([A, A]).shape
    for begin in range(5):
        out = memory[begin : begin + 8].reshape(shape)
        for row in (memory[4:8], memory[7:3:-1], memory[0:12:3], np.broadcast_to(memory[5:6], 4)):
            assert "out: expected memory apart from" in message(InvalidArgumentError, function, [A, row], out=out)
    assert (memory == np.arange(12)).all()
    function([memory[8:], memory[8:]], out=memory[:8].reshape(shape))
    assert memory[:8].tolist() == memory[8:].tolist() * 2


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("u1", 300), ("u1", -1), ("i4", 1.5), ("i4", np.nan), ("?", 2), ("S2", b"abc"), ("f4", "x"), ("f4", [1, 2])],
)
@pytest.mark.filterwarnings("ignore:NumPy will stop allowing:DeprecationWarning")  # NumPy 1 warns, then pipeline raises
def test_values_that_do_not_fit(dtype, value):
    out = np.ones((2, 2), dtype)
    arrays = [np.zeros(1, dtype), np.zeros(2, dtype)]
    assert "pad: value" in message(InvalidArgumentError, pad, arrays, value=value, out=out)
    assert (out == np.ones((), dtype)).all()


def test_results_that_cannot_be():
    ranks = 64 if int(np.__version__.split(".")[0]) >= 2 else 32
    for function in (stack, pad):
        message(ValueError, function, [np.zeros((1,) * ranks)])
    endless = np.zeros((2**62, 0), "u1")
    assert (
        message(InvalidArgumentError, concatenate, [endless, endless])
        == "concatenate: expected at most 9223372036854775806 rows in all, got more"
    )


@pytest.mark.parametrize("function", [stack, concatenate, pad])
@pytest.mark.parametrize("given", [5, None, np.array(5)], ids=repr)
def test_what_is_no_sequence(function, given):
    text = f"{function.__name__}: expected a sequence of arrays, got {type(given).__name__}"
    assert message(TypeError, function, given) == text


def test_an_error_of_the_sequence_stays():
    def arrays():
        yield A
        raise TypeError("mine")

    assert message(TypeError, stack, arrays()) == "mine"


@pytest.mark.parametrize("function", [stack, concatenate, pad])
@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ([{"a": np.zeros(2)}] * 2, TypeError, "arrays[0] is of type dict, not an array"),
        ([np.zeros(2), {"a": np.zeros(2)}], TypeError, "arrays[1] is of type dict, not an array"),
        ({"a": np.zeros(2)}, TypeError, "expected a sequence of arrays, got dict"),
        ([(np.zeros(2), 1)] * 2, InvalidArgumentError, "arrays[0] is not an array: setting an array element"),
    ],
)
def test_examples_of_several_arrays_are_for_collate(function, given, error, text):
    with pytest.raises(error) as caught:
        function(given)
    assert str(caught.value).startswith(f"{function.__name__}: {text}")
    assert str(caught.value).endswith("; pipeline.collate makes a batch of examples that are dicts, lists or tuples")
