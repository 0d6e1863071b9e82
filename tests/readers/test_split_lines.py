"""Texts split into lines, compared with `bytes.split`.

The compiled function is private; readers call it on parts of their input.
"""

import random

import pytest

from pipeline._lines import all_bytes, split_lines


def plainly(text):
    return [line.removesuffix(b"\r") for line in text.split(b"\n")]


@pytest.mark.parametrize("text", [b"", b"\n", b"\r", b"\r\n", b"\r\r\n\r", b"a", b"a\n", b"a\r\nb\r", b"\n\na\rb\n\r"])
def test_ends_of_lines(text):
    assert split_lines(text, 0, len(text)) == plainly(text)


def test_any_part_of_any_text():
    rng = random.Random(1)
    for _ in range(2000):
        text = bytes(rng.choices(b"ab\0\r\n\n", k=rng.randrange(80)))
        begin, end = sorted(rng.choices(range(len(text) + 1), k=2))
        assert split_lines(text, begin, end) == plainly(text[begin:end])


@pytest.mark.parametrize(("begin", "end"), [(-1, 2), (2, 1), (0, 4)])
def test_parts_outside_of_the_text(begin, end):
    with pytest.raises(IndexError, match=f"expected a part of a text of 3 bytes, got bytes {begin} to {end}"):
        split_lines(b"a\nb", begin, end)


def test_all_bytes():
    for kind in (list, tuple):
        assert [all_bytes(kind(lines)) for lines in ((), (b"a", b""))] == [True, True]
        assert [all_bytes(kind((b"a", other))) for other in ("b", None, type("Sub", (bytes,), {})())] == [False] * 3
    with pytest.raises(TypeError, match="expected a list or tuple, got bytes"):
        all_bytes(b"ab")
