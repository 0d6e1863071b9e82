"""RE2 patterns: found by RE2 itself where google-re2 is installed, else by Python's `re`."""

from __future__ import annotations

import importlib
import re
from functools import cache, lru_cache
from typing import Any

from pipeline.compat.kernels.regex_attempts import longest_text
from pipeline.compat.kernels.regex_syntax import WrongPattern, translated
from pipeline.errors import ResourceExhaustedError, invalid


@lru_cache(maxsize=256)
def compiled(pattern: bytes) -> Pattern:
    """Return a pattern, ready to be found in many values.

    Raises:
        InvalidArgumentError: RE2 does not accept the pattern.
    """
    re2 = native_module()
    return Pattern(pattern) if re2 is None else _NativePattern(pattern, re2)


@cache
def native_module() -> Any:
    """Return the module re2, which programs without patterns need not import; None if it is not installed."""
    try:
        return importlib.import_module("re2")
    except ImportError:
        return None


class Pattern:
    """A pattern that Python's `re` looks for.

    RE2 takes time that grows with the text. `re` tries again and again, so texts that are too long for that are
    refused.

    Thread safety: may be used by several threads at the same time.

    Args:
        source: The pattern, as RE2 writes it.

    Raises:
        InvalidArgumentError: RE2 does not accept the pattern.
    """

    def __init__(self, source: bytes) -> None:
        try:
            pattern = translated(source.decode())
            self._engine: Any = re.compile(pattern)
            self._longest = longest_text(pattern, search=False), longest_text(pattern, search=True)
        except UnicodeDecodeError:
            raise _refused(source, "invalid UTF-8") from None
        except (WrongPattern, re.error, OverflowError, RecursionError) as error:
            raise _refused(source, str(error)) from None
        self._source = source

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self._engine.groups  # type: ignore[no-any-return]

    def fullmatch(self, value: bytes) -> bool:
        """Return whether a whole value matches.

        Raises:
            ResourceExhaustedError: The value is too long for `re`.
        """
        text = self._text(value)
        self._check(text, search=False)
        return self._engine.fullmatch(text) is not None

    def replace(self, value: bytes, rewrite: list[bytes | int], every: bool) -> bytes:
        """Return a value in which the first match, or every match, became texts and numbered groups.

        Raises:
            ResourceExhaustedError: The value is too long for `re`.
        """
        text = self._text(value)
        self._check(text, search=True)
        pieces = [piece if isinstance(piece, int) else self._text(piece) for piece in rewrite]
        none = text[:0]
        out, at, last = [], 0, -1
        while at <= len(text):
            match = self._engine.search(text, at)
            if match is None:
                break
            begin, end = match.span()
            out.append(text[at:begin])
            if begin == end == last:  # RE2 allows no empty match where the last match ended
                after = self._after(text, at)
                out.append(text[at:after])
                at = after
                continue
            out.extend((match[piece] or none) if isinstance(piece, int) else piece for piece in pieces)
            at = last = end
            if not every:
                break
        out.append(text[at:])
        return self._bytes(none.join(out))

    def _check(self, text: Any, search: bool) -> None:
        longest = self._longest[search]
        if len(text) > longest:
            shown = self._source.decode(errors="replace")
            raise ResourceExhaustedError(
                None,
                None,
                f"Python's re could take very long to find the pattern {shown} in a text of {len(text)} characters "
                f"(at most {longest}); pip install 'queue-runner[regex]' has RE2, which finds it in linear time",
            )

    def _text(self, value: bytes) -> Any:
        return value.decode("utf-8", "surrogateescape")

    def _bytes(self, text: Any) -> bytes:
        return text.encode("utf-8", "surrogateescape")  # type: ignore[no-any-return]

    def _after(self, text: Any, at: int) -> int:
        """Return the index of the character after the one at an index."""
        return at + 1


class _NativePattern(Pattern):
    """A pattern that RE2 looks for, in bytes."""

    def __init__(self, source: bytes, re2: Any) -> None:
        options = re2.Options()
        options.log_errors = False
        try:
            self._engine = re2.compile(source, options)
        except re2.error as error:
            raise _refused(source, error.args[0].decode(errors="replace")) from None

    def _check(self, text: Any, search: bool) -> None:
        pass

    def fullmatch(self, value: bytes) -> bool:
        return self._engine.fullmatch(value) is not None

    def _text(self, value: bytes) -> bytes:
        return value

    def _bytes(self, text: bytes) -> bytes:
        return text

    def _after(self, text: bytes, at: int) -> int:
        lead = text[at] if at < len(text) else 0
        after = at + 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
        try:
            text[at:after].decode()
        except UnicodeDecodeError:  # each byte counts by itself
            return at + 1
        return after


def _refused(source: bytes, why: str) -> Exception:
    return invalid(f"Invalid pattern: {source.decode(errors='replace')}, error: {why}")
