"""Where the lists of a serialized Example are: a walk over its bytes that makes no message objects."""

from __future__ import annotations

from pipeline.proto.wire import LEN, WireError, fields, varint

# The number of the list's field in Feature (0: there is no list), and where the list message begins and ends.
Found = tuple[int, bytes, int, int]


def find_lists(data: bytes) -> dict[bytes, Found]:
    """The lists of an Example by name.

    Raises:
        WireError: The bytes are no Example.
    """
    found: dict[bytes, Found] = {}
    for number, kind, at, end in fields(data, 0, len(data)):
        if number == 1 and kind == LEN:
            try:
                _walk(data, at, end, found)
            except IndexError:
                raise WireError("the last field has no end") from None
    return found


def _walk(data: bytes, at: int, end: int, found: dict[bytes, Found]) -> None:
    """Features as every writer makes them go fast here; others, such as with unknown fields, go to `_entry`."""
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


def _entry(data: bytes, at: int, end: int, found: dict[bytes, Found]) -> None:
    """One feature of the map, in whatever way it is written."""
    key, chosen = b"", 0
    parts: list[bytes] = []
    for number, kind, begin, after in fields(data, at, end):
        if number == 1 and kind == LEN:
            key = data[begin:after]
        elif number == 2 and kind == LEN:
            for which, inner, start, stop in fields(data, begin, after):
                if which in (1, 2, 3) and inner == LEN:
                    if which != chosen:  # the last kind counts; parts of one kind follow one another
                        chosen, parts = which, []
                    parts.append(data[start:stop])
    if chosen or key not in found:  # one without a list does not hide an earlier one, as in TensorFlow
        joined = b"".join(parts)
        found[key] = (chosen, joined, 0, len(joined))
