"""Locate the features in a serialised Example's bytes, without making message objects."""

from __future__ import annotations

from pipeline.decode.wire import LEN, WireError, fields, varint

# The list's field number in Feature (0: no list), the bytes that hold it, and its begin and end in them.
FoundList = tuple[int, bytes, int, int]

# Kind for a feature that is not empty but has no list with a known type.
UNKNOWN = -1


class FoundLists(dict[bytes, FoundList]):
    """Each feature's list position by feature name; for a repeated name, the last feature counts.

    Attributes:
        hidden: For names whose last feature has no list: the last feature that has one.
        unknown: Features that have a list with an unknown kind. One is enough: a later feature does not replace it.
    """

    def __init__(self) -> None:
        self.hidden: dict[bytes, FoundList] = {}
        self.unknown: dict[bytes, FoundList] = {}

    def with_list(self, key: bytes) -> FoundList | None:
        """Return the last feature with a list: TensorFlow uses it except for sparse and context features."""
        found = self.get(key)
        return self.hidden.get(key, found) if found is not None and not found[0] else found


def find_lists(data: bytes) -> FoundLists:
    """Return each feature's list position in an Example, by feature name.

    Raises:
        WireError: The bytes are not an Example.
    """
    found = FoundLists()
    for number, kind, at, end in fields(data, 0, len(data)):
        if number == 1 and kind == LEN:
            try:
                _find_features(data, at, end, found)
            except IndexError:
                raise WireError("the last field has no end") from None
    found.update(found.unknown)
    return found


def _find_features(data: bytes, at: int, end: int, found: FoundLists) -> None:
    """Find features in the usual encoding; others, such as with unknown fields, are left to `_entry`."""
    while at < end:
        if data[at] != 0x0A:
            for number, kind, begin, after in fields(data, at, end):
                if number == 1 and kind == LEN:
                    _entry(data, begin, after, found)
            return
        size = data[at + 1]
        begin = at + 2
        if size > 127:
            size, begin = varint(data, at + 1, end)
        at = begin + size
        if at > end:
            raise WireError(f"the feature at byte {begin} ends at byte {at}, its message ends at byte {end}")
        if size > 3 and data[begin] == 0x0A and data[begin + 1] < 128:
            value = begin + 2 + data[begin + 1]
            if value + 1 < at and data[value] == 0x12:
                key = data[begin + 2 : value]
                size, feature = data[value + 1], value + 2
                if size > 127:
                    size, feature = varint(data, value + 1, at)
                if feature + size == at and size > 1:
                    tag, size, begin_list = data[feature], data[feature + 1], feature + 2
                    if size > 127:
                        size, begin_list = varint(data, feature + 1, at)
                    if begin_list + size == at and (tag == 0x0A or tag == 0x12 or tag == 0x1A):
                        found[key] = (tag >> 3, data, begin_list, at)
                        continue
        _entry(data, begin, at, found)


def _entry(data: bytes, at: int, end: int, found: FoundLists) -> None:
    """Find one feature in any encoding. As in TensorFlow, its first list counts."""
    keys, values, place = [], 0, (0, data, at, at)
    for number, kind, begin, after in fields(data, at, end):
        if number == 1 and kind == LEN:
            keys.append(data[begin:after])
        elif number == 2 and kind == LEN:
            values += 1
            for which, inner, start, stop in fields(data, begin, after):
                if not place[0]:
                    known = which in (1, 2, 3) and inner == LEN
                    place = (which, data, start, stop) if known else (UNKNOWN, data, at, at)
    if len(keys) != 1 or values != 1:
        raise WireError(f"the feature at byte {at} has {len(keys)} names and {values} values, not one of each")
    (key,) = keys
    if place[0] == UNKNOWN:
        found.unknown[key] = place
    before = found.get(key)
    if not place[0] and before is not None and before[0]:
        found.hidden[key] = before
    found[key] = place
