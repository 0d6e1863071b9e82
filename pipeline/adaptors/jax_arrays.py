"""Arrays as JAX takes them: of dtypes that it has, with no value changed in silence."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._batch import narrowed
from pipeline.adaptors.refusals import place, refused
from pipeline.adaptors.structure import Change, itself
from pipeline.errors import invalid
from pipeline.sources.extras import needs

jax: Any = needs("jax", "pipeline.jax", "jax")


def change_of(value: Any, name: str, library: str = "JAX") -> Change:
    """What is done to a component like this one before JAX gets it; see `mapping`.

    JAX makes 32 bits of 64 unless `jax_enable_x64` is set. Integers for which that is too few are an
    InvalidArgumentError, once they come. `library` is who takes them, for messages.

    Raises:
        TypeError: JAX has no such dtype; the message names the component.
    """
    dtype = np.asarray(value).dtype
    native = dtype.newbyteorder("=")
    if dtype.kind in "OSUT" or not _known(native):
        raise refused(value, name, library)
    wanted = np.dtype(jax.dtypes.canonicalize_dtype(native))
    if wanted == dtype:
        return itself
    if wanted.kind in "iu" and wanted.itemsize < dtype.itemsize:
        return functools.partial(_narrowed, wanted, name)
    return lambda array: array.astype(wanted)


def _known(dtype: np.dtype[Any]) -> bool:
    try:
        jax.device_put(np.empty(0, dtype))
    except TypeError:
        return False
    return True


def _narrowed(wanted: np.dtype[Any], name: str, array: NDArray[Any]) -> NDArray[Any]:
    try:
        narrow = narrowed(array)
    except TypeError:  # in another order of bytes, or of its dimensions
        narrow = narrowed(array.astype(f"{wanted.kind}8", order="C"))
    if narrow is None:
        wrong = array[array.astype(wanted) != array].flat[0]
        raise invalid(
            f"{place(name)} holds {wrong}, for which the {wanted} that JAX makes of "
            f"{array.dtype} is too small: set jax.config.update('jax_enable_x64', True), or leave the component out"
        )
    return narrow
