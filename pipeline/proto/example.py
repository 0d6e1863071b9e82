"""tf.train.Example and tf.train.SequenceExample, what TensorFlow's TFRecord files hold, without protobuf."""

from __future__ import annotations

from pipeline.proto.fields import MessageField, MessageListField, PartMap, Scalars
from pipeline.proto.message import Message
from pipeline.proto.scalar_types import BYTES, FLOAT, INT64


class BytesList(Message):
    """A list of byte strings: `BytesList(value=[b"..."])`.

    Examples:
        >>> words = pipeline.proto.BytesList(value=[b"red", b"blue"])
        >>> list(words.value)
        [b'red', b'blue']
    """

    value = Scalars(1, BYTES)


class FloatList(Message):
    """A list of float32 numbers: `FloatList(value=[0.5, 1])`.

    Examples:
        >>> list(pipeline.proto.FloatList(value=[0.5, 1]).value)
        [0.5, 1.0]
    """

    value = Scalars(1, FLOAT)


class Int64List(Message):
    """A list of int64 numbers: `Int64List(value=[1, 2])`.

    Examples:
        >>> numbers = pipeline.proto.Int64List(value=[1])
        >>> numbers.value.append(2)
        >>> list(numbers.value)
        [1, 2]
    """

    value = Scalars(1, INT64)


class Feature(Message):
    """One list of values: `Feature(int64_list=Int64List(value=[1]))`.

    A list becomes the feature's one list when something is put into it; of several given ones the last counts.

    Examples:
        >>> feature = pipeline.proto.Feature()
        >>> feature.float_list.value.extend([0.5, 1.5])
        >>> feature.WhichOneof("kind")
        'float_list'
    """

    bytes_list = MessageField(1, BytesList, oneof="kind")
    float_list = MessageField(2, FloatList, oneof="kind")
    int64_list = MessageField(3, Int64List, oneof="kind")


class Features(Message):
    """Features by name: `Features(feature={"label": Feature(...)})`.

    Examples:
        >>> features = pipeline.proto.Features()
        >>> features.feature["label"].int64_list.value.append(7)
        >>> list(features.feature)
        ['label']
    """

    feature = PartMap(1, Feature)


class Example(Message):
    """An example: `Example(features=Features(feature={"label": Feature(int64_list=Int64List(value=[1]))}))`.

    Examples:
        >>> example = pipeline.proto.Example()
        >>> example.features.feature["label"].int64_list.value.append(7)
        >>> data = example.SerializeToString()
        >>> copy = pipeline.proto.Example.FromString(data)
        >>> copy.features.feature["label"].int64_list.value[0]
        7
    """

    features = MessageField(1, Features)


class FeatureList(Message):
    """Features one after the other: `FeatureList(feature=[Feature(...), Feature(...)])`.

    Examples:
        >>> words = pipeline.proto.FeatureList()
        >>> words.feature.add().bytes_list.value.append(b"red")
        >>> len(words.feature)
        1
    """

    feature = MessageListField(1, Feature)


class FeatureLists(Message):
    """Lists of features by name: `FeatureLists(feature_list={"words": FeatureList(...)})`.

    Examples:
        >>> lists = pipeline.proto.FeatureLists()
        >>> lists.feature_list["words"].feature.add().bytes_list.value.append(b"red")
        >>> list(lists.feature_list)
        ['words']
    """

    feature_list = PartMap(1, FeatureList)


class SequenceExample(Message):
    """A sequence: `SequenceExample(context=Features(...), feature_lists=FeatureLists(...))`.

    Examples:
        >>> sequence = pipeline.proto.SequenceExample()
        >>> sequence.context.feature["label"].int64_list.value.append(7)
        >>> for word in (b"red", b"blue"):
        ...     sequence.feature_lists.feature_list["words"].feature.add().bytes_list.value.append(word)
        >>> len(sequence.feature_lists.feature_list["words"].feature)
        2
    """

    context = MessageField(1, Features)
    feature_lists = MessageField(2, FeatureLists)
