"""RE2 patterns: slow ones for backtracking engines, texts that are not UTF-8, and a missing google-re2."""

import pytest

import pipeline.compat.v1 as tf
from pipeline.compat.ops.strings import regex
from pipeline.errors import InvalidArgumentError

pytest.importorskip("re2")

HOPELESS = ["(a*)*b", "(a|a)*b", "(a|ab?)*c", "(?i:[a-z]+,?)*1", "(a?){50}b", ".*a.*a.*a.*b", r"(\w+\s?)*\."]


@pytest.mark.parametrize("pattern", HOPELESS)
def test_any_text_is_searched(pattern):
    with tf.Graph().as_default(), tf.Session() as sess:
        text = "a" * 5000
        assert not sess.run(tf.strings.regex_full_match(text, pattern))
        assert sess.run(tf.regex_replace([text, "é"], pattern, "x"))[1] == "é".encode()


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"\B", b"", b"-"),
        ("", "é€😀".encode() + b"\xe2\x82", "-é-€-😀-".encode() + b"\xe2-\x82-"),
        ("b*", b"abc", b"-a-c-"),
    ],
)
def test_empty_matches(pattern, text, expected):
    assert regex.compiled(pattern.encode()).replace(text, [b"-"], True) == expected


def test_a_pattern_that_is_no_text_is_invalid():
    with pytest.raises(InvalidArgumentError, match=r"^Invalid pattern: .*, error: invalid UTF-8$"):
        regex.compiled(b"\xff")


@pytest.mark.parametrize(
    "function", [tf.strings.regex_full_match, lambda text, pattern: tf.regex_replace(text, pattern, "")]
)
def test_the_extra_is_named(function, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "re2", None)
    with tf.Graph().as_default(), pytest.raises(ImportError, match=r"google-re2: pip install google-re2"):
        function("a", "b")
