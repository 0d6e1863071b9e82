"""RE2 patterns: found alike by RE2 and by Python's `re`, and never with exponential effort."""

import contextlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pipeline.compat.v1 as tf
from pipeline.compat.kernels import regex
from pipeline.errors import InvalidArgumentError, ResourceExhaustedError

native = pytest.mark.skipif(regex.native_module() is None, reason="needs google-re2")

_atoms = st.sampled_from(
    ["a", "b", "é", ".", "[ab]", "[^a]", "[^aé]", r"\d", r"\W", r"\s", r"\pL", r"\P{Lu}", r"\x{e9}", "[[:alpha:]]"]
    + [r"\.", "[a-é]", r"[\d_]", "(?i:A)", "(?i:[É])", "(?s:.)", r"\Qa.\E", r"[^\W1]", "(?:)"]
)
# Not \B, which RE2 finds inside the bytes of one character, too.
_anchors = st.sampled_from(["^", "$", r"\b", r"\A", r"\z", "(?m:^)", "(?m:$)"])
_repeats = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}", "{0,2}?"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format),
        inner.map("({})".format),
        inner.map("(?i:{})".format),
        st.tuples(_atoms, _repeats).map("".join),
        st.tuples(inner, _repeats).map("(?:{0[0]}){0[1]}".format),
    )


patterns = st.recursive(st.one_of(_atoms, _anchors), _larger, max_leaves=8)
texts = st.lists(st.sampled_from([b"a", b"b", b"A", "é".encode(), "É".encode(), b"1", b" ", b".", b"\n", b"\xff"]))


@native
@settings(max_examples=200, deadline=None)
@given(pattern=patterns, text=texts.map(b"".join), rewrite=st.binary(max_size=3))
@example(pattern=r"\B", text=b"", rewrite=b"-")
@example(pattern=r"\B", text=b"ab c", rewrite=b"-")
@example(pattern=r"(?i:\P{Lu}*)", text=b"aA1", rewrite=b"-")
@example(pattern="", text="é\u20ac😀".encode() + b"\xe2\x82", rewrite=b"-")
def test_re2_and_re_find_the_same(pattern, text, rewrite):
    found, expected = regex.Pattern(pattern.encode()), regex.compiled(pattern.encode())
    assert type(found) is not type(expected)
    assert found.groups == expected.groups
    pieces = [b"<", *range(found.groups + 1), rewrite, b">"]
    with contextlib.suppress(ResourceExhaustedError):  # re refuses texts that are too long for it
        assert found.fullmatch(text) == expected.fullmatch(text)
        for every in (False, True):
            assert found.replace(text, pieces, every) == expected.replace(text, pieces, every)


HOPELESS = ["(a*)*b", "(a|a)*b", "(a|ab?)*c", "(?i:[a-z]+,?)*1", "(a?){50}b", ".*a.*a.*a.*b", r"(\w+\s?)*\."]


@pytest.mark.parametrize("pattern", HOPELESS)
def test_re_refuses_texts_in_which_it_would_search_for_ages(pattern, monkeypatch):
    monkeypatch.setattr(regex, "native_module", lambda: None)
    regex.compiled.cache_clear()
    try:
        for make in (
            lambda text: tf.strings.regex_full_match(text, pattern),
            lambda text: tf.regex_replace(text, tf.constant(pattern), "x"),
        ):
            with tf.Graph().as_default(), tf.Session() as sess:
                sess.run(make("a"))
                with pytest.raises(ResourceExhaustedError, match=r"5000 characters.*queue-runner\[regex\]"):
                    sess.run(make("a" * 5000))
    finally:
        regex.compiled.cache_clear()


@native
@pytest.mark.parametrize("pattern", HOPELESS)
def test_re2_searches_any_text(pattern):
    with tf.Graph().as_default(), tf.Session() as sess:
        text = "a" * 5000
        assert not sess.run(tf.strings.regex_full_match(text, pattern))
        assert sess.run(tf.regex_replace([text, "é"], pattern, "x"))[1] == "é".encode()


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+",
        r"<[^>]*>",
        r"(\d{1,3}\.){3}\d+",
        r"\w+( \w+)*",
        "([^,]*,)*",
        '"(?:[^"\\\\]|\\\\.)*"',
        "foo|bar",
        "(foo|bar)*",
        "^ +| +$",
    ],
)
def test_re_searches_texts_of_any_length_for_patterns_without_choices(pattern):
    text = b'1.2.3.4 <ab>, "x" foobar ' * 20_000
    regex.Pattern(pattern.encode()).replace(text, [b"-"], True)
    regex.Pattern(pattern.encode()).fullmatch(text)


def test_a_pattern_that_is_no_text_is_invalid():
    for make in (regex.Pattern, regex.compiled):
        with pytest.raises(InvalidArgumentError, match=r"^Invalid pattern: .*, error: invalid UTF-8$"):
            make(b"\xff")
