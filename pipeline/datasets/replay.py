"""replay: a buffer for threads that add examples and sample with replacement; it drops the oldest."""

from __future__ import annotations

import math
import os
import sys
import time
from types import TracebackType
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from pipeline.conditions import ReentrantCondition
from pipeline.datasets.dataset import Dataset
from pipeline.datasets.replay_files import load_contents, save_contents
from pipeline.datasets.replay_rows import ReplayRows, contents_of
from pipeline.dtypes import integer, local_path, refuse_missing, seconds, truth
from pipeline.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    ResourceExhaustedError,
    invalid,
    show,
)
from pipeline.orders.seeds import Seed
from pipeline.stages.block import Block, Columns, listed
from pipeline.stages.index import ENDLESS
from pipeline.stages.node import Node
from pipeline.stages.run import Run
from pipeline.stages.stream import Stream
from pipeline.stages.sum_tree import SumTree

# Seconds between checks for `close` while the buffer is empty.
_LOOK = 0.1

# Placeholder for an empty buffer.
_NOTHING = listed([], [])


class Sample(NamedTuple):
    """An example from a replay buffer with priorities.

    Attributes:
        key: The example's number, for `ReplayBuffer.update`.
        probability: The probability with which it was drawn.
        example: The example.
    """

    key: Any
    probability: Any
    example: Any


