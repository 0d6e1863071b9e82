"""Which loop over batches the current thread works for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from pipeline.threads.coordinator import Coordinator

_thread = threading.local()


@contextlib.contextmanager
def batch_loop(coord: Coordinator) -> Iterator[None]:
    """Say that this thread now works for a batch loop: producers that it asks for rows may start, under `coord`."""
    outer = current_loop()
    _thread.coord = coord
    try:
        yield
    finally:
        _thread.coord = outer


def work_for(coord: Coordinator | None) -> None:
    """As `batch_loop`, for the rest of a thread's life: without the 1 us that a context manager takes per example."""
    _thread.coord = coord


def current_loop() -> Coordinator | None:
    """The Coordinator of the batch loop that this thread works for."""
    return getattr(_thread, "coord", None)
