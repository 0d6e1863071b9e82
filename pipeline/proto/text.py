"""The text form of messages."""

from __future__ import annotations


def escaped(value: bytes) -> str:
    """Bytes as protocol buffer text has them within quotes."""
    special = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
    return "".join(special.get(c) or (chr(c) if 32 <= c < 127 else f"\\{c:03o}") for c in value)
