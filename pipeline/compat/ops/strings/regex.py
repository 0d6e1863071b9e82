"""regex_replace and regex_full_match, with RE2's rules for rewrites and empty matches."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.dtypes import bool as bool_
from pipeline.compat.graph.dtypes import string
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.regex import compiled
from pipeline.compat.ops.making.text import encoded, map_strings, string_op, text, with_rank


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Replace the matches of an RE2 pattern; `\\1` in `rewrite` stands for the first group.

    Args:
        input: Strings of any shape.
        pattern: A string or string scalar.
        rewrite: A string or string scalar.
        replace_global: Replace every match instead of the first one only.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time: the pattern is invalid.
    """
    every = bool(replace_global)
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        made: list[Any] = []
        fixed = encoded(pattern), encoded(rewrite)

        def function(value: bytes) -> bytes:
            if not made:
                made.append(replace(*fixed, every))
            return made[0](value)  # type: ignore[no-any-return]

        attrs = {"pattern": fixed[0], "rewrite": fixed[1], "replace_global": every}
        return string_op("StaticRegexReplace", input, function, name, attrs=attrs)
    with name_scope(name, "RegexReplace") as scope:
        tensor = text(input, "input", "RegexReplace")
        parts = [with_rank(text(pattern, "pattern", "RegexReplace"), 0)]
        parts.append(with_rank(text(rewrite, "rewrite", "RegexReplace"), 0))

        def kernel(values: Any, found: bytes, new: bytes) -> Any:
            return map_strings(replace(found, new, every), values)

        return tensor_node(
            "RegexReplace", [tensor, *parts], kernel, string, tensor.shape, name=scope, attrs={"replace_global": every}
        )


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Return whether each whole string matches an RE2 pattern.

    Raises:
        InvalidArgumentError: At run time: the pattern is invalid.
    """
    if isinstance(pattern, (str, bytes)):
        fixed = encoded(pattern)
        return string_op(
            "StaticRegexFullMatch", input, lambda value: _full(fixed, value), name, bool_, attrs={"pattern": fixed}
        )
    with name_scope(name, "RegexFullMatch") as scope:
        tensor = text(input, "input", "RegexFullMatch")
        found = with_rank(text(pattern, "pattern", "RegexFullMatch"), 0)

        def kernel(values: Any, pattern: bytes) -> Any:
            compiled(pattern)
            return map_strings(lambda value: _full(pattern, value), values, bool)

        return tensor_node("RegexFullMatch", [tensor, found], kernel, bool_, tensor.shape, name=scope)


def _full(pattern: bytes, value: bytes) -> bool:
    return compiled(pattern).fullmatch(value.decode("utf-8", "surrogateescape")) is not None


def rewritten(rewrite: bytes, groups: int) -> list[str | int] | None:
    """Parse a rewrite into texts and group numbers; -1 ends it at an invalid escape. None if a group is missing."""
    pieces: list[str | int] = []
    text = rewrite.decode("utf-8", "surrogateescape")
    at, highest = 0, 0
    while at < len(text):
        if text[at] != "\\":
            pieces.append(text[at])
            at += 1
            continue
        after = text[at + 1 : at + 2]
        if after.isascii() and after.isdigit():
            pieces.append(int(after))
            highest = max(highest, int(after))
        elif after == "\\":
            pieces.append("\\")
        else:
            pieces.append(-1)
            break
        at += 2
    return None if highest > groups else pieces


def replace(pattern: bytes, rewrite: bytes, every: bool) -> Any:
    """Return a function that replaces the first match, or every match, in a byte string.

    Raises:
        InvalidArgumentError: The pattern is invalid in RE2.
    """
    found = compiled(pattern)
    pieces = rewritten(rewrite, found.groups)
    broken = pieces is not None and -1 in pieces

    def filled(match: Any) -> str:
        assert pieces is not None
        return "".join(p if isinstance(p, str) else match[p] or "" for p in pieces if p != -1)

    def first(value: bytes) -> bytes:
        text = value.decode("utf-8", "surrogateescape")
        match = found.search(text)
        if match is None or pieces is None or broken:
            return value
        done: str = text[: match.start()] + filled(match) + text[match.end() :]
        return done.encode("utf-8", "surrogateescape")

    def all_of(value: bytes) -> bytes:
        if pieces is None:
            return value
        text = value.decode("utf-8", "surrogateescape")
        out, at, last = [], 0, -1
        while at <= len(text):
            match = found.search(text, at)
            if match is None:
                break
            begin, end = match.span()
            out.append(text[at:begin])
            if begin == end == last:  # RE2 allows no empty match where the last match ended
                out.append(text[at : at + 1])
                at += 1
                continue
            out.append(filled(match))
            at = last = end
        out.append(text[at:])
        return "".join(out).encode("utf-8", "surrogateescape")

    return all_of if every else first
