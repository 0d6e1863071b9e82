"""cache: elements are computed once and kept. The pass that fills it computes in order; later ones read by place.

It is always indexed: its states are places, whether it is full or not. While it is not, recipes over it run as streams,
and a step that needs all elements at once, such as shuffle(), fills it first.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import threading
import weakref
from typing import Any

import numpy as np

from pipeline.diagnostics.frames import tell
from pipeline.errors import FailedPreconditionError, OpError, StateMismatchError, invalid
from pipeline.files.shelf import Folder, Memory, Shelf
from pipeline.logs import logger
from pipeline.orders.seeds import Seed
from pipeline.stages.block import Block, Numbers
from pipeline.stages.index import ENDLESS, Index, InOrder
from pipeline.stages.kept_rows import KeptRows, RowWriter
from pipeline.stages.node import Node, OneInput, index_of, opened, seeds_of
from pipeline.stages.recipe_key import first_difference, key_of
from pipeline.stages.run import Pair, Run, Seeds
from pipeline.stages.stream import Stream, unknown_in, whole
from pipeline.tracebacks import from_handler

_log = logger("pipeline.batches")

_FORMAT = 1

# Elements that are computed together where none of them is wanted.
_AT_ONCE = 1024

# Seconds between two looks at a cache that another process fills.
_LOOK = 0.2


class Cache(OneInput):
    """Elements that are computed once.

    The input always runs as one and the same pass: its draws are kept with the elements.

    Args:
        source: The elements.
        folder: Where they are kept; None for memory.
        epoch: Which pass of the input.
        rebuild: Whether to remove what is in the folder.
        verify: Whether to compare what is there with its checksums.

    Raises:
        InvalidArgumentError: The elements have no end.
        StateMismatchError: The folder has elements of another recipe.
        FailedPreconditionError: The folder holds something else, or another process writes what is to be removed.
        DataLossError: The folder is damaged.
    """

    kind = "cache"

    def __init__(self, source: Node, folder: str | None, epoch: int, rebuild: bool, verify: bool) -> None:
        if source.length() == ENDLESS:
            raise invalid("cache: the dataset has no end: write cache before repeat")
        self.folder, self._epoch, self._key = folder, epoch, None
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
            for seed, pair in zip(seeds_of(source), rows.about["seeds"], strict=True):
                if seed.drawn:
                    seed.adopt(tuple(pair))

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
        """Return what is there now; raise StateMismatchError if that is of another recipe."""
        rows = self.store.rows()
        about = rows.about
        if about is None or self._key is None:
            return rows
        if about["format"] != _FORMAT:
            found: str | None = f"it has format {about['format']}, of another version of this package"
        elif about["epoch"] != self._epoch:
            found = f"it has epoch {about['epoch']}, and this is epoch {self._epoch}"
        else:
            found = first_difference(about["key"], self._key)
        if found is not None:
            text = f"cache: '{self.folder}' has other elements: {found}. Pass rebuild=True, or another folder"
            raise StateMismatchError([("cache", None, None)], text)
        return rows

    # What it says of itself

    def indexed_over(self, source: Node) -> bool:
        return True

    @property
    def complete(self) -> bool:
        """Whether all elements are there."""
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
                else:  # another process fills it, or garbage of this one that an interrupt has left
                    gc.collect()
                    run.clock.bell.wait(_LOOK)
            rows = self.rows()
        return rows.index

    def stream(self, run: Run, state: Any = None) -> Stream:
        return Filling(self, run, whole(0 if state is None else state))

    def state_at(self, place: int) -> Any:
        return place

    def _input(self, run: Run, rows: KeptRows) -> Run:
        """Return the run of the input: that of its one pass, with the seeds of the elements that are there."""
        made = copy.copy(run)
        made.epoch, made.path, made.hosts = self._epoch, 0, False
        if rows.about is not None:
            pairs = zip(seeds_of(self.source.written), rows.about["seeds"], strict=True)
            made.seeds = _Kept({seed: (pair[0], pair[1]) for seed, pair in pairs})
        return made

    def begun(self, run: Run, place: int) -> tuple[KeptRows, RowWriter | None]:
        """Return what is there, and what adds to it; None if another one does, or need not, as a place is there."""
        rows = self.rows()
        if rows.complete or rows.count > place or (found := self.store.shelf.writer()) is None:
            return rows, None
        try:
            rows = self.rows()
            if rows.complete or rows.count > place:  # by another one, a moment ago
                found.close()
                return rows, None
            if rows.about is None:
                found.begin(self._about(run.seeds))
                rows = self.rows()
            return rows, RowWriter(found, rows, self.source.length())
        except BaseException:
            found.close()
            raise

    def source_at(self, run: Run, rows: KeptRows) -> Stream:
        """Return the elements of the input behind what is there."""
        return opened(self.source, self._input(run, rows), copy.deepcopy(rows.state))


class _Kept(Seeds):
    """The seeds of elements that are kept."""

    def __init__(self, pairs: dict[Seed, Pair]) -> None:
        super().__init__()
        self._pairs = pairs


class Store:
    """The elements of a cache. All steps of this process that name a folder share one; pickled, it is another one.

    Args:
        shelf: Where the elements are.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._rows: KeptRows | None = None
        self._filling: weakref.ref[Filling] | None = None

    @classmethod
    def of(cls, path: str) -> Store:
        """Return the one of a folder."""
        folder = Folder(path, "cache")
        with _guard:
            found = _of_folders.get(folder.path)
            if found is None or found.is_old():
                found = _of_folders[folder.path] = cls(folder)
            return found

    def is_old(self) -> bool:
        """Whether it has all elements, and the folder has others by now, or none."""
        rows = self._rows
        return rows is not None and rows.complete and rows.lines is not self.shelf.lines()

    def __reduce__(self) -> Any:
        return (Store.of, (self.shelf.path,)) if isinstance(self.shelf, Folder) else (Store, (Memory(),))

    def rows(self) -> KeptRows:
        """Return what is there now, in whole chunks."""
        rows = self._rows
        if rows is None or not rows.complete:
            lines = self.shelf.lines()
            if rows is None or rows.lines is not lines:
                rows = self._rows = KeptRows(self.shelf)
        return rows

    def fills(self, filling: Filling) -> None:
        """Note which stream writes."""
        self._filling = weakref.ref(filling)

    def stop_filling(self) -> None:
        """Let a stream of this process write no more: it keeps what it has computed, and goes on without."""
        filling = None if self._filling is None else self._filling()
        if filling is not None:
            filling.stop_writing()


