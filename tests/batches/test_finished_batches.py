"""Strings as str, and rows of different lengths as one array or as values and row splits."""

import numpy as np
import pytest
from helpers import plain, raises
from orchestration import fresh_collection, no_thread_left

import pipeline
from pipeline import batch


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def column(*rows):
    """Rows of different lengths, as sources give them."""
    made = np.empty(len(rows), object)
    for i, row in enumerate(rows):
        made[i] = row
    return made


NUMBERS = column(np.array([1, 2], np.int16), np.array([], np.int16), np.array([3], np.int16), np.array([4], np.int16))
WORDS = column(*(np.array(words, object) for words in ([b"a", "é".encode()], [], [b"c"], [b"d"])))
BLOCK = {"n": NUMBERS, "w": (WORDS, [b"w", b"x", b"y", b"z"]), "i": np.arange(4)}


@pytest.mark.parametrize("deterministic", [False, True])
class TestRagged:
    def test_row_splits(self, deterministic):
        first, second = batch([BLOCK], 2, enqueue_many=True, ragged="row_splits", deterministic=deterministic)
        assert plain(first) == {
            "n": [[1, 2], [0, 2, 2]],
            "w": [[[b"a", "é".encode()], [0, 2, 2]], [b"w", b"x"]],
            "i": [0, 1],
        }
        assert first["n"][0].dtype == np.int16
        assert type(first["n"]) is tuple
        assert plain(second)["n"] == [[3, 4], [0, 1, 2]]

    def test_pad(self, deterministic):
        first, second = batch([BLOCK], 2, enqueue_many=True, ragged="pad", deterministic=deterministic)
        assert first["n"].dtype == np.int16
        assert plain(first) == {
            "n": [[1, 2], [0, 0]],
            "w": [[[b"a", "é".encode()], [b"", b""]], [b"w", b"x"]],
            "i": [0, 1],
        }
        assert plain(second)["n"] == [[3], [4]]

    def test_strings(self, deterministic):
        options = {"ragged": "row_splits", "encoding": "utf-8", "deterministic": deterministic}
        first, _ = batch([BLOCK], 2, enqueue_many=True, **options)
        assert plain(first)["w"] == [[["a", "é"], [0, 2, 2]], ["w", "x"]]

    def test_neither(self, deterministic):
        first, _ = batch([BLOCK], 2, enqueue_many=True, deterministic=deterministic)
        assert [row.tolist() for row in first["n"]] == [[1, 2], []]


@pytest.mark.parametrize("example", [b"\xe9", (b"\xe9",), {"a": b"\xe9"}, (b"\xe9", 1)])
def test_strings_of_every_form(example):
    [got] = batch([example] * 2, 2, encoding="latin-1")
    text = got["a"] if isinstance(got, dict) else got[0] if isinstance(got, tuple) else got
    assert text.tolist() == ["é", "é"]
    assert text.dtype == object


def test_buckets():
    loop = pipeline.bucket_by_sequence_length(len, [b"abc", b"d"], 1, [2], encoding="ascii")
    assert sorted((lengths.tolist(), words.tolist()) for lengths, words in loop) == [([1], ["d"]), ([3], ["abc"])]


def test_bad_arguments():
    with raises(ValueError, "ragged must be 'pad', 'row_splits', a dict of these, or None, got 'splits'"):
        batch([1], 1, ragged="splits")
    with raises(ValueError, "encoding: there is no 'utf-9'"):
        batch([1], 1, encoding="utf-9")
    with raises(TypeError, "encoding must be the name of one, such as 'utf-8', got True"):
        batch([1], 1, encoding=True)
    with pytest.raises(UnicodeDecodeError):
        list(batch([b"\xff"], 1, encoding="utf-8"))
