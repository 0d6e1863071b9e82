"""Hooks: what the queues half of the package does when a dataset begins to read something of the user's.

The loader knows nothing of queues and their threads; a program that uses them sets the hooks by importing them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

# Starts the queue runners that are registered and were not started. It takes what may stop the iterator, or None, and
# what to call with a function that stops them; it returns a Coordinator. None in a program without queue runners.
start_runners: Callable[[Any, Callable[[Callable[[], object]], None]], Any] | None = None


class _LoopOfThread(threading.local):
    """The state of the current thread.

    The attribute is set and reset by hand, because Ctrl-C may strike in calls: a thread that kept the Coordinator of an
    iterator it had left would give it to its next producer.

    Attributes:
        coord: The Coordinator of the iterator that the thread takes from: it starts the producers that are read.
    """

    coord: Any = None


loop_of_thread = _LoopOfThread()
