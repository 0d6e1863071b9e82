"""Measure stack, concatenate, pad and collate compared with NumPy."""

import numpy as np
import pytest

from pipeline import collate, concatenate, pad, stack

N = 128
KINDS = {"f32[4]": ((4,), "f4"), "f32[784]": ((784,), "f4"), "u8[224,224,3]": ((224, 224, 3), "u1")}


@pytest.fixture(params=KINDS)
def arrays(request):
    shape, dtype = KINDS[request.param]
    return [np.full(shape, k % 200, dtype) for k in range(N)]


@pytest.fixture
def rows():
    return [np.full(k % 37 + 1, k, "f4") for k in range(N)]


@pytest.fixture
def case(request, benchmark):
    """Group by everything except the measured function."""
    parameters = request.node.callspec.params
    benchmark.group = f"{request.node.originalname[5:]} {N} x {parameters.get('arrays', 'rows')}"
    return benchmark


@pytest.mark.parametrize("function", [stack, np.stack, np.array], ids=["ours", "numpy", "np.array"])
def test_stack(case, arrays, function):
    assert case(function, arrays).shape == (N, *arrays[0].shape)


@pytest.mark.parametrize("function", [stack, np.stack], ids=["ours", "numpy"])
def test_stack_out(case, arrays, function):
    out = np.zeros((N, *arrays[0].shape), arrays[0].dtype)
    assert case(function, arrays, out=out) is out


@pytest.mark.parametrize("function", [concatenate, np.concatenate], ids=["ours", "numpy"])
def test_concatenate(case, arrays, function):
    assert len(case(function, arrays)) == N * len(arrays[0])


def numpy_loop(rows):
    out = np.zeros((len(rows), max(map(len, rows))), rows[0].dtype)
    for to, row in zip(out, rows, strict=True):
        to[: len(row)] = row
    return out


@pytest.mark.parametrize("function", [pad, numpy_loop], ids=["ours", "numpy"])
def test_pad(case, rows, function):
    assert case(function, rows).shape == (N, 37)


def numpy_columns(examples):
    return tuple(np.stack(column) for column in zip(*examples, strict=True))


@pytest.mark.parametrize("function", [collate, numpy_columns], ids=["ours", "numpy"])
def test_collate(case, arrays, function):
    assert len(case(function, [(array, k) for k, array in enumerate(arrays)])) == 2
