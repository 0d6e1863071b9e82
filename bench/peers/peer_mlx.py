"""mlx-data: buffers and streams, with its prefetching threads."""

from importlib.metadata import version

import mlx.data as dx
from measuring import main, split, workers
from workloads import BATCH, DECODED, WORKS, decode, padded_rows, path, rows

AHEAD, THREADS = 4, 2  # batches, and threads for prefetching


def ways(directory, work):
    if pool := WORKS[work].pool:
        data = buffer(rows(directory, work))
        return {
            "stream.shuffle": lambda: arrays(data.to_stream().repeat(-1).shuffle(pool).batch(BATCH)),
            "buffer.shuffle, prefetch": lambda: again(
                lambda: data.shuffle().batch(BATCH).to_stream().prefetch(AHEAD, THREADS)
            ),
        }
    if work == "padded":
        data = buffer(split(*padded_rows(directory)))
        return {"batch, prefetch": lambda: again(lambda: data.batch(BATCH).to_stream().prefetch(AHEAD, THREADS))}
    if work.startswith("decode"):
        data = buffer(range(DECODED)).key_transform("x", decode)
        data, count = data.to_stream().repeat(-1), workers(work)
        made = {f"prefetch, threads: {count}": lambda: arrays(data.prefetch(8 * BATCH, count).batch(BATCH))}
        return made if count > 1 else {"no threads": lambda: arrays(data.batch(BATCH)), **made}
    if work == "lines":
        return {
            "stream_line_reader": lambda: again(lambda: dx.stream_line_reader(path(directory, work), "x").batch(BATCH))
        }
    return {}


def buffer(rows):
    return dx.buffer_from_vector([{"x": row} for row in rows])


def arrays(stream):
    return (sample["x"] for sample in stream)


def again(make):
    """Repeat epochs, without the smaller last batch."""
    while True:
        yield from (batch for batch in arrays(make()) if len(batch) == BATCH)


if __name__ == "__main__":
    main("mlx-data", version("mlx-data"), ways)
