"""Hooks: called in the package's queues half when a dataset begins to read a user's object.

The loader does not depend on queues and their threads. Programs with queues set the hooks by importing them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

# Starts the registered queue runners if they are not running. Arguments: an object that may stop the iterator, or None;
# and a callback for a function that stops the runners. Returns a Coordinator. None in programs without queue runners.
start_runners: Callable[[Any, Callable[[Callable[[], object]], None]], Any] | None = None


class _LoopOfThread(threading.local):
    """The current thread's state.

    The attribute is set and reset explicitly, because Ctrl-C may interrupt calls: otherwise a thread might keep the
    Coordinator from an abandoned iterator, and give it to its next producer.

    Attributes:
        coord: The Coordinator for the thread's current iterator: it starts the producers being read.
    """

    coord: Any = None


loop_of_thread = _LoopOfThread()
