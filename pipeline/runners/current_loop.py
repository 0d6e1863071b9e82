"""The loop over batches that the current thread belongs to: it starts the producers that the thread takes from."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the module takes 3 ms, which a loop without threads need not wait for
    from pipeline.runners.coordinator import Coordinator


class _LoopOfThread(threading.local):
    """Its attribute is set and set back by hand: Ctrl-C may strike in calls, and a thread that went on with the loop
    that it left would give its next producer to a Coordinator that has stopped.
    """

    coord: Coordinator | None = None


loop_of_thread = _LoopOfThread()
