"""Compare packing, mixing and token files with NumPy loops and Grain: CPU time in one thread, minima over rounds.

    python bench/runs/packing.py [rounds]

The documents are lognormal with a mean of 900 tokens, and rows have 2,048. The handwritten loop for best fit follows
the idea of nanochat's loader: it keeps 1,000 documents, fills a row with the longest that fits, and crops the shortest
one to the rest. Rows from a mapped token file are shuffled, in batches of 8; by hand they are cut as in nanoGPT. If
Grain is installed, as by `make test-jax`, it does the same in the same thread.
"""

import sys
import tempfile
import time
from importlib.util import find_spec

import numpy as np

import pipeline

LENGTH, BUFFER, BATCH, DOCUMENTS = 2048, 1000, 8, 12_000
WEIGHTS = [0.7, 0.3]


def documents(seed=0, count=DOCUMENTS):
    """Return documents with random lengths."""
    rng = np.random.default_rng(seed)
    lengths = np.maximum(1, rng.lognormal(np.log(900) - 0.5, 1.0, count).astype(int))
    return [rng.integers(1, 50_000, n).astype(np.int32) for n in lengths]


def cropped_rows(given):
    """Yield full rows without ids by best fit, from documents that may be cropped."""
    source, held = iter(given), []
    while True:
        row, at = np.empty(LENGTH, np.int32), 0
        while at < LENGTH:
            while len(held) < BUFFER and (document := next(source, None)) is not None:
                held.append(document)
            if not held:
                return
            room = LENGTH - at
            best = max(
                (i for i, each in enumerate(held) if len(each) <= room), key=lambda i: len(held[i]), default=None
            )
            if best is None:
                best = min(range(len(held)), key=lambda i: len(held[i]))
            document = held.pop(best)[:room]
            row[at : at + len(document)] = document
            at += len(document)
        yield row


def mixed_by_hand(one, other):
    """Yield examples from two lists, drawn by weight; a list restarts at its end."""
    rng, inputs, at = np.random.default_rng(1), (one, other), [0, 0]
    for which in rng.choice(2, DOCUMENTS, p=WEIGHTS):
        yield inputs[which][at[which] % len(inputs[which])]
        at[which] += 1


def mixed_tokens_by_hand(one, other):
    """Yield examples with weights that count tokens: the list that is behind comes next."""
    inputs, at, tokens = (one, other), [0, 0], [0, 0]
    for _ in range(DOCUMENTS):
        which = int(tokens[1] * WEIGHTS[0] < tokens[0] * WEIGHTS[1])
        document = inputs[which][at[which] % len(inputs[which])]
        at[which] += 1
        tokens[which] += len(document)
        yield document


def mixed(one, other, by):
    """Mix the lists with `mix`."""
    inputs = [pipeline.dataset(each).repeat() for each in (one, other)]
    return pipeline.mix(inputs, WEIGHTS, by=by, seed=1).take(DOCUMENTS)


