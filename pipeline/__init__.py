"""queue-runner: a fast, resumable data loader, and TensorFlow 1's queue input pipeline without TensorFlow.

    data = pipeline.arrays((images, labels)).shuffle(seed=1)
    for images, labels in data.map(augment, workers=4).batch(128).prefetch(2):
        train_step(images, labels)

- Datasets: `dataset`, sources such as `csv` and `parquet`, `mix`, `zip`, `interleave`; `help(pipeline.Dataset)`
- Queues and threads: `FIFOQueue`, `RandomShuffleQueue`, `Coordinator`, `QueueRunner`
- Input functions of TensorFlow 1: `batch`, `shuffle_batch`, `string_input_producer`, `TextLineReader`, `decode_csv`
- Modules: `queues`, `errors`, `image`, `proto`, `testing`, `types`, `cluster`, `torch`, `jax`, `keras`, `compat.v1`

Each name is imported at its first use, so a program that only reads queues loads no decoder.
"""

from importlib import import_module
from os import environ as _environ
from typing import TYPE_CHECKING, Any

# The smallest compiled module. A second interpreter in the process is rejected here, not at the first name.
try:
    from pipeline import _random as _random
except ImportError as error:
    if "interpreter" not in str(error):
        raise
    raise ImportError(
        "`pipeline` works in only one interpreter per process, and this is another one. "
        "For functions that need their own GIL, use workers=pipeline.processes()"
    ) from error

