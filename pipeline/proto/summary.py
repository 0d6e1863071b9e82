"""Summary, Event and their parts: the messages in TensorBoard's event files."""

from __future__ import annotations

from pipeline.proto.fields import MessageField, MessageListField, Scalar, Scalars
from pipeline.proto.message import Message
from pipeline.proto.scalar_types import BYTES, DOUBLE, FLOAT, INT32, INT64, STRING, Enumeration
from pipeline.proto.tensor import TensorProto


class HistogramProto(Message):
    """Counts of values by range: `bucket[i]` values lie below `bucket_limit[i]`."""

    min = Scalar(1, DOUBLE)
    max = Scalar(2, DOUBLE)
    num = Scalar(3, DOUBLE)
    sum = Scalar(4, DOUBLE)
    sum_squares = Scalar(5, DOUBLE)
    bucket_limit = Scalars(6, DOUBLE)
    bucket = Scalars(7, DOUBLE)


class _PluginData(Message):
    plugin_name = Scalar(1, STRING)
    content = Scalar(2, BYTES)


_DATA_CLASSES = ("DATA_CLASS_UNKNOWN", "DATA_CLASS_SCALAR", "DATA_CLASS_TENSOR", "DATA_CLASS_BLOB_SEQUENCE")


class SummaryMetadata(Message):
    """How TensorBoard shows a value."""

    plugin_data = MessageField(1, _PluginData)
    display_name = Scalar(2, STRING)
    summary_description = Scalar(3, STRING)
    data_class = Scalar(4, Enumeration(dict(enumerate(_DATA_CLASSES)).get))
    PluginData = _PluginData


class _Image(Message):
    height = Scalar(1, INT32)
    width = Scalar(2, INT32)
    colorspace = Scalar(3, INT32)
    encoded_image_string = Scalar(4, BYTES)


class _Audio(Message):
    sample_rate = Scalar(1, FLOAT)
    num_channels = Scalar(2, INT64)
    length_frames = Scalar(3, INT64)
    encoded_audio_string = Scalar(4, BYTES)
    content_type = Scalar(5, STRING)


class _Value(Message):
    tag = Scalar(1, STRING)
    simple_value = Scalar(2, FLOAT, oneof="value")
    obsolete_old_style_histogram = Scalar(3, BYTES, oneof="value")
    image = MessageField(4, _Image, oneof="value")
    histo = MessageField(5, HistogramProto, oneof="value")
    audio = MessageField(6, _Audio, oneof="value")
    node_name = Scalar(7, STRING)
    tensor = MessageField(8, TensorProto, oneof="value")
    metadata = MessageField(9, SummaryMetadata)


class Summary(Message):
    """Values by tag, at one step."""

    value = MessageListField(1, _Value)
    Value, Image, Audio = _Value, _Image, _Audio


class SummaryDescription(Message):
    """A hint at what kind a summary is."""

    type_hint = Scalar(1, STRING)


class SessionLog(Message):
    """A record of a session's start, stop or checkpoint."""

    status = Scalar(1, Enumeration(dict(enumerate(("STATUS_UNSPECIFIED", "START", "STOP", "CHECKPOINT"))).get))
    checkpoint_path = Scalar(2, STRING)
    msg = Scalar(3, STRING)
    STATUS_UNSPECIFIED, START, STOP, CHECKPOINT = range(4)


class TaggedRunMetadata(Message):
    """Bytes about one run of a session."""

    tag = Scalar(1, STRING)
    run_metadata = Scalar(2, BYTES)


class _SourceMetadata(Message):
    writer = Scalar(1, STRING)


class Event(Message):
    """One record of an event file."""

    wall_time = Scalar(1, DOUBLE)
    step = Scalar(2, INT64)
    file_version = Scalar(3, STRING, oneof="what")
    graph_def = Scalar(4, BYTES, oneof="what")
    summary = MessageField(5, Summary, oneof="what")
    session_log = MessageField(7, SessionLog, oneof="what")
    tagged_run_metadata = MessageField(8, TaggedRunMetadata, oneof="what")
    meta_graph_def = Scalar(9, BYTES, oneof="what")
    source_metadata = MessageField(10, _SourceMetadata)
