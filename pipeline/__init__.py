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
from pipeline.example_proto import BytesList, Example, Feature, Features, FloatList, Int64List
from pipeline.features import FixedLenFeature, FixedLenSequenceFeature, SparseTensorValue, VarLenFeature
from pipeline.filenames import match_filenames_once
from pipeline.fixed_length import FixedLengthRecordReader
from pipeline.freezing import freeze
from pipeline.image_files import encode_jpeg, encode_png
from pipeline.images import decode_bmp, decode_gif, decode_image, decode_jpeg, decode_png
from pipeline.joining import batch_join, maybe_batch_join, maybe_shuffle_batch_join, shuffle_batch_join
from pipeline.lmdb_reader import LMDBReader
from pipeline.mapping import map_ahead
from pipeline.parsing import parse_example, parse_single_example
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
from pipeline.raw import decode_raw
from pipeline.reader_base import ReaderBase
from pipeline.readers import IdentityReader, TextLineReader, WholeFileReader
from pipeline.runner import QueueRunner, add_queue_runner, reset, start_queue_runners
from pipeline.seeds import set_random_seed
from pipeline.slices import slice_input_producer
from pipeline.tfrecord import TFRecordCompressionType, TFRecordOptions, TFRecordWriter, tf_record_iterator
from pipeline.tfrecord_reader import TFRecordReader

__version__ = "0.1.0"

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "Batches",
    "BytesList",
    "CancelledError",
    "Coordinator",
    "DataLossError",
    "DeadlineExceededError",
    "Example",
    "FIFOQueue",
    "FailedPreconditionError",
    "Feature",
    "Features",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FixedLengthRecordReader",
    "FloatList",
    "IdentityReader",
    "Int64List",
    "InternalError",
    "InvalidArgumentError",
    "LMDBReader",
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
    "SparseTensorValue",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordReader",
    "TFRecordWriter",
    "TextLineReader",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "VarLenFeature",
    "WholeFileReader",
    "add_queue_runner",
    "batch",
    "batch_join",
    "bucket_by_sequence_length",
    "collate",
    "concatenate",
    "decode_bmp",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "encode_jpeg",
    "encode_png",
    "errors",
    "freeze",
    "input_producer",
    "limit_epochs",
    "map_ahead",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "pad",
    "parse_example",
    "parse_single_example",
    "range_input_producer",
    "reset",
    "set_random_seed",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "stack",
    "start_queue_runners",
    "string_input_producer",
    "tf_record_iterator",
]