if TYPE_CHECKING:  # for type checkers and editors; at run time the table below does the same
    from pipeline import cluster, errors, image, proto, queues, types
    from pipeline._batch import concatenate, pad, stack
    from pipeline.batches.buckets import bucket_by_sequence_length
    from pipeline.batches.collate import collate
    from pipeline.batches.determinism import set_deterministic
    from pipeline.batches.functions import (
        batch,
        batch_join,
        shuffle_batch,
        shuffle_batch_join,
    )
    from pipeline.batches.of_any import dataset
    from pipeline.datasets.dataset import Dataset, interleave, mix, zip
    from pipeline.datasets.iterator import DatasetIterator as DatasetIterator
    from pipeline.datasets.replay import ReplayBuffer as ReplayBuffer
    from pipeline.datasets.replay import replay
    from pipeline.decode.csv.decode_csv import decode_csv
    from pipeline.decode.example.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
    from pipeline.decode.example.parse import parse_example, parse_single_example
    from pipeline.decode.example.sparse_value import SparseTensorValue as SparseTensorValue
    from pipeline.decode.image.decode import decode_bmp as decode_bmp
    from pipeline.decode.image.decode import decode_gif as decode_gif
    from pipeline.decode.image.decode import decode_image as decode_image
    from pipeline.decode.image.decode import decode_jpeg as decode_jpeg
    from pipeline.decode.image.decode import decode_png as decode_png
    from pipeline.decode.image.encode import encode_jpeg as encode_jpeg
    from pipeline.decode.image.encode import encode_png as encode_png
    from pipeline.decode.raw import decode_raw
    from pipeline.errors import (
        AbortedError as AbortedError,
    )
    from pipeline.errors import (
        AlreadyExistsError as AlreadyExistsError,
    )
    from pipeline.errors import (
        CancelledError as CancelledError,
    )
    from pipeline.errors import (
        DataLossError as DataLossError,
    )
    from pipeline.errors import (
        DeadlineExceededError as DeadlineExceededError,
    )
    from pipeline.errors import (
        FailedPreconditionError as FailedPreconditionError,
    )
    from pipeline.errors import (
        InternalError as InternalError,
    )
    from pipeline.errors import (
        InvalidArgumentError as InvalidArgumentError,
    )
    from pipeline.errors import (
        NotFoundError as NotFoundError,
    )
    from pipeline.errors import (
        OpError as OpError,
    )
    from pipeline.errors import (
        OutOfRangeError as OutOfRangeError,
    )
    from pipeline.errors import (
        PermissionDeniedError as PermissionDeniedError,
    )
    from pipeline.errors import (
        ResourceExhaustedError as ResourceExhaustedError,
    )
    from pipeline.errors import (
        StateMismatchError as StateMismatchError,
    )
    from pipeline.errors import (
        UnauthenticatedError as UnauthenticatedError,
    )
    from pipeline.errors import (
        UnavailableError as UnavailableError,
    )
    from pipeline.errors import (
        UnimplementedError as UnimplementedError,
    )
    from pipeline.errors import (
        UnknownError as UnknownError,
    )
    from pipeline.files.filenames import match_filenames_once
    from pipeline.files.tfrecord import TFRecordCompressionType as TFRecordCompressionType
    from pipeline.files.tfrecord import TFRecordOptions as TFRecordOptions
    from pipeline.files.tfrecord_cutter import tf_record_iterator as tf_record_iterator
    from pipeline.files.tfrecord_writer import TFRecordWriter
    from pipeline.images.parts import central_crop as central_crop
    from pipeline.images.parts import crop as crop
    from pipeline.images.parts import flip_left_right as flip_left_right
    from pipeline.images.parts import flip_up_down as flip_up_down
    from pipeline.images.parts import random_crop as random_crop
    from pipeline.images.resize import resize as resize
    from pipeline.nest import ListValue
    from pipeline.orders.seeds import set_random_seed
    from pipeline.producers.limit import limit_epochs
    from pipeline.producers.producers import input_producer, range_input_producer, string_input_producer
    from pipeline.producers.slices import slice_input_producer
    from pipeline.proto.example import BytesList as BytesList
    from pipeline.proto.example import Example as Example
    from pipeline.proto.example import Feature as Feature
    from pipeline.proto.example import Features as Features
    from pipeline.proto.example import FloatList as FloatList
    from pipeline.proto.example import Int64List as Int64List
    from pipeline.queues.base import QueueBase as QueueBase
    from pipeline.queues.frozen import freeze
    from pipeline.queues.kinds import (
        FIFOQueue,
        PaddingFIFOQueue,
        PaddingShuffleQueue,
        PriorityQueue,
        RandomShuffleQueue,
    )
    from pipeline.readers.base import ReaderBase as ReaderBase
    from pipeline.readers.fixed import FixedLengthRecordReader
    from pipeline.readers.lmdb import LMDBReader
    from pipeline.readers.text import TextLineReader
    from pipeline.readers.tfrecord import TFRecordReader
    from pipeline.readers.whole import IdentityReader as IdentityReader
    from pipeline.readers.whole import WholeFileReader
    from pipeline.reports.about import show_config
    from pipeline.reports.drawing import Drawing as Drawing
    from pipeline.reports.drawing import draw
    from pipeline.reports.monitor import monitor
    from pipeline.reports.prometheus import MetricsCollector
    from pipeline.reports.sampler import report
    from pipeline.reports.trace import trace
    from pipeline.resume.state_file import load_state, save_state
    from pipeline.runners.coordinator import Coordinator
    from pipeline.runners.looper import LooperThread as LooperThread
    from pipeline.runners.registry import add_queue_runner, reset, start_queue_runners
    from pipeline.runners.runner import QueueRunner
    from pipeline.sources.array_record import array_record
    from pipeline.sources.arrays import arrays
    from pipeline.sources.arrow import arrow
    from pipeline.sources.audio import audio
    from pipeline.sources.csv import csv
    from pipeline.sources.fixed_length import fixed_length
    from pipeline.sources.grain import grain
    from pipeline.sources.huggingface import huggingface
    from pipeline.sources.image_folder import image_folder
    from pipeline.sources.jsonl import jsonl
    from pipeline.sources.lance import lance
    from pipeline.sources.lmdb import lmdb
    from pipeline.sources.mds import mds
    from pipeline.sources.npz import npz
    from pipeline.sources.parquet import feather, parquet
    from pipeline.sources.text import text
    from pipeline.sources.tf_data import tf_data
    from pipeline.sources.tfrecord import tfrecord
    from pipeline.sources.token_writer import write_tokens
    from pipeline.sources.tokens import tokens
    from pipeline.sources.video import video
    from pipeline.sources.vortex import vortex
    from pipeline.sources.webdataset import webdataset
    from pipeline.stages.draws import example_rng
    from pipeline.stats import QueueStats as QueueStats
    from pipeline.workers.choice import processes, threads

