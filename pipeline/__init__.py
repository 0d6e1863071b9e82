"""queue-runner: the queue-based input pipeline of TensorFlow 1 on NumPy arrays, without TensorFlow.

Queues hold examples, threads fill them, a Coordinator stops the threads, batches come out:

    with pipeline.shuffle_batch(example, batch_size=128, capacity=50_000, min_after_dequeue=10_000) as batches:
        for features, labels in batches:
            train_step(features, labels)
"""

from pipeline import errors
from pipeline._batch import concatenate, pad, stack
from pipeline.batches import Batches
from pipeline.batching import batch, maybe_batch, maybe_shuffle_batch, shuffle_batch
from pipeline.buckets import bucket_by_sequence_length
from pipeline.collate import collate
from pipeline.coordinator import Coordinator, LooperThread
from pipeline.decode import decode_csv
from pipeline.epochs import limit_epochs
from pipeline.errors import (
    AbortedError,
    AlreadyExistsError,
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
)
from pipeline.filenames import match_filenames_once
from pipeline.joining import batch_join, maybe_batch_join, maybe_shuffle_batch_join, shuffle_batch_join
from pipeline.producers import input_producer, range_input_producer, string_input_producer
from pipeline.queues import (
    FIFOQueue,
    PaddingFIFOQueue,
    PaddingShuffleQueue,
    PriorityQueue,
    QueueBase,
    QueueStats,
    RandomShuffleQueue,
)
from pipeline.readers import ReaderBase, TextLineReader
from pipeline.runner import QueueRunner, add_queue_runner, reset, start_queue_runners
from pipeline.seeds import set_random_seed
from pipeline.slices import slice_input_producer

__version__ = "0.1.0"

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "Batches",
    "CancelledError",
    "Coordinator",
    "DataLossError",
    "DeadlineExceededError",
    "FIFOQueue",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "LooperThread",
    "NotFoundError",
    "OpError",
    "OutOfRangeError",
    "PaddingFIFOQueue",
    "PaddingShuffleQueue",
    "PermissionDeniedError",
    "PriorityQueue",
    "QueueBase",
    "QueueRunner",
    "QueueStats",
    "RandomShuffleQueue",
    "ReaderBase",
    "ResourceExhaustedError",
    "TextLineReader",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "add_queue_runner",
    "batch",
    "batch_join",
    "bucket_by_sequence_length",
    "collate",
    "concatenate",
    "decode_csv",
    "errors",
    "input_producer",
    "limit_epochs",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "pad",
    "range_input_producer",
    "reset",
    "set_random_seed",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "stack",
    "start_queue_runners",
    "string_input_producer",
]
