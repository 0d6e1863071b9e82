"""Protocol buffer messages without protobuf: `Example` and its parts. message.py says which file answers what."""

from pipeline.proto.example import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]


def __dir__() -> list[str]:
    return __all__