__version__ = "0.4.0"

__all__ = [
    "Coordinator",
    "Dataset",
    "FIFOQueue",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FixedLengthRecordReader",
    "LMDBReader",
    "ListValue",
    "MetricsCollector",
    "PaddingFIFOQueue",
    "PaddingShuffleQueue",
    "PriorityQueue",
    "QueueRunner",
    "RandomShuffleQueue",
    "TFRecordReader",
    "TFRecordWriter",
    "TextLineReader",
    "VarLenFeature",
    "WholeFileReader",
    "add_queue_runner",
    "array_record",
    "arrays",
    "arrow",
    "audio",
    "batch",
    "batch_join",
    "bucket_by_sequence_length",
    "cluster",
    "collate",
    "concatenate",
    "csv",
    "dataset",
    "decode_csv",
    "decode_raw",
    "draw",
    "errors",
    "example_rng",
    "feather",
    "fixed_length",
    "freeze",
    "grain",
    "huggingface",
    "image",
    "image_folder",
    "input_producer",
    "interleave",
    "jsonl",
    "lance",
    "limit_epochs",
    "lmdb",
    "load_state",
    "match_filenames_once",
    "mds",
    "mix",
    "monitor",
    "npz",
    "pad",
    "parquet",
    "parse_example",
    "parse_single_example",
    "processes",
    "proto",
    "queues",
    "range_input_producer",
    "replay",
    "report",
    "reset",
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
    "tfrecord",
    "threads",
    "tokens",
    "trace",
    "types",
    "video",
    "vortex",
    "webdataset",
    "write_tokens",
    "zip",
]

_ROOMS = {
    "._batch": "concatenate pad stack",
    ".batches.buckets": "bucket_by_sequence_length",
    ".batches.collate": "collate",
    ".batches.determinism": "set_deterministic",
    ".batches.functions": "batch batch_join shuffle_batch shuffle_batch_join",
    ".batches.of_any": "dataset",
    ".datasets.dataset": "Dataset interleave mix zip",
    ".datasets.replay": "replay",
    ".decode.csv.decode_csv": "decode_csv",
    ".decode.example.features": "FixedLenFeature FixedLenSequenceFeature VarLenFeature",
    ".decode.example.parse": "parse_example parse_single_example",
    ".decode.raw": "decode_raw",
    ".files.filenames": "match_filenames_once",
    ".files.tfrecord_writer": "TFRecordWriter",
    ".nest": "ListValue",
    ".producers.limit": "limit_epochs",
    ".producers.producers": "input_producer range_input_producer string_input_producer",
    ".producers.slices": "slice_input_producer",
    ".stages.draws": "example_rng",
    ".queues.frozen": "freeze",
    ".queues.kinds": "FIFOQueue PaddingFIFOQueue PaddingShuffleQueue PriorityQueue RandomShuffleQueue",
    ".orders.seeds": "set_random_seed",
    ".readers.fixed": "FixedLengthRecordReader",
    ".readers.lmdb": "LMDBReader",
    ".readers.text": "TextLineReader",
    ".readers.tfrecord": "TFRecordReader",
    ".readers.whole": "WholeFileReader",
    ".reports.about": "show_config",
    ".reports.drawing": "draw",
    ".reports.monitor": "monitor",
    ".reports.prometheus": "MetricsCollector",
    ".reports.sampler": "report",
    ".reports.trace": "trace",
    ".resume.state_file": "load_state save_state",
    ".runners.coordinator": "Coordinator",
    ".runners.registry": "add_queue_runner reset start_queue_runners",
    ".runners.runner": "QueueRunner",
    ".sources.array_record": "array_record",
    ".sources.arrays": "arrays",
    ".sources.arrow": "arrow",
    ".sources.audio": "audio",
    ".sources.csv": "csv",
    ".sources.fixed_length": "fixed_length",
    ".sources.grain": "grain",
    ".sources.huggingface": "huggingface",
    ".sources.image_folder": "image_folder",
    ".sources.jsonl": "jsonl",
    ".sources.lance": "lance",
    ".sources.lmdb": "lmdb",
    ".sources.mds": "mds",
    ".sources.npz": "npz",
    ".sources.parquet": "feather parquet",
    ".sources.text": "text",
    ".sources.tf_data": "tf_data",
    ".sources.tfrecord": "tfrecord",
    ".sources.token_writer": "write_tokens",
    ".sources.tokens": "tokens",
    ".sources.video": "video",
    ".sources.vortex": "vortex",
    ".sources.webdataset": "webdataset",
    ".workers.choice": "processes threads",
}
# Names that moved to a submodule. They still work here, but no list has them.
_MOVED = {
    "errors": "AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError "
    "FailedPreconditionError InternalError InvalidArgumentError NotFoundError OpError OutOfRangeError "
    "PermissionDeniedError ResourceExhaustedError StateMismatchError UnauthenticatedError UnavailableError "
    "UnimplementedError UnknownError",
    "image": "central_crop crop decode_bmp decode_gif decode_image decode_jpeg decode_png encode_jpeg encode_png "
    "flip_left_right flip_up_down random_crop resize",
    "proto": "BytesList Example Feature Features FloatList Int64List",
    "types": "DatasetIterator Drawing IdentityReader LooperThread QueueBase QueueStats ReaderBase ReplayBuffer "
    "SparseTensorValue TFRecordCompressionType TFRecordOptions",
    "files.tfrecord_cutter": "tf_record_iterator",  # now called `tfrecord`
}
_MODULES = (
    "cluster",
    "compat",
    "errors",
    "image",
    "jax",
    "keras",
    "proto",
    "queues",
    "testing",
    "torch",
    "types",
)  # unlisted: some raise ImportError without a library
_HOMES = {name: room for room, names in _ROOMS.items() for name in names.split()}
_OLD = {name: f".{module}" for module, names in _MOVED.items() for name in names.split()}


