"""The table in docs/reproducibility.md: allowed differences between a state and the program loading it, by step.

`python tests/support/resume_matrix.py` prints it. Each cell is a run stopped and continued: "yes" if nothing was lost
or repeated, "error" if the state is rejected. Another outcome is an AssertionError.
"""

import itertools
import json
from collections import Counter

import numpy as np

import pipeline
from pipeline.datasets.dataset import interleave, mix
from pipeline.datasets.dataset import zip as zipped
from pipeline.datasets.state import ALLOWED

COUNT = 240


def numbers():
    yield from range(COUNT)


def itself(x):
    return x


def is_even(x):
    return x % 2 == 0


def pair(x):
    return [x, x + COUNT]


def no_seven(x):
    if x % 7 == 0:
        raise ValueError(x)
    return x


def sequence(x):
    return np.full(x % 5 + 1, x)


def packed(data, size=16, **how):
    return data.map(sequence).pack(size, **how)


EQUAL = ", `shard(..., drop_remainder=True)`"  # in a name: how the hosts share

# Each step over a stream, or over an index if it needs one. A second argument is its weight or its length.
STREAM = {
    "`map`, also `workers=`": lambda data: data.map(itself, workers=2),
    '`map(on_error="skip")`': lambda data: data.map(no_seven, on_error="skip"),
    f'`map(on_error="skip")`{EQUAL}': lambda data: data.map(no_seven, on_error="skip"),
    "`filter`": lambda data: data.filter(is_even),
    "`flat_map`": lambda data: data.flat_map(pair),
    "`shuffle(n)`": lambda data: data.shuffle(20, seed=1),
    "`sort(n)`": lambda data: data.sort(20, itself, reverse=True),
    "`take`": lambda data: data.take(60),
    "`skip`": lambda data: data.skip(7),
    "`repeat`": lambda data: data.repeat(2),
    "`enumerate`": lambda data: data.enumerate().map(second),
    "`concatenate`": lambda data: data.concatenate(data),
    "`pipeline.zip`": lambda data: zipped(data, data).map(second),
    "`pipeline.mix`": lambda data, weight=2: mix([data, data], [1, weight], seed=1),
    "`pipeline.interleave`": lambda data: interleave([data, data], 2),
    "`window`": lambda data, size=4: data.window(size, size),
    '`pack`, `method="concat"`': packed,
    '`pack`, `method="best_fit"`': lambda data, size=16: packed(data, size, method="best_fit"),
    "`bucket`": lambda data: data.map(sequence).bucket([3], [4, 4]),
    "`batch`": lambda data: data.batch(4),
    "`unbatch`": lambda data: data.batch(4).unbatch(),
    "`cache`": lambda data: data.cache(),
    "`prefetch`": lambda data: data.prefetch(3),
    "`checksum`": lambda data: data.checksum(),
}
INDEXED = {
    "`shuffle()`": lambda data: data.shuffle(seed=1),
    "`sample`": lambda data, weight=2: data.sample(
        [1.0, weight] * (len(data) // 2) + [1.0] * (len(data) % 2), 120, seed=1
    ),
}
WEIGHTED = ("`pipeline.mix`", "`sample`")
LONG = ("`window`", '`pack`, `method="concat"`', '`pack`, `method="best_fit"`')
NOT_BATCHED = ("`bucket`", *LONG)
AFTER = ("`checksum`",)  # shard may not follow these


def second(pair):
    return pair[1]


def values(element):
    """Return the numbers in an element; for a packed row, without its padding."""
    if isinstance(element, dict):
        return element["tokens"][element["segment_ids"] > 0].tolist()
    return np.ravel(element).tolist()


def taken(datasets, state, count, allow=()):
    """Return each iterator's output: `count` elements after a state, None for all; and each one's state."""
    found, states = [], []
    for data in datasets:
        with iter(data) as iterator:
            if state is not None:
                iterator.load_state_dict(state, allow=allow)
            found.append([values(each) for each in itertools.islice(iterator, count)])
            states.append(json.loads(json.dumps(iterator.state_dict())))
    order = [each for of_all in itertools.zip_longest(*found, fillvalue=[]) for each in of_all]
    return [x for each in order for x in each], states


def continued(before, after, allow=(), ordered=True, whole=None, lost=0):
    """Return whether recipes continue from other recipes' states: "yes" or "error".

    Args:
        before, after: The recipes of all hosts.
        allow: Differences to accept.
        ordered: True if the order stays.
        whole: Their complete output; None for the output from those before alone.
        lost: How many at the end may be left out because they are too few for all hosts.
    """
    whole = taken(before, None, None)[0] if whole is None else whole
    first, states = taken(before, None, 3)
    for state in states:
        try:
            rest, _ = taken(after, state, None, allow)
        except pipeline.StateMismatchError:
            return "error"
        if ordered:
            assert first + rest == whole[: len(first + rest)]
            assert len(whole) - len(first + rest) <= lost
        else:
            assert Counter(first + rest) == Counter(whole)
    return "yes"


def hosts(step, source, behind, equal, was, now):
    """Return whether `now` hosts continue from the state of `was`, with the step after shard or before it.

    If it is before, the hosts together produce a single host's elements, in this order.
    """

    def share(i, n):
        if behind:
            return step(source.shard(i, n, drop_remainder=equal))
        return step(source).shard(i, n, drop_remainder=equal)

    before, after = ([share(i, count) for i in range(count)] for count in (was, now))
    if behind:
        return continued(before, after, ordered=False)
    return continued(before, after, whole=taken([step(source)], None, None)[0], lost=now - 1 if equal else 0)


def row(name, step, source, workers):
    """Return a step's cells."""
    equal, pairs = name.endswith(EQUAL), ((4, 2), (2, 3))
    cells = [hosts(step, source, False, equal, *each) if name not in AFTER else "-" for each in pairs]
    cells += [hosts(step, source, True, equal, *each) for each in pairs]
    cells.append(continued([step(source.map(itself))], [step(source.map(itself, workers=workers))]))
    if name == "`unbatch`":
        cells.append(continued([source.batch(4).unbatch()], [source.batch(6).unbatch()], {"batch_size"}))
    elif name == "`batch`":
        cells.append(continued([source.batch(4)], [source.batch(6)], {"batch_size"}))
    elif name in NOT_BATCHED:  # their elements do not stack, or are not examples
        cells.append("-")
    else:
        cells.append(continued([step(source).batch(4)], [step(source).batch(6)], {"batch_size"}))
    cells.append(changed(step, source, 3, "weights") if name in WEIGHTED else "-")
    cells.append(changed(step, source, 24, "length") if name in LONG else "-")
    _, (state,) = taken([step(source)], None, 9)
    return [*cells, f"< {len(json.dumps(state)) // 1000 + 1} kB"]


def changed(step, source, value, word):
    """Return whether another weight or length continues, with its `allow` word, if there is one."""
    allow = {word} if word in ALLOWED else set()
    return continued([step(source)], [step(source, value)], allow, ordered=False)


def table(workers=2):
    """Return the table as Markdown."""
    head = ["step", "before `shard`: 4 to 2 hosts", "2 to 3", "after `shard`: 4 to 2 hosts", "2 to 3", "workers"]
    head += ["batch size", "weights", "row length", "state"]
    lines = [head, ["---"] * len(head)]
    for name, step in STREAM.items():
        lines.append([name, *row(name, step, pipeline.dataset(numbers), workers)])
    for name, step in INDEXED.items():
        lines.append([name, *row(name, step, pipeline.dataset(list(range(COUNT))), workers)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    print(table(), end="")
