"""tf.train.Example and tf.train.SequenceExample, which TensorFlow's TFRecord files hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.proto.schema import Message, Schema

if TYPE_CHECKING:
    from google.protobuf.internal.containers import (
        MessageMap,
        RepeatedCompositeFieldContainer,
        RepeatedScalarFieldContainer,
    )

_SCHEMA = Schema(
    "example",
    """
    message BytesList { repeated bytes value = 1; }
    message FloatList { repeated float value = 1; }
    message Int64List { repeated int64 value = 1; }
    message Feature {
        oneof kind {
            BytesList bytes_list = 1;
            FloatList float_list = 2;
            Int64List int64_list = 3;
        }
    }
    message Features { map<string, Feature> feature = 1; }
    message Example { Features features = 1; }
    message FeatureList { repeated Feature feature = 1; }
    message FeatureLists { map<string, FeatureList> feature_list = 1; }
    message SequenceExample {
        Features context = 1;
        FeatureLists feature_lists = 2;
    }
    """,
)


@_SCHEMA.message
class BytesList(Message):
    """A list of byte strings: `BytesList(value=[b"..."])`.

    Examples:
        >>> words = pipeline.proto.BytesList(value=[b"red", b"blue"])
        >>> list(words.value)
        [b'red', b'blue']
    """

    value: RepeatedScalarFieldContainer[bytes]


@_SCHEMA.message
class FloatList(Message):
    """A list of float32 numbers: `FloatList(value=[0.5, 1])`.

    Examples:
        >>> list(pipeline.proto.FloatList(value=[0.5, 1]).value)
        [0.5, 1.0]
    """

    value: RepeatedScalarFieldContainer[float]


@_SCHEMA.message
class Int64List(Message):
    """A list of int64 numbers: `Int64List(value=[1, 2])`.

    Examples:
        >>> numbers = pipeline.proto.Int64List(value=[1])
        >>> numbers.value.append(2)
        >>> list(numbers.value)
        [1, 2]
    """

    value: RepeatedScalarFieldContainer[int]


@_SCHEMA.message
class Feature(Message):
    """One list of values: `Feature(int64_list=Int64List(value=[1]))`.

    A list becomes the feature's one list when something is put into it; of several given ones the last counts.

    Examples:
        >>> feature = pipeline.proto.Feature()
        >>> feature.float_list.value.extend([0.5, 1.5])
        >>> feature.WhichOneof("kind")
        'float_list'
    """

    bytes_list: BytesList
    float_list: FloatList
    int64_list: Int64List


@_SCHEMA.message
class Features(Message):
    """Features by name: `Features(feature={"label": Feature(...)})`.

    Examples:
        >>> features = pipeline.proto.Features()
        >>> features.feature["label"].int64_list.value.append(7)
        >>> list(features.feature)
        ['label']
    """

    feature: MessageMap[str, Feature]


@_SCHEMA.message
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

    features: Features


@_SCHEMA.message
class FeatureList(Message):
    """Features one after the other: `FeatureList(feature=[Feature(...), Feature(...)])`.

    Examples:
        >>> words = pipeline.proto.FeatureList()
        >>> words.feature.add().bytes_list.value.append(b"red")
        >>> len(words.feature)
        1
    """

    feature: RepeatedCompositeFieldContainer[Feature]


@_SCHEMA.message
class FeatureLists(Message):
    """Lists of features by name: `FeatureLists(feature_list={"words": FeatureList(...)})`.

    Examples:
        >>> lists = pipeline.proto.FeatureLists()
        >>> lists.feature_list["words"].feature.add().bytes_list.value.append(b"red")
        >>> list(lists.feature_list)
        ['words']
    """

    feature_list: MessageMap[str, FeatureList]


@_SCHEMA.message
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

    context: Features
    feature_lists: FeatureLists
