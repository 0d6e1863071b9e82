"""Summary, Event and their parts: the protocol buffers of TensorBoard's files."""

from __future__ import annotations

from typing import ClassVar

from pipeline.proto.table import Field, Proto


class HistogramProto(Proto):
    """Counts of values, by ranges."""

    FIELDS: ClassVar = {
        "min": Field(1, "double"),
        "max": Field(2, "double"),
        "num": Field(3, "double"),
        "sum": Field(4, "double"),
        "sum_squares": Field(5, "double"),
        "bucket_limit": Field(6, "double", many=True),
        "bucket": Field(7, "double", many=True),
    }


class _PluginData(Proto):
    FIELDS: ClassVar = {"plugin_name": Field(1, "string"), "content": Field(2, "bytes")}


class SummaryMetadata(Proto):
    """How a value is to be shown."""

    FIELDS: ClassVar = {
        "plugin_data": Field(1, _PluginData),
        "display_name": Field(2, "string"),
        "summary_description": Field(3, "string"),
        "data_class": Field(4, "int"),
    }
    PluginData = _PluginData


class _Dim(Proto):
    FIELDS: ClassVar = {"size": Field(1, "int"), "name": Field(2, "string")}


class _Shape(Proto):
    FIELDS: ClassVar = {"dim": Field(2, _Dim, many=True), "unknown_rank": Field(3, "bool")}


class TensorProto(Proto):
    """A tensor's value, as summaries have it."""

    FIELDS: ClassVar = {
        "dtype": Field(1, "int"),
        "tensor_shape": Field(2, _Shape),
        "tensor_content": Field(4, "bytes"),
        "float_val": Field(5, "float", many=True),
        "double_val": Field(6, "double", many=True),
        "int_val": Field(7, "int", many=True),
        "string_val": Field(8, "bytes", many=True),
        "int64_val": Field(10, "int", many=True),
    }


class _Image(Proto):
    FIELDS: ClassVar = {
        "height": Field(1, "int"),
        "width": Field(2, "int"),
        "colorspace": Field(3, "int"),
        "encoded_image_string": Field(4, "bytes"),
    }


class _Audio(Proto):
    FIELDS: ClassVar = {
        "sample_rate": Field(1, "float"),
        "num_channels": Field(2, "int"),
        "length_frames": Field(3, "int"),
        "encoded_audio_string": Field(4, "bytes"),
        "content_type": Field(5, "string"),
    }


class _Value(Proto):
    FIELDS: ClassVar = {
        "tag": Field(1, "string"),
        "simple_value": Field(2, "float", oneof="value"),
        "obsolete_old_style_histogram": Field(3, "bytes", oneof="value"),
        "image": Field(4, _Image, oneof="value"),
        "histo": Field(5, HistogramProto, oneof="value"),
        "audio": Field(6, _Audio, oneof="value"),
        "node_name": Field(7, "string"),
        "tensor": Field(8, TensorProto, oneof="value"),
        "metadata": Field(9, SummaryMetadata),
    }


class Summary(Proto):
    """Values by tag, at one step."""

    FIELDS: ClassVar = {"value": Field(1, _Value, many=True)}
    Value, Image, Audio = _Value, _Image, _Audio


class SummaryDescription(Proto):
    """A hint of what kind a summary is."""

    FIELDS: ClassVar = {"type_hint": Field(1, "string")}


class SessionLog(Proto):
    """That a session began, stopped or saved a checkpoint."""

    FIELDS: ClassVar = {"status": Field(1, "int"), "checkpoint_path": Field(2, "string"), "msg": Field(3, "string")}
    STATUS_UNSPECIFIED, START, STOP, CHECKPOINT = range(4)


class TaggedRunMetadata(Proto):
    """Bytes about one run of a session."""

    FIELDS: ClassVar = {"tag": Field(1, "string"), "run_metadata": Field(2, "bytes")}


class _SourceMetadata(Proto):
    FIELDS: ClassVar = {"writer": Field(1, "string")}


class Event(Proto):
    """What one record of an event file says."""

    FIELDS: ClassVar = {
        "wall_time": Field(1, "double"),
        "step": Field(2, "int"),
        "file_version": Field(3, "string", oneof="what"),
        "graph_def": Field(4, "bytes", oneof="what"),
        "summary": Field(5, Summary, oneof="what"),
        "session_log": Field(7, SessionLog, oneof="what"),
        "tagged_run_metadata": Field(8, TaggedRunMetadata, oneof="what"),
        "meta_graph_def": Field(9, "bytes", oneof="what"),
        "source_metadata": Field(10, _SourceMetadata),
    }
