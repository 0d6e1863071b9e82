"""tf.test as programs ask it about the machine: there is no GPU."""

from __future__ import annotations

from typing import Any


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Return whether there is a GPU: no."""
    return False


def gpu_device_name() -> str:
    """Return the name of a GPU: there is none, so it is empty."""
    return ""


def is_built_with_cuda() -> bool:
    """Return whether this was built for GPUs: no."""
    return False


is_built_with_gpu_support = is_built_with_rocm = is_built_with_xla = is_built_with_cuda


def get_temp_dir() -> str:
    """Return a directory for the files of this process."""
    import tempfile

    global _made
    if _made is None:
        _made = tempfile.mkdtemp()
    return _made


_made: str | None = None
