"""queue-runner: the queue-based input pipeline of TensorFlow 1 on NumPy arrays, without TensorFlow.

Queues hold examples, threads fill them, a Coordinator stops the threads, batches come out:

    with pipeline.shuffle_batch(example, batch_size=128, capacity=50_000, min_after_dequeue=10_000) as batches:
        for features, labels in batches:
            train_step(features, labels)

A name is imported from its room when it is first asked for: a program that only reads queues loads no decoder.
"""

from importlib import import_module
from os import environ as _environ
from typing import TYPE_CHECKING, Any

# The smallest compiled module: the second interpreter of a process is refused here, not at the first name.
from pipeline import _random as _random

if TYPE_CHECKING:  # for type checkers and editors; at run time the table below says the same
    from pipeline import cluster, errors
    from pipeline._batch import concatenate, pad, stack
    from pipeline.about import show_config
    from pipeline.batches.buckets import bucket_by_sequence_length
    from pipeline.batches.collate import collate
    from pipeline.batches.determinism import set_deterministic
    from pipeline.batches.functions import (
        batch,
        batch_join,
        shuffle_batch,
        shuffle_batch_join,
    )
    from pipeline.batches.loop import Batches
    from pipeline.datasets.dataset import Dataset, interleave, mix, zip
    from pipeline.datasets.iterator import DatasetIterator
    from pipeline.datasets.replay import ReplayBuffer, replay
    from pipeline.decode.csv.decode_csv import decode_csv
    from pipeline.decode.example.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
    from pipeline.decode.example.parse import parse_example, parse_single_example
    from pipeline.decode.example.sparse_value import SparseTensorValue
    from pipeline.decode.image.decode import decode_bmp, decode_gif, decode_image, decode_jpeg, decode_png
    from pipeline.decode.image.encode import encode_jpeg, encode_png
    from pipeline.decode.raw import decode_raw
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
        StateMismatchError,
        UnauthenticatedError,
        UnavailableError,
        UnimplementedError,
        UnknownError,
    )
    from pipeline.files.filenames import match_filenames_once
    from pipeline.files.tfrecord import TFRecordCompressionType, TFRecordOptions
    from pipeline.files.tfrecord_cutter import tf_record_iterator
    from pipeline.files.tfrecord_writer import TFRecordWriter
    from pipeline.images.parts import central_crop, crop, flip_left_right, flip_up_down, random_crop
    from pipeline.images.resize import resize
    from pipeline.nest import ListValue
    from pipeline.producers.epochs import limit_epochs
    from pipeline.producers.producers import input_producer, range_input_producer, string_input_producer
    from pipeline.producers.slices import slice_input_producer
    from pipeline.proto.example import BytesList, Example, Feature, Features, FloatList, Int64List
    from pipeline.pulls import example_rng, together
    from pipeline.queues.base import QueueBase
    from pipeline.queues.freeze import freeze
    from pipeline.queues.kinds import (
        FIFOQueue,
        PaddingFIFOQueue,
        PaddingShuffleQueue,
        PriorityQueue,
        RandomShuffleQueue,
    )
    from pipeline.queues.seeds import set_random_seed
    from pipeline.readers.base import ReaderBase
    from pipeline.readers.fixed import FixedLengthRecordReader
    from pipeline.readers.lmdb import LMDBReader
    from pipeline.readers.text import TextLineReader
    from pipeline.readers.tfrecord import TFRecordReader
    from pipeline.readers.whole import IdentityReader, WholeFileReader
    from pipeline.resume.state_file import load_state, save_state
    from pipeline.runners.coordinator import Coordinator
    from pipeline.runners.looper import LooperThread
    from pipeline.runners.registry import add_queue_runner, reset, start_queue_runners
    from pipeline.runners.runner import QueueRunner
    from pipeline.sources.arrays import arrays
    from pipeline.sources.arrow import arrow
    from pipeline.sources.csv import csv
    from pipeline.sources.fixed_length import fixed_length
    from pipeline.sources.grain import grain
    from pipeline.sources.huggingface import huggingface
    from pipeline.sources.image_folder import image_folder
    from pipeline.sources.jsonl import jsonl
    from pipeline.sources.of_any import dataset
    from pipeline.sources.parquet import feather, parquet
    from pipeline.sources.text import text
    from pipeline.sources.tf_data import tf_data
    from pipeline.sources.tfrecord import tfrecord
    from pipeline.sources.webdataset import webdataset
    from pipeline.stats import QueueStats
    from pipeline.watch.drawing import Drawing, draw
    from pipeline.watch.monitor import monitor
    from pipeline.watch.prometheus import MetricsCollector
    from pipeline.watch.sampler import report
    from pipeline.watch.trace import trace
    from pipeline.workers.choice import processes, threads
    from pipeline.workers.map_ahead import map_ahead

