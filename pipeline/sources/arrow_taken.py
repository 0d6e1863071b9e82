"""TakenRows: the rows of a table in another library, read by index as Arrow data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataLossError, InvalidArgumentError
from pipeline.locks import Lock
from pipeline.nest import map_values
from pipeline.orders.numbered import sampled
from pipeline.sources.arrow_columns import Arrays, ArrowRows, digest_of, table_as
from pipeline.sources.arrow_options import Codes, casts_of, facts_of, fillings
from pipeline.sources.arrow_types import check, columns_of, holds_objects, schema_as_read
from pipeline.sources.extras import MANY, RowSelection, chosen, needs
from pipeline.sources.nodes import Table

# Rows sampled by a digest: each may cost a read, and they may be images.
_SAMPLED = 64

# Sequential reads fetch pieces: minimum and maximum rows, and approximate bytes. Pieces grow, because a row's size is
# not known in advance.
_LEAST, _MOST, _PIECE_BYTES = 8, 4096, 8 << 20


class Choice(NamedTuple):
    """The columns to read, and how: the arguments to `pipeline.arrow`."""

    columns: Sequence[str] | None
    defaults: Mapping[str, Any] | None
    dtypes: Mapping[str, Any] | None
    codes: Mapping[str, Sequence[str]] | None


class _Piece(NamedTuple):
    """Neighbouring rows, read together.

    Attributes:
        begin: The first row's index.
        rows: The rows.
        size_of_next: Number of rows in the next read.
    """

    begin: int
    rows: ArrowRows
    size_of_next: int


class TakenRows(Table):
    """A table's rows, not held in memory.

    Args:
        kind: The function for reading it.
        where: Prefix for error messages.
        schema: Its columns.
        choice: Which columns to read.

    Raises:
        InvalidArgumentError, TypeError: As for `pipeline.arrow`.

    Attributes:
        columns: The names of the columns to read.
    """

    most = MANY
    lighter = "Read fewer columns (`columns=[...]`)"
    ahead = True

    def __init__(self, kind: str, where: str, schema: Any, choice: Choice) -> None:
        self.kind, self._where = kind, where
        self.columns = chosen(schema.names, choice.columns, where)
        casts = casts_of(schema, choice.dtypes, where)
        fields = [schema.field(name) for name in self.columns]
        self._schema = schema_as_read(needs("pyarrow", kind).schema(fields), casts)
        for field in self._schema:
            check(field.type, field.name, where)
        self._ready = [field.name for field in self._schema if not holds_objects(field.type)]
        fill = fillings(self._schema, choice.defaults, where)
        codes = Codes(self._schema, choice.codes, choice.dtypes, where)
        self._arrays = Arrays(where, fill, codes)
        self._facts = facts_of(fill, codes.names)
        self._lock = Lock()
        self._next = 0  # the row after the last request
        self._piece: _Piece | None = None

    def picked(self, numbers: NDArray[np.int64]) -> Any:
        """Return rows by index, ascending, at least one, as a Table with these columns."""
        raise NotImplementedError

    def neighbours(self, first: int, count: int) -> Any:
        """Return rows from an index on, at least one, as a Table with these columns."""
        return self.picked(np.arange(first, first + count))

    def take(self, numbers: NDArray[np.int64]) -> dict[str, Any]:
        piece = self._following(numbers)
        if piece is not None:
            return piece.rows.take(numbers - piece.begin)
        wanted, places = np.unique(numbers, return_inverse=True)
        rows, rows_of = self._as_read(self.picked(wanted)), RowSelection(places).of
        return {name: map_values(rows_of, self._arrays.of(rows[name], name)) for name in self.columns}

    def _following(self, numbers: NDArray[np.int64]) -> _Piece | None:
        """Return the piece with these rows, if they follow the previous rows."""
        neighbours = RowSelection(numbers).neighbours
        if neighbours is None:
            return None
        first, count = neighbours.start, len(numbers)
        with self._lock:
            piece, follows, self._next = self._piece, first == self._next, neighbours.stop
            if piece is not None and piece.begin <= first and neighbours.stop <= piece.begin + len(piece.rows):
                return piece
            if follows:
                size = max(count, _LEAST if piece is None else piece.size_of_next)
                try:
                    table = self._as_read(self.neighbours(first, min(size, len(self) - first)))
                except (DataLossError, InvalidArgumentError):
                    return None  # perhaps caused by a row not requested yet
                following = min(_MOST, 2 * size) if 2 * table.nbytes <= _PIECE_BYTES else max(1, size // 2)
                self._piece = _Piece(first, ArrowRows(table, self._arrays, self._ready), following)
                return self._piece
        return None

    def _as_read(self, rows: Any) -> Any:
        return table_as(rows, self._schema, self._where)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_piece": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = Lock()

    def facts(self) -> dict[str, Any]:
        sample = sampled(len(self), _SAMPLED)
        digest = digest_of(self._as_read(self.picked(sample))) if len(sample) else None
        return {"columns": columns_of(self._schema), "rows": len(self), "digest": digest, **self._facts}
