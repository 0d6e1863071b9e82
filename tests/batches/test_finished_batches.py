"""Strings as str, and rows of different lengths as one array or as values and row splits."""

import numpy as np
import pytest
from helpers import plain, raises
from orchestration import fresh_collection, no_thread_left

import pipeline
from pipeline import batch
from pipeline.sources.strings import wrong_string


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


BAD = "'utf-8' codec can't decode byte 0xff in position 4: invalid start byte, in "
MODES = pytest.mark.parametrize(
    "options", [{}, {"deterministic": True}, {"num_threads": 0}, {"num_threads": 2}], ids=str
)


@pytest.fixture(params=[0, 1, 700])
def lines(request, tmp_path):
    """A text and a CSV file with one line that is not UTF-8, its number, and the other lines."""
    texts = [b"line %d" % i for i in range(1000)]
    texts[request.param] = b"bad \xff"
    (tmp_path / "a.txt").write_bytes(b"\n".join(texts))
    (tmp_path / "a.csv").write_bytes(b"\n".join([b"n,t", *(b"%d,%b" % each for each in enumerate(texts))]))
    return tmp_path, request.param, [text.decode() for i, text in enumerate(texts) if i != request.param]


@MODES
@pytest.mark.parametrize("kind", ["text", "csv"])
@pytest.mark.parametrize("function", [None, lambda example: example])
class TestWrongStringsOfSources:
    def loop(self, lines, kind, function, **options):
        folder, number, others = lines
        path = folder / f"a.{'txt' if kind == 'text' else 'csv'}"
        make, pick = (pipeline.text, lambda got: got) if kind == "text" else (pipeline.csv, lambda got: got["t"])
        loop = batch(make(path), 1, encoding="utf-8", function=function, **options)
        return loop, pick, f"{path}:{number + (1 if kind == 'text' else 2)}", others

    def test_are_told_once(self, lines, options, kind, function):
        """The error names file and line, and the loop is at its end after it."""
        loop, _, place, _ = self.loop(lines, kind, function, **options)
        with loop:
            with pytest.raises(UnicodeDecodeError) as caught:
                list(loop)
            if function is None or hasattr(caught.value, "add_note"):  # before Python 3.11 there are no notes
                assert "".join([str(caught.value), *getattr(caught.value, "__notes__", [])]).count(place) == 1
            assert str(caught.value).startswith(BAD)
            assert next(loop, None) is None

    def test_are_skipped(self, lines, options, kind, function):
        loop, pick, place, others = self.loop(lines, kind, function, on_error="skip", **options)
        with loop:
            assert sorted(pick(got).item() for got in loop) == sorted(others)
        assert loop.num_errors == 1
        [error] = loop.errors
        named = getattr(error, "record_key", None)
        if function is None or options != {"num_threads": 0}:
            assert (named.decode() if isinstance(named, bytes) else named) == place


FORMS = {
    "bytes": (lambda text: text, "in component 0: b'bad \\xff'"),
    "a dict": (lambda text: {"a": 1, "t": text}, "in component 't': b'bad \\xff'"),
    "a tuple": (lambda text: (1, text), "in component 1: b'bad \\xff'"),
    "a list of them": (lambda text: {"t": [b"x", text]}, "in component 't': b'bad \\xff'"),
    "an array": (lambda text: {"t": np.array([b"x", text])}, "in component 't': b'bad \\xff'"),
    "an array of objects": (lambda text: (np.array([[b"x", text]], object),), "in component 0: b'bad \\xff'"),
    "nested": (lambda text: {"u": {"t": text}, "n": 1}, "t': b'bad \\xff'"),
}


@MODES
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", [0, 3])
@pytest.mark.parametrize("kind", ["list", "generator", "function", "call", "join"])
def test_wrong_strings_of_other_sources(options, form, bad, kind):
    make, why = FORMS[form]
    texts = [b"bad \xff" if i == bad else b"good" for i in range(6)]

    def loop(**more):
        more |= {"encoding": "utf-8", **options}
        if kind == "function":
            return batch(texts, 1, function=make, **more)
        examples = list(map(make, texts))
        if kind == "call":
            return batch(iter(examples).__next__, 1, **more)
        if kind == "join":
            return pipeline.batch_join([examples], 1, **more)
        return batch(examples if kind == "list" else (each for each in examples), 1, **more)

    if kind == "join" and "num_threads" in options:
        pytest.skip("one thread for each source")
    with loop() as batches:
        with pytest.raises(UnicodeDecodeError) as caught:
            list(batches)
        assert str(caught.value).startswith(BAD)
        assert why in str(caught.value)
        assert next(batches, None) is None
    with loop(on_error="skip") as batches:
        assert len(list(batches)) == 5
    assert batches.num_errors == 1


@MODES
@pytest.mark.parametrize("ragged", ["pad", "row_splits", None])
def test_wrong_strings_in_blocks_and_ragged_rows(options, ragged):
    rows = column(*(np.array(words, object) for words in ([b"a"], [b"x", b"bad \xff"], [], [b"c"])))
    options = {"ragged": ragged, "encoding": "utf-8", **options}
    with batch([{"w": rows, "i": np.arange(4)}], 1, enqueue_many=True, **options) as loop:
        with pytest.raises(UnicodeDecodeError, match=r"in component 'w': b'bad \\xff'"):
            list(loop)
    with batch([{"w": rows, "i": np.arange(4)}], 1, enqueue_many=True, on_error="skip", **options) as loop:
        assert [got["i"].item() for got in loop] == [0, 2, 3]


def test_wrong_strings_in_rows_are_found_wherever_they_lie_in_memory():
    """Addresses of objects, joined as if they were strings, are text or none, as it happens."""
    for kept in range(3000):
        rows = column(np.array([b"bad \xff", b"%d" % kept], object)[:1], np.array([b"good"], object))
        assert wrong_string(rows[:1], "utf-8") is not None
        assert wrong_string(rows, "utf-8") is not None
    plain = [np.array([each], object) for each in (b"a", b"\xff")]
    assert [wrong_string(each, "ascii") is None for each in plain] == [True, False]


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf-16", "cp932", "shift_jis", "ascii"])
def test_encodings(encoding):
    texts = ["a", "", "ab\n", "\n"] + ([] if encoding == "ascii" else ["\u3042\n", "\u8868"])
    [got] = batch([text.encode(encoding) for text in texts], len(texts), encoding=encoding)
    assert got.tolist() == texts
    # The first part of a character and the rest in the next string are no character together.
    for wrong in ["é".encode()[:1], "\u3042".encode(encoding)[:1]] if encoding[:3].lower() == "utf" else []:
        with pytest.raises(UnicodeDecodeError):
            list(batch([b"a\0", wrong, "é".encode()[1:]], 1, encoding=encoding))
