"""Open table files: Parquet row groups, and record batches in Arrow files and streams."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

from pipeline.errors import invalid
from pipeline.files.remote import SeekableFiles
from pipeline.sources.arrow_options import Where
from pipeline.sources.arrow_types import arrow_types
from pipeline.sources.extras import needs
from pipeline.sources.ipc_sizes import batch_sizes
from pipeline.sources.ipc_stream import StreamFile

_LARGE = 4 << 20  # bytes in a row group from which decoding its columns in several threads pays off
_FLOATS = 3  # maximum float columns in an expression using statistics: each doubles the work


class ParquetFile:
    """An open Parquet file.

    Args:
        name: The file.
        remote: Opens a URL.

    Attributes:
        schema: Its columns.
        names: Their names.
        mapped: True if groups are views of the file.
    """

    unit = "row group"
    mapped = False

    def __init__(self, name: str, remote: SeekableFiles) -> None:
        library = needs("pyarrow.parquet", "parquet")
        self._name, self._remote = name, remote
        few = "://" in name  # read columns in as few ranges as possible
        self._file = library.ParquetFile(self._data(), page_checksum_verification=True, pre_buffer=few)
        self.schema = self._file.schema_arrow
        self.names = frozenset(self.schema.names)

    def _data(self) -> Any:
        return self._remote.open(self._name) if "://" in self._name else self._name

    def sizes(self) -> list[int]:
        """Return each group's row count."""
        metadata = self._file.metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        if min(sizes, default=0) < 0 or sum(sizes) != metadata.num_rows:
            shown = ", ".join(map(str, sizes[:5])) + ", ..." * (len(sizes) > 5)
            damaged = needs("pyarrow", "parquet").ArrowInvalid
            raise damaged(f"its row groups say that they have {shown} rows, and the file {metadata.num_rows:,}")
        return sizes

    def group(self, number: int, columns: list[str]) -> Any:
        """Return a group's rows."""
        large = self._file.metadata.row_group(number).total_byte_size >= _LARGE
        rows = self._file.read_row_group(number, columns=columns, use_threads=large)
        return rows if rows.schema.names == columns else rows.select(columns)

    def may_hold(self, where: Where, schema: Any, folders: Any) -> set[int]:
        """Return the groups that, by their statistics, may hold rows satisfying an expression.

        Args:
            where: The expression.
            schema: The columns it needs, as they are read.
            folders: An expression true for all rows, from the file's folder names.
        """
        dataset, compute = needs("pyarrow.dataset", "parquet"), needs("pyarrow.compute", "parquet")
        groups = range(self._file.metadata.num_row_groups)
        here = [field for field in schema if self.schema.get_field_index(field.name) >= 0]
        floats = [field.name for field in here if arrow_types().is_floating(field.type)]
        # Numbers of one type may sort differently in another, such as text.
        if len(floats) > _FLOATS or any(self.schema.field(field.name).type != field.type for field in here):
            return set(groups)
        # The statistics leave out NaN, but NaN may satisfy the expression.
        found: set[int] = set()
        for names in itertools.chain.from_iterable(itertools.combinations(floats, n) for n in range(len(floats) + 1)):
            known = [compute.field(name) == compute.scalar(math.nan) for name in names]
            partition = functools.reduce(lambda one, other: one & other, known, folders)
            file = dataset.ParquetFileFormat().make_fragment(*self._source(), partition_expression=partition)
            found |= {group.id for group in file.subset(filter=where.expression, schema=schema).row_groups}
        return found

    def _source(self) -> tuple[Any, ...]:
        """Return a fragment's format options."""
        data = self._data()
        return (data, needs("pyarrow.fs", "parquet").LocalFileSystem()) if data is self._name else (data,)


class ArrowFile:
    """An open Arrow IPC file: the file format, also called Feather, or the stream format.

    Args:
        name: The file.
        remote: Opens a URL.
        mapped: Map it into memory.
    """

    unit = "record batch"

    def __init__(self, name: str, remote: SeekableFiles, mapped: bool = False) -> None:
        pyarrow = needs("pyarrow", "feather")
        self._ipc = needs("pyarrow.ipc", "feather")
        local = pyarrow.memory_map if mapped else pyarrow.OSFile
        self._data = remote.open(name) if "://" in name else local(name)
        start = bytes(self._data.read(6))
        if start.startswith(b"FEA1"):
            hint = "write it again with pyarrow.feather.write_feather(pyarrow.feather.read_table(path), path)"
            raise invalid(f"feather: '{name}' is a Feather file of version 1, which has no record batches: {hint}")
        is_file = start == b"ARROW1"
        self._data.seek(0)
        self._stream = None if is_file else StreamFile(self._data)
        self.schema = self._ipc.open_file(self._data).schema if self._stream is None else self._stream.schema
        self.names = frozenset(self.schema.names)
        self.mapped = mapped

    def sizes(self) -> list[int]:
        """Return each batch's row count."""
        return batch_sizes(self._data) if self._stream is None else [batch.rows for batch in self._stream.batches]

    def group(self, number: int, columns: list[str]) -> Any:
        """Return a batch's rows."""
        fields = [self.schema.get_field_index(name) for name in columns]
        if self._stream is None:
            self._data.seek(0)
            options = self._ipc.IpcReadOptions(included_fields=fields)
            rows = self._ipc.open_file(self._data, options=options).get_batch(number)
        else:
            rows = self._stream.batch(number, fields)
        rows = rows.select(columns)
        rows.validate(full=True)  # Arrow follows offsets and indices into any memory
        return needs("pyarrow", "feather").Table.from_batches([rows])

    def may_hold(self, where: Where, schema: Any, folders: Any) -> set[int]:
        """As in ParquetFile; there are no statistics."""
        dataset = needs("pyarrow.dataset", "feather")
        file = dataset.IpcFileFormat().make_fragment(
            needs("pyarrow", "feather").BufferReader(b""), partition_expression=folders
        )
        alone = dataset.FileSystemDataset([file], schema, dataset.IpcFileFormat())
        return set(range(len(self.sizes()))) if list(alone.get_fragments(filter=where.expression)) else set()