__version__ = "0.2.0"

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "Batches",
    "BytesList",
    "CancelledError",
    "Coordinator",
    "DataLossError",
    "Dataset",
    "DatasetIterator",
    "DeadlineExceededError",
    "Drawing",
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
    "ListValue",
    "LooperThread",
    "MetricsCollector",
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
    "ReplayBuffer",
    "ResourceExhaustedError",
    "SparseTensorValue",
    "StateMismatchError",
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
    "arrays",
    "arrow",
    "batch",
    "batch_join",
    "bucket_by_sequence_length",
    "central_crop",
    "cluster",
    "collate",
    "concatenate",
    "crop",
    "csv",
    "dataset",
    "decode_bmp",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "draw",
    "encode_jpeg",
    "encode_png",
    "errors",
    "example_rng",
    "feather",
    "fixed_length",
    "flip_left_right",
    "flip_up_down",
    "freeze",
    "grain",
    "huggingface",
    "image_folder",
    "input_producer",
    "interleave",
    "jsonl",
    "limit_epochs",
    "load_state",
    "map_ahead",
    "match_filenames_once",
    "mix",
    "monitor",
    "pad",
    "parquet",
    "parse_example",
    "parse_single_example",
    "processes",
    "random_crop",
    "range_input_producer",
    "replay",
    "report",
    "reset",
    "resize",
    "save_state",
    "set_deterministic",
    "set_random_seed",
    "show_config",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "stack",
    "start_queue_runners",
    "string_input_producer",
    "text",
    "tf_data",
    "tf_record_iterator",
    "tfrecord",
    "threads",
    "together",
    "trace",
    "webdataset",
    "zip",
]

_ROOMS = {
    "._batch": "concatenate pad stack",
    ".about": "show_config",
    ".batches.buckets": "bucket_by_sequence_length",
    ".batches.collate": "collate",
    ".batches.determinism": "set_deterministic",
    ".batches.functions": "batch batch_join shuffle_batch shuffle_batch_join",
    ".batches.loop": "Batches",
    ".sources.of_any": "dataset",
    ".datasets.dataset": "Dataset interleave mix zip",
    ".datasets.iterator": "DatasetIterator",
    ".datasets.replay": "ReplayBuffer replay",
    ".decode.csv.decode_csv": "decode_csv",
    ".decode.example.features": "FixedLenFeature FixedLenSequenceFeature VarLenFeature",
    ".decode.example.sparse_value": "SparseTensorValue",
    ".decode.example.parse": "parse_example parse_single_example",
    ".decode.image.decode": "decode_bmp decode_gif decode_image decode_jpeg decode_png",
    ".decode.image.encode": "encode_jpeg encode_png",
    ".decode.raw": "decode_raw",
    ".errors": "AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError "
    "FailedPreconditionError InternalError InvalidArgumentError NotFoundError OpError OutOfRangeError "
    "PermissionDeniedError ResourceExhaustedError StateMismatchError UnauthenticatedError UnavailableError "
    "UnimplementedError UnknownError",
    ".files.filenames": "match_filenames_once",
    ".files.tfrecord": "TFRecordCompressionType TFRecordOptions",
    ".files.tfrecord_cutter": "tf_record_iterator",
    ".files.tfrecord_writer": "TFRecordWriter",
    ".images.parts": "central_crop crop flip_left_right flip_up_down random_crop",
    ".images.resize": "resize",
    ".nest": "ListValue",
    ".producers.epochs": "limit_epochs",
    ".producers.producers": "input_producer range_input_producer string_input_producer",
    ".producers.slices": "slice_input_producer",
    ".proto.example": "BytesList Example Feature Features FloatList Int64List",
    ".pulls": "example_rng together",
    ".queues.base": "QueueBase",
    ".queues.freeze": "freeze",
    ".queues.kinds": "FIFOQueue PaddingFIFOQueue PaddingShuffleQueue PriorityQueue RandomShuffleQueue",
    ".queues.seeds": "set_random_seed",
    ".readers.base": "ReaderBase",
    ".readers.fixed": "FixedLengthRecordReader",
    ".readers.lmdb": "LMDBReader",
    ".readers.text": "TextLineReader",
    ".readers.tfrecord": "TFRecordReader",
    ".readers.whole": "IdentityReader WholeFileReader",
    ".resume.state_file": "load_state save_state",
    ".runners.coordinator": "Coordinator",
    ".runners.looper": "LooperThread",
    ".runners.registry": "add_queue_runner reset start_queue_runners",
    ".runners.runner": "QueueRunner",
    ".sources.arrays": "arrays",
    ".sources.arrow": "arrow",
    ".sources.csv": "csv",
    ".sources.fixed_length": "fixed_length",
    ".sources.grain": "grain",
    ".sources.huggingface": "huggingface",
    ".sources.image_folder": "image_folder",
    ".sources.jsonl": "jsonl",
    ".sources.parquet": "feather parquet",
    ".sources.text": "text",
    ".sources.tf_data": "tf_data",
    ".sources.tfrecord": "tfrecord",
    ".sources.webdataset": "webdataset",
    ".stats": "QueueStats",
    ".watch.drawing": "Drawing draw",
    ".watch.monitor": "monitor",
    ".watch.prometheus": "MetricsCollector",
    ".watch.sampler": "report",
    ".watch.trace": "trace",
    ".workers.choice": "processes threads",
    ".workers.map_ahead": "map_ahead",
}
_MODULES = (
    "cluster",
    "compat",
    "errors",
    "jax",
    "keras",
    "torch",
)  # not in lists: some are an ImportError without a library
_HOMES = {name: room for room, names in _ROOMS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _MODULES or name == "spans":  # `from pipeline import spans` asks here, and would pay for similar names
        return import_module(f"pipeline.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'pipeline' has no attribute {name!r}{_similar(name)}")
    value = globals()[name] = getattr(import_module(_HOMES[name], "pipeline"), name)
    return value


def _similar(name: str) -> str:
    if name.startswith("_"):
        return ""
    import difflib  # 2 ms, which a program without the mistake need not wait for

    near = difflib.get_close_matches(name, __all__, 3, 0.75)
    return f". Similar names: {', '.join(near)}" if near else ""


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if _environ.get("PIPELINE_MONITOR"):
    import_module("pipeline.watch.environment").arm()
