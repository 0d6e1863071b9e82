"""One thread for torch and BLAS in each worker process, because there is a worker per processor already."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

# Environment variables read by libraries on import.
_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

# Modules linked to a BLAS, and the function that sets its thread count.
_LINKED = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath", "scipy.linalg._fblas")
_SETTERS = tuple(f"{prefix}openblas_set_num_threads{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "")) + (
    "MKL_Set_Num_Threads",
)


def one_thread_each() -> None:
    """Limit libraries to one thread unless the environment has a number: loaded ones, and later imports."""
    given = any(name in os.environ for name in _VARIABLES)
    for name in _VARIABLES:
        os.environ.setdefault(name, "1")
    if given:
        return
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    for name in _LINKED:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            _limit(file)


def _limit(file: str) -> None:
    """Limit a compiled module's BLAS, if it is a known one."""
    with contextlib.suppress(OSError, TypeError):
        library = ctypes.CDLL(file)
        for name in _SETTERS:
            with contextlib.suppress(AttributeError):
                library[name](1)
