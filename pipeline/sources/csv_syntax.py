"""CSV syntax: column names, records, and hints for records with errors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pipeline._csv import cut_records
from pipeline.decode.csv.numbers import number
from pipeline.decode.csv.record import ColumnType, RecordFormat, split_record
from pipeline.dtypes import as_bytes, items, truth
from pipeline.errors import invalid
from pipeline.files.encoding import (
    LONGEST_MARK,
    MARK,
    checked_encoding,
    encoding_fact,
    likely_encoding,
    refuse_binary,
)
from pipeline.files.read_buffer import ReadBuffer
from pipeline.sources.extras import MANY
from pipeline.sources.strings import not_utf_8
from pipeline.sources.text import Piece, cut_pieces, skip

_DELIMS = b",;\t|"  # common delimiters
_NO_HEADER = (
    ". If the file has no header, pass names=[...], one name per column. If it has one, pass skip_lines= too, to leave "
    "it out"
)
_PLUS = re.compile(rb"^\s*\+(?=\d)")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


class Syntax:
    """The syntax of files.

    Args:
        delim, quotes, na, names: As `field_delim`, `use_quote_delim`, `na_value` and `names` of `csv`.
        skip_lines: As for `csv`, checked.
        comment, lenient, encoding: As for `csv`.

    Raises:
        InvalidArgumentError: `delim` or `comment` is not a single character, or names are empty or repeated.
        TypeError: An argument is not a string.
    """

    def __init__(
        self,
        delim: Any,
        quotes: Any,
        na: Any,
        skip_lines: int,
        names: Sequence[str] | None,
        comment: Any,
        lenient: Any,
        encoding: Any,
    ) -> None:
        self.encoding = checked_encoding(encoding, "csv")
        self.delim, self.na = as_bytes(delim, "csv: field_delim"), as_bytes(na, "csv: na_value")
        if len(self.delim) != 1 or self.delim in b'\r\n"':
            raise invalid(f"csv: field_delim must be one character other than a quote or line end, got {delim!r}")
        self.comment = b"" if comment is None else as_bytes(comment, "csv: comment")
        if comment is not None and (len(self.comment) != 1 or self.comment in b'\r\n"' + self.delim):
            other = "other than a quote, delimiter or line end"
            raise invalid(f"csv: comment must be one character {other}, got {comment!r}")
        self.lenient = truth(lenient, "csv: lenient")
        self.quotes, self.skip_lines = truth(quotes, "csv: use_quote_delim"), skip_lines
        if isinstance(names, (str, bytes)):
            raise TypeError(f"csv: names must be a list of names, such as [{names!r}], not {names!r}")
        self.names = None if names is None else _checked(items(names, "csv: names", "names"), "csv: names: ", "")

    def header(self, file: ReadBuffer, name: str) -> list[str] | None:
        """Skip to the rows; return the column names, or None if the file ends before them."""
        file.fill(LONGEST_MARK)
        refuse_binary(file.data, name, "csv")
        file.position += len(MARK) * file.data.startswith(MARK, file.position)
        skip(file, self.skip_lines, name)
        if self.names is not None:
            return self.names
        for piece in cut_pieces(file, partial(self.cut, most=1), name):
            return self._names(piece, name)
        return None

    def taken_from_row(self, header: Sequence[str]) -> bool:
        """Return whether column names look like the values of a row.

        They do if all are numbers, except 0, 1, 2 and so on, which pandas writes for columns without names.
        """
        counted = [str(i) for i in range(len(header))]
        return self.names is None and all(map(_NUMBER.fullmatch, header)) and list(header) != counted

    def _names(self, piece: Piece, name: str) -> list[str]:
        """Return the names in a piece's first record."""
        (line,) = piece.records
        if 0 in line:
            raise invalid(f"csv: {name}: the header line cannot be read: {likely_encoding(line)}")
        try:
            split = split_record(line, self.delim, self.quotes, 0, self.lenient, False)
            fields = [field.decode() for field in split]
        except UnicodeDecodeError:
            raise not_utf_8(f"csv: {name}: the header line", line, likely_encoding(line)) from None
        except ValueError as error:
            place = piece.text.find(line, piece.begin)
            first = 1 + self.skip_lines + piece.text.count(b"\n", piece.begin, place)
            why = f"{error}{quote(error, first)}{self._quoted_with_others(line) or self.hint(line)}"
            raise invalid(f"csv: {name}: the header line cannot be read: {why}") from error
        if len(fields) == 1 and not line.startswith(b'"'):
            self._look_for_others(line, piece, name)
        return _checked(fields, f"csv: {name}: its first line is used as column names, and ", _NO_HEADER)

    def _quoted_with_others(self, line: bytes) -> str:
        """Return a hint for quoted names with another delimiter between them."""
        for delim in _DELIMS.replace(self.delim, b""):
            with contextlib.suppress(ValueError):
                if count := sum(1 for _ in split_record(line, bytes([delim]), True, 0, False, False)) - 1:
                    return f"; {_would_have(delim, count + 1)}"
        return ""

    def _look_for_others(self, line: bytes, piece: Piece, name: str) -> None:
        """Raise InvalidArgumentError if the only name, and the next line, look like lines with another delimiter."""
        end = piece.text.find(line, piece.begin) + len(line)
        following = piece.text[end:].strip(b"\r\n").partition(b"\n")[0]
        if line[:1] == b"#" and following.count(self.delim) and self.delim not in line:
            text = f"csv: {name}: the header line has only one name, {line.decode(errors='replace')!r:.80}"
            raise invalid(f"{text}, and the next line has more: comment='#' leaves out lines that begin with #")
        for delim in _DELIMS.replace(self.delim, b""):
            count = line.count(delim)
            if count and (not following or following.count(delim) >= count):
                text = f"csv: {name}: the header line has only one name, {line.decode(errors='replace')!r:.80}: "
                raise invalid(f"{text}{_would_have(delim, count + 1)}; for one column pass names= and skip_lines=")

    def _other_delim(self, record: bytes, width: int) -> str:
        """Return a hint if a one-field record splits into several with another delimiter."""
        if self.delim not in record:
            for delim in _DELIMS:
                if record.count(delim) == width - 1 > 0:
                    return f"; {_would_have(delim, width)}"
        return ""

    def hint(self, record: bytes, width: int = 0) -> str:
        """Return a hint for a malformed record: a helpful option or change to the file.

        Args:
            record: The record.
            width: Its required field count; 0 if the error is about something else.
        """
        if record[:1] == b"#" and not self.comment:
            return "; comment='#' leaves out lines that begin with #"
        if b"\r" in record and not (self.quotes and b'"' in record):
            return r"; a line ends with \n or \r\n, and here is \r alone: change the file, as by tr '\r' '\n'"
        if width:
            return self._other_delim(record, width) or self._lenient(record.count(self.delim) + 1 < width)
        return self._lenient(self.quotes and b'"' in record)

    def _lenient(self, helps: bool) -> str:
        return "; see lenient=" if helps and not self.lenient else ""

    def cut(self, text: bytes, begin: int, end: int, last: bool, most: int = MANY) -> tuple[Sequence[bytes], int]:
        """Cut records; see `Cutter` in text.py."""
        return cut_records(text, begin, end, self.delim, self.quotes, last, most, self.comment)

    def form(self, names: Sequence[str], columns: Mapping[str, ColumnType]) -> RecordFormat:
        """Return a record format for these columns, in this order."""
        places = {name: place for place, name in enumerate(names)}
        select = tuple(places[name] for name in columns)
        kinds = tuple(columns.values())
        return _RowFormat(kinds, self.delim, self.quotes, self.na, select, len(names), self.lenient)

    def facts(self) -> dict[str, Any]:
        """Return the reading options as plain data."""
        texts = [each.decode("latin-1") for each in (self.delim, self.na)]
        lenience: dict[str, Any] = {"comment": self.comment.decode("latin-1")} if self.comment else {}
        if self.lenient:
            lenience["lenient"] = True
        lenience |= encoding_fact(self.encoding)
        return {"syntax": [*texts, self.quotes, self.skip_lines], "names": self.names, **lenience}


class _RowFormat(RecordFormat):
    """Reads records as `decode_csv` does, but accepts integers with a plus, unlike TensorFlow."""

    __slots__ = ()

    def convert(self, field: bytes, dtype: np.dtype[Any]) -> Any:
        return number(_PLUS.sub(b"", field) if dtype.kind in "iu" else field, dtype)


def quote(error: Exception, line: int) -> str:
    """Return a hint about the quote in a record starting at this line; empty if there is none."""
    lines = getattr(error, "lines", None)
    return "" if lines is None else f"; the quote began in line {line + lines:,}"


def _would_have(delim: int, count: int) -> str:
    return f"with field_delim={chr(delim)!r} it has {count}"


def _checked(names: list[Any], where: str, helps: str) -> list[str]:
    """Return the names; raise InvalidArgumentError, with a hint, if one comes twice or there are none."""
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{where}a name must be a string, not {name!r:.80}")
        if name in seen:
            raise invalid(f"{where}{name!r} appears twice{helps}")
        seen.add(name)
    if not names:
        raise invalid(f"{where}there are no column names")
    return names
