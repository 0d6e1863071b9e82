"""The table in docs/reproducibility.md: allowed differences between a state and the program loading it, by step.

`python tests/support/resume_matrix.py` prints it. Each cell is a run stopped and continued: "yes" if nothing was lost
or repeated, "error" if the state is rejected. Another outcome is an AssertionError.
"""

import itertools
import json
from collections import Counter

import numpy as np
from steps import JOINING, STEPS, Step, alternating, same

import pipeline
from pipeline.datasets.state import ALLOWED

COUNT = 240


def numbers():
    yield from range(COUNT)


def itself(x):
    return x


def no_seven(x):
    if x % 7 == 0:
        raise ValueError(x)
    return x


def label(name):
    """Return a step's name in the table."""
    return f"`pipeline.{name}`" if STEPS[name].name in JOINING else f"`{name}`"


EQUAL = ", `shard(..., drop_remainder=True)`"  # in a name: how the hosts share
SKIPPING = Step("map", {"function": no_seven, "on_error": "skip"})

# Each step over a stream, or over an index if it needs one.
ROWS = {label(name): step for name, step in STEPS.items() if name != "shard"} | {
    '`map(on_error="skip")`': SKIPPING,
    f'`map(on_error="skip")`{EQUAL}': SKIPPING,
    '`pack(method="best_fit")`': STEPS["pack"]._replace(arguments={"length": 16, "method": "best_fit"}),
}


def with_weights(step):
    """Return a mix or a sample with other weights."""
    arguments = (lambda data: {**alternating(data), "weights": [1.0, 3.0] * 120}) if step.needs_index else {}
    return step._replace(arguments=arguments or {**step.arguments, "weights": [1, 3]})


def with_length(step):
    """Return windows or rows of another length."""
    return step._replace(arguments={**step.arguments, "size" if step.name == "window" else "length": 24})


def values(element):
    """Return the numbers in an element; of a pair, those of the last part; of a packed row, those without padding."""
    if isinstance(element, dict):
        return element["tokens"][element["segment_ids"] > 0].tolist()
    return np.ravel(element[-1] if isinstance(element, tuple) else element).tolist()


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
    over, equal, pairs = step.over_itself, name.endswith(EQUAL), ((4, 2), (2, 3))
    ends = step.name == "checksum"  # shard may not follow it
    cells = [hosts(over, source, False, equal, *each) if not ends else "-" for each in pairs]
    cells += [hosts(over, source, True, equal, *each) for each in pairs]
    cells.append(continued([over(source.map(same))], [over(source.map(same, workers=workers))]))
    cells.append(rebatched(step, source))
    cells.append(changed(step, source, with_weights(step), "weights") if step.name in ("mix", "sample") else "-")
    cells.append(changed(step, source, with_length(step), "length") if step.name in ("window", "pack") else "-")
    _, (state,) = taken([over(source)], None, 9)
    return [*cells, f"< {len(json.dumps(state)) // 1000 + 1} kB"]


def rebatched(step, source):
    """Return whether another batch size continues, of batches around the step; "-" if its elements do not stack."""
    if step.name in ("batch", "unbatch", "map_batches") and "max_tokens" not in step.arguments:
        before, after = source.batch(4), source.batch(6)
        recipes = (before, after) if step.name == "batch" else map(step._replace(before=same).over, (before, after))
    else:
        recipes = (step.over_itself(source).batch(n) for n in (4, 6))
    try:
        return continued(*([each] for each in recipes), {"batch_size"})
    except ValueError:
        return "-"


def changed(step, source, other, word):
    """Return whether other arguments continue, with their `allow` word, if there is one."""
    allow = {word} if word in ALLOWED else set()
    return continued([step.over_itself(source)], [other.over_itself(source)], allow, ordered=False)


def table(workers=2):
    """Return the table as Markdown."""
    head = ["step", "before `shard`: 4 to 2 hosts", "2 to 3", "after `shard`: 4 to 2 hosts", "2 to 3", "workers"]
    head += ["batch size", "weights", "row length", "state"]
    lines = [head, ["---"] * len(head)]
    for name, step in ROWS.items():
        source = pipeline.dataset(list(range(COUNT)) if step.needs_index else numbers)
        lines.append([name, *row(name, step, source, workers)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    print(table(), end="")
