"""grain: MapDataset, with its default number of threads, and with the workload's number."""

import warnings
from functools import partial
from importlib.metadata import version

import grain
from measuring import by_pillow, by_simplejpeg, main, pad, split, workers
from workloads import (
    BATCH,
    DECODED,
    PACKED,
    WEIGHTS,
    WORKS,
    Line,
    TokenRow,
    decode,
    halves,
    jpegs,
    padded_rows,
    passes,
    path,
    paths,
    rows,
    two_arrays,
)


def ways(directory, work):
    if WORKS[work].pool:
        data = (
            grain.MapDataset.source(rows(directory, work)).seed(1).shuffle().repeat().batch(BATCH, drop_remainder=True)
        )
        return {"default threads": lambda: iter(data.to_iter_dataset()), "no threads": lambda: serial(data)}
    if work == "padded":
        parts = split(*padded_rows(directory))
        data = grain.MapDataset.source(parts).repeat().batch(BATCH, drop_remainder=True, batch_fn=pad)
        return {"default threads": lambda: iter(data.to_iter_dataset()), "no threads": lambda: serial(data)}
    if work in ("indexed", "tokens"):
        name, options = path(directory, work), {"batch_fn": list} if work == "indexed" else {}
        source = Line(name) if work == "indexed" else TokenRow(name)
        data = grain.MapDataset.source(source).seed(1).shuffle().repeat().batch(BATCH, drop_remainder=True, **options)
        return {"default threads": lambda: iter(data.to_iter_dataset()), "no threads": lambda: serial(data)}
    if work == "jpeg":
        files = grain.MapDataset.source(list(zip(*jpegs(directory), strict=True))).seed(1).shuffle()
        return {
            f"{way}, {how}": lambda read=read, make=make: make(
                files.map(partial(image, read)).repeat().batch(BATCH, drop_remainder=True)
            )
            for way, read in {"Pillow": by_pillow, "simplejpeg": by_simplejpeg}.items()
            for how, make in {
                "threads: 2": lambda data: iter(data.to_iter_dataset(grain.ReadOptions(num_threads=2))),
                "default threads": lambda data: iter(data.to_iter_dataset()),
                "processes: 2": lambda data: processes(data, 2),
            }.items()
        }
    if work.startswith("decode"):
        data = grain.MapDataset.range(DECODED).map(decode).repeat().batch(BATCH, drop_remainder=True)
        count = workers(work)
        made = {
            f"threads: {count}": lambda: iter(data.to_iter_dataset(grain.ReadOptions(num_threads=count))),
            f"processes: {count}": lambda: processes(data, count),
        }
        return made if count > 1 else {"no threads": lambda: serial(data), **made}
    if work == "mix":
        data = grain.MapDataset.mix([grain.MapDataset.source(each).repeat() for each in two_arrays(directory)], WEIGHTS)
        data = data.batch(BATCH, drop_remainder=True)
        return {"default threads": lambda: iter(data.to_iter_dataset()), "no threads": lambda: serial(data)}
    if work == "pack":
        return {"FlatMapIterDataset, ConcatThenSplitIterDataset": lambda: packed(split(*padded_rows(directory)))}
    if work == "filter":
        data = grain.MapDataset.range(DECODED).repeat().filter(passes).map(decode)
        return {
            "threads: 2": lambda: iter(
                data.to_iter_dataset(grain.ReadOptions(num_threads=2)).batch(BATCH, drop_remainder=True)
            ),
            "processes: 2": lambda: iter(
                data.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
                .batch(BATCH, drop_remainder=True)
                .mp_prefetch(grain.MultiprocessingOptions(num_workers=2))
            ),
        }
    if work == "tfrecord" and hasattr(grain.experimental, "TFRecordIterDataset"):
        return {"TFRecordIterDataset": lambda: forever(partial(records, path(directory, work)))}
    if work == "parquet":
        return {"ParquetIterDataset": lambda: forever(partial(tables, paths(directory, work)))}
    return {}


def serial(data):
    return iter(data.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)))


def processes(data, count):
    read = data.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))  # threads make it slower
    return iter(read.mp_prefetch(grain.MultiprocessingOptions(num_workers=count)))


class Halves(grain.experimental.FlatMapTransform):
    max_fan_out = 2

    def flat_map(self, element):
        return [{"tokens": half} for half in halves(element)]


def packed(parts):
    data = grain.MapDataset.source(parts).repeat().to_iter_dataset(grain.ReadOptions(num_threads=0))
    data = grain.experimental.FlatMapIterDataset(data, Halves())
    data = grain.experimental.ConcatThenSplitIterDataset(data, length_struct={"tokens": PACKED})
    return (batch["tokens"] for batch in data.batch(BATCH, drop_remainder=True))


def records(name):
    return grain.experimental.TFRecordIterDataset(name).batch(BATCH, drop_remainder=True, batch_fn=list)


def tables(names):
    """Return the rows in Parquet files, as dicts."""
    return grain.experimental.ParquetIterDataset(names).batch(BATCH, drop_remainder=True)


def image(read, file):
    name, label = file
    return read(name), label


def forever(make):
    while True:
        yield from make()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main("grain", version("grain"), ways)
