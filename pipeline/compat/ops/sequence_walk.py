"""Where the lists of a SequenceExample are: for each key the list of every step."""

from __future__ import annotations

from pipeline.example_walk import Found
from pipeline.wire import LEN, fields


def find_steps(data: bytes) -> dict[bytes, list[Found]]:
    """The feature lists of a SequenceExample by name; a step without values has the number 0.

    Raises:
        WireError: The bytes are no SequenceExample.
    """
    found: dict[bytes, list[Found]] = {}
    for number, kind, at, end in fields(data, 0, len(data)):
        if number == 2 and kind == LEN:
            for which, inner, begin, after in fields(data, at, end):
                if which == 1 and inner == LEN:
                    _entry(data, begin, after, found)
    return found


def _entry(data: bytes, at: int, end: int, found: dict[bytes, list[Found]]) -> None:
    """One named list of the map."""
    key, steps = b"", []
    for number, kind, begin, after in fields(data, at, end):
        if number == 1 and kind == LEN:
            key = data[begin:after]
        elif number == 2 and kind == LEN:
            steps += [
                _step(data, start, stop)
                for which, inner, start, stop in fields(data, begin, after)
                if (which, inner) == (1, LEN)
            ]
    found[key] = steps


def _step(data: bytes, at: int, end: int) -> Found:
    chosen = (0, data, at, at)
    for number, kind, begin, after in fields(data, at, end):
        if number in (1, 2, 3) and kind == LEN:
            chosen = (number, data, begin, after)
    return chosen
