"""Arrays for JAX: in its dtypes, with no value changed silently."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._batch import narrowed
from pipeline.adaptors.refusals import array_of, place, refused
from pipeline.errors import invalid
from pipeline.sources.extras import needs

jax: Any = needs("jax", "pipeline.jax")


def array_for(value: Any, name: str, library: str = "JAX") -> Any:
    """Convert a component to an array in a JAX dtype.

    JAX truncates 64 bits to 32 unless `jax_enable_x64` is set. Integers beyond 32 bits raise an error.

    Args:
        value: A batch's component.
        name: Its name, for errors.
        library: The library's name in errors.

    Raises:
        TypeError: JAX has no such dtype.
        InvalidArgumentError: An integer does not fit into 32 bits.
    """
    array = value if isinstance(value, jax.Array) else array_of(value)
    dtype = array.dtype.newbyteorder("=")
    if dtype.kind in "OSUT" or not _known(dtype):
        raise refused(array, name, library)
    wanted = np.dtype(jax.dtypes.canonicalize_dtype(dtype))
    if wanted == array.dtype:
        return array
    if wanted.kind in "iu" and wanted.itemsize < dtype.itemsize:
        return _narrowed(wanted, name, array)
    return array.astype(wanted)


@functools.lru_cache
def _known(dtype: np.dtype[Any]) -> bool:
    try:
        jax.device_put(np.empty(0, dtype))
    except TypeError:
        return False
    return True


def _narrowed(wanted: np.dtype[Any], name: str, array: NDArray[Any]) -> NDArray[Any]:
    try:
        narrow = narrowed(array)
    except TypeError:  # in another byte order, or another order of dimensions
        narrow = narrowed(array.astype(f"{wanted.kind}8", order="C"))
    if narrow is None:
        wrong = array[array.astype(wanted) != array].flat[0]
        raise invalid(
            f"{place(name)} holds {wrong}, for which the {wanted} that JAX makes of "
            f"{array.dtype} is too small: set jax.config.update('jax_enable_x64', True), or leave the component out"
        )
    return narrow
