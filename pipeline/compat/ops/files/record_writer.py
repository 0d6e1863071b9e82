"""tf.python_io.TFRecordWriter: the native writer, which also takes str records here."""

from __future__ import annotations

from pipeline.files.tfrecord_writer import TFRecordWriter as NativeTFRecordWriter


class TFRecordWriter(NativeTFRecordWriter):
    """Writes a TFRecord file; see `pipeline.TFRecordWriter`. A str record is written as UTF-8."""

    def write(self, record: bytes | str) -> None:
        """Append a record."""
        super().write(record.encode() if isinstance(record, str) else record)
