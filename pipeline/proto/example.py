"""tf.train.Example and tf.train.SequenceExample, what TensorFlow's TFRecord files hold, without protobuf."""

from __future__ import annotations

from pipeline.proto.fields import Part, PartMap, Parts, Scalars
from pipeline.proto.message import Message
from pipeline.proto.scalar_types import BYTES, FLOAT, INT64


class BytesList(Message):
    """A list of byte strings: `BytesList(value=[b"..."])`."""

    value = Scalars(1, BYTES)


class FloatList(Message):
    """A list of float32 numbers: `FloatList(value=[0.5, 1])`."""

    value = Scalars(1, FLOAT)


class Int64List(Message):
    """A list of int64 numbers: `Int64List(value=[1, 2])`."""

    value = Scalars(1, INT64)


class Feature(Message):
    """One list of values: `Feature(int64_list=Int64List(value=[1]))`.

    A list becomes the feature's one list when something is put into it; of several given ones the last counts.
    """

    bytes_list = Part(1, BytesList, oneof="kind")
    float_list = Part(2, FloatList, oneof="kind")
    int64_list = Part(3, Int64List, oneof="kind")


class Features(Message):
    """Features by name: `Features(feature={"label": Feature(...)})`."""

    feature = PartMap(1, Feature)


class Example(Message):
    """An example: `Example(features=Features(feature={"label": Feature(int64_list=Int64List(value=[1]))}))`."""

    features = Part(1, Features)


class FeatureList(Message):
    """Features one after the other: `FeatureList(feature=[Feature(...), Feature(...)])`."""

    feature = Parts(1, Feature)


class FeatureLists(Message):
    """Lists of features by name: `FeatureLists(feature_list={"words": FeatureList(...)})`."""

    feature_list = PartMap(1, FeatureList)


class SequenceExample(Message):
    """A sequence: `SequenceExample(context=Features(...), feature_lists=FeatureLists(...))`."""

    context = Part(1, Features)
    feature_lists = Part(2, FeatureLists)