class ReplayBuffer(Dataset[Any]):
    """A buffer of examples: a Dataset of random draws from it, with replacement. See `replay`.

    Thread safety: every method may be called from any thread. Iterators may run while others add.

    Examples:
        >>> buffer = pipeline.replay(100, priorities=True, seed=1)
        >>> keys = [buffer.add(step, priority=1.0) for step in range(3)]
        >>> buffer.update(keys[:2], 0.0)
        2
        >>> next(iter(buffer)).example
        np.int64(2)
    """

    def __init__(
        self,
        capacity: int,
        priorities: bool,
        rate: _Rate,
        seed: int | None,
        name: str,
    ) -> None:
        """Use `replay`."""
        self.name, self.capacity, self.priorities = name, capacity, priorities
        self._rate = rate
        self._tree = _tree(capacity) if priorities else None
        self._most = np.finfo(np.float64).max / capacity  # limit for a priority, so the sum stays finite
        self._rows: ReplayRows | None = None  # None before the first example
        self._changed = ReentrantCondition()
        self._inserted = self._sampled = 0
        self._first = 0  # the first key of slot 0; not 0 after `load`
        self._closed = False
        super().__init__(_OfReplay(self, seed))

    def add(self, example: Any, priority: float | None = None, *, timeout: float | None = None) -> int:
        """Add an example; the oldest one is dropped if the buffer is full. Arrays are copied.

        Args:
            example: The example. All have the first one's structure, shapes and dtypes.
            priority: Relative weight for draws, if the buffer has priorities; 1 by default.
            timeout: Seconds to wait while `samples_per_insert` makes adding wait; None for no limit.

        Returns:
            Its key, for `update`: 0 for the first example, 1 for the next.

        Raises:
            InvalidArgumentError, TypeError: The example does not fit the first one, or the priority is wrong.
            OverflowError: A number does not fit the first example's dtype.
            ResourceExhaustedError: There is not enough memory for `capacity` examples like the first.
            DeadlineExceededError: The time is up.
            CancelledError: The buffer is closed.
        """
        if self._tree is None and priority is not None:
            raise self._without_priorities()
        if example is None:
            raise invalid(f"'{self.name}': add: None is not an example")
        weight = 1.0
        if priority is not None and not (type(priority) is float and 0.0 <= priority <= self._most):
            weight = float(self._weights(priority, 1, "add")[0])
        elif priority is not None:
            weight = priority
        rows = self._rows
        values = None if rows is not None and rows.plain.fits(example) else self._values(example)
        deadline = None if timeout is None else time.monotonic() + seconds(timeout, "add: timeout")
        with self._changed:
            if self._rate.per_insert is not None:
                self._wait_for_samples(deadline)
            if self._closed:
                raise CancelledError(None, None, f"'{self.name}' is closed: nothing can be added")
            rows, key = self._rows, self._inserted
            assert rows is not None
            slot = (key - self._first) % self.capacity
            if values is not None:
                rows.store(slot, values)
            elif not rows.plain.put(slot, example):  # other contents were loaded meanwhile
                rows.store(slot, rows.values(example))
            if self._tree is not None:
                self._tree.set_one(slot, weight)
            self._inserted += 1
            self._changed.notify_all()
        return key

    def update(self, keys: Any, priorities: Any) -> int:
        """Change the priorities of examples.

        Args:
            keys: Their keys, from `add` or from `key` of samples. Keys of dropped examples are ignored.
            priorities: One priority per key, or one for all.

        Returns:
            The number of changed priorities.

        Raises:
            InvalidArgumentError: The buffer has no priorities, there was no such example, or a priority is wrong.
        """
        if self._tree is None:
            raise self._without_priorities()
        refuse_missing(keys, "update: keys")
        numbers = np.atleast_1d(np.asarray(keys))
        if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and len(numbers)):
            raise invalid(f"update: keys must be integers, got dtype {numbers.dtype}, shape {show(numbers.shape)}")
        weights = self._weights(priorities, len(numbers), "update")
        with self._changed:
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self._inserted:
                odd = int(numbers.min()) if numbers.min() < 0 else int(numbers.max())
                raise invalid(f"update: there was no example with the key {odd}: the last one is {self._inserted - 1}")
            numbers = numbers.astype(np.int64)
            there = numbers >= self._inserted - self.size
            self._tree.set((numbers[there] - self._first) % self.capacity, weights[there])
            self._changed.notify_all()
        return int(there.sum())

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of the contents, for `load_state_dict`.

        Returns:
            A dict with "inserted" and "sampled", counts; "examples", an example's structure with one array per
            value, whose rows begin with the oldest example (None if there is none); and "priorities", an array
            (None without priorities).
        """
        with self._changed:
            slots = (np.arange(self._inserted - self.size, self._inserted) - self._first) % self.capacity
            examples = None if self._rows is None or not self.size else self._rows.block(slots)
            priorities = None if self._tree is None else self._tree.get(slots)
            return {
                "inserted": self._inserted,
                "sampled": self._sampled,
                "examples": examples,
                "priorities": priorities,
            }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replace the contents by a state's contents. Examples keep their keys; a smaller buffer takes the newest.

        Iterators then draw other examples than from the saved buffer.

        Args:
            state: A result of `state_dict`.

        Raises:
            InvalidArgumentError: It is not such a state, or its examples do not match this buffer's.
            ResourceExhaustedError: There is not enough memory.
            CancelledError: The buffer is closed.
        """
        inserted, sampled, columns, first = contents_of(state, self.name)
        count = min(self.capacity, len(columns[0]) if columns else 0)
        slots = np.arange(count)
        tree = None
        if (state["priorities"] is None) is not (self._tree is None):
            raise invalid(f"'{self.name}': load_state_dict: the state has priorities, or the buffer, and not the other")
        if self._tree is not None:
            given = np.asarray(state["priorities"])
            if given.shape != ((len(columns[0]) if columns else 0),):
                raise invalid(f"'{self.name}': load_state_dict: expected a priority for each example of the state")
            weights = self._weights(given, len(given), "load_state_dict")
            tree = _tree(self.capacity)
            tree.set(slots, weights[len(weights) - count :])
        with self._changed:
            if self._closed:
                raise CancelledError(None, None, f"'{self.name}' is closed: nothing can be loaded")
            rows = None
            if columns:
                rows = ReplayRows(first, self.capacity, self.name)
                if self._rows is not None:
                    self._rows.values(first)  # raises if examples have other shapes or dtypes
                rows.fill(slots, [column[len(column) - count :] for column in columns])
            self._rows, self._tree = rows or self._rows, tree
            self._inserted, self._sampled, self._first = inserted, sampled, inserted - count
            self._changed.notify_all()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the contents to a folder: an npy file for each array, and replay.json.

        Adding and sampling wait meanwhile. A kill or a power cut leaves the contents saved before, or these.

        Args:
            folder: A local path; the folder is created if it is missing.

        Raises:
            InvalidArgumentError: Examples hold objects, or are named tuples or dataclasses: save `state_dict()`.
            ResourceExhaustedError: The disk is full.
            OpError: The files cannot be written, such as a PermissionDeniedError.

        Examples:
            >>> buffer = pipeline.replay(100)
            >>> keys = [buffer.add({"reward": float(step)}) for step in range(3)]
            >>> buffer.save("experience")
            >>> again = pipeline.replay(100)
            >>> again.load("experience")
            >>> again
            <ReplayBuffer 'replay': 3 of 100 examples>
        """
        path = os.path.expanduser(local_path(folder, f"'{self.name}': save: folder"))
        with self._changed:
            save_contents(path, self.state_dict(), f"'{self.name}'")

    def load(self, folder: str | os.PathLike[str]) -> None:
        """Replace the contents by a folder's contents from `save`.

        Args:
            folder: The folder.

        Raises:
            NotFoundError: There are no saved contents.
            DataLossError: They are damaged, have links, or name files of other folders.
            InvalidArgumentError, ResourceExhaustedError, CancelledError: As `load_state_dict`.
        """
        self.load_state_dict(load_contents(os.path.expanduser(local_path(folder, f"'{self.name}': load: folder"))))

    @property
    def size(self) -> int:
        """Number of examples in the buffer now."""
        return min(self._inserted - self._first, self.capacity)

    @property
    def inserted(self) -> int:
        """Number of examples added so far."""
        return self._inserted

    @property
    def sampled(self) -> int:
        """Number of samples taken so far, by all iterators."""
        return self._sampled

    def close(self) -> None:
        """End all iterators, and reject further examples. Threads waiting in `add` get a CancelledError."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __enter__(self) -> ReplayBuffer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ReplayBuffer '{self.name}': {self.size:,} of {self.capacity:,} examples>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"'{self.name}' cannot be pickled: a replay buffer lives in one process")

    def _wait_for_samples(self, deadline: float | None) -> None:
        """Wait until one more example may be added, or the buffer is closed."""
        while not self._closed and self._rate.inserts(self._inserted, self._sampled) < 1:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                text = f"'{self.name}': add timed out: samples_per_insert allows no more before others are sampled"
                raise DeadlineExceededError(None, None, text)
            self._changed.wait(left)

    def _values(self, example: Any) -> list[Any]:
        """Return the columns of an example; the first valid one determines them."""
        rows = self._rows
        if rows is None:
            made = ReplayRows(example, self.capacity, self.name)
            values = made.values(example)
            with self._changed:
                rows = self._rows = self._rows or made
            if rows is made:
                return values
        return rows.values(example)

    def _without_priorities(self) -> InvalidArgumentError:
        return invalid(f"'{self.name}' has no priorities: pass priorities=True to replay")

    def _weights(self, given: Any, count: int, what: str) -> NDArray[np.float64]:
        refuse_missing(given, f"{what}: the list of priorities")
        try:
            weights = np.asarray(given)
            if weights.dtype.kind not in "biuf" and weights.size:
                raise TypeError  # for example "1", which float64 would accept
            weights = weights.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise invalid(f"{what}: a priority must be a number, got {given!r:.80}") from None
        if weights.shape not in ((), (count,)):
            raise invalid(f"{what}: expected {count} priorities, one for each key, got shape {show(weights.shape)}")
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise invalid(f"{what}: a priority must be a number of at least 0, got {given!r:.80}")
        if (weights > self._most).any():
            raise invalid(f"{what}: a priority must be at most {self._most:.3g}, got {given!r:.80}")
        return np.broadcast_to(weights, (count,))

    def _may_draw(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds until samples may be taken, or the buffer is closed; return False if late."""
        if self._tree is None and self._allowed() > 0:  # checked without the lock
            return True
        deadline = time.monotonic() + timeout
        with self._changed:
            while not self._closed and self._allowed() < 1:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, _LOOK))
            return True

    def _draw(self, n: int, rng: np.random.Generator) -> Block | None:
        """Return up to n samples; an empty block if there were none for a while; None once the buffer is closed."""
        with self._changed:
            allowed = self._allowed()
            if allowed < 1 and not self._closed:
                self._changed.wait(_LOOK)
                return _NOTHING
            if self._closed:
                return None
            n = min(n, allowed)
            chances = None
            if self._tree is None:
                keys, slots = self._places(n, rng)
            else:
                slots = self._tree.draw(rng.random(n))
                chances = self._tree.get(slots) / self._tree.total
                newest = self._inserted - 1
                keys = newest - (newest - self._first - slots) % self.capacity
            assert self._rows is not None
            columns = self._rows.rows(slots)
            self._sampled += n
            if self._rate.per_insert is not None:
                self._changed.notify_all()
            structure, order = self._rows.structure(None if chances is None else Sample)
        found = [keys, chances, *columns]
        return Block(Columns([found[i] for i in order], n, structure), keys)

    def _places(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw n examples uniformly; return their keys and slots."""
        size = self.size
        oldest = self._inserted - size
        if n == 1:  # as below, 3 us faster
            key = oldest + int(rng.random() * size)
            return np.array([key]), np.array([(key - self._first) % self.capacity])
        keys = oldest + (rng.random(n) * size).astype(np.int64)
        return keys, (keys - self._first) % self.capacity

    def _allowed(self) -> int:
        """Return how many samples may be taken now."""
        if self._tree is not None and not self._tree.total > 0:
            return 0
        return self._rate.samples(self._inserted, self._sampled)


def replay(
    capacity: int,
    *,
    priorities: bool = False,
    min_size: int = 1,
    samples_per_insert: float | None = None,
    slack: float | None = None,
    seed: int | None = None,
    name: str = "replay",
) -> ReplayBuffer:
    """Make a replay buffer: threads add examples, and its Dataset draws from them at random, with replacement.

    A full buffer drops its oldest example. The Dataset waits while there is nothing to draw, ends when you close the
    buffer, and has no states.

    Args:
        capacity: Maximum number of examples.
        priorities: Draw examples in proportion to their priorities. A draw is then a `Sample`: key, probability and
            example, and `update` changes priorities.
        min_size: Examples needed before the first draw.
        samples_per_insert: Samples per added example, on average; the side that is ahead waits. None for no limit.
        slack: Number of samples either side may be ahead.
        seed: Seed for the draws.
        name: Name in errors and reports.

    Raises:
        ValueError: A number is out of range.
        TypeError: An argument is not a number.
        ResourceExhaustedError: There is not enough memory for the priorities.

    Examples:
        >>> buffer = pipeline.replay(100, seed=1)
        >>> for step in range(150):
        ...     _ = buffer.add({"state": np.full(3, step), "reward": 1.0})
        >>> batch = next(iter(buffer.batch(8)))
        >>> batch["state"].shape, bool(batch["state"].min() >= 50)
        ((8, 3), True)

    See Also:
        `types.ReplayBuffer`, its methods; `Dataset.cache`, which keeps the elements of a dataset.
    """
    size = integer(capacity, "replay: capacity")
    least = integer(min_size, "replay: min_size")
    if size < 1:
        raise invalid(f"replay: capacity must be at least 1, got {size}")
    if size > sys.maxsize:
        raise invalid(f"replay: capacity must be at most {sys.maxsize:,}, got {size:,}")
    if not 1 <= least <= size:
        raise invalid(f"replay: min_size must be 1 to the capacity of {size:,}, got {least:,}")
    rate = _Rate(least, _positive(samples_per_insert, "samples_per_insert"), _positive(slack, "slack"))
    return ReplayBuffer(size, truth(priorities, "replay: priorities"), rate, seed, name)


def _positive(given: Any, what: str) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float, np.integer, np.floating)):
        raise TypeError(f"replay: {what} must be a number, not {given!r:.80}")
    if not 0 < given < math.inf:
        raise invalid(f"replay: {what} must be a number above 0, got {given}")
    return float(given)


