"""64-bit integers narrowed to 32 bits by `pipeline.jax`, for example labels; without JAX.

The private function is called directly, so JAX need not be installed.
"""

import numpy as np
import pytest

from pipeline._batch import narrowed

LARGEST = {"int64": (-(2**31), 2**31 - 1), "uint64": (0, 2**32 - 1)}


@pytest.mark.parametrize("dtype", LARGEST)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (0,), (3, 0)])
def test_what_fits(dtype, shape):
    rng = np.random.default_rng(0)
    array = rng.integers(*LARGEST[dtype], shape, dtype, endpoint=True)
    array = np.asarray(array, dtype)
    got = narrowed(array)
    assert got.dtype == dtype.replace("64", "32")
    assert got.shape == shape
    assert got.tolist() == array.tolist()
    assert not np.may_share_memory(got, array)


@pytest.mark.parametrize("dtype", LARGEST)
@pytest.mark.parametrize("place", [0, 3, 6])
def test_what_does_not_fit(dtype, place):
    low, high = LARGEST[dtype]
    whole = np.iinfo(dtype)
    for number in {low - 1, high + 1, 2**40, 2**32, 2**33 + 5, whole.min, whole.max} - {0, -1}:
        if whole.min <= number <= whole.max:
            array = np.array([low, high] * 4, dtype)
            assert narrowed(array) is not None
            array[place] = number
            assert narrowed(array) is None


def test_other_arrays():
    for array in (
        np.zeros(4, int)[::2],
        np.zeros((2, 3), int).T,
        np.zeros(3),
        np.zeros(3, ">i8"),
        np.zeros(3, "int32"),
    ):
        with pytest.raises(TypeError, match="contiguous array of int64 or uint64"):
            narrowed(array)
    for other in ([1], 1, None):
        with pytest.raises(TypeError):
            narrowed(other)
