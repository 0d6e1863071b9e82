"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.queues.queues import (
    FIFOQueue as FIFOQueue, PaddingFIFOQueue as PaddingFIFOQueue, PriorityQueue as PriorityQueue,
    QueueBase as QueueBase, RandomShuffleQueue as RandomShuffleQueue,
)
