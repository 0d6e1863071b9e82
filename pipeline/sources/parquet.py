"""parquet and feather: rows of table files, group by group."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.dtypes import truth
from pipeline.keywords import tells_keywords
from pipeline.sources.extras import needs
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded
from pipeline.sources.source import TableSource
from pipeline.sources.table_files import Options, TableFiles
from pipeline.sources.table_formats import ArrowFile, ParquetFile


@tells_keywords
def parquet(
    paths: Any,
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
    """Read Parquet rows: each example is a dict with one value per column.

    Files are read by row group. Folders such as `year=2024/` become columns.

    Args:
        paths: A path, URL or pattern such as "part-*.parquet", or a list.
        columns, defaults, dtypes, codes, where: As in `arrow`. Only these columns,
            and row groups whose statistics do not exclude `where`, are read.
        num_epochs: Number of epochs; None repeats forever.
        shuffle, seed: Shuffle the row groups, and the rows within each.
        shard: (index, count): read every count-th row group.

    Raises:
        NotFoundError, DataLossError: A file is missing, or not a Parquet file.
        InvalidArgumentError: A value does not fit: file, row group and column.
        ValueError, TypeError, ImportError: An option or a library is wrong.

    Examples:
        >>> import pyarrow, pyarrow.parquet
        >>> table = pyarrow.table({"x": [1, 2]})
        >>> pyarrow.parquet.write_table(table, "a.parquet")
        >>> list(pipeline.parquet("a.parquet").batch(2))
        [{'x': array([1, 2])}]
    """
    needs("pyarrow", "parquet")
    options = Options(columns, defaults, dtypes, codes, where)
    table = TableFiles("parquet", "row groups", expanded(paths, "parquet"), options, ParquetFile)
    return TableSource(table, Epochs(num_epochs, shuffle, seed, shard))


@tells_keywords
def feather(
    paths: Any,
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
    memory_map: bool = False,
) -> TableSource:
    """Read rows from Feather files (Arrow IPC) by record batch, as `parquet` does.

    Files in Arrow IPC's stream format, such as Hugging Face's cache files, are read too. Each record batch is checked
    in full, so a damaged file is an error.

    Args:
        paths, columns, defaults, dtypes, codes, where, num_epochs, shuffle, seed, shard: As for `parquet`.
        memory_map: Map local files into memory. If a file is truncated, the system ends your process (SIGBUS).

    Raises:
        NotFoundError, DataLossError, InvalidArgumentError, ValueError, TypeError, ImportError: As for `parquet`.

    Examples:
        >>> import pyarrow, pyarrow.feather
        >>> pyarrow.feather.write_feather(pyarrow.table({"age": [36, 41]}), "people.feather")
        >>> list(pipeline.feather("people.feather").batch(2))
        [{'age': array([36, 41])}]
    """
    needs("pyarrow", "feather")
    names, mapped = expanded(paths, "feather"), truth(memory_map, "feather: memory_map")
    remote = next((name for name in names if mapped and "://" in name), None)
    if remote is not None:
        raise ValueError(f"feather: memory_map=True is for local files, and {remote!r} is a URL: leave it out")
    options, opened = Options(columns, defaults, dtypes, codes, where), functools.partial(ArrowFile, mapped=mapped)
    table = TableFiles("feather", "record batches", names, options, opened)
    return TableSource(table, Epochs(num_epochs, shuffle, seed, shard))
