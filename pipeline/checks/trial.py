"""Trial: a dataset under test and its first pass, with comparisons against it."""

from __future__ import annotations

import functools
import itertools
import json
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pipeline.checks.differences import difference, shown
from pipeline.checks.outcome import CheckFailed
from pipeline.datasets.dataset import Dataset
from pipeline.datasets.iterator import DatasetIterator
from pipeline.diagnostics.wording import named
from pipeline.errors import FailedPreconditionError

_END: Any = object()


class Settings(NamedTuple):
    """The extent of a check.

    Attributes:
        expected: The elements in a pass; None if unknown.
        limit: How many elements per pass to look at; None for all.
        workers: The workers to try, one after another.
        hosts: Host counts.
        at: The only element before which to resume; None for every one.
        seed: Seed for choosing positions, workers and hosts.
        places: Maximum number of positions at which to resume.
        source: The dataset is a source under test.
    """

    expected: Sequence[Any] | None = None
    limit: int | None = 100
    workers: Sequence[Any] = (None, 2)
    hosts: Sequence[int] = (2, 3)
    at: int | None = None
    seed: int = 0
    places: int = 200
    source: bool = False

    def random(self) -> random.Random:
        """Return a generator that makes the same choices in every run."""
        return random.Random(self.seed)


class Trial:
    """A dataset under test.

    Args:
        make: Makes the dataset; called for each run.
        settings: How much is checked.

    Attributes:
        elements: The first pass's elements.
        complete: True if these are all.
    """

    def __init__(self, make: Callable[[], Dataset[Any]], settings: Settings) -> None:
        self.make, self.settings = make, settings
        with iter(make()) as iterator:
            self.elements = list(itertools.islice(iterator, settings.limit))
        self.complete = settings.limit is None or len(self.elements) < settings.limit

    @functools.cached_property
    def states(self) -> list[dict[str, Any]]:
        """The state before each element and after the last.

        Raises:
            CheckFailed: The dataset has no states, or saving them changes the elements.
        """
        found: list[dict[str, Any]] = []
        self.follow(self.make(), "in a pass that saves a state after each element", states=found)
        return found

    def places(self) -> list[int]:
        """Return the element indices before which to resume."""
        count = len(self.elements) + self.complete  # also at the end
        if self.settings.at is not None:
            return [self.settings.at] if self.settings.at < count else []
        most = self.settings.places
        return sorted({i * count // most for i in range(most)}) if count > most else list(range(count))

    def follow(
        self,
        data: Dataset[Any],
        when: str,
        *,
        first: int = 0,
        count: int | None = None,
        state: dict[str, Any] | None = None,
        expected: Sequence[Any] | None = None,
        states: list[dict[str, Any]] | None = None,
    ) -> None:
        """Run a dataset and compare its elements with the first pass.

        Args:
            data: The dataset.
            when: The circumstances, for the error.
            first: Index of the first element.
            count: How many elements; None for all.
            state: The state to resume from; None for the beginning.
            expected: All expected elements, if not those of the first pass.
            states: Receives the state before each element and after the last; None to save none.

        Raises:
            CheckFailed: There is a difference.
        """
        wanted = self.elements[first:] if expected is None else expected
        ends = count is None and self.complete
        wanted = wanted if count is None else wanted[:count]
        place = first
        try:
            with iter(data) as iterator:
                if state is not None:
                    _load(iterator, state)
                for place, element in enumerate(wanted, first):
                    _note(iterator, states)
                    _compare(element, next(iterator, _END), f"differs {when}", place)
                place = first + len(wanted)
                _note(iterator, states)
                if ends and (extra := next(iterator, _END)) is not _END:
                    raise CheckFailed(f"is one too many {when}", place, "the end", shown(extra))
        except CheckFailed:
            raise
        except Exception as error:
            wish = shown(wanted[place - first]) if place - first < len(wanted) else "the end"
            if isinstance(error, FailedPreconditionError) and data._node.no_state():
                raise CheckFailed("the dataset has no states", None, "states", error.message) from error
            raise CheckFailed(f"cannot be made {when}", place, wish, f"raised {named(error)}") from error


def _load(iterator: DatasetIterator[Any], state: dict[str, Any]) -> None:
    iterator.load_state_dict(state)
    now = plain(iterator.state_dict())
    if now["recipe"] == state["recipe"] and now != state:  # another host has another recipe
        raise CheckFailed("the state changes when it is loaded", None, shown(state["state"]), shown(now["state"]))


def _note(iterator: DatasetIterator[Any], states: list[dict[str, Any]] | None) -> None:
    if states is not None:
        states.append(plain(iterator.state_dict()))


def plain(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state as it looks after a round trip through a file."""
    return json.loads(json.dumps(state))  # type: ignore[no-any-return]


def _compare(expected: Any, got: Any, when: str, place: int) -> None:
    if got is _END:
        raise CheckFailed(when.replace("differs", "is missing", 1), place, shown(expected), "the end")
    found = difference(expected, got)
    if found is not None:
        raise CheckFailed(when, place, found.expected, found.got, found.where)
