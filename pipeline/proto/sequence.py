"""tf.train.SequenceExample and its parts: a context, and lists of features by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableSequence
from typing import Any, overload

from pipeline.proto.example import Feature, Features, MessageMap
from pipeline.proto.message import Message, as_message, block
from pipeline.proto.wire import LEN, fields, pack_field


class Steps(MutableSequence[Feature]):
    """The features of a FeatureList; those that are added are copied."""

    def __init__(self) -> None:
        self._items: list[Feature] = []

    def add(self) -> Feature:
        """Add an empty feature and return it."""
        self._items.append(Feature())
        return self._items[-1]

    def insert(self, index: int, value: Feature) -> None:
        """Put a copy of a feature before that of an index."""
        if not isinstance(value, Feature):
            raise TypeError(f"a FeatureList takes Features, not {type(value).__name__}")
        copied = Feature()
        copied.CopyFrom(value)
        self._items.insert(index, copied)

    @overload
    def __getitem__(self, index: int) -> Feature: ...
    @overload
    def __getitem__(self, index: slice) -> list[Feature]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self._items[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("a Feature cannot be assigned; change it in place")

    def __delitem__(self, index: int | slice) -> None:
        del self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, Steps) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._items)


class FeatureList(Message):
    """Features one after the other: `FeatureList(feature=[Feature(...), Feature(...)])`."""

    __slots__ = ("_feature",)

    def __init__(self, *, feature: Iterable[Feature] = ()) -> None:
        super().__init__()
        self._feature = Steps()
        self._feature.extend(feature)

    @property
    def feature(self) -> Steps:
        """The features; change them in place."""
        return self._feature

    def Clear(self) -> None:
        """Have no features."""
        self._feature.clear()

    def _pack(self, deterministic: bool) -> bytes:
        return b"".join(pack_field(1, one._pack(deterministic)) for one in self._feature)

    def _merge(self, data: bytes, at: int, end: int) -> None:
        for number, kind, begin, after in fields(data, at, end):
            if number == 1 and kind == LEN:
                self._feature.add()._merge(data, begin, after)

    def _lines(self) -> list[str]:
        return [line for one in self._feature for line in block("feature", one._lines())]

    def __repr__(self) -> str:
        return f"FeatureList(feature={self._feature!r})"


class FeatureLists(Message):
    """Lists of features by name: `FeatureLists(feature_list={"words": FeatureList(...)})`."""

    __slots__ = ("_lists",)

    def __init__(self, *, feature_list: Mapping[str, FeatureList] | None = None) -> None:
        super().__init__()
        self._lists = MessageMap(FeatureList)
        self._lists.copy_in(feature_list, "feature_list")

    @property
    def feature_list(self) -> MessageMap[FeatureList]:
        """The lists; change them in place."""
        return self._lists

    def Clear(self) -> None:
        """Have no lists."""
        self._lists.clear()

    def _pack(self, deterministic: bool) -> bytes:
        return self._lists.pack(deterministic)

    def _merge(self, data: bytes, at: int, end: int) -> None:
        self._lists.merge(data, at, end)

    def _lines(self) -> list[str]:
        return self._lists.lines("feature_list")

    def __repr__(self) -> str:
        return f"FeatureLists(feature_list={self._lists!r})"


class SequenceExample(Message):
    """A sequence: `SequenceExample(context=Features(...), feature_lists=FeatureLists(...))`."""

    __slots__ = ("_context", "_given", "_lists")

    def __init__(self, *, context: Features | None = None, feature_lists: FeatureLists | None = None) -> None:
        super().__init__()
        self._context = Features()
        self._lists = FeatureLists()
        self._given: set[str] = set()  # even parts without anything in them are written then
        if context is not None:
            self._context.CopyFrom(as_message(Features, context, "context"))
            self._given.add("context")
        if feature_lists is not None:
            self._lists.CopyFrom(as_message(FeatureLists, feature_lists, "feature_lists"))
            self._given.add("feature_lists")

    @property
    def context(self) -> Features:
        """The features of the sequence as a whole; change them in place."""
        return self._context

    @property
    def feature_lists(self) -> FeatureLists:
        """The lists of features; change them in place."""
        return self._lists

    def HasField(self, field_name: str) -> bool:
        """Return whether "context" or "feature_lists" is set."""
        if field_name == "context":
            return "context" in self._given or len(self._context.feature) > 0
        if field_name == "feature_lists":
            return "feature_lists" in self._given or len(self._lists.feature_list) > 0
        raise ValueError(f"SequenceExample has no field {field_name!r}")

    def Clear(self) -> None:
        """Have no features and no lists."""
        self._context.Clear()
        self._lists.Clear()
        self._given.clear()

    def _pack(self, deterministic: bool) -> bytes:
        packed = pack_field(1, self._context._pack(deterministic)) if self.HasField("context") else b""
        return packed + (pack_field(2, self._lists._pack(deterministic)) if self.HasField("feature_lists") else b"")

    def _merge(self, data: bytes, at: int, end: int) -> None:
        for number, kind, begin, after in fields(data, at, end):
            if number == 1 and kind == LEN:
                self._context._merge(data, begin, after)
                self._given.add("context")
            elif number == 2 and kind == LEN:
                self._lists._merge(data, begin, after)
                self._given.add("feature_lists")

    def _lines(self) -> list[str]:
        lines = block("context", self._context._lines()) if self.HasField("context") else []
        return lines + (block("feature_lists", self._lists._lines()) if self.HasField("feature_lists") else [])

    def __repr__(self) -> str:
        return f"SequenceExample(context={self._context!r}, feature_lists={self._lists!r})"
