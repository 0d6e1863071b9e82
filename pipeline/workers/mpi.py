"""Workers of a program that mpiexec started: they are not ranks of its MPI job.

They inherit the launcher's variables. With these, `from mpi4py import MPI` in a worker initialises MPI as the rank that
started it: MPICH and Open MPI 4 end the worker then, and mpiexec waits forever.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

# The launcher tells each process its rank in one of these.
_RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")

_INITIALIZE = "MPI4PY_RC_INITIALIZE"  # of mpi4py, from 4.0 on

HINT = (
    ". The program runs under mpiexec, and workers are not part of its MPI job: calls of MPI belong under that line "
    "too, or use pipeline.threads"
)


def launched() -> bool:
    """Return whether mpiexec or the like started this program."""
    return any(name in os.environ for name in _RANKS)


@contextlib.contextmanager
def without_mpi() -> Iterator[None]:
    """Let processes that start meanwhile import mpi4py without initialising MPI. For one thread at a time."""
    if not launched() or _INITIALIZE in os.environ:
        yield
        return
    os.environ[_INITIALIZE] = "0"
    try:
        yield
    finally:
        os.environ.pop(_INITIALIZE, None)