class _Rate:
    """Limits for adding and sampling relative to each other.

    Args:
        min_size: Number of examples needed before the first sample.
        per_insert: Samples per example; None for no limit.
        slack: Number of samples either side may be ahead; None for the default.

    Raises:
        InvalidArgumentError: The slack is too small: neither side could continue.
    """

    def __init__(self, min_size: int, per_insert: float | None, slack: float | None) -> None:
        self.min_size, self.per_insert = min_size, per_insert
        if slack is not None and per_insert is None:
            raise invalid("replay: slack needs samples_per_insert")
        ratio = per_insert or 0.0
        self._slack = max(0.1 * min_size * ratio, 2 * ratio, 2.0) if slack is None else slack
        if 2 * self._slack < 1 + ratio:
            raise invalid(f"replay: slack must be at least {(1 + ratio) / 2:g} with samples_per_insert={ratio:g}")

    def inserts(self, inserted: int, sampled: int) -> int:
        """Return how many examples may be added now; at least 1 if any."""
        if self.per_insert is None or inserted < self.min_size:
            return 1
        due = (inserted + 1 - self.min_size) * self.per_insert - sampled
        return 1 if due <= self._slack else 0

    def samples(self, inserted: int, sampled: int) -> int:
        """Return how many samples may be taken now."""
        if inserted < self.min_size:
            return 0
        if self.per_insert is None:
            return 1 << 62
        return math.floor((inserted - self.min_size) * self.per_insert - sampled + self._slack)


