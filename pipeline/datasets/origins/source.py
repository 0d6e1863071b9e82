"""OfSource: what `arrays`, `csv` and such functions make: rows or files in an order."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from pipeline.datasets.node import Node, Opening
from pipeline.datasets.seed import Seed
from pipeline.producers.numbered import Numbered


class OfSource(Node):
    """What `arrays`, `csv` and such functions make.

    Args:
        kind: The function.
        facts: Returns what decides the examples, besides their order; plain data.
        order: How often, and in which order, they are read.
    """

    stage = "source"

    def __init__(self, kind: str, facts: Callable[[], dict[str, Any]], order: Any) -> None:
        self.kind = self.name = kind
        self._facts, self.order = facts, order
        self._seed = None if order.shuffle is None else _OrderSeed(order.shuffle)
        self.note_place()

    def seed(self) -> Seed | None:
        return self._seed

    def options(self) -> dict[str, Any]:
        return {**self._facts(), **{key: value for key, value in self.order.facts().items() if key != "seeds"}}

    def numbered(self, shared: Opening) -> Numbered:
        """Return the order of the rows or files, by the seeds of this iterator."""
        numbered: Numbered = self.order.numbered()
        if self._seed is not None and numbered.shuffle is not None:
            numbered.shuffle = copy.copy(numbered.shuffle)
            numbered.reseed(shared.pair(self._seed))
        return numbered

    def call(self) -> str:
        return f"pipeline.{self.kind}(...)"

    def text(self) -> str:
        shuffle = ", shuffle=True" if self.order.shuffle is not None else ""
        epochs = "" if self.order.num_epochs == 1 else f", num_epochs={self.order.num_epochs}"
        return f"{self.kind}({self.about()}{shuffle}{epochs})"

    def about(self) -> str:
        """Return how much there is."""
        raise NotImplementedError


class _OrderSeed(Seed):
    """The seeds of the order of a source."""

    def __init__(self, shuffle: Any) -> None:
        self._shuffle = shuffle
        self.drawn = shuffle.drawn

    @property
    def pair(self) -> tuple[int, int]:
        seeds: tuple[int, int] = self._shuffle.seeds
        return seeds

    def adopt(self, pair: tuple[int, int]) -> None:
        if self.drawn:
            self._shuffle.seeds = pair

    def __getstate__(self) -> dict[str, Any]:
        return {"_shuffle": self._shuffle, "drawn": self.drawn}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
