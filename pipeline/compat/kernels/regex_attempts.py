"""How often Python's `re` may try again before it knows that a pattern is not there.

Whoever matches by trying has a choice wherever the next character could go on with a repetition as well as leave it, or
begin several alternatives. Where no character leaves a choice, one attempt is enough. The number of attempts is the
product of the choices, and choices within a repetition multiply with each round: exponentially many.
"""

from __future__ import annotations

import importlib
import itertools
import re
import sys
from typing import Any

_parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

_MOST_ATTEMPTS = 1e9
_MOST_ROUNDS = 30  # two choices in each are more than _MOST_ATTEMPTS
_LONGEST = 1 << 40
# Sets of characters are bits: one for each character of ASCII, and one for all others.
_OTHERS = 1 << 128
_ALL = (_OTHERS << 1) - 1


def longest_text(pattern: str, search: bool) -> int:
    """Return the length of the longest text in which `re` may look for a pattern.

    Args:
        pattern: For `re`.
        search: Whether a match may begin anywhere. A pattern without choices may still look at each character once for
            each beginning.
    """
    tree = _parser.parse(pattern)

    def affordable(length: int) -> bool:
        attempts = _Attempts(length).sequence(tree, 0)[0]
        return attempts <= 1 or attempts * (length if search else 1) <= _MOST_ATTEMPTS

    found, step = 0, _LONGEST
    while step:
        if affordable(found + step):
            found += step
        step >>= 1
    return found


class _Attempts:
    """Counts attempts for a text. Each method returns their number, and the characters that may come first.

    Args:
        length: Of the text.
    """

    def __init__(self, length: int) -> None:
        self._length = length

    def sequence(self, items: Any, following: int) -> tuple[float, int]:
        """Count for items one after another; `following` are the characters that may come after the last."""
        attempts = 1.0
        for kind, argument in reversed(list(items)):
            count, following = self._item(str(kind), argument, following)
            attempts = min(attempts * count, 2 * _MOST_ATTEMPTS)
        return attempts, following

    def _item(self, kind: str, argument: Any, following: int) -> tuple[float, int]:
        if kind in ("AT", "ASSERT_NOT"):  # no character
            return 1.0, following
        if kind == "SUBPATTERN":
            _, flags, _, items = argument
            attempts, first = self.sequence(items, following)
            return attempts, _ALL if flags & re.IGNORECASE else first
        if kind == "BRANCH":
            return self._branches([self.sequence(items, following) for items in argument[1]])
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeat(argument, following)
        return 1.0, _characters(kind, argument)

    def _branches(self, branches: list[tuple[float, int]]) -> tuple[float, int]:
        counts, first = [count for count, _ in branches], 0
        for _, each in branches:
            first |= each
        choice = any(a & b for (_, a), (_, b) in itertools.combinations(branches, 2))
        return sum(counts) if choice else max(counts), first

    def _repeat(self, argument: Any, following: int) -> tuple[float, int]:
        items = argument[2]
        least, most = (min(int(count), self._length) for count in argument[:2])
        again = self.sequence(items, 0)[1]
        attempts, first = self.sequence(items, again | following)
        rounds = most - least + 1 if again & following else 1
        total = min(rounds * attempts ** min(most, _MOST_ROUNDS), 2 * _MOST_ATTEMPTS)
        return total, first if least else first | following


def _characters(kind: str, argument: Any) -> int:
    """Return the characters of a literal or a class."""
    if kind == "LITERAL":
        return _range(argument, argument)
    if kind == "NOT_LITERAL":
        return _ALL & ~_range(argument, argument) | _OTHERS
    if kind != "IN":
        return _ALL
    found, negated = 0, False
    for part, value in argument:
        if str(part) == "NEGATE":
            negated = True
        else:
            low, high = value if str(part) == "RANGE" else (value, value)
            found |= _range(low, high)
    return _ALL & ~found | _OTHERS if negated else found


def _range(low: int, high: int) -> int:
    ascii_part = (1 << min(high, 127) + 1) - (1 << low) if low < 128 else 0
    return ascii_part | (_OTHERS if high > 127 else 0)
