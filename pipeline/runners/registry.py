"""The process-wide list of queue runners, and functions to start all runners in a list."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from pipeline import hooks
from pipeline.dtypes import items
from pipeline.logs import logger
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.runner import QueueRunner

_log = logger("pipeline.runners")

# References to the runners; None after collection. A producer owns its runner, and both are collected together.
_registered: list[Callable[[], QueueRunner | None]] = []


def _all_registered() -> list[QueueRunner]:
    return [qr for get in list(_registered) if (qr := get()) is not None]


def add_queue_runner(qr: QueueRunner, collection: list[QueueRunner] | None = None) -> None:
    """Add a QueueRunner to the list for `start_queue_runners`.

    Args:
        qr: The QueueRunner.
        collection: The list; None takes the process-wide one.

    Raises:
        TypeError: `qr` is not a QueueRunner, or `collection` is not a list.

    Examples:
        >>> queue = pipeline.FIFOQueue(10, "int64", shapes=[()])
        >>> pipeline.add_queue_runner(pipeline.QueueRunner(queue, [lambda: queue.enqueue(7)]))
        >>> with pipeline.Coordinator() as coord:
        ...     threads = pipeline.start_queue_runners(coord=coord)
        ...     int(queue.dequeue())
        7
    """
    if not isinstance(qr, QueueRunner):
        raise TypeError(f"add_queue_runner: qr must be a QueueRunner, not {qr!r:.80}")
    if collection is not None and not hasattr(collection, "append"):
        raise TypeError(f"add_queue_runner: collection must be a list or None, not {collection!r:.80}")
    if collection is not None:
        collection.append(qr)
    elif getattr(qr.queue, "runner", None) is qr:
        _registered.append(weakref.ref(qr, _registered.remove))
    else:
        _registered.append(lambda: qr)
    qr._group.listed = collection is None


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: Iterable[QueueRunner] | None = None,
) -> list[threading.Thread]:
    """Start the threads your queue runners need.

    Args:
        sess: The session for the ops; None calls them directly.
        coord: Your Coordinator, which stops the threads and receives their exceptions.
        daemon: True if your program may exit without waiting for the threads.
        start: Start the threads; False only creates them.
        collection: Your runners; None takes all runners registered by `add_queue_runner` and by producers.

    Returns:
        The new threads. A runner that is already running adds none.

    Raises:
        TypeError: An argument is something else.

    Examples:
        >>> files = pipeline.string_input_producer(["a.csv", "b.csv"], num_epochs=1, shuffle=False)
        >>> with pipeline.Coordinator() as coord:
        ...     threads = pipeline.start_queue_runners(coord=coord)
        ...     list(files)
        [b'a.csv', b'b.csv']
    """
    what = "start_queue_runners: collection"
    runners = _all_registered() if collection is None else items(collection, what, "QueueRunners")
    for each in runners:
        if not isinstance(each, QueueRunner):
            raise TypeError(f"{what} must be a list of QueueRunners, and has {each!r:.80}")
    if not runners:
        _log.warning(
            "start_queue_runners() was called when no queue runners were defined; call add_queue_runner() first."
        )
    return [thread for qr in runners for thread in qr.create_threads(sess, coord=coord, daemon=daemon, start=start)]


def reset() -> None:
    """Forget all registered queue runners. Running threads continue.

    Examples:
        >>> files = pipeline.string_input_producer(["a.csv"])
        >>> pipeline.reset()
        >>> pipeline.start_queue_runners()
        []
    """
    for qr in _all_registered():
        qr._group.listed = None
    _registered.clear()


def _start_for(stops_with: Any, on_stop: Callable[[Callable[[], object]], None]) -> Coordinator:
    """Start the unstarted registered runners for an iterator; see `hooks.start_runners`.

    Producers are not started here: they start when the iterator asks for rows.
    """
    coord: Coordinator | None = stops_with
    if coord is None:
        coord = Coordinator()
        on_stop(coord.request_stop)
    for qr in _all_registered():
        if not qr._begun and not getattr(qr.queue, "starts_itself", False):
            qr.create_threads(coord=coord, daemon=True, start=True)
    return coord


hooks.start_runners = _start_for
