"""The queue runners that were registered, and starting all of them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from typing import Any

from pipeline.threads.coordinator import Coordinator
from pipeline.threads.runner import QueueRunner

_log = logging.getLogger(__name__)

_collection: list[QueueRunner] = []


def add_queue_runner(qr: QueueRunner, collection: list[QueueRunner] | None = None) -> None:
    """Put `qr` on the list that `start_queue_runners` starts: the list `collection`, or the process-wide one."""
    (_collection if collection is None else collection).append(qr)
    qr.group.listed = collection is None


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: Iterable[QueueRunner] | None = None,
) -> list[threading.Thread]:
    """Make, and start, the threads of all queue runners of a list.

    Args:
        sess: The session that runs the ops; None calls them directly.
        coord: The Coordinator of the threads.
        daemon: Let the interpreter end without waiting for the threads.
        start: Start the threads; False only makes them.
        collection: The runners to start; None means all that `add_queue_runner` and the producers put on the
            process-wide list.

    Returns:
        All new threads, in the order of the list; a runner that is running already adds none.
    """
    runners = list(_collection if collection is None else collection)
    if not runners:
        _log.warning(
            "start_queue_runners() was called when no queue runners were defined; call add_queue_runner() first."
        )
    return [thread for qr in runners for thread in qr.create_threads(sess, coord=coord, daemon=daemon, start=start)]


def reset() -> None:
    """Forget all queue runners of the process-wide list; threads that run already go on."""
    for qr in _collection:
        qr.group.listed = None
    _collection.clear()


def start_registered(coord: Coordinator) -> None:
    """Start the registered runners that never were, except those of producers, which start when asked for rows."""
    for qr in list(_collection):
        if not qr.begun and not getattr(qr.queue, "starts_itself", False):
            qr.create_threads(coord=coord, daemon=True, start=True)
