"""arrow: rows of Arrow tables."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._rows import Gatherer, gathers
from pipeline.capabilities import ArrowTable
from pipeline.errors import invalid
from pipeline.keywords import tells_keywords
from pipeline.memory import in_memory
from pipeline.orders.numbered import sampled
from pipeline.sources.arrow_columns import Arrays, ArrowRows, digest_of, table_as, takeable
from pipeline.sources.arrow_options import Codes, Where, casts_of, facts_of, fillings
from pipeline.sources.arrow_types import check, columns_of, is_plain, schema_as_read
from pipeline.sources.extras import MANY, chosen, needs
from pipeline.sources.nodes import Gathers, Table
from pipeline.sources.order import Epochs
from pipeline.sources.source import TableSource


@tells_keywords
def arrow(
    table: Any,
    columns: Sequence[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
    *,
    dtypes: Mapping[str, Any] | None = None,
    codes: Mapping[str, Sequence[str]] | None = None,
    where: Any = None,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> TableSource:
    """Read rows from an Arrow table in memory: each example is a dict with one value per column.

    Numbers keep their dtype, strings become str, binaries bytes, lists and tensors arrays, structs dicts, times and
    dates `datetime64`, times of day `timedelta64`, JSON str. Lists of structs or lists, and maps, become a `ListValue`.
    Missing floats are NaN; other missing values are an error when you iterate, unless `defaults` fills them.

    Args:
        table: Your pyarrow Table or RecordBatch, or a pandas or polars DataFrame.
        columns: Columns to read; None reads all, except an unnamed pandas index.
        defaults: Values for missing fields, by column, "struct/field" or "list/item"; NaT for times.
        dtypes: Dtypes to convert to, by the same names, such as {"price": float} for decimals, or bytes for strings.
        codes: Category names, by the same names: a string becomes the index of its name, int64.
        where: `pyarrow.compute` expression, such as `field("age") > 40`; rows must satisfy it.
        num_epochs: Number of epochs; None repeats forever.
        shuffle: Shuffle the rows, in a different order each epoch.
        seed: Seed for the order.
        shard: (index, count): read every count-th row.

    Raises:
        InvalidArgumentError: A column, default, dtype or code does not fit, or no row satisfies `where`. When you
            iterate: a row has a missing value, or a string without a code.
        DataLossError: When you iterate: a string is not UTF-8.
        ValueError, TypeError, ImportError: An option is wrong, `table` is not a table, or pyarrow is missing.

    Examples:
        >>> import pyarrow
        >>> list(pipeline.arrow(pyarrow.table({"age": [36, 41]})).batch(2))
        [{'age': array([36, 41])}]
    """
    pyarrow = needs("pyarrow", "arrow")
    if isinstance(table, pyarrow.RecordBatch):
        table = pyarrow.Table.from_batches([table])
    if not isinstance(table, pyarrow.Table):
        if not isinstance(table, ArrowTable):
            raise TypeError(f"arrow: expected an Arrow table, got {table!r:.80}")
        _refuse_objects(table, columns)
        table = _converted(table, None if where is not None else columns)
    names = chosen(table.schema.names, without_index(table.schema) if columns is None else columns, "arrow")
    casts = casts_of(table.schema, dtypes, "arrow")
    rows, facts = table.select(names), {}
    if where is not None:
        kept = Where(where, schema_as_read(table.schema, casts), "arrow")
        rows, facts = _rows_where(table, names, kept, casts), kept.facts()
    rows = table_as(rows, schema_as_read(rows.schema, casts), "arrow")
    numbered = Codes(rows.schema, codes, dtypes, "arrow")
    return TableSource(_Table(rows, defaults, numbered, facts), Epochs(num_epochs, shuffle, seed, shard))


def _converted(given: Any, columns: Sequence[str] | None) -> Any:
    """Convert another library's table with pyarrow; unrequested columns may have any type.

    Raises:
        InvalidArgumentError: Arrow has no type for a column.
        TypeError: It is not a table.
    """
    pyarrow, pandas = needs("pyarrow", "arrow"), sys.modules.get("pandas")
    try:
        return pyarrow.table(given)
    except (ValueError, TypeError, NotImplementedError, OverflowError) as error:
        for i, name in enumerate(given.columns if pandas is not None and isinstance(given, pandas.DataFrame) else ()):
            column = given.iloc[:, i]
            try:
                pyarrow.array(column, from_pandas=True)
            except Exception as why:
                if columns is not None and str(name) not in columns:
                    return _converted(given.drop(columns=name), columns)
                text = f"arrow: column {name!r} of dtype {column.dtype} has no type in Arrow: {why}"
                raise invalid(f"{text}. Leave it out with columns=, or convert it") from error
        raise TypeError(f"arrow: expected an Arrow table, got a {type(given).__name__}: {error}") from None


def _refuse_objects(table: Any, columns: Sequence[str] | None) -> None:
    """Raise InvalidArgumentError for Python objects in a polars frame: Arrow would get their addresses."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(table, polars.DataFrame):
        return
    for name, kind in table.schema.items():
        if kind == polars.Object and (columns is None or name in columns):
            raise invalid(f"arrow: column {name!r} holds Python objects, which Arrow has no type for: leave it out")


