"""`Example` and its parts: TensorFlow's messages, as classes of the library protobuf."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.proto.example import BytesList as BytesList
    from pipeline.proto.example import Example as Example
    from pipeline.proto.example import Feature as Feature
    from pipeline.proto.example import FeatureList as FeatureList
    from pipeline.proto.example import FeatureLists as FeatureLists
    from pipeline.proto.example import Features as Features
    from pipeline.proto.example import FloatList as FloatList
    from pipeline.proto.example import Int64List as Int64List
    from pipeline.proto.example import SequenceExample as SequenceExample

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


def __getattr__(name: str) -> Any:
    # Imported at the first use, since `from pipeline import *` must work without protobuf.
    if name not in __all__:
        raise AttributeError(f"module 'pipeline.proto' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module("pipeline.proto.example"), name)
    return value


def __dir__() -> list[str]:
    return __all__
