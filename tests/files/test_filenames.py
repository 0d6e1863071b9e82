"""match_filenames_once: the files matched by a pattern, and their order."""

import fnmatch
import itertools
import os
import pathlib
import re

import numpy as np
import pytest
from helpers import raises, run_script
from orchestration import drain, fresh_collection, no_thread_left

import pipeline
from pipeline.errors import InvalidArgumentError
from pipeline.files.filenames import match_filenames_once

FILES = [
    ".dot.txt",
    ".hid/h.txt",
    "a.txt",
    "ab\\c",
    "b.txt",
    "br[x]/f",
    "c*d",
    "new\nline.txt",
    "q-.txt",
    "q].txt",
    "s2/a.txt",
    "sub/a.txt",
    "sub/b.txt",
    "sub/deep/z.txt",
    "x1.txt",
    "x[1].txt",
    "{a,b}.txt",
    "\u00e9.txt",
]
TXT = [name for name in FILES if name.endswith(".txt") and "/" not in name]
ALL = sorted({name.partition("/")[0] for name in FILES}, key=os.fsencode)


@pytest.fixture(autouse=True)
def tree(tmp_path, monkeypatch):
    for name in FILES:
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.chdir(tmp_path / "tree")
    return tmp_path / "tree"


# TensorFlow's results for the same files.
@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.txt", [f"./{name}" for name in TXT]),
        ("./*.txt", [f"./{name}" for name in TXT]),
        ("*", [f"./{name}" for name in ALL]),
        ("**", [f"./{name}" for name in ALL]),
        ("sub/*.txt", ["sub/a.txt", "sub/b.txt"]),
        ("sub/**", ["sub/a.txt", "sub/b.txt", "sub/deep"]),
        ("./sub/*", ["./sub/a.txt", "./sub/b.txt", "./sub/deep"]),
        ("**/*.txt", ["./.hid/h.txt", "./s2/a.txt", "./sub/a.txt", "./sub/b.txt"]),
        ("*/*/*", ["./sub/deep/z.txt"]),
        ("s*/a.txt", ["./s2/a.txt", "./sub/a.txt"]),
        ("s*/", ["./s2", "./sub"]),
        ("s*//a.txt", []),
        ("../tree/a*", ["../tree/a.txt", "../tree/ab\\c"]),
        ("*/..", []),
        ("s?", ["./s2"]),
        ("?.txt", ["./a.txt", "./b.txt", "./\u00e9.txt"]),
        ("new*", ["./new\nline.txt"]),
        ("[ab].txt", ["./a.txt", "./b.txt"]),
        ("[a-b].txt", ["./a.txt", "./b.txt"]),
        ("[b-a].txt", []),
        ("[!a].txt", ["./b.txt", "./\u00e9.txt"]),
        ("[^a].txt", ["./b.txt", "./\u00e9.txt"]),
        ("[\\a].txt", ["./a.txt"]),
        ("q[]].txt", ["./q].txt"]),
        ("q[\\]].txt", ["./q].txt"]),
        ("q[!]].txt", ["./q-.txt"]),
        ("q[-a].txt", ["./q-.txt"]),
        ("x[1].txt", ["./x1.txt"]),
        ("x[[]1].txt", ["./x[1].txt"]),
        ("br[[]x]/*", ["./br[x]/f"]),
        ("br[x]/f", []),
        ("[", []),
        ("x[", []),
        ("[]", []),
        ("[!]", []),
        ("[a/b]", []),
        ("sub[/]a.txt", []),
        ("c\\*d", ["./c*d"]),
        ("ab\\\\c", ["./ab\\c"]),
        ("x\\[1\\].txt", ["./x[1].txt"]),
        ("\\a.txt", ["./a.txt"]),
        ("a.txt\\", []),
        ("{a,b}.txt", ["{a,b}.txt"]),
        ("a.txt", ["a.txt"]),
        ("sub/../a.txt", ["sub/../a.txt"]),
        ("sub", ["sub"]),
        ("nodir/*", []),
        ("nodir", []),
        ("a.txt/*", []),
        ("", []),
    ],
)
def test_patterns(pattern, names):
    assert match_filenames_once(pattern) == names


@pytest.mark.parametrize("start", ["[", "[a", "[!", "\\\\["])
def test_many_brackets_without_an_end(start):
    """In quadratic time this takes an hour."""
    assert match_filenames_once("x*" + start * (200_000 // len(start))) == []


def test_absolute_pattern(tree):
    assert match_filenames_once(f"{tree}/s*/a.txt") == [f"{tree}/s2/a.txt", f"{tree}/sub/a.txt"]
    assert match_filenames_once(tree / "sub" / "*.txt") == [f"{tree}/sub/a.txt", f"{tree}/sub/b.txt"]


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda names: np.array(names, object)])
def test_several_patterns_are_sorted_together_and_keep_duplicates(kind):
    assert match_filenames_once(kind(["sub/*.txt", "s2/*", "sub/a*"])) == [
        "s2/a.txt",
        "sub/a.txt",
        "sub/a.txt",
        "sub/b.txt",
    ]


