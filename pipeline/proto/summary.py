"""Summary, Event and their parts: the messages in TensorBoard's event files."""

from __future__ import annotations

from pipeline.proto.schema import Message, Schema
from pipeline.proto.tensor import TENSORS

_SCHEMA = Schema(
    "summary",
    """
    message HistogramProto {
        double min = 1;
        double max = 2;
        double num = 3;
        double sum = 4;
        double sum_squares = 5;
        repeated double bucket_limit = 6;
        repeated double bucket = 7;
    }
    enum DataClass {
        DATA_CLASS_UNKNOWN = 0;
        DATA_CLASS_SCALAR = 1;
        DATA_CLASS_TENSOR = 2;
        DATA_CLASS_BLOB_SEQUENCE = 3;
    }
    message SummaryMetadata {
        message PluginData {
            string plugin_name = 1;
            bytes content = 2;
        }
        PluginData plugin_data = 1;
        string display_name = 2;
        string summary_description = 3;
        DataClass data_class = 4;
    }
    message Summary {
        message Image {
            int32 height = 1;
            int32 width = 2;
            int32 colorspace = 3;
            bytes encoded_image_string = 4;
        }
        message Audio {
            float sample_rate = 1;
            int64 num_channels = 2;
            int64 length_frames = 3;
            bytes encoded_audio_string = 4;
            string content_type = 5;
        }
        message Value {
            string tag = 1;
            oneof value {
                float simple_value = 2;
                bytes obsolete_old_style_histogram = 3;
                Image image = 4;
                HistogramProto histo = 5;
                Audio audio = 6;
                TensorProto tensor = 8;
            }
            string node_name = 7;
            SummaryMetadata metadata = 9;
        }
        repeated Value value = 1;
    }
    message SummaryDescription { string type_hint = 1; }
    message SessionLog {
        enum SessionStatus {
            STATUS_UNSPECIFIED = 0;
            START = 1;
            STOP = 2;
            CHECKPOINT = 3;
        }
        SessionStatus status = 1;
        string checkpoint_path = 2;
        string msg = 3;
    }
    message TaggedRunMetadata {
        string tag = 1;
        bytes run_metadata = 2;
    }
    message SourceMetadata { string writer = 1; }
    message Event {
        double wall_time = 1;
        int64 step = 2;
        oneof what {
            string file_version = 3;
            bytes graph_def = 4;
            Summary summary = 5;
            SessionLog session_log = 7;
            TaggedRunMetadata tagged_run_metadata = 8;
            bytes meta_graph_def = 9;
        }
        SourceMetadata source_metadata = 10;
    }
    """,
    TENSORS,
)


@_SCHEMA.message
class HistogramProto(Message):
    """Counts of values by range: `bucket[i]` values are below `bucket_limit[i]`."""


@_SCHEMA.message
class SummaryMetadata(Message):
    """How TensorBoard shows a value."""


@_SCHEMA.message
class Summary(Message):
    """Values by tag, at one step."""


@_SCHEMA.message
class SummaryDescription(Message):
    """A hint at the kind of a summary."""


@_SCHEMA.message
class SessionLog(Message):
    """A record of a session's start, stop or checkpoint."""


@_SCHEMA.message
class TaggedRunMetadata(Message):
    """Bytes about one run of a session."""


@_SCHEMA.message
class SourceMetadata(Message):
    """The program that wrote an event file."""


@_SCHEMA.message
class Event(Message):
    """One record of an event file."""
