"""Every public step with working arguments: tests about all steps take their cases from STEPS.

The steps work on all elements that have a number: see `number`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import pipeline

OTHER = pipeline.dataset(range(100, 130))  # the second input of steps with several
NUMBERS = pipeline.dataset(range(10))


def number(element):
    """Return the number of an element: itself, its digits, or that of the first of its values."""
    while isinstance(element, (dict, tuple, list)):
        element = next(iter(element.values() if isinstance(element, dict) else element))
    return float(np.ravel(element)[0])


def same(element):
    return element


def negative(element):
    return -number(element)


def is_even(element):
    return number(element) % 2 == 0


def twice(element):
    return [element, element]


def length(element):
    return int(number(element)) % 4 + 1


def sequence(element):
    return np.full(length(element), int(number(element)))


def bad(element):
    if number(element) == 5:
        raise LookupError("oh")
    return element


def bad_length(element):
    return length(bad(element))


def nothing():
    yield from ()


def alternating(data):
    """Return the arguments of `sample`: the odd elements twice as often."""
    return {"weights": [1.0 + i % 2 for i in range(len(data))], "n": 20, "seed": 1}


def groups(values, n, stride=None, whole=False):
    """Return n neighbours at a time."""
    parts = [values[i : i + n] for i in range(0, len(values), stride or n)]
    return [each for each in parts if len(each) == n or not whole]


def by_tokens(values):
    """Return batches with up to 8 tokens after padding."""
    found = [[]]
    for each in values:
        if (len(found[-1]) + 1) * max(map(length, [*found[-1], each])) > 8:
            found.append([])
        found[-1].append(each)
    return [each for each in found if each]


class Step(NamedTuple):
    """A public step.

    Attributes:
        name: A method of Dataset, or a function in JOINING.
        arguments: Its arguments, or a function that returns them for a dataset; without the datasets of a function.
        plain: Returns the elements in plain Python, for the inputs, and for the other ones if there are two datasets.
            None if they are random, or padded.
        before: Returns the step's input over a dataset.
        fails: Makes a chain whose last step raises an error; None if the step cannot fail.
        counts: True if it counts elements, so that it refuses batches that depend on time.
        needs_index: True if its input must be indexed.
    """

    name: str
    arguments: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]
    plain: Callable[..., list] | None = None
    before: Callable[[Any], Any] = same
    fails: Callable[[], Any] | None = None
    counts: bool = False
    needs_index: bool = False

    def over(self, data, other=OTHER):
        """Return the step over a dataset, and over another one if it has several inputs."""
        data = self.before(data)
        arguments = self.arguments_for(data)
        if self.name in JOINING:
            datasets = (data, other) if self.name == "zip" else ([data, other],)
            return getattr(pipeline, self.name)(*datasets, **arguments)
        if self.name == "concatenate":
            arguments = {"other": other}
        found = getattr(data, self.name)(**arguments)
        return found[0] if self.name == "split" else found

    def over_itself(self, data):
        """Return the step over a dataset, which is also the other one if it has two inputs."""
        return self.over(data, data)

    def elements(self, values, other=OTHER):
        """Return its elements in plain Python, for the values of its inputs."""
        return self.plain(values, [*other]) if self.name in (*JOINING, "concatenate") else self.plain(values)

    def arguments_for(self, data):
        """Return its arguments over a dataset."""
        return self.arguments(data) if callable(self.arguments) else dict(self.arguments)


JOINING = "interleave", "mix", "zip"

STEPS = {
    "map": Step("map", {"function": same}, list, fails=lambda: NUMBERS.map(bad)),
    "map_batches": Step(
        "map_batches",
        {"function": same},
        lambda values: groups(values, 2),
        before=lambda data: data.batch(2),
        fails=lambda: NUMBERS.batch(2).map_batches(lambda batch: batch[9]),
    ),
    "filter": Step(
        "filter",
        {"function": is_even},
        lambda values: [each for each in values if is_even(each)],
        fails=lambda: NUMBERS.filter(bad),
    ),
    "flat_map": Step(
        "flat_map",
        {"function": twice},
        lambda values: [each for each in values for _ in range(2)],
        fails=lambda: NUMBERS.flat_map(bad),
    ),
    "shuffle()": Step("shuffle", {"seed": 1}, needs_index=True, counts=True),
    "shuffle(n)": Step("shuffle", {"buffer_size": 4, "seed": 1}, counts=True),
    "sample": Step("sample", alternating, needs_index=True, counts=True),
    "sort": Step(
        "sort",
        {"n": 4, "key": negative},
        lambda values: [each for part in groups(values, 4) for each in sorted(part, key=negative)],
        fails=lambda: NUMBERS.sort(3, bad),
        counts=True,
    ),
    "split": Step("split", {"fraction": 0.6, "seed": 1}, counts=True),
    "shard": Step("shard", {"i": 1, "n": 3}, lambda values: values[1::3], counts=True),
    "take": Step("take", {"n": 20}, lambda values: values[:20], counts=True),
    "skip": Step("skip", {"n": 3}, lambda values: values[3:], counts=True),
    "repeat": Step(
        "repeat", {"n": 2}, lambda values: values * 2, fails=lambda: pipeline.dataset(nothing).filter(bad).repeat()
    ),
    "concatenate": Step("concatenate", {"other": OTHER}, lambda values, others: [*values, *others]),
    "interleave": Step(
        "interleave",
        {"cycle_length": 2, "block_length": 99},
        lambda values, others: [*values, *others],
        fails=lambda: pipeline.interleave(NUMBERS),
    ),
    "mix": Step("mix", {"weights": [1, 2], "seed": 1}),
    "zip": Step("zip", {}, lambda values, others: [[*pair] for pair in zip(values, others, strict=False)]),
    "enumerate": Step("enumerate", {}, lambda values: [[i, each] for i, each in enumerate(values)], counts=True),
    "batch": Step(
        "batch",
        {"n": 4},
        lambda values: groups(values, 4),
        fails=lambda: NUMBERS.batch(3, collate=lambda rows: rows[9]),
    ),
    "batch(max_tokens=)": Step(
        "batch",
        {"max_tokens": 8, "length": length},
        by_tokens,
        fails=lambda: NUMBERS.batch(max_tokens=8, length=bad_length),
        counts=True,
    ),
    "unbatch": Step("unbatch", {}, list, before=lambda data: data.batch(2), fails=lambda: NUMBERS.unbatch()),
    "window": Step(
        "window",
        {"size": 3, "stride": 2},
        lambda values: groups(values, 3, 2, True),
        fails=lambda: pipeline.dataset([[1], [2, 3]]).window(2),
    ),
    "bucket": Step(
        "bucket",
        {"boundaries": [3], "batch_sizes": [2, 3], "length": length},
        fails=lambda: NUMBERS.bucket([3], [2, 2], length=bad_length),
        counts=True,
    ),
    "pack": Step("pack", {"length": 8}, before=lambda data: data.map(sequence), fails=lambda: NUMBERS.pack(3)),
    "prefetch": Step("prefetch", {"n": 2}, list),
    "cache": Step("cache", {}, list, counts=True),
    "checksum": Step("checksum", {}, list, fails=lambda: NUMBERS.map(lambda x: object()).checksum()),
}

STREAMED = {name: step for name, step in STEPS.items() if not step.needs_index}
