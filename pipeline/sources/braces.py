"""Braces in paths: expand `{a,b}` and `{000..146}`, as in bash and WebDataset."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.errors import invalid

_NUMBERS = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?", re.ASCII)
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d+))?")
_SPECIAL = re.compile(r"(\\*)([{},])")

MOST = 1_000_000  # maximum paths per text
_DEEPEST = 50  # braces within braces


class _Open(NamedTuple):
    """A brace not closed yet.

    Attributes:
        begin: Its index in the text.
        choices: The parts before the commas seen so far.
        parts: The parts after the last comma: texts, and lists of expanded braces.
    """

    begin: int
    choices: list[list[str]]
    parts: list[list[str]]


def without_braces(text: str) -> list[str]:
    """Expand a text's braces, in the order used by bash.

    `{a,b}` expands to each of its parts, possibly with braces too. `{1..9}` expands to the numbers, `{9..1}` downwards,
    `{1..9..2}` to every second one. Numbers have the same length if one begins with a zero. `{a..e}` expands to
    letters. All other braces, such as `{a}` and unpaired ones, are ordinary characters. So is a brace or comma after a
    backslash, which is removed; two backslashes before one are a backslash.

    Raises:
        InvalidArgumentError: There are more than 1,000,000 results, or braces are nested more than 50 deep.
    """
    stack = [_Open(0, [], [])]
    end = 0
    for found in _SPECIAL.finditer(text):
        top, at = stack[-1], found.start()
        slashes, special = found.groups()
        top.parts.append([text[end:at] + slashes[: len(slashes) // 2]])
        end = found.end()
        if len(slashes) % 2:
            top.parts.append([special])
        elif special == "{":
            if len(stack) > _DEEPEST:
                raise invalid(f"{text:.80}: braces are nested more than {_DEEPEST} deep")
            stack.append(_Open(end - 1, [], []))
        elif special == "}" and len(stack) > 1:
            stack.pop()
            stack[-1].parts.append(_closed(top, text, end))
        elif special == "," and len(stack) > 1:
            top.choices.append(_joined(top.parts, text))
            top.parts.clear()
        else:
            top.parts.append([special])
    stack[-1].parts.append([text[end:]])
    while len(stack) > 1:  # an unpaired brace and its commas are literal
        top = stack.pop()
        stack[-1].parts.append(["{"])
        stack[-1].parts.extend(_literal(top))
    return _joined(stack[0].parts, text)


def _closed(top: _Open, text: str, end: int) -> list[str]:
    """Expand a pair of braces; the text continues at `end`."""
    if top.choices:
        return _limited([*itertools.chain(*top.choices, _joined(top.parts, text))], text)
    inner = text[top.begin + 1 : end - 1]
    if (numbers := _NUMBERS.fullmatch(inner)) is not None:
        first, last, step = numbers.groups()
        return _numbers(first, last, step, text)
    if (letters := _LETTERS.fullmatch(inner)) is not None:
        first, last, step = letters.groups()
        return [chr(code) for code in _range(ord(first), ord(last), step)]
    return _joined([["{"], *top.parts, ["}"]], text)


def _numbers(first: str, last: str, step: str | None, text: str) -> list[str]:
    if max(map(len, (first, last, step or ""))) > 18:
        raise _too_many(text)
    padded = any(len(each.lstrip("-")) > 1 and each.lstrip("-")[0] == "0" for each in (first, last))
    width = max(len(first), len(last)) if padded else 0
    numbers = _range(int(first), int(last), step)
    if len(numbers) > MOST:
        raise _too_many(text)
    return [f"{number:0{width}}" for number in numbers]


def _range(first: int, last: int, step: str | None) -> range:
    """Return the numbers from `first` to `last`, up or down; a step's sign is ignored, and 0 counts as 1."""
    stride = abs(int(step or 1)) or 1
    return range(first, last + 1, stride) if first <= last else range(first, last - 1, -stride)


def _literal(top: _Open) -> Iterator[list[str]]:
    for choice in top.choices:
        yield choice
        yield [","]
    yield from top.parts


def _joined(parts: list[list[str]], text: str) -> list[str]:
    """Combine one of each part in every way."""
    joined = [""]
    for part in parts:
        if len(joined) * len(part) > MOST:
            raise _too_many(text)
        joined = [before + each for before in joined for each in part]
    return joined


def _limited(texts: list[str], text: str) -> list[str]:
    if len(texts) > MOST:
        raise _too_many(text)
    return texts


def _too_many(text: str) -> Exception:
    return invalid(f"{text:.80}: the braces stand for more than {MOST:,} paths")
