"""Translates RE2 patterns into Python's `re`; the two differ in classes, anchors and flags."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# Bytes that are not UTF-8 decode to these (surrogateescape); no class and no dot matches them.
_INVALID = "\udc80-\udcff"
_PERL = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\\t\\n\\f\\r "}
_NOT_PERL = {
    "D": "\\x00-/:-\U0010ffff",
    "W": "\\x00-/:-@\\[-\\^`{-\U0010ffff",
    "S": "\\x00-\\x08\\x0b\\x0e-\\x1f!-\U0010ffff",
}
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_NOT_POSIX = {
    "alnum": "\\x00-/:-@\\[-`{-\U0010ffff",
    "alpha": "\\x00-@\\[-`{-\U0010ffff",
    "digit": _NOT_PERL["D"],
    "lower": "\\x00-`{-\U0010ffff",
    "space": "\\x00-\\x08\\x0e-\\x1f!-\U0010ffff",
    "upper": "\\x00-@\\[-\U0010ffff",
    "word": _NOT_PERL["W"],
}
_CONTROL = {"a": "\\x07", "f": "\\x0c", "n": "\\n", "r": "\\r", "t": "\\t", "v": "\\x0b"}
_MOST_REPEATS = 1000


class WrongPattern(Exception):
    """An error in a pattern, in RE2's words."""


def translated(source: str) -> str:
    """Return an RE2 pattern as one for `re`, for text that was decoded with surrogateescape.

    Raises:
        WrongPattern: RE2 does not accept the pattern.
    """
    return _Translator(source).translate()