# Replacements for names from version 0.2, and for names people expect.
_INSTEAD = {
    **dict.fromkeys(
        ("maybe_batch", "maybe_batch_join", "maybe_shuffle_batch", "maybe_shuffle_batch_join"),
        "dataset(...).filter(function).batch(n)",
    ),
    "map_ahead": "dataset(items).map(function, workers=...)",
    "together": "dataset(source).map(function, workers=...), with the reads in the source",
    "DataLoader": "torch.DataLoader or pipeline.jax.DataLoader",
    "Batches": "types.DatasetIterator",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES or name in ("dtypes", "hooks"):  # `from pipeline import hooks` looks here: no similar names
        return import_module(f"pipeline.{name}")
    home = _HOMES.get(name) or _OLD.get(name)
    if home is None:
        raise AttributeError(f"module 'pipeline' has no attribute {name!r}{_similar(name)}")
    value = globals()[name] = getattr(import_module(home, "pipeline"), name)
    return value


def _similar(name: str) -> str:
    if name in _INSTEAD:
        return f". Write pipeline.{_INSTEAD[name]}"
    if name.startswith("_"):
        return ""
    if hint := import_module("pipeline.keywords").in_other_words(name):
        return str(hint)
    import difflib  # 2 ms, needed only for this mistake

    near = difflib.get_close_matches(name, __all__, 3, 0.75)
    return f". Similar names: {', '.join(near)}" if near else ""


# Names that `dir` leaves to `pipeline.queues`, so TensorFlow 1's names do not hide datasets and sources.
_OF_QUEUES = (
    *(".queues.frozen", ".queues.kinds", ".runners.coordinator", ".runners.registry", ".runners.runner"),
    *(".readers.fixed", ".readers.lmdb", ".readers.text", ".readers.tfrecord", ".readers.whole"),
    *(".files.filenames", ".producers.limit", ".producers.producers", ".producers.slices"),
)


def __dir__() -> list[str]:
    return [*(name for name in __all__ if _HOMES.get(name) not in _OF_QUEUES), "__version__"]


if _environ.get("PIPELINE_MONITOR"):
    import_module("pipeline.reports.monitor").arm()
