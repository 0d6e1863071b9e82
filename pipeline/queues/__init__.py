"""Queues between threads, and the threads that fill them: runners, readers and producers, as in TensorFlow 1.

    queue = pipeline.queues.FIFOQueue(100, ["float32"], [(28, 28)])
    runner = pipeline.queues.QueueRunner(queue, [lambda: queue.enqueue(read())] * 4)

Each name is in `pipeline` too. See docs/queues.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # names are imported on first use, as in `pipeline`
    from pipeline import (
        Coordinator,
        FIFOQueue,
        FixedLengthRecordReader,
        IdentityReader,
        LMDBReader,
        LooperThread,
        PaddingFIFOQueue,
        PaddingShuffleQueue,
        PriorityQueue,
        QueueBase,
        QueueRunner,
        QueueStats,
        RandomShuffleQueue,
        ReaderBase,
        TextLineReader,
        TFRecordReader,
        WholeFileReader,
        add_queue_runner,
        freeze,
        input_producer,
        limit_epochs,
        match_filenames_once,
        range_input_producer,
        reset,
        slice_input_producer,
        start_queue_runners,
        string_input_producer,
    )

__all__ = [
    "Coordinator",
    "FIFOQueue",
    "FixedLengthRecordReader",
    "IdentityReader",
    "LMDBReader",
    "LooperThread",
    "PaddingFIFOQueue",
    "PaddingShuffleQueue",
    "PriorityQueue",
    "QueueBase",
    "QueueRunner",
    "QueueStats",
    "RandomShuffleQueue",
    "ReaderBase",
    "TFRecordReader",
    "TextLineReader",
    "WholeFileReader",
    "add_queue_runner",
    "freeze",
    "input_producer",
    "limit_epochs",
    "match_filenames_once",
    "range_input_producer",
    "reset",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'pipeline.queues' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module("pipeline"), name)
    return value


def __dir__() -> list[str]:
    return __all__
