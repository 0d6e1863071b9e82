"""A source under test: its examples, its variants, and comparisons with them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.checks.differences import difference, shown
from pipeline.checks.outcome import CheckFailed, NotApplicable
from pipeline.datasets.dataset import Dataset

# Options for a random order.
ORDER = {"shuffle": True, "seed": 1}


class SourceTrial:
    """A source under test.

    Args:
        make: Makes it from options.
        options: Its options.
        hosts: Host counts.
        limit: How many examples to look at; None for all.
    """

    def __init__(
        self, make: Callable[..., Dataset[Any]], options: Sequence[str], hosts: Sequence[int], limit: int | None
    ) -> None:
        self.make, self.options, self.hosts, self.limit = make, options, hosts, limit

    @functools.cached_property
    def elements(self) -> list[Any]:
        """Return the examples of the source made without options."""
        return self.taken(self.make())

    def taken(self, data: Dataset[Any]) -> list[Any]:
        """Return the examples in a pass, up to the limit."""
        with iter(data) as iterator:
            return list(itertools.islice(iterator, self.limit))

    def needs(self, *names: str, all_of: bool = False) -> None:
        """Raise NotApplicable if the source lacks these options, or has more examples than the limit."""
        for name in names:
            if name not in self.options:
                raise NotApplicable(f"the source has no option {name}=")
        if all_of and self.limit is not None and len(self.elements) >= self.limit:
            raise NotApplicable(f"the source may have more than {self.limit} examples: pass limit=None")

    def variants(self) -> list[tuple[str, Callable[[], Dataset[Any]]]]:
        """Return the datasets to resume, each with its description for errors."""
        found: list[tuple[str, Callable[[], Dataset[Any]]]] = [("", self.make)]
        order: dict[str, Any] = ORDER if {"shuffle", "seed"} <= {*self.options} else {}
        if order:
            found.append((f"with {_written(order)}, in epoch 1", lambda: self.make(**order).epoch(1)))
        if "num_epochs" in self.options:
            several = {"num_epochs": 2, **order}
            found.append((f"with {_written(several)}", lambda: self.make(**several)))
        found.append(("behind .map(...).shuffle(6)", lambda: self.make(**order).map(_same).shuffle(6, seed=1)))
        return found

    def compare(self, data: Dataset[Any], expected: Sequence[Any], when: str) -> None:
        """Check a dataset's elements, and that no more follow."""
        with iter(data) as iterator:
            for i, element in enumerate(expected):
                got = next(iterator, _END)
                if got is _END:
                    raise CheckFailed(f"is missing {when}", i, shown(element), "the end")
                if found := difference(element, got):
                    raise CheckFailed(f"differs {when}", i, *found[1:], found.where)

    def order(self, when: str, **options: Any) -> list[int]:
        """Return the examples that the source gives with options, as indices into the source without any."""
        return self.numbers(self.taken(self.make(**options)), when)

    def numbers(self, elements: Sequence[Any], when: str) -> list[int]:
        """Return the indices of these examples in the source; equal ones are matched in order."""
        left, found = dict(enumerate(self.elements)), []
        for i, element in enumerate(elements):
            number = next((k for k, other in left.items() if difference(other, element) is None), None)
            if number is None:
                again = any(difference(each, element) is None for each in self.elements)
                wish = "each example once" if again else "one of the examples without options"
                raise CheckFailed(f"is wrong {when}", i, wish, shown(element) + (" once more" if again else ""))
            found.append(number)
            del left[number]
        if left:
            lost = next(iter(left))
            raise CheckFailed(f"is missing {when}", lost, shown(self.elements[lost]), "every other example")
        return found


_END: Any = object()


def _same(example: Any) -> Any:
    return example


def _written(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items())
