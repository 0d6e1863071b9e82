"""pyarrow and pandas: their own readers for CSV, Parquet and Arrow, and batches as arrays."""

import numpy as np
import pandas
import pyarrow
from measuring import endless, main
from pyarrow import csv, feather, parquet
from workloads import BATCH, COLUMNS, path, paths

BLOCK = 64 * BATCH  # rows to read at a time


def by_pyarrow(directory, work):
    if work == "csv":
        return {"csv.open_csv": lambda: endless(lambda: csv_batches(path(directory, work)))}
    if work == "parquet":
        return {
            "iter_batches": lambda: endless(lambda: parquet_batches(paths(directory, work))),
            "iter_batches, one thread": lambda: endless(lambda: parquet_batches(paths(directory, work), False)),
            "row groups, cut": lambda: endless(lambda: parquet_groups(paths(directory, work))),
        }
    if work == "arrow":
        table = feather.read_table(path(directory, work))
        return {"take": lambda: endless(lambda: taken(table))}
    return {}


def csv_batches(name):
    pyarrow.set_cpu_count(1)
    names = [f"{i}" for i in range(COLUMNS)]
    reader = csv.open_csv(
        name,
        csv.ReadOptions(column_names=names),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pyarrow.float32())),
    )
    for block in reader:
        yield from cut(np.stack([column.to_numpy() for column in block.columns], axis=1))


def parquet_batches(names, threads=True):
    for name in names:
        for block in parquet.ParquetFile(name).iter_batches(BATCH, use_threads=threads):
            if len(block) == BATCH:
                yield arrays(block)


def parquet_groups(names):
    for name in names:
        file = parquet.ParquetFile(name)
        for group in range(file.num_row_groups):
            columns = arrays(file.read_row_group(group, use_threads=False))
            for begin in range(0, file.metadata.row_group(group).num_rows - BATCH + 1, BATCH):
                yield {name: column[begin : begin + BATCH] for name, column in columns.items()}


def taken(table):
    order = np.random.default_rng().permutation(len(table))
    for begin in range(0, len(order) - BATCH + 1, BATCH):
        yield arrays(table.take(order[begin : begin + BATCH]))


def arrays(block):
    return {name: column.to_numpy() for name, column in zip(block.schema.names, block.columns, strict=True)}


def cut(values):
    return (values[begin : begin + BATCH] for begin in range(0, len(values) - BATCH + 1, BATCH))


def by_pandas(directory, work):
    if work == "csv":
        return {"read_csv, chunks": lambda: endless(lambda: frames(path(directory, work)))}
    if work == "arrow":
        frame = pandas.read_feather(path(directory, work))
        return {"sample, iloc": lambda: endless(lambda: sampled(frame))}
    return {}


def frames(name):
    with pandas.read_csv(name, header=None, dtype=np.float32, chunksize=BLOCK) as chunks:
        for chunk in chunks:
            yield from cut(chunk.to_numpy())


def sampled(frame):
    order = np.random.default_rng().permutation(len(frame))
    for begin in range(0, len(order) - BATCH + 1, BATCH):
        rows = frame.iloc[order[begin : begin + BATCH]]
        yield {name: rows[name].to_numpy() for name in rows}


if __name__ == "__main__":
    main("pyarrow", pyarrow.__version__, by_pyarrow)
    main("pandas", pandas.__version__, by_pandas)
