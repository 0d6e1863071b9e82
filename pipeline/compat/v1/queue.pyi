"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.queues.queues import FIFOQueue as FIFOQueue
from pipeline.compat.queues.queues import PaddingFIFOQueue as PaddingFIFOQueue
from pipeline.compat.queues.queues import PriorityQueue as PriorityQueue
from pipeline.compat.queues.queues import QueueBase as QueueBase
from pipeline.compat.queues.queues import RandomShuffleQueue as RandomShuffleQueue
