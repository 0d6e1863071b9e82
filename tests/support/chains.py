"""Random chains of transformations, and their results in plain Python where these are defined."""

import itertools
import random

import numpy as np
from mds_files import write_mds
from steps import STREAMED

import pipeline
from pipeline.batches.of_any import dataset
from pipeline.datasets.dataset import interleave, mix
from pipeline.datasets.dataset import zip as zipped
from pipeline.workers.choice import processes

# Steps that drop elements: only workers, because they run ahead, compute these and raise their errors.
UNASKED = "shard", ", 40)", "window(33", "skip", "zip", "split"

UNKNOWN = None  # a reference beyond plain Python

# Steps of `steps` for random chains. The others skip elements that only workers compute, or repeat random ones.
ANY = [
    name for name in STREAMED if name not in ("window", "take", "skip", "shard", "split", "zip", "repeat", "checksum")
]


def double(x):
    return x * 2


def plus_draw(x):
    return x + float(pipeline.example_rng().integers(0, 1 << 20)) / 1e9


def word(x):
    return f"{float(x)!r} \u00df\U0001f600"


def of_word(text):
    """Return the number in a word; words are always str."""
    return float(str.partition(text, " ")[0])


def is_even(x):
    return int(x) % 2 == 0


def quarter(x):
    """Return a key shared by neighbours."""
    return int(x) // 4


def is_rare(x):
    return int(x) % 7 == 3


def some(x):
    """Return no, one or several outputs."""
    return [x + k / 8 for k in range(int(x) % 4)]


def as_generator(x):
    yield from (x, x + 0.5)


def count_of(x):
    return int(x) % 9 + 1


def sequence(x):
    return np.full(int(x) % 9 + 1, float(x))


def large(x):
    """Return a row large enough for workers to write it to its batch directly."""
    return np.full(8192, float(x))


def token_ids(x):
    return sequence(x).astype(np.int64)


def numbers(n):
    yield from map(float, range(n))


def not_rare(x):
    if is_rare(x):
        raise ValueError("a rare one")
    return x


def by_draw(x):
    """Decide at random whether to keep it."""
    return pipeline.example_rng().random() < 0.7


def some_by_draw(x):
    """Return a random number of outputs."""
    return [x + k / 8 for k in range(pipeline.example_rng().integers(3))]


def second(pair):
    return pair[0] / 1000 + pair[1]


def total(batch):
    return np.asarray(batch).sum()


class Chain:
    """A dataset and its reference.

    Attributes:
        data: The dataset.
        expected: The elements in order, as plain Python; None if they are random.
        text: How it was made, to be printed.
        kind: "scalar", "batch" or "row": the kind of element.
    """

    def __init__(self, data, expected, text, kind="scalar"):
        self.data, self.expected, self.text, self.kind = data, expected, text, kind


def source(rng, directory):
    """Return a random source of numbers."""
    n = rng.choice([0, 1, 2, 7, 30, 130, 400])
    values = [float(i) for i in range(n)]
    kind = rng.choice(["list", "array", "shuffled", "generator", "text", "iterable", "records", "files", "epochs"])
    if kind == "array" and n:
        return Chain(pipeline.arrays(np.array(values)), values, f"arrays({n})")
    if kind == "shuffled" and n:
        return Chain(pipeline.arrays(np.array(values), shuffle=True, seed=n), UNKNOWN, f"arrays({n}, shuffle)")
    if kind == "generator":
        return Chain(dataset(Generator(n)), values, f"generator({n})")
    if kind == "iterable":
        return Chain(dataset(Iterable(n)), values, f"iterable({n})")
    if kind == "text" and n:
        files, index = lines_in_files(values, 2, directory), apart(rng) < 0.5
        data = pipeline.text(files, index=index, index_folder=directory / "index" if index else None)
        return Chain(data.map(float), values, f"text({n}, index)" if index else f"text({n})")
    if kind == "files" and n:
        files = lines_in_files(values, 3, directory)
        return Chain(pipeline.text(files, shuffle=True, seed=n).map(float), UNKNOWN, f"text({n}, shuffle)")
    if kind == "records" and n and apart(rng) < 0.2:
        folder = directory / f"{n}.mds"
        if not (folder / "index.json").exists():  # as below
            shards = [[{"x": x} for x in values[i : i + 60]] for i in range(0, n, 60)]
            write_mds(folder, {"x": "float64"}, shards, "gz" if n in (7, 130) else None)  # by shard, or by index
        return Chain(pipeline.mds(folder).map(from_sample), values, f"mds({n})")
    if kind == "records" and n and apart(rng) < 0.5:
        path = directory / f"{n}.tokens"
        if not path.exists():  # a chain may be rebuilt while another one reads
            pipeline.write_tokens(path, [range(n)])
        data = pipeline.tokens(path, 1, dtype="uint16").map(from_row)
        return Chain(data, values, f"tokens({n})")
    if kind == "records" and n:
        path = directory / f"{n}.bin"
        if not path.exists():  # as above; a cache would notice the change
            path.write_bytes(np.array(values).tobytes())
        return Chain(pipeline.fixed_length([str(path)], 8).map(from_bytes), values, f"fixed_length({n})")
    if kind == "epochs" and n:
        return Chain(pipeline.arrays(np.array(values), num_epochs=2), values * 2, f"arrays({n}, num_epochs=2)")
    if kind == "list" and apart(rng) < 0.3:
        workers = 2 if apart(rng) < 0.2 else None
        return Chain(dataset(Items(values), workers=workers), values, f"items({n}, workers={workers})")
    return Chain(dataset(values), values, f"list({n})")