def rows_by_hand(path):
    """Yield batches with rows from a mapped file, in random order."""
    data = np.memmap(path, np.uint16, "r")
    order = np.random.default_rng(1).permutation(len(data) // LENGTH)
    for first in range(0, len(order), BATCH):
        yield np.stack([data[i * LENGTH : (i + 1) * LENGTH] for i in order[first : first + BATCH]])


def grain_ways(given, one, other, path):
    """Return Grain's packers and mix, reading in the measured thread."""
    import grain

    experimental, here = grain.experimental, grain.ReadOptions(num_threads=0)
    whole = [{"tokens": each} for each in given]
    pieces = [{"tokens": each[i : i + LENGTH]} for each in given for i in range(0, len(each), LENGTH)]

    def packed(packer, examples, **options):
        read = grain.MapDataset.source(examples).to_iter_dataset(read_options=here)
        return packer(read, length_struct={"tokens": LENGTH}, **options)

    def drawn():
        inputs = [grain.MapDataset.source(each).repeat() for each in (one, other)]
        return grain.MapDataset.mix(inputs, WEIGHTS)[:DOCUMENTS].to_iter_dataset(read_options=here)

    def rows():
        data = np.memmap(path, np.uint16, "r")
        numbers = grain.MapDataset.range(len(data) // LENGTH).shuffle(seed=1)
        cut = numbers.map(lambda i: data[i * LENGTH : (i + 1) * LENGTH])
        return cut.batch(BATCH).to_iter_dataset(read_options=here)

    return {  # its fitting packers reject sequences longer than a row
        "Grain: concat": lambda: packed(experimental.ConcatThenSplitIterDataset, whole),
        "Grain: first fit": lambda: packed(experimental.FirstFitPackIterDataset, pieces, num_packing_bins=64),
        "Grain: best fit": lambda: packed(experimental.BestFitPackIterDataset, pieces, num_packing_bins=64),
        "Grain: best fit, 1,000 rows": lambda: packed(
            experimental.BestFitPackIterDataset, pieces, num_packing_bins=BUFFER
        ),
        "Grain: mix by examples": drawn,
        "Grain: rows of a file": rows,
    }


def ways(path):
    """Return the measured functions by name, each making something to iterate over."""
    given, one, other = documents(), documents(1, 6000), documents(2, 3000)
    data = pipeline.dataset(given)
    full = {"begin": 1, "end": 2, "labels": True, "cu_seqlens": True}
    return {
        "pack, concat": lambda: data.pack(LENGTH),
        "pack, first fit": lambda: data.pack(LENGTH, method="first_fit"),
        "pack, best fit": lambda: data.pack(LENGTH, method="best_fit"),
        "pack, best fit, labels and all": lambda: data.pack(LENGTH, method="best_fit", **full),
        "best fit by hand, cropped, no ids": lambda: cropped_rows(given),
        "mix by examples": lambda: mixed(one, other, None),
        "mix by tokens": lambda: mixed(one, other, len),
        "mix by hand, examples": lambda: mixed_by_hand(one, other),
        "mix by hand, tokens": lambda: mixed_tokens_by_hand(one, other),
        "rows of a file": lambda: pipeline.tokens(path, LENGTH, dtype="uint16").shuffle(seed=1).batch(BATCH),
        "rows of a file by hand": lambda: rows_by_hand(path),
        **(grain_ways(given, one, other, path) if find_spec("grain") else {}),
    }


def measured(rounds, path):
    """Yield (name, elements, seconds, tokens, fraction of tokens in rows); the rounds alternate between all ways."""
    made, best, found = ways(path), {}, {}
    for _ in range(rounds):
        for name, make in made.items():
            begin = time.thread_time()
            elements = list(make())
            best[name] = min(best.get(name, np.inf), time.thread_time() - begin)
            found[name] = elements
    for name, elements in found.items():
        if isinstance(elements[0], dict):
            ids = "segment_ids" if "segment_ids" in elements[0] else "tokens_segment_ids"
            tokens = sum(int((row[ids] > 0).sum()) for row in elements)
            yield name, len(elements), best[name], tokens, tokens / len(elements) / LENGTH
        else:
            yield name, len(elements), best[name], sum(map(np.size, elements)), 1.0


def main():
    """Print a table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{'':36}{'us an element':>14}{'M tokens/s':>12}{'full':>9}")
    with tempfile.TemporaryDirectory() as folder:
        pipeline.write_tokens(f"{folder}/train.bin", documents())
        for name, count, seconds, tokens, full in measured(rounds, f"{folder}/train.bin"):
            print(f"{name:36}{seconds / count * 1e6:14.1f}{tokens / seconds / 1e6:12.1f}{full:9.2%}")
    lost = 1 - sum(map(len, cropped_rows(documents()))) / sum(map(len, documents()))
    print(f"The loop by hand crops {lost:.1%} of the tokens.")


if __name__ == "__main__":
    main()
