"""Classes for annotations and `isinstance`: functions return most of them, so programs need not call them."""

from pipeline.datasets.iterator import DatasetIterator
from pipeline.datasets.replay import ReplayBuffer
from pipeline.decode.example.sparse_value import SparseTensorValue
from pipeline.files.tfrecord import TFRecordCompressionType, TFRecordOptions
from pipeline.queues.base import QueueBase
from pipeline.readers.base import ReaderBase
from pipeline.readers.whole import IdentityReader
from pipeline.reports.drawing import Drawing
from pipeline.runners.looper import LooperThread
from pipeline.stats import QueueStats

__all__ = [
    "DatasetIterator",
    "Drawing",
    "IdentityReader",
    "LooperThread",
    "QueueBase",
    "QueueStats",
    "ReaderBase",
    "ReplayBuffer",
    "SparseTensorValue",
    "TFRecordCompressionType",
    "TFRecordOptions",
]


def __dir__() -> list[str]:
    return __all__
