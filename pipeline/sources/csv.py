"""csv: rows of CSV files as columns, named by the header line."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline._lines import first_bytes
from pipeline.decode.csv.block import decode_block
from pipeline.decode.csv.record import STRING, ColumnType, RecordFormat
from pipeline.diagnostics.frames import tell
from pipeline.diagnostics.wording import count as counted
from pipeline.errors import DataLossError, InvalidArgumentError, invalid
from pipeline.files.encoding import UTF_8
from pipeline.keywords import tells_keywords
from pipeline.logs import logger
from pipeline.sources.csv_columns import (
    FIELD,
    NearlyNumbers,
    described,
    dtype_of,
    guessed,
    integers_among,
    is_rounded,
    is_text,
    kind_of,
    nearly_numbers,
    ordered,
    refuse_rounding,
    told,
)
from pipeline.sources.csv_syntax import Syntax, quote
from pipeline.sources.csv_values import Values, values_of
from pipeline.sources.extras import MANY, chosen, of_record
from pipeline.sources.nodes import Parts
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded
from pipeline.sources.stream import PartsSource
from pipeline.sources.strings import encoding_hints, not_utf_8
from pipeline.sources.text import Piece, PieceRecords, cut_pieces, lines_to_skip, opened

_EXACT = 1 << 53  # float64 holds all integers up to this
_LOOKED_AT = 1000  # rows used to infer dtypes
_RECORD = re.compile(r" in record \d+")
_WRONG_NUMBER = re.compile(r"^Expect (\d+) fields but have \d+$")

_log = logger("pipeline.sources")


@tells_keywords
def csv(
    paths: Any,
    columns: Sequence[str] | None = None,
    dtypes: Any = None,
    defaults: Mapping[str, Any] | None = None,
    *,
    names: Sequence[str] | None = None,
    codes: Mapping[str, Sequence[str]] | None = None,
    skip_lines: int = 0,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    comment: str | None = None,
    lenient: bool = False,
    encoding: str | None = UTF_8,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> PartsSource:
    """Read rows from CSV files: each example is a dict with one value per column.

    Args:
        paths: A path, URL or pattern such as "part-*.csv.gz", or a list.
        columns: Names of the columns to read; None reads all.
        dtypes: Such as float32, by column or for all; else 1,000 rows decide.
        defaults: For missing fields, by column; else NaN, "" or an error.
        names: Column names; by default those in the first line.
        codes: Names of categories, by column: a field becomes its index.
        skip_lines, comment: Lines to skip at the start; prefix of comments.
        field_delim, use_quote_delim: Delimiter; whether `"` quotes a field.
        na_value: Text for a missing value, besides an empty field.
        lenient: Accept quotes inside fields; fill up short rows.
        encoding, num_epochs, seed, shard: As in `text`.
        shuffle: Shuffle the files, not the rows: add `.shuffle(n)`.

    Raises:
        OpError, TypeError: A file, a row or an option is wrong. To skip bad
            rows write `.map(f, on_error="skip")`.

    Examples:
        >>> np.savetxt("a.csv", [1, 3], "%d", header="x", comments="")
        >>> next(iter(pipeline.csv("a.csv").batch(2)))["x"]
        array([1, 3])
    """
    if defaults is not None and not isinstance(defaults, Mapping):
        raise TypeError(f"csv: defaults must be a dict of values by column, not {defaults!r:.80}")
    syntax = Syntax(
        field_delim, use_quote_delim, na_value, lines_to_skip(skip_lines, "csv"), names, comment, lenient, encoding
    )
    return PartsSource(
        _Rows(expanded(paths, "csv"), syntax, columns, dtypes, codes, defaults or {}),
        Epochs(num_epochs, shuffle, seed, shard),
    )


class _Form(NamedTuple):
    """How a file's rows are read.

    Attributes:
        columns: The column names, in the file's order.
        records: The record format.
        integers: Text formats of float columns that looked like integers.
        values: Conversions for text columns.
    """

    columns: tuple[str, ...]
    records: RecordFormat
    integers: Mapping[str, RecordFormat]
    values: Mapping[str, Values]

    def decoded(self, records: Sequence[bytes]) -> dict[str, NDArray[Any]]:
        arrays = dict(zip(self.columns, decode_block(records, self.records), strict=True))
        for name, texts in self.integers.items():
            large = np.flatnonzero(np.abs(arrays[name]) >= _EXACT)
            if len(large):
                self._check_exact(name, texts, records, large.tolist())
        for i, (name, column) in enumerate(zip(self.columns, self.records.columns, strict=True)):
            if column.text and (wrong := first_bytes(fields := arrays[name].tolist())) >= 0:
                hints = encoding_hints(fields[wrong], f"dtypes={{{name!r}: bytes}}")
                damaged = not_utf_8(f"Field {i}", fields[wrong], *hints)
                vars(damaged)["record"] = wrong
                raise damaged
        for name, values in self.values.items():
            try:
                arrays[name] = values.of(arrays[name].tolist())
            except InvalidArgumentError as error:
                told = invalid(f"Field {self.columns.index(name)}: {error.message}")
                vars(told)["record"] = vars(error)["record"]
                raise told from None
        return arrays

    def _check_exact(self, name: str, texts: RecordFormat, records: Sequence[bytes], large: list[int]) -> None:
        """Raise an error for an integer rounded by a float."""
        (found,) = decode_block([records[i] for i in large], texts)
        for i, text in zip(large, found.tolist(), strict=True):
            if is_rounded(text.decode(errors="replace")):
                why = f"float64 does not hold all digits of the integer {text.decode()}"
                error = invalid(f"Field {self.columns.index(name)}: {why}")
                vars(error)["record"] = i
                raise error


class _Whole:
    """A piece, decoded whole when its first rows are needed: starting costs as much as 100 rows.

    Args:
        form: How its rows are read.
        piece: The piece.
    """

    def __init__(self, form: _Form, piece: Piece) -> None:
        self.form = form
        self._untried = [piece]  # until a thread takes it
        self._arrays: dict[str, NDArray[Any]] | None = None

    def rows(self, first: int, count: int) -> dict[str, NDArray[Any]] | None:
        """Return rows; None if the piece has an error, or another thread is decoding it."""
        if self._untried:
            with contextlib.suppress(IndexError, InvalidArgumentError, DataLossError):
                self._arrays = self.form.decoded(self._untried.pop().records)
        if self._arrays is None:
            return None
        return {name: array[first : first + count] for name, array in self._arrays.items()}


class _Rows(Parts):
    """The rows of all files. The first file with rows decides the columns."""

    kind = "csv"
    lighter = "Try Parquet: `pipeline.parquet(path)`"
    unit = "files"
    most = MANY

    def __init__(
        self,
        names: Sequence[str],
        syntax: Syntax,
        columns: Sequence[str] | None,
        dtypes: Any,
        codes: Any,
        defaults: Mapping[str, Any],
    ) -> None:
        self.names = names
        self._syntax = syntax
        self._file, self._header, piece, rows = self._look()
        where = f"csv: {self._file}"
        if syntax.taken_from_row(self._header):
            shown = ", ".join(self._header[:3]) + ", ..." * (len(self._header) > 3)
            hint = "If it is a row, pass names=[...]"
            text = f"%s: the first line is used as column names, but has only numbers: %s. {hint}"
            _log.warning(text, where, shown)
        wanted = dict.fromkeys(chosen(self._header, columns, where))
        given = dtypes if isinstance(dtypes, Mapping) else {} if dtypes is None else dict.fromkeys(wanted, dtypes)
        for option, named in (("dtypes", given), ("defaults", defaults), ("codes", codes)):
            if isinstance(named, Mapping) and named:
                chosen(self._header, list(named), f"{where}: {option}")
        self._values = values_of(given, codes, list(wanted), where)
        given = {**given, **dict.fromkeys(self._values, bytes)}
        self._all = columns is None
        self._guessed = guessed([each for each in wanted if each not in given], rows, self._header, syntax, defaults)
        if piece is not None:
            for nearly in nearly_numbers(self._guessed, rows, self._header, syntax):
                self._tell_bad_field(nearly, piece, rows)
        refuse_rounding(self._guessed, rows, self._header, syntax, where)
        self._integers = integers_among(self._guessed, rows, self._header, syntax)
        if self._guessed:
            text = "%s: dtypes, from the first %d rows: %s; to change them pass dtypes="
            _log.info(text, where, len(rows), told(self._guessed))
        self._columns = {}
        for name in wanted:
            if name in self._guessed:
                self._columns[name] = self._guessed[name]
            else:
                dtype = dtype_of(name, given[name])
                self._columns[name] = described(name, dtype, defaults, is_text(given[name], syntax.encoding))

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield pieces; a place is the byte offset of a piece."""
        name = self.names[part]
        with opened(name, self._syntax.encoding) as file:
            header = self._syntax.header(file, name)
            if header is None:
                _log.warning("csv: %s is empty, without a header line: it gives no rows", name)
                return
            columns = self._in_order(header, name)
            texts = {each: self._syntax.form(header, {each: ColumnType(STRING, b"")}) for each in self._integers}
            form = _Form(tuple(columns), self._syntax.form(header, columns), texts, self._values)
            if place is not None:
                file.go_to(place)
            for piece in cut_pieces(file, self._syntax.cut, name, encoding=self._syntax.encoding):
                yield piece.offset, PieceRecords(piece, 0, piece.records, _Whole(form, piece))

    def block(self, given: PieceRecords) -> dict[str, NDArray[Any]]:
        whole: _Whole = given.how
        try:
            arrays = whole.rows(given.first, len(given)) or whole.form.decoded(given.records)
        except (InvalidArgumentError, DataLossError) as error:
            raise self._told(error, given) from None
        return {name: arrays[name] for name in self._columns}

    def named(self, given: PieceRecords, i: int) -> str:
        """Return a row's file and starting line."""
        return given.piece.line(given.piece.lines_to(given.first + i))

    def facts(self) -> dict[str, Any]:
        columns = [
            [name, self._values[name].kind if name in self._values else kind_of(column), str(column.default)]
            for name, column in self._columns.items()
        ]
        return {"files": len(self.names), "columns": columns, **self._syntax.facts()}

    def _look(self) -> tuple[str, list[str], Piece | None, list[bytes]]:
        """Return the first file with rows: its name, columns, first piece, and some rows."""
        found: tuple[str, list[str], Piece | None, list[bytes]] | None = None
        for name in self.names:
            _refuse_pipe(name)
            with opened(name, self._syntax.encoding) as file:
                header = self._syntax.header(file, name)
                if header is None:
                    continue
                for piece in cut_pieces(file, self._syntax.cut, name):
                    return name, header, piece, list(piece.records[:_LOOKED_AT])
            found = found or (name, header, None, [])
        if found is None:
            more = f" or the {counted(len(self.names) - 1, 'other')}" if len(self.names) > 1 else ""
            raise invalid(f"csv: expected a header line in '{self.names[0]}'{more}, found nothing")
        return found

    def _tell_bad_field(self, nearly: NearlyNumbers, piece: Piece, rows: Sequence[bytes]) -> None:
        """Warn about a field that turned a number column into strings; `rows` has no malformed rows."""
        record = list(piece.records[:_LOOKED_AT]).index(rows[nearly.row])
        line = 1 + piece.lines_before + piece.lines_to(record)
        tell(
            _log,
            f"csv: {self._file}, line {line:,}: column {nearly.name!r} has {nearly.text!r:.80}, and most of its values "
            f"are numbers: all become strings. To read it as missing pass na_value={nearly.text!r:.80}; to get "
            f"an error dtypes={{{nearly.name!r}: 'float64'}}; to keep strings dtypes={{{nearly.name!r}: str}}",
        )

    def _in_order(self, header: list[str], name: str) -> dict[str, ColumnType]:
        """Return the columns in a file's order; InvalidArgumentError if the file has other columns."""
        there = set(header)
        differs = [f"it has no {each!r}" for each in self._columns if each not in there]
        if self._all:
            differs += [f"it has {each!r}" for each in header if each not in self._columns]
        if differs:
            text = f"csv: '{name}' has other columns than '{self._file}': {', '.join(differs[:5])}"
            raise invalid(text + ("; see columns=" if len(header) > len(self._columns) else ""))
        return ordered(self._columns, header)

    def _told(
        self, error: InvalidArgumentError | DataLossError, given: PieceRecords
    ) -> InvalidArgumentError | DataLossError:
        """Return a record's error, with its file, line and column."""
        record: int = error.record  # type: ignore[union-attr]
        file = given.piece.name
        line = 1 + given.piece.lines_before + given.piece.lines_to(given.first + record)
        text = _RECORD.sub("", error.message.removesuffix("!"), 1) + quote(error, line)
        field, number = FIELD.match(text), _WRONG_NUMBER.match(text)
        if field is not None:
            name = given.how.form.columns[int(field[1])]
            text = f"column {name!r}{text[field.end() :]}"
            if isinstance(error, DataLossError):
                pass
            elif name in self._guessed:
                text += f"; the first rows look like {self._columns[name].dtype}: pass dtypes= or defaults="
            elif "missing" in text:
                text += "; see defaults="
        else:
            text += self._syntax.hint(given.records[record], int(number[1]) if number else 0)
        return of_record(type(error)(None, None, f"csv: {file}, line {line:,}: {text}"), f"{file}:{line}")


def _refuse_pipe(name: str) -> None:
    """Raise InvalidArgumentError for a pipe: it can be read only once, and the first look would consume rows."""
    pipe = False
    with contextlib.suppress(OSError, ValueError):  # a URL, or no file at all
        pipe = stat.S_ISFIFO(os.stat(name).st_mode)
    if pipe:
        raise invalid(
            f"csv: {name} is a pipe, but csv reads a file more than once, first for its names and dtypes: "
            "copy it to a file, or read its lines with pipeline.text and pipeline.decode_csv"
        )