def _tree(capacity: int) -> SumTree:
    try:
        return SumTree(capacity)
    except (ValueError, MemoryError):
        raise ResourceExhaustedError(
            None, None, f"replay: capacity: there is no memory for {capacity:,} priorities"
        ) from None


class _OfReplay(Node):
    """Draws from a replay buffer.

    Args:
        buffer: The buffer.
        seed: Seed for the draws.
    """

    kind = "replay"
    stage = "source"
    waits = True

    def __init__(self, buffer: ReplayBuffer, seed: int | None) -> None:
        self.buffer = buffer
        self._seed = Seed(seed, "replay")

    def seed(self) -> Seed:
        return self._seed

    def length(self) -> int | None:
        return ENDLESS

    def options(self) -> dict[str, Any]:
        return {"name": self.buffer.name}

    def text(self) -> str:
        return f"replay({self.buffer.capacity}, name={self.buffer.name!r})"

    def label(self) -> str:
        return self.buffer.name

    def no_state(self) -> str | None:
        return f"'{self.buffer.name}' is a replay buffer, which cannot be rewound"

    def stream(self, run: Run, state: Any = None) -> Stream:
        seed, seed2 = run.seeds.pair(self._seed)
        words = [each & (1 << 64) - 1 for each in (seed, seed2 + run.epoch)]
        rng = np.random.Generator(np.random.Philox(key=np.array(words, np.uint64)))
        return _Drawn(self.buffer, rng, run)


class _Drawn(Stream):
    """Draws from a replay buffer, in one iterator."""

    def __init__(self, buffer: ReplayBuffer, rng: np.random.Generator, run: Run) -> None:
        self._buffer, self._rng, self._clock = buffer, rng, run.clock

    def take(self, n: int) -> Block | None:
        while (block := self._buffer._draw(n, self._rng)) is _NOTHING:
            self._clock.check()
        return block

    def wait(self, timeout: float) -> bool:
        return self._buffer._may_draw(timeout)

    def state(self) -> Any:
        return None  # see `no_state`