class _Some(Index):
    """Elements of a cache that is not full, as far as they are there; others by the index of the input.

    Args:
        rows: Those that are there.
        source: All; None if the input has no index.
        length: How many there are.
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


_of_folders: weakref.WeakValueDictionary[str, Store] = weakref.WeakValueDictionary()
_guard = threading.RLock()


class Filling(Stream):
    """Elements in order: those that are there, then those that are computed, and kept. The state is the next place.

    One stream writes. Others that run meanwhile, also in other processes, read what is there when they come to its
    end, and compute the rest for themselves.

    Args:
        node: The step.
        run: Of the iterator.
        place: Where to begin.
    """

    def __init__(self, node: Cache, run: Run, place: int) -> None:
        self._node, self._run, self._next = node, run, place
        self._there: InOrder | None = None  # those that are there
        self._source: Stream | None = None  # the input, once they come from there
        self._at = 0  # the place of what the input gives next
        self._writer: RowWriter | None = None
        self._over = self._told = False
        self._error: Exception | None = None  # why elements cannot be kept
        self._lock = threading.RLock()  # against `stop_writing`

    def take(self, n: int) -> Block | None:
        with self._lock:
            while not self._over:
                if self._error is not None:
                    raise self._error
                if self._there is not None:
                    block = self._there.take(n)
                    if block is not None:
                        self._next += len(block)
                        return block
                    self._there = None
                if self._source is None:
                    self.begin_at_next()
                elif self._at == self._next:
                    block = self._compute(n)
                    self._next = self._at
                    return block
                else:
                    self._compute(min(_AT_ONCE, self._next - self._at))
            return None

    def drop(self, n: int) -> int:
        with self._lock:
            left = n
            if self._there is None and self._source is None and not self._over:
                self.begin_at_next()
            if self._there is not None:
                count = self._there.drop(left)
                self._next, left = self._next + count, left - count
            return n - left + (super().drop(left) if left else 0)

    def begin_at_next(self, private: bool = True) -> bool:
        """Read on, if more is there; else open the input behind what is there, to be kept.

        Args:
            private: Whether to open it even if another one writes.

        Returns:
            Whether that was done.
        """
        node = self._node
        rows, writer = node.begun(self._run, self._next)
        if rows.count > self._next or rows.complete:
            self._over = rows.count <= self._next
            self._there = None if self._over else InOrder(rows.index, self._next)
            return True
        if writer is None and not private:
            return False
        try:
            self._source, self._at = node.source_at(self._run, rows), rows.count
        except BaseException:
            if writer is not None:
                writer.close()
            raise
        self._writer = writer
        if writer is not None:
            node.store.fills(self)
        return True

    def _compute(self, n: int) -> Block | None:
        """Compute up to n elements, and keep them; None at the end."""
        writer, self._writer = self._writer, None  # an interrupt leaves nothing that is kept by half
        source: Any = self._source
        try:
            try:
                block = source.take(n)
            except Exception as error:
                if from_handler(error) is None:
                    self._writer, writer = writer, None
                raise
            if writer is not None and self._keep(writer, block):
                self._writer, writer = writer, None
        finally:
            if writer is not None:
                writer.close()
        if block is None:
            self._over = True
            return None
        first, self._at = self._at, self._at + len(block)
        return Block(block.values, np.arange(first, self._at))

    def _keep(self, writer: RowWriter, block: Block | None) -> bool:
        """Keep elements; None for the end. Return whether there are more to come."""
        source = self._node.source
        try:
            if block is not None:
                writer.add(block.values)
            if block is None or (source.indexed and self._at + len(block) == source.length()):
                writer.commit(None, True)
                return False
            if writer.due:
                self._commit(writer)
            self._tell(writer)
        except Exception as error:
            if from_handler(error) is None:
                self._error = error  # the input is behind these elements, which nobody gets
            raise
        return True

    def _commit(self, writer: RowWriter) -> None:
        """Finish a chunk, if the input has a state from which it can continue behind that."""
        state = self._source.state()  # type: ignore[union-attr]
        if writer.waits and self._node.source.no_state() is None and unknown_in(state) is None:
            writer.commit(state, False)

    def _tell(self, writer: RowWriter) -> None:
        """Say once that there are pickles in a folder."""
        if writer.pickles and not self._told and self._node.folder is not None:
            self._told = True
            tell(_log, f"cache: some values in '{self._node.folder}' are no arrays, numbers or texts, and are pickled")

    def state(self) -> Any:
        return self._next

    def stop_writing(self) -> None:
        """Keep what was computed, and write no more."""
        with self._lock:
            writer, self._writer = self._writer, None
            if writer is None:
                return
            try:
                self._commit(writer)
            except OpError as error:  # such as a full disk: the elements were handed out all the same
                tell(_log, error.message)
            finally:
                writer.close()

    def close(self) -> None:
        with self._lock:
            try:
                self.stop_writing()
            finally:
                self._there, self._over = None, True
                source, self._source = self._source, None
                if source is not None:
                    source.close()
