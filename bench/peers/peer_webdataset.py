"""webdataset: a DataPipeline over generated rows, lines and records, and its own tar shards."""

from importlib.metadata import version
from itertools import cycle

import numpy as np
import webdataset
from measuring import endless, lines, main, numbers, pad, records, split
from workloads import BATCH, DECODED, WORKS, decode, padded_rows, path, paths, rows


def ways(directory, work):
    if pool := WORKS[work].pool:
        data = rows(directory, work)
        mix = webdataset.shuffle(pool, initial=pool)
        return {"shuffle, batched": lambda: stages(lambda: endless(data), np.array, mix)}
    if work == "padded":
        parts = split(*padded_rows(directory))
        return {"batched": lambda: stages(lambda: cycle(parts), pad)}
    if work == "decode_1":
        return {"map, batched": lambda: stages(lambda: cycle(range(DECODED)), np.array, webdataset.map(decode))}
    if work == "tar":
        return {"decode, batched": lambda: iter(shards(directory))}
    read = {"lines": (lines, list), "tfrecord": (records, list), "csv": (table, np.array)}.get(work)
    if not read:
        return {}
    return {"batched": lambda: stages(lambda: endless(lambda: read[0](path(directory, work))), read[1])}


def shards(directory):
    """Yield the pairs in tar shards, again and again."""
    data = webdataset.WebDataset(paths(directory, "tar"), shardshuffle=False, empty_check=False)
    return data.repeat().decode().to_tuple("npy", "cls").batched(BATCH)


def stages(source, collate, *between):
    return iter(webdataset.DataPipeline(source, *between, webdataset.batched(BATCH, collation_fn=collate)))


def table(name):
    return map(numbers, lines(name))


if __name__ == "__main__":
    main("webdataset", version("webdataset"), ways)
