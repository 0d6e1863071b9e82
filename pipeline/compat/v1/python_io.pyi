"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.files.record_writer import TFRecordWriter as TFRecordWriter
from pipeline.files.tfrecord import (
    TFRecordCompressionType as TFRecordCompressionType, TFRecordOptions as TFRecordOptions,
)
from pipeline.files.tfrecord_cutter import tf_record_iterator as tf_record_iterator