class Items:
    """A user-defined sequence class."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, number):
        return self.values[number]


def apart(rng):
    """Return a number from 0 to 1 without drawing from the generator, so that failed seeds keep their chains."""
    return random.Random(str(rng.getstate()[1][:8])).random()


def lines_in_files(values, parts, directory):
    """Write numbers into this many files."""
    size = len(values) // parts
    files = []
    for part in range(parts):
        lines = values[part * size : (part + 1) * size if part < parts - 1 else None]
        path = directory / f"{len(values)}-{part}-{parts}.txt"
        if not path.exists():  # a chain may be rebuilt while another one reads
            # Unicode blank: `float` accepts it in str, but not in bytes.
            path.write_text("".join(f"{v}\u2003\n" for v in lines), encoding="utf-8")
        files.append(str(path))
    return files


def from_sample(sample):
    return float(sample["x"])


def from_row(row):
    return float(row[0])


def from_bytes(record):
    return float(np.frombuffer(record)[0])


class Iterable:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return numbers(self.n)


class Generator(Iterable):
    """An iterable too; a picklable generator function would need a separate module for each size."""


def grow(rng, chain, depth, directory, workers=None, folder=None):
    """Add random transformations to a chain.

    Args:
        folder: The folder that caches some intermediate elements, by index; "" for memory; None to cache nothing.
    """
    chance = random.Random(f"caches-{rng.getstate()[1][0]}")  # draws nothing from the other generator
    for number in range(depth):
        if folder is not None and chance.random() < 0.5:
            chain = cached(chain, folder and f"{folder}-{number}")
        chain = step(rng, chain, directory, workers)
    return cached(chain, folder and f"{folder}-last") if folder is not None and chance.random() < 0.3 else chain


def cached(chain, folder):
    """Return a chain with its elements cached in a folder or in memory."""
    return Chain(chain.data.cache(folder or None), chain.expected, f"{chain.text}.cache()", chain.kind)


def step(rng, chain, directory, workers):
    data, expected, text, kind = chain.data, chain.expected, chain.text, chain.kind
    names = ["take", "skip", "shard", "repeat", "concatenate", "prefetch"]
    if kind == "scalar":
        names += ["map", "rng", "filter", "rare", "flat", "gen", "shuffle", "shuffle", "batch", "window", "mix"]
        names += ["zip", "interleave", "pack", "fit", "bucket", "all", "sample", "nested", "skipping", "enumerate"]
        names += ["checksum", "remainder", "collate", "kept by draw", "flat by draw", "padded", "splits", "sort"]
        names += ["best", "cut", "by tokens", "left", "bucket by tokens", "by lengths", "split", "any", "any"]
    elif kind == "batch":
        names += ["unbatch", "map", "total"]
    name = rng.choice(names)
    n = rng.choice([1, 2, 3, 8, 33])
    w = {"workers": workers} if workers is not None else {}
    if "skipping" in text and name == "shard":  # hosts leave out their own
        expected = None
    known = expected is not None
    if name == "skipping":
        kept = [x for x in expected if not is_rare(x)] if known else None
        return Chain(data.map(not_rare, on_error="skip", **w), kept, f"{text}.skipping")
    if name == "enumerate":
        pairs = [i / 1000 + x for i, x in enumerate(expected)] if known else None
        return Chain(data.enumerate().map(second, **w), pairs, f"{text}.enumerate")
    if name == "any":
        chosen = rng.choice(ANY)
        one = STREAMED[chosen]
        (first, *_) = one.over_itself(dataset([1.0] * 9))
        listed = plain(one.elements(expected, expected)) if known and one.plain else None
        made = "scalar" if isinstance(first, float) else "row"
        return Chain(one.over_itself(data), listed, f"{text}.{chosen}", made)
    if name == "checksum":  # no other step may follow it: see `summed`
        return chain
    if name == "total":
        return Chain(data.map_batches(total, **w), [each.sum() for each in expected] if known else None, f"{text}.sum")
    if name == "remainder":
        whole = range(0, len(expected) - n + 1, n) if known else ()
        listed = [np.array(expected[i : i + n]) for i in whole] if known else None
        return Chain(data.batch(n, drop_remainder=True), listed, f"{text}.batch({n}, drop)", "batch")
    if name == "collate":
        sums = [float(sum(expected[i : i + n])) for i in range(0, len(expected), n)] if known else None
        return Chain(data.batch(n, collate=sum), sums, f"{text}.batch({n}, sum)")
    if name == "take":
        return Chain(data.take(7 * n), expected[: 7 * n] if known else None, f"{text}.take({7 * n})", kind)
    if name == "skip":
        return Chain(data.skip(n), expected[n:] if known else None, f"{text}.skip({n})", kind)
    if name == "shard":
        i, m = rng.randrange(n), n
        return Chain(data.shard(i, m), expected[i::m] if known else None, f"{text}.shard({i}, {m})", kind)
    if name == "repeat":
        if known and len(expected) > 1500:
            return chain
        random_order = "shuffle" in text or "rng" in text or "mix" in text or "lengths(" in text or "sample" in text
        return Chain(data.repeat(2), expected * 2 if known and not random_order else None, f"{text}.repeat(2)", kind)
    if name == "concatenate":
        return Chain(data.concatenate(data.take(n)), expected + expected[:n] if known else None, f"{text}.cat", kind)
    if name == "prefetch":
        return Chain(data.prefetch(n), expected, f"{text}.prefetch({n})", kind)
    if name == "map" and kind == "scalar" and apart(rng) < 0.4:
        words = data.map(word, **w).batch(n).unbatch() if n > 2 else data.map(word, **w).shuffle(1, seed=2).prefetch(2)
        return Chain(words.map(of_word, **w), expected, f"{text}.words({n})", kind)
    if name == "map" and kind == "scalar" and apart(rng) > 0.85:
        rows = data.map(large, **w).batch(n)
        return Chain(rows.unbatch().map(from_row, **w), expected, f"{text}.large({n})", kind)
    if name == "map":
        return Chain(data.map(double, **w), [double(x) for x in expected] if known else None, f"{text}.map", kind)
    if name == "rng":
        return Chain(data.map(plus_draw, seed=5, **w), None, f"{text}.rng", kind)
    if name == "filter":
        return Chain(
            data.filter(is_even, **w), [x for x in expected if is_even(x)] if known else None, f"{text}.filter"
        )
    if name == "kept by draw":
        return Chain(data.filter(by_draw, seed=7, **w), None, f"{text}.filter(rng)")
    if name == "flat by draw":
        return Chain(data.flat_map(some_by_draw, seed=8, **w), None, f"{text}.flat(rng)")
    if name == "padded":
        rows = [np.asarray(sequence(x)) for x in expected] if known else []
        longest = [max(map(len, rows[i : i + n])) for i in range(0, len(rows), n)]
        filled = [
            np.array([np.pad(row, (0, most - len(row))) for row in rows[i * n : (i + 1) * n]])
            for i, most in enumerate(longest)
        ]
        return Chain(data.map(sequence, **w).batch(n, pad=0), filled if known else None, f"{text}.padded({n})", "rows")
    if name == "splits":
        return Chain(data.map(sequence, **w).batch(n, collate="row_splits"), None, f"{text}.splits({n})", "rows")
    if name == "rare":
        return Chain(data.filter(is_rare, **w), [x for x in expected if is_rare(x)] if known else None, f"{text}.rare")
    if name == "flat":
        flat = [y for x in expected for y in some(x)] if known else None
        return Chain(data.flat_map(some, **w), flat, f"{text}.flat")
    if name == "gen":
        flat = [y for x in expected for y in as_generator(x)] if known else None
        return Chain(data.flat_map(as_generator, **w), flat, f"{text}.gen")
    if name == "shuffle":
        return Chain(data.shuffle(n, seed=3), expected if n == 1 else None, f"{text}.shuffle({n})")
    if name == "split":
        which = rng.randrange(2)
        return Chain(data.split(0.6, seed=4)[which], None, f"{text}.split[{which}]")
    if name == "sort":  # the largest first, so that a value above all others changes a run's first element
        parts = [expected[i : i + n] for i in range(0, len(expected), n)] if known else []
        listed = [x for part in parts for x in sorted(part, key=quarter, reverse=True)] if known else None
        return Chain(data.sort(n, quarter, reverse=True), listed, f"{text}.sort({n})")
    if name == "batch":
        listed = [np.array(expected[i : i + n]) for i in range(0, len(expected), n)] if known else None
        return Chain(data.batch(n), listed, f"{text}.batch({n})", "batch")
    if name == "window":
        stride = rng.choice([1, 2, 40])
        whole = range(0, max(0, len(expected) - n + 1), stride) if known else ()
        listed = [np.array(expected[i : i + n]) for i in whole] if known else None
        return Chain(data.window(n, stride), listed, f"{text}.window({n}, {stride})", "batch")
    if name == "mix":
        other = source(rng, directory)
        stop = rng.choice(["all_exhausted", "first_exhausted"])
        return Chain(mix([data, other.data], [0.7, 0.3], seed=2, stop=stop), None, f"mix({text}, {other.text}, {stop})")
    if name == "by lengths":
        other = source(rng, directory)
        stop = rng.choice(["all_exhausted", "first_exhausted"])
        inputs, weights = {"a": data, "b": other.data}, [(0, [0.7, 0.3]), (60, {"a": 1, "b": 9})]
        return Chain(
            mix(inputs, weights, by=count_of, seed=2, stop=stop), None, f"lengths({text}, {other.text}, {stop})"
        )
    if name == "zip":
        pairs = [a + b for a, b in itertools.pairwise(expected)] if known else None
        return Chain(zipped(data, data.skip(1)).map(sum, **w), pairs, f"zip({text})")
    if name == "interleave":
        other = source(rng, directory)
        both = known and other.expected is not None
        turns = round_robin([expected, other.expected], n) if both else None
        return Chain(interleave([data, other.data], 2, n), turns, f"interleave({text}, {other.text}, {n})")
    if name == "nested":
        flat = round_robin([list(range(int(x) % 4)) for x in expected], 2, 3) if known else None
        return Chain(interleave(data.map(to_dataset), 3, 2), flat, f"nested({text})")
    if name == "pack":
        return Chain(data.map(sequence, **w).pack(8), packed(expected, 8) if known else None, f"{text}.pack", "row")
    if name == "fit":
        return Chain(
            data.map(sequence, **w).pack(10, method="first_fit", buffer=2 * n), None, f"{text}.fit({2 * n})", "row"
        )
    if name == "best":
        rows = data.map(token_ids, **w).pack(6, method="best_fit", buffer=n, end=-1, labels=True, cu_seqlens=True)
        return Chain(rows, None, f"{text}.best({n})", "row")
    if name == "cut":
        rows = data.map(token_ids, **w).pack(
            5, long="truncate", begin=-1, labels=True, max_sequences=2, cu_seqlens=True
        )
        return Chain(rows, None, f"{text}.cut", "row")
    if name == "by tokens":
        batches = batches_of_tokens([sequence(x) for x in expected], 20) if known else None
        return Chain(data.map(sequence, **w).batch(max_tokens=20), batches, f"{text}.tokens(20)", "rows")
    if name == "left":
        options = {"pad_side": "left", "pad_to_multiple_of": 4, "drop_remainder": True}
        return Chain(data.map(sequence, **w).batch(n, max_tokens=30, **options), None, f"{text}.left({n})", "rows")
    if name == "bucket by tokens":
        return Chain(data.map(sequence, **w).bucket(max_tokens=24, multiple_of=4), None, f"{text}.bucket(24)", "rows")
    if name == "bucket":
        edge = rng.random() < 0.5
        buckets = data.map(sequence, **w).bucket([3, 6], [4, 3, 2], pad_to_boundary=edge)
        return Chain(buckets, None, f"{text}.bucket(pad_to_boundary={edge})", "row")
    if name == "unbatch":
        return Chain(data.unbatch(), None, f"{text}.unbatch")
    try:
        if name == "all":
            return Chain(data.shuffle(seed=4), None, f"{text}.shuffle()")
        weights = [1.0 + i % 3 for i in range(len(data))]
        return Chain(data.sample(weights, 50, seed=6), None, f"{text}.sample") if weights else chain
    except (ValueError, TypeError):  # not indexed
        return chain


def to_dataset(x):
    return dataset(list(range(int(x) % 4)))


def round_robin(lists, block, cycle=None):
    """Interleave as tf.data does: a finished list gives up its turn, and the next takes its place when due again."""
    waiting = [iter(each) for each in lists]
    places = [None] * (len(waiting) if cycle is None else cycle)
    at, turn, out = 0, 0, []
    while waiting or any(place is not None for place in places):
        if places[at] is None and waiting:
            places[at] = waiting.pop(0)
        try:
            out.append(next(places[at] if places[at] is not None else iter(())))
            turn += 1
        except StopIteration:
            places[at], turn = None, block
        if turn == block:
            at, turn = (at + 1) % len(places), 0
    return out


def packed(values, size):
    tokens = [float(v) for x in values for v in sequence(x)]
    return [tokens[i : i + size] for i in range(0, len(tokens), size)]


def batches_of_tokens(rows, most):
    """Batch rows padded to the longest, up to `most` tokens."""
    groups = [[]]
    for row in rows:
        if (len(groups[-1]) + 1) * max(map(len, [*groups[-1], row])) > most:
            groups.append([])
        groups[-1].append(row)
    widths = [max(map(len, group), default=0) for group in groups]
    return [
        np.array([np.pad(row, (0, width - len(row))) for row in group])
        for group, width in zip(groups, widths, strict=True)
        if group
    ]


def plain(element):
    """Return an element in a comparable form."""
    if isinstance(element, dict):
        return {key: plain(value) for key, value in element.items()}
    if isinstance(element, (tuple, list)):
        return [plain(each) for each in element]
    return np.asarray(element).tolist()


def of_seed(seed, directory, workers=None, folder=None):
    """Return a seed's chain, the same for all workers."""
    rng = random.Random(f"chain-{seed}")
    return grow(rng, source(rng, directory), rng.randrange(1, 6), directory, workers, folder)


