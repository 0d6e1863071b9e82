"""TFRecord files and the parts of Examples, under their names here."""

from __future__ import annotations

from pipeline.decode.example.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from pipeline.files.tfrecord import TFRecordCompressionType, TFRecordOptions
from pipeline.files.tfrecord_cutter import tf_record_iterator
from pipeline.files.tfrecord_writer import TFRecordWriter as NativeTFRecordWriter
from pipeline.proto.example import BytesList, Example, Feature, Features, FloatList, Int64List
from pipeline.proto.sequence import FeatureList, FeatureLists, SequenceExample


class TFRecordWriter(NativeTFRecordWriter):
    """Writes a TFRecord file; see `pipeline.TFRecordWriter`. Takes str as well, which goes out as UTF-8."""

    def write(self, record: bytes | str) -> None:
        """Append a record."""
        super().write(record.encode() if isinstance(record, str) else record)


__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FloatList",
    "Int64List",
    "SequenceExample",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "tf_record_iterator",
]
