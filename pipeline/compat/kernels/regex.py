"""RE2 patterns, which google-re2 finds in bytes: in time that grows with the text alone."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

from pipeline.errors import invalid


@lru_cache(maxsize=256)
def compiled(pattern: bytes) -> Pattern:
    """Return a pattern, ready to be found in many values.

    Raises:
        InvalidArgumentError: RE2 does not accept the pattern.
    """
    return Pattern(pattern)


class Pattern:
    """A pattern that RE2 looks for.

    Thread safety: may be used by several threads at the same time.

    Args:
        source: The pattern, as RE2 writes it.

    Raises:
        InvalidArgumentError: RE2 does not accept the pattern.
        ImportError: google-re2 is not installed.
    """

    def __init__(self, source: bytes) -> None:
        re2 = library()
        options = re2.Options()
        options.log_errors = False
        try:
            self._engine: Any = re2.compile(source, options)
        except re2.error as error:
            why = error.args[0].decode(errors="replace")
            raise invalid(f"Invalid pattern: {source.decode(errors='replace')}, error: {why}") from None

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self._engine.groups  # type: ignore[no-any-return]

    def fullmatch(self, value: bytes) -> bool:
        """Return whether a whole value matches."""
        return self._engine.fullmatch(value) is not None

    def replace(self, value: bytes, rewrite: list[bytes | int], every: bool) -> bytes:
        """Return a value in which the first match, or every match, became texts and numbered groups."""
        out, at, last = [], 0, -1
        while at <= len(value):
            match = self._engine.search(value, at)
            if match is None:
                break
            begin, end = match.span()
            out.append(value[at:begin])
            if begin == end == last:  # RE2 allows no empty match where the last match ended
                after = _next_character(value, at)
                out.append(value[at:after])
                at = after
                continue
            out.extend((match[piece] or b"") if isinstance(piece, int) else piece for piece in rewrite)
            at = last = end
            if not every:
                break
        out.append(value[at:])
        return b"".join(out)


def library() -> Any:
    """Return the module re2; ImportError if it is not installed."""
    try:
        return importlib.import_module("re2")  # programs without patterns need not have it
    except ImportError as error:
        raise ImportError("regular expressions need google-re2: pip install 'queue-runner[tf1]'") from error


def _next_character(value: bytes, at: int) -> int:
    """Return the index of the character after the one at an index; of text that is no UTF-8 each byte is one."""
    lead = value[at] if at < len(value) else 0
    after = at + 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    try:
        value[at:after].decode()
    except UnicodeDecodeError:
        return at + 1
    return after