class Bad(LookupError):
    """Raised by a chain at its bad element."""


class Spoilt:
    """A function that returns its argument, except for one value: there it raises, or returns another.

    Args:
        value: The value.
        instead: The result for that value; None to raise.
    """

    def __init__(self, value, instead=None):
        self.value, self.instead = value, instead

    def __call__(self, x):
        if float(x) != self.value:
            return x
        if self.instead is None:
            raise Bad(self.value)
        return self.instead


def summed(seed, chain):
    """Return a chain's dataset, ending in a checksum for every second seed, so that it has a fingerprint."""
    if seed % 2:
        return chain.data
    data = chain.data.checksum()
    return data.prefetch(2) if seed % 3 == 0 else data.batch(3) if chain.kind == "scalar" and seed % 5 == 0 else data


def sound_of_seed(seed, directory, workers=None):
    """Return a seed's numbers before one is spoilt, and the generator for the remaining choices."""
    rng = random.Random(f"spoilt-{seed}")
    first = source(rng, directory)
    grown = grow(rng, first, rng.randrange(3), directory, workers)
    return (grown if grown.kind == "scalar" else first), rng


def spoilt_of_seed(seed, directory, function, workers=None):
    """Return a seed's chain, with `function` applied to each number somewhere.

    Args:
        seed: The seed.
        directory: For files.
        function: The function.
        workers: The workers for the functions.
    """
    chain, rng = sound_of_seed(seed, directory, workers)
    w = {} if workers is None else {"workers": workers}
    known = None if chain.expected is None else [0.0]  # only records whether plain Python could compute it
    spoilt = Chain(chain.data.map(function, **w), known, f"{chain.text}.spoilt")
    return grow(rng, spoilt, rng.randrange(1, 4), directory, workers)


def workers_of(mode):
    """Return the `workers` for "alone", "threads" or "processes"."""
    return {"alone": None, "threads": 2, "processes": processes(2)}[mode]


def made_as_they_arrive(data):
    """Return whether workers compute elements ahead for a buffer; without workers they are computed when drawn."""
    nodes = [data._node]  # nothing public shows the inputs to the call order
    for node in nodes:
        nodes.extend(node.inputs)
    buffers = [node.inputs[0] for node in nodes if node.kind == "shuffle" and node.options()["buffer_size"]]
    return any(source.indexed and source.works_ahead for source in buffers)
