"""Protocol buffer text: how `str(message)` writes bytes, numbers and nested messages."""

from __future__ import annotations

from collections.abc import Iterable

_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("'"): "\\'", ord("\\"): "\\\\"}


def escaped(value: bytes) -> str:
    """Return bytes as they stand between quotes: unprintable ones in octal, as in C."""
    return "".join(_ESCAPES.get(c) or (chr(c) if 32 <= c < 127 else f"\\{c:03o}") for c in value)


def quoted(value: bytes) -> str:
    """Return bytes in double quotes."""
    return f'"{escaped(value)}"'


def block(name: str, lines: Iterable[str]) -> list[str]:
    """Return the lines of a message that is the field `name` of another one."""
    return [f"{name} {{", *("  " + line for line in lines), "}"]