class _Translator:
    """One pass over a pattern; `at` is the index of the next character."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.flags = frozenset[str]()
        self.names: set[str] = set()

    def translate(self) -> str:
        done = self._alternatives()
        if self.at < len(self.source):
            raise WrongPattern(f"unexpected ): {self.source}")
        return done

    def _alternatives(self) -> str:
        """Translate up to the end or the closing parenthesis, where flags set on the way end."""
        before, pieces = self.flags, []
        atom: str | None = None
        while self.at < len(self.source):
            char = self.source[self.at]
            if char == ")":
                break
            if char == "|":
                self.at += 1
                pieces.append("|")
                atom = None
                continue
            repeat = self._repeat()
            if repeat is not None:
                if atom is None:
                    raise WrongPattern(f"no argument for repetition operator: {self.source[repeat[1] : self.at]}")
                pieces.append(repeat[0])
                self._only_one_repeat(repeat[1])
                continue
            atom = self._atom()
            pieces.append(atom)
            atom = atom or None
        self.flags = before
        return "".join(pieces)

    def _repeat(self) -> tuple[str, int] | None:
        """Return the repetition operator at this index, and the index, and move past it; None if there is none."""
        begin, source = self.at, self.source
        char = source[begin]
        if char in "*+?":
            operator, self.at = char, begin + 1
        elif char == "{":
            end = source.find("}", begin)
            counts = source[begin + 1 : end].split(",") if end > 0 else []
            plain = 1 <= len(counts) <= 2 and counts[0].isdecimal() and all(c.isdecimal() or not c for c in counts)
            if not plain:
                return None
            if any(c and int(c) > _MOST_REPEATS for c in counts) or (
                len(counts) == 2 and counts[1] and int(counts[1]) < int(counts[0])
            ):
                raise WrongPattern(f"invalid repetition size: {source[begin : end + 1]}")
            operator, self.at = source[begin : end + 1], end + 1
        else:
            return None
        lazy = self.at < len(source) and source[self.at] == "?"
        self.at += lazy
        return operator + ("?" if lazy != ("U" in self.flags) else ""), begin

    def _only_one_repeat(self, begin: int) -> None:
        if self.at < len(self.source) and self._repeat() is not None:
            raise WrongPattern(f"bad repetition operator: {self.source[begin : self.at]}")

    def _atom(self) -> str:
        char = self.source[self.at]
        self.at += 1
        if char == "(":
            return self._group()
        if char == "[":
            return self._folded(self._class())
        if char == ".":
            return f"[^{_INVALID}]" if "s" in self.flags else f"[^\\n{_INVALID}]"
        if char == "^":
            return "(?m:^)" if "m" in self.flags else "(?:\\A)"
        if char == "$":
            return "(?m:$)" if "m" in self.flags else "(?:\\Z)"
        if char == "\\":
            return self._escape()
        return self._literal(char)

    def _literal(self, char: str) -> str:
        return self._folded(char if char.isalnum() or ord(char) > 127 else "\\" + char)

    def _folded(self, atom: str) -> str:
        return f"(?i:{atom})" if "i" in self.flags else atom

    def _group(self) -> str:
        """Translate what follows an opening parenthesis; "" for flags that apply from here on."""
        opening, flags, begin = "(", self.flags, self.at - 1
        if self.source.startswith("?", self.at):
            self.at += 1
            if self.source.startswith(("P<", "<"), self.at):
                self.at += 2 if self.source[self.at] == "P" else 1
                opening = f"(?P<{self._name(begin)}>"
            else:
                flags, closed = self._new_flags(begin)
                if closed:
                    self.flags = flags
                    return ""
                opening = "(?:"
        outside, self.flags = self.flags, flags
        body = self._alternatives()
        self.flags = outside
        if self.at >= len(self.source):
            raise WrongPattern(f"missing ): {self.source}")
        self.at += 1
        return f"{opening}{body})"

    def _name(self, begin: int) -> str:
        end = self.source.find(">", self.at)
        name = self.source[self.at : end] if end > 0 else ""
        if not name.isidentifier():
            raise WrongPattern(f"invalid named capture group: {self.source[begin : end + 1 if end > 0 else None]}")
        if name in self.names:
            raise WrongPattern(f"duplicate capture group name: {name}")
        self.names.add(name)
        self.at = end + 1
        return name

    def _new_flags(self, begin: int) -> tuple[frozenset[str], bool]:
        """Return the flags in `(?i-s:` or `(?i)`, and whether the parenthesis closes right after them."""
        flags, minus = set(self.flags), False
        while self.at < len(self.source):
            char = self.source[self.at]
            self.at += 1
            if char in ":)":
                return frozenset(flags), char == ")"
            if char == "-" and not minus:
                minus = True
            elif char in "imsU":
                (flags.discard if minus else flags.add)(char)
            else:
                break
        raise WrongPattern(f"invalid perl operator: {self.source[begin : self.at]}")

    def _escape(self) -> str:
        char = self._next()
        if char in "AzbB":
            return {"A": "(?:\\A)", "z": "(?:\\Z)", "b": "(?a:\\b)", "B": "(?a:(?!\\b))"}[char]
        if char == "Q":
            end = self.source.find("\\E", self.at)
            end = len(self.source) if end < 0 else end
            text, self.at = self.source[self.at : end], end + 2
            quoted = "".join(map(self._literal, text))
            return (
                quoted if len(text) < 2 else f"(?:{quoted[: -len(self._literal(text[-1]))]}){self._literal(text[-1])}"
            )
        if char == "C":
            return "(?s:.)"
        if char in _PERL:
            return f"[{_PERL[char]}]"
        if char in _NOT_PERL:
            return f"[^{_PERL[char.lower()]}{_INVALID}]"
        if char in "pP":
            return self._folded(f"[{self._category(char)}]")
        return self._folded(self._character(char))

    def _next(self) -> str:
        if self.at >= len(self.source):
            raise WrongPattern("trailing \\")
        self.at += 1
        return self.source[self.at - 1]

    def _character(self, char: str) -> str:
        """Translate an escaped character, inside a class or outside."""
        if char in _CONTROL:
            return _CONTROL[char]
        digits, source = "", self.source
        if char == "x":
            if source.startswith("{", self.at):
                end = source.find("}", self.at)
                digits, self.at = source[self.at + 1 : end], end + 1
            else:
                digits, self.at = source[self.at : self.at + 2], self.at + 2
            try:
                return f"\\U{int(digits, 16):08x}"
            except ValueError:
                raise WrongPattern(f"invalid escape sequence: \\x{digits}") from None
        octal = source[self.at - 1 : self.at + 2]
        if char == "0" or (char in "1234567" and len(octal) > 1 and octal[1] in "01234567"):
            while len(digits) < 3 and self.at - 1 < len(source) and source[self.at - 1] in "01234567":
                digits += source[self.at - 1]
                self.at += 1
            self.at -= 1
            return f"\\U{int(digits, 8):08x}"
        if char.isalnum() or char == "_" or ord(char) > 127:
            raise WrongPattern(f"invalid escape sequence: \\{char}")
        return "\\" + char

    def _category(self, escape: str) -> str:
        """Return the inside of a class for the general category that follows `\\p` or `\\P`."""
        name = self._next()
        if name == "{":
            end = self.source.find("}", self.at)
            if end < 0:
                raise WrongPattern(f"invalid character class range: {self.source}")
            name, self.at = self.source[self.at : end], end + 1
        negated = escape == "P"
        if name.startswith("^"):
            name, negated = name[1:], not negated
        inside = _category_class(name, negated, "i" in self.flags)
        if not inside:
            raise WrongPattern(f"invalid character class range: \\{escape}{{{name}}}")
        return inside

    def _class(self) -> str:
        """Translate what follows an opening bracket."""
        begin = self.at - 1
        negated = self.source.startswith("^", self.at)
        self.at += negated
        pieces: list[str] = []
        first = True
        while True:
            if self.at >= len(self.source):
                raise WrongPattern(f"missing ]: {self.source[begin:]}")
            if self.source[self.at] == "]" and not first:
                break
            first = False
            pieces.append(self._item(begin))
        self.at += 1
        inside = "".join(pieces)
        return f"[^{inside}{_INVALID}]" if negated else f"[{inside}]"

    def _item(self, begin: int) -> str:
        """Translate a named class, a character or a range."""
        source = self.source
        if source.startswith("[:", self.at):
            end = source.find(":]", self.at)
            if end > 0:
                name = source[self.at + 2 : end]
                known = _NOT_POSIX.get(name[1:]) if name.startswith("^") else _POSIX.get(name)
                if known is None:
                    raise WrongPattern(f"invalid character class range: {source[self.at : end + 2]}")
                self.at = end + 2
                return known
        if source[self.at] == "\\" and self.at + 1 < len(source):
            char = source[self.at + 1]
            if char in _PERL or char in _NOT_PERL:
                self.at += 2
                return {**_PERL, **_NOT_PERL}[char]
            if char in "pP":
                self.at += 2
                return self._category(char)
        low = self._one()
        if source.startswith("-", self.at) and self.at + 1 < len(source) and source[self.at + 1] != "]":
            self.at += 1
            high = self._one()
            return f"{low}-{high}"
        return low

    def _one(self) -> str:
        char = self._next()
        if char == "\\":
            return self._character(self._next())
        return char if char.isalnum() or ord(char) > 127 else "\\" + char


@lru_cache(maxsize=16)
def _category_class(name: str, negated: bool, folded: bool) -> str:
    """Return the inside of a class for a general category such as Lu or L; "" if no character is in it.

    If case is `folded`, a character is in the category with any of its cases. Only that can be negated.
    """
    if name == "Any":
        return "" if negated else "\\x00-\U0010ffff"
    ranges: list[list[int]] = []
    for code in range(0x110000):
        if _in_category(chr(code), name, folded) == negated or 0xD800 <= code < 0xE000:
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    if negated and ranges == [[0, 0xD7FF], [0xE000, 0x10FFFF]]:
        return ""
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


def _in_category(char: str, name: str, folded: bool) -> bool:
    cases = (char, char.lower(), char.upper()) if folded else (char,)
    return any(len(each) == 1 and unicodedata.category(each).startswith(name) for each in cases)