def _rows_where(table: Any, names: list[str], where: Where, casts: Mapping[str, Any]) -> Any:
    """Return the rows satisfying an expression, with some of their columns, as they are read."""
    rows = table.select(names + [name for name in where.columns if name not in names])
    rows = takeable(table_as(rows, schema_as_read(rows.schema, casts), "arrow"))
    numbers = where.rows(rows.select(where.columns), "arrow")
    if not len(numbers):
        raise no_rows("arrow", where, len(table))
    return rows.select(names).take(numbers)


class _Table(Table):
    kind = "arrow"
    most = MANY
    ahead = True

    def __init__(
        self,
        table: Any,
        defaults: Mapping[str, Any] | None,
        codes: Codes,
        facts: dict[str, Any],
    ) -> None:
        for field in table.schema:
            check(field.type, field.name, self.kind)
        self._schema = table.schema
        fill = fillings(table.schema, defaults, self.kind)
        self._facts = {**facts_of(fill, codes.names), **facts}
        numbers = [field.name for field in table.schema if is_plain(field.type) or field.name in codes.names]
        self._rows = ArrowRows(table, Arrays(self.kind, fill, codes), numbers)

    @functools.cached_property
    def at_hand(self) -> bool:  # type: ignore[override]
        """True if a block only needs to gather rows."""
        arrays = self._rows.ready()
        return arrays is not None and gathers(tuple(arrays), len(self)) and in_memory(arrays)

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return self._rows.take(numbers)

    def gatherer(self) -> tuple[Gathers, Any] | None:
        return (Gatherer(tuple(self._rows.ready() or ())), tuple(self._schema.names)) if self.at_hand else None

    def facts(self) -> dict[str, Any]:
        digest = digest_of(self._rows.sample(sampled(len(self))))
        return {"columns": columns_of(self._schema), "rows": len(self), "digest": digest, **self._facts}


def no_rows(kind: str, where: Where, count: int) -> Exception:
    """Return the error for an expression no row satisfies."""
    return invalid(f"{kind}: where={where.expression} matches none of {count:,} rows")


def without_index(schema: Any) -> list[str]:
    """Return column names, except an unnamed pandas index with row numbers."""
    unnamed = set()
    # The metadata may come from any program, or from a damaged file.
    with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError):
        told = schema.pandas_metadata or {"columns": [], "index_columns": []}
        unnamed = {each["field_name"] for each in told["columns"] if each["name"] is None}
        unnamed &= {each for each in told["index_columns"] if isinstance(each, str)}
    return [name for name in schema.names if name not in unnamed]
