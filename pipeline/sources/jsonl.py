"""jsonl: lines from JSON Lines files as dicts; their keys may differ."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from pipeline.errors import InvalidArgumentError, invalid
from pipeline.files.encoding import (
    LONGEST_MARK,
    MARK,
    UTF_8,
    checked_encoding,
    encoding_fact,
    likely_encoding,
    refuse_binary,
)
from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit, too_long
from pipeline.files.offsets import Offsets
from pipeline.files.scans import filled_line_offsets
from pipeline.keywords import tells_keywords
from pipeline.sources.extras import MANY, names_of, of_record
from pipeline.sources.indexed import IndexedParts, Places, source_of
from pipeline.sources.list_values import marked
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded
from pipeline.sources.records import Records
from pipeline.sources.source import Source
from pipeline.sources.strings import not_utf_8
from pipeline.sources.text import Piece, cut_lines, cut_pieces, lines_of, opened
from pipeline.stages.block import Examples

# The compiled half of `json.loads`: for a short line the rest takes longer. It returns the end position, too.
# orjson needs 0.4 to 0.7 of its time, but turns integers above 64 bits into floats and has no NaN, so examples would
# depend on the installed libraries.
_value: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]

# How to skip lines other than objects.
_LENIENT = "; to skip such lines, use pipeline.text(paths).map(json.loads, on_error='skip')"

_BLANK = " \t\r\n"


@tells_keywords
def jsonl(
    paths: Any,
    columns: Sequence[str] | None = None,
    *,
    defaults: Mapping[str, Any] | None = None,
    encoding: str = UTF_8,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    index: bool = False,
    index_folder: Any = None,
    max_record_bytes: int | None = MAX_RECORD_BYTES,
) -> Source:
    r"""Read JSON Lines files: each line is an object, and becomes a dict.

    Strings are str, and null is None. A list of lists or objects becomes a `ListValue`. Names ending in .gz,
    .bz2, .xz, .zst or .zstd are decompressed. A resumed run continues mid-file.

    Args:
        paths: A path, URL or pattern such as "part-*.jsonl.gz", or a list.
        columns: Keys to read; None reads all keys of each line.
        defaults: Values for missing or null keys, by key.
        encoding: The files' encoding, such as "latin-1".
        num_epochs: Number of epochs; None repeats forever.
        shuffle: Shuffle the files, in a different order each epoch; add `.shuffle(n)` to mix lines.
        seed: Seed for the order.
        shard: (index, count): read every count-th file.
        index: Read lines by index: `shuffle`, `shuffle=True` and `shard=` then work on lines, and `len` and `d[i]`
            work. The offsets are computed once per machine. Files must be local and not compressed.
        index_folder: Folder for the index; None for the user's cache folder.
        max_record_bytes: Limit for a line's length; None for no limit.

    Raises:
        NotFoundError: A file is missing, or a pattern matches nothing.
        ValueError, TypeError, ImportError: An option is wrong, or fsspec is missing.
        InvalidArgumentError: When you iterate: a line is not a JSON object, or lacks a key. The error names file and
            line.
        DataLossError, ResourceExhaustedError: When you iterate: a compressed file is damaged, or a line is not UTF-8 or
            too long.

    Examples:
        >>> with open("chats.jsonl", "w") as file:
        ...     print('{"user": "Ada", "age": 36}', '{"user": "Alan"}', sep="\n", file=file)
        >>> list(pipeline.jsonl("chats.jsonl", defaults={"age": 0}))
        [{'user': 'Ada', 'age': 36}, {'user': 'Alan', 'age': 0}]
    """
    chosen = names_of(columns, "jsonl")
    if chosen is not None and not chosen:
        raise invalid("jsonl: no columns are chosen")
    if defaults is not None and not isinstance(defaults, Mapping):
        raise TypeError(f"jsonl: defaults must be a dict of values by name, not {defaults!r:.80}")
    if (
        chosen is not None
        and (other := next((name for name in defaults or {} if name not in chosen), None)) is not None
    ):
        raise invalid(f"jsonl: defaults has {other!r}, which is not in columns")
    code = checked_encoding(encoding, "jsonl", raw=False)
    objects = _Objects(expanded(paths, "jsonl"), chosen, dict(defaults or {}), byte_limit(max_record_bytes), code)
    return source_of(objects, Epochs(num_epochs, shuffle, seed, shard), index, index_folder)


class _Objects(IndexedParts):
    kind = "jsonl"
    lighter = "Try Parquet: `pipeline.parquet(path)`"
    unit = "files"
    most = MANY
    one_by_one = True

    def __init__(
        self,
        names: Sequence[str],
        columns: Sequence[str] | None,
        defaults: dict[str, Any],
        limit: int,
        encoding: str | None,
    ) -> None:
        self.names = names
        self._encoding = self.encoding = encoding
        self._columns, self._defaults, self._limit = columns, defaults, limit

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield lists of lines; a place is the byte offset of the first line."""
        name = self.names[part]
        with opened(name, self._encoding) as file:
            if place is not None:
                file.go_to(place)
            else:
                file.fill(LONGEST_MARK)
                refuse_binary(file.data, name, "jsonl")
                file.position = len(MARK) if file.data.startswith(MARK) else 0
            for piece in cut_pieces(file, cut_lines, name, self._limit, self._encoding):
                records = _filled(piece)
                if len(records):
                    yield piece.offset, records

    def places(self, name: str, folder: str | None) -> Places:
        with opened(name) as file:
            file.fill(LONGEST_MARK)
            refuse_binary(file.data, name, "jsonl")
        return Offsets(name, "filled lines", filled_line_offsets, folder)

    def piece(self, name: str, data: bytes, begin: int) -> Records[Piece]:
        return _filled(lines_of(name, data, begin))

    def joined(self, pieces: Sequence[Records[Piece]]) -> Records[Piece]:
        return Records.joined(pieces)

    def block(self, given: Records[Piece]) -> Examples:
        return Examples([self._object(given, i, line) for i, line in enumerate(given.records)])

    def named(self, given: Records[Piece], i: int) -> str:
        """Return a line's file, and its number there."""
        return given.source.line(given.places[i])

    def facts(self) -> dict[str, Any]:
        return {
            "files": len(self.names),
            "columns": self._columns,
            "defaults": {name: repr(value)[:80] for name, value in self._defaults.items()},
            **encoding_fact(self._encoding),
        }

    def _object(self, given: Records[Piece], i: int, line: bytes) -> dict[str, Any]:
        if len(line) > self._limit:
            raise too_long(f"jsonl: {self.named(given, i)} has", self._limit)
        try:
            text = line.decode().strip(_BLANK)
            found, end = _value(text, 0)
            if end != len(text):
                raise json.JSONDecodeError("Extra data", text, end)
        except StopIteration as stopped:
            raise self._told(given, i, _no_json(f"Expecting value at character {stopped.value}", line)) from None
        except json.JSONDecodeError as error:
            raise self._told(
                given, i, _no_json(f"{error.msg.removesuffix(' starting at')} at character {error.pos}", line)
            ) from None
        except UnicodeDecodeError:
            name = self.named(given, i)
            file, _, number = name.rpartition(":")
            raise of_record(not_utf_8(f"jsonl: {file}, line {number}", line, likely_encoding(line)), name) from None
        except (ValueError, RecursionError) as error:
            raise self._told(given, i, _no_json(str(error), line)) from None
        if type(found) is not dict:
            hint = ". A file that is one JSON array is not JSON Lines" if type(found) is list else ""
            raise self._told(
                given, i, f"expected a JSON object, got {line[:80].decode(errors='replace')}{hint}{_LENIENT}"
            )
        chosen = self._chosen(given, i, found)
        for name, value in chosen.items():
            if type(value) is list or type(value) is dict:
                chosen[name] = marked(value)
        return chosen

    def _chosen(self, given: Records[Piece], i: int, found: dict[str, Any]) -> dict[str, Any]:
        """Return a line's requested values, with defaults."""
        if self._columns is not None:
            return {
                name: found[name] if found.get(name) is not None else self._missing(given, i, found, name)
                for name in self._columns
            }
        for name in self._defaults:
            if found.get(name) is None:
                found[name] = self._default(name)
        return found

    def _default(self, name: str) -> Any:
        """Return a separate copy of a default for each row."""
        value = self._defaults.get(name)
        return value if isinstance(value, (str, bytes, int, float)) else copy.deepcopy(value)

    def _missing(self, given: Records[Piece], i: int, found: dict[str, Any], name: str) -> Any:
        """Return the replacement for a line's missing or null value."""
        if name in self._defaults or name in found:
            return self._default(name)
        names = ", ".join(map(repr, sorted(found))) or "nothing"
        raise self._told(given, i, f"it has no {name!r}; it has {names:.200}. See defaults=")

    def _told(self, given: Records[Piece], i: int, text: str) -> InvalidArgumentError:
        name = self.named(given, i)
        file, _, line = name.rpartition(":")
        return of_record(invalid(f"jsonl: {file}, line {line}: {text}"), name)


def _filled(piece: Piece) -> Records[Piece]:
    """Return a piece's non-blank lines."""
    lines = piece.records
    places: Sequence[int] = range(len(lines))
    if not all(map(bytes.strip, lines)):
        places = [i for i, line in enumerate(lines) if line.strip()]
        lines = [lines[i] for i in places]
    return Records(piece, lines, places)


def _no_json(why: str, line: bytes) -> str:
    if 0 in line:
        return f"it is not JSON: {why}; {likely_encoding(line)}"
    return f"it is not JSON: {why}: {line[:80].decode(errors='replace')}{_LENIENT}"