def test_sorted_by_bytes(tree):
    names = ["\ufffd1", "\U0001f6001", "B1", "a1"]  # as UTF-16 the first two were the other way round
    for name in names:
        (tree / "s2" / name).touch()
    assert match_filenames_once("s2/*1") == ["s2/B1", "s2/a1", "s2/\ufffd1", "s2/\U0001f6001"]


def test_names_that_are_no_text(tree):
    name = os.fsencode(tree) + b"/s2/\xff.bin"
    try:
        os.close(os.open(name, os.O_CREAT))
    except OSError:
        pytest.skip("this file system takes text only")
    [found] = match_filenames_once(b"s2/*.bin")
    assert os.fsencode(found) == b"s2/\xff.bin"


def test_is_evaluated_once(tree):
    names = match_filenames_once("s2/*")
    (tree / "s2" / "later.txt").touch()
    assert names == ["s2/a.txt"]
    assert match_filenames_once("s2/*") == ["s2/a.txt", "s2/later.txt"]


def test_empty_list_of_patterns():
    assert match_filenames_once([]) == []


def test_dangling_link_is_found_by_a_wildcard_only(tree):
    (tree / "s2" / "link").symlink_to("nowhere")
    assert match_filenames_once("s2/l*") == ["s2/link"]
    assert match_filenames_once("s2/link") == []


@pytest.mark.parametrize("pattern", [[["*"]], np.array([["*"]]), np.zeros((0, 2), str)])
def test_two_dimensions(pattern):
    with raises(InvalidArgumentError, "Input patterns tensor must be scalar or vector, but "):
        match_filenames_once(pattern)


@pytest.mark.parametrize("pattern", [3, None, ["*", 3], {"*": 1}, np.array([1, 2])])
def test_not_strings(pattern):
    with pytest.raises(TypeError, match="a pattern must be a string"):
        match_filenames_once(pattern)


def test_classes_are_refused():
    with raises(InvalidArgumentError, "match_filenames_once: '[[:alpha:]].txt' has a character class"):
        match_filenames_once("[[:alpha:]].txt")


class TestProducer:
    @pytest.fixture(autouse=True)
    def _fresh(self):
        with fresh_collection(), no_thread_left():
            yield

    def test_takes_the_names(self):
        queue = pipeline.string_input_producer(match_filenames_once("sub/*.txt"), num_epochs=1, shuffle=False)
        coord = pipeline.Coordinator()
        threads = pipeline.start_queue_runners(coord=coord)
        assert drain(queue.dequeue) == [b"sub/a.txt", b"sub/b.txt"]
        coord.request_stop()
        coord.join(threads)

    @pytest.mark.parametrize(
        ("pattern", "why"),
        [
            ("train/*.jpg", "'train/*.jpg' matched no file"),
            (["x*y", pathlib.Path("z*")], "'x*y', 'z*' matched no file"),
            ([], "the list of strings is empty"),
        ],
    )
    def test_says_what_matched_nothing(self, pattern, why):
        text = f"string_input_producer requires a non-null input tensor: {why}"
        with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
            pipeline.string_input_producer(match_filenames_once(pattern))


def test_stars_match_as_a_search_of_all_places_does(tmp_path):
    """Return every short name, for patterns whose part between stars fits in several positions."""
    names = ["".join(letters) for n in range(1, 6) for letters in itertools.product("ab", repeat=n)]
    folder = tmp_path / "names"
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    for pattern in ("*", "a*", "*b", "a*b", "*ab*", "*a*b", "a*a*a", "*?b*", "**a**b*", "*[a]?*b", "ab*ab*b", "*a*ba"):
        wanted = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        found = match_filenames_once(f"{folder}/{pattern}")
        assert found == sorted(f"{folder}/{name}" for name in wanted), pattern


def test_many_stars_take_no_exponential_time(tmp_path):
    """Trying all places would take longer than the world is old."""
    (tmp_path / ("-" * 250)).touch()
    script = f"""
import pipeline
print(pipeline.match_filenames_once({str(tmp_path)!r} + "/" + "*-" * 40 + "*.tfrecord"))
print(len(pipeline.match_filenames_once({str(tmp_path)!r} + "/" + "*-" * 40 + "*")))
"""
    assert run_script(script).stdout == "[]\n1\n"
