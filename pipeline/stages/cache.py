"""cache: compute elements once and store them. The first pass computes them in order; later ones read by index.

It is always indexed: its states are places, whether it is full or not. Until it is full, recipes over it run as
streams, and a step such as shuffle() fills it first, because it needs all elements at once.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import operator
from typing import Any

from pipeline.errors import FailedPreconditionError, StateMismatchError, invalid
from pipeline.files.shelf import Memory
from pipeline.orders.seeds import Seed
from pipeline.stages.block import Block, Numbers
from pipeline.stages.cache_store import Store
from pipeline.stages.filling import Filling
from pipeline.stages.index import ENDLESS, Index
from pipeline.stages.kept_rows import KeptRows, RowWriter, refusing_damage
from pipeline.stages.node import Node, OneInput, index_of, opened, seeds_of
from pipeline.stages.recipe_key import first_difference, key_of
from pipeline.stages.run import Pair, Run, Seeds
from pipeline.stages.stream import Stream, whole

_FORMAT = 1

# Seconds between checks on a cache filled by another process.
_LOOK = 0.2


class Cache(OneInput):
    """Elements computed once.

    The input always runs as one fixed pass, because its draws are kept with the elements.

    Args:
        source: The elements.
        folder: The storage folder; None for memory.
        epoch: The input's pass.
        pickles: Pickle values of odd classes, and read such pickles; in memory this is always so.
        rebuild: Remove the folder's contents.
        verify: Compare stored elements with their checksums.

    Raises:
        InvalidArgumentError: The elements have no end, or are pickled and `pickles` is False.
        StateMismatchError: The folder has another recipe's elements.
        FailedPreconditionError: The folder holds something else, or another process writes to a folder being removed.
        DataLossError: The folder is damaged.
    """

    kind = "cache"

    def __init__(
        self, source: Node, folder: str | None, epoch: int, pickles: bool, rebuild: bool, verify: bool
    ) -> None:
        if source.length() == ENDLESS:
            raise invalid("cache: the dataset has no end: write cache before repeat")
        self.folder, self._epoch, self._key = folder, epoch, None
        self._pickles = pickles or folder is None
        self.store = Store(Memory()) if folder is None else Store.of(folder)
        if folder is not None:
            self._key = key_of(source)
        super().__init__(source)
        if rebuild:
            self._remove()
        rows = self.rows()
        if verify:
            self.store.shelf.verify()  # type: ignore[attr-defined]
        if rows.about is not None:
            with refusing_damage(self.store.shelf):
                for seed, (one, two) in zip(seeds_of(source), rows.about["seeds"], strict=True):
                    if seed.drawn:
                        seed.adopt((operator.index(one), operator.index(two)))

    def _remove(self) -> None:
        self.store.stop_filling()
        writer = self.store.shelf.writer()
        if writer is None:
            text = f"cache: another process fills '{self.folder}': end it before rebuild=True"
            raise FailedPreconditionError(None, None, text)
        with contextlib.closing(writer):
            writer.begin(self._about(Seeds()))
        self.store = Store.of(self.store.shelf.path)  # type: ignore[attr-defined]

    def _about(self, seeds: Seeds) -> dict[str, Any]:
        pairs = [list(seeds.pair(seed)) for seed in seeds_of(self.source.written)]
        return {"format": _FORMAT, "epoch": self._epoch, "key": self._key, "seeds": pairs}

    def rows(self) -> KeptRows:
        """Return the stored rows; raise StateMismatchError if they belong to another recipe."""
        rows = self.store.rows()
        about = rows.about
        if about is None or self._key is None:
            return rows
        with refusing_damage(self.store.shelf):
            if about["format"] != _FORMAT:
                found: str | None = f"it has format {about['format']}, of another version of this package"
            elif about["epoch"] != self._epoch:
                found = f"it has epoch {about['epoch']}, and this is epoch {self._epoch}"
            else:
                found = first_difference(about["key"], self._key)
        if found is not None:
            text = f"cache: '{self.folder}' has other elements: {found}. Pass rebuild=True, or another folder"
            raise StateMismatchError([("cache", None, None)], text)
        if rows.pickles and not self._pickles:
            text = f"cache: '{self.folder}' holds pickles, which can run any code when they are read"
            raise invalid(f"{text}: pass allow_pickle=True if only you can write to the folder, or rebuild=True")
        return rows

    # Description

    def indexed_over(self, source: Node) -> bool:
        return True

    @property
    def complete(self) -> bool:
        """True if all elements are stored."""
        return self.store.rows().complete

    @property
    def works_ahead(self) -> bool:
        return False

    @property
    def streams(self) -> bool:
        return not self.complete

    @property
    def runs(self) -> tuple[Node, ...]:
        return () if self.complete else self.inputs

    def options(self) -> dict[str, Any]:
        return {"epoch": self._epoch} if self._epoch else {}

    def text(self) -> str:
        return "cache()" if self.folder is None else f"cache({self.folder!r})"

    def label(self) -> str:
        return "cache (hit)" if self.complete else "cache (fill)"

    def length(self) -> int | None:
        rows = self.store.rows()
        return rows.count if rows.complete else self.source.length()

    def name_of(self, number: int) -> str | None:
        return None

    def no_state(self) -> str | None:
        return None if self.complete else super().no_state()

    def once(self) -> str | None:
        return None if self.complete else super().once()

    @property
    def live(self) -> bool:
        return not self.complete and super().live

    # How it runs

    def index(self, run: Run) -> Index:
        rows = self.rows()
        if not rows.complete and not run.fills:
            source = index_of(self.source, self._input(run, rows)) if self.source.indexed else None
            return _Some(rows, source, self.length() or rows.count)
        while not rows.complete:
            run.clock.check()
            self.store.stop_filling()
            with contextlib.closing(Filling(self, run, rows.count)) as stream:
                if stream.begin_at_next(private=False):
                    stream.drop(ENDLESS)
                else:  # another process fills it, or an interrupted stream here is not collected yet
                    gc.collect()
                    run.clock.bell.wait(_LOOK)
            rows = self.rows()
        return rows.index

    def stream(self, run: Run, state: Any = None) -> Stream:
        return Filling(self, run, whole(0 if state is None else state))

    def state_at(self, place: int) -> Any:
        return place

    def _input(self, run: Run, rows: KeptRows) -> Run:
        """Return the input's run for its single pass, with the seeds of the stored elements."""
        made = copy.copy(run)
        made.epoch, made.path, made.hosts = self._epoch, 0, False
        if rows.about is not None:
            pairs = zip(seeds_of(self.source.written), rows.about["seeds"], strict=True)
            made.seeds = _Kept({seed: (pair[0], pair[1]) for seed, pair in pairs})
        return made

    def begun(self, run: Run, place: int) -> tuple[KeptRows, RowWriter | None]:
        """Return the stored rows and a writer; no writer if another stream has it, or if the place is stored."""
        rows = self.rows()
        if rows.complete or rows.count > place or (found := self.store.shelf.writer()) is None:
            return rows, None
        try:
            rows = self.rows()
            if rows.complete or rows.count > place:  # filled by another process in the meantime
                found.close()
                return rows, None
            if rows.about is None:
                found.begin(self._about(run.seeds))
                rows = self.rows()
            return rows, RowWriter(found, rows, self.source.length(), self._pickles)
        except BaseException:
            found.close()
            raise

    def source_at(self, run: Run, rows: KeptRows) -> Stream:
        """Return the input's elements after the stored ones."""
        return opened(self.source, self._input(run, rows), copy.deepcopy(rows.state))


class _Kept(Seeds):
    """The seeds of stored elements."""

    def __init__(self, pairs: dict[Seed, Pair]) -> None:
        super().__init__()
        self._pairs = pairs


class _Some(Index):
    """Elements of an incomplete cache: stored ones, and others by the input's index.

    Args:
        rows: The stored rows.
        source: All elements; None if the input has no index.
        length: The number of elements.
    """

    ahead = False

    def __init__(self, rows: KeptRows, source: Index | None, length: int) -> None:
        self._rows, self._source, self._length = rows, source, length

    def __len__(self) -> int:
        return self._length

    def block(self, places: Numbers) -> Block:
        if not len(places) or int(places.max()) < self._rows.count:
            return Block(self._rows.values(places), places)
        if self._source is None:
            raise TypeError("the cache is not full, so its elements have no numbers yet: iterate over it once before")
        block = self._source.block(places)
        return Block(block.values, places[: len(block)], block.error)
