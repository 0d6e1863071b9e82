"""replay: a buffer to which threads add examples while others sample from it with replacement; the oldest go."""

from __future__ import annotations

import collections
import itertools
import math
import operator
import sys
import time
from types import TracebackType
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from pipeline.datasets.dataset import Dataset
from pipeline.dtypes import integer, object_vector, refuse_missing, seconds, truth
from pipeline.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    ResourceExhaustedError,
    invalid,
    show,
)
from pipeline.foreign import numpy_of
from pipeline.nest import ListValue, Nest, is_nested, kept
from pipeline.orders.seeds import Seed
from pipeline.stages.block import Block, Columns, flat
from pipeline.stages.index import ENDLESS
from pipeline.stages.node import Node
from pipeline.stages.run import Run
from pipeline.stages.stream import Stream
from pipeline.stages.sum_tree import SumTree
from pipeline.sync.condition import ReentrantCondition

# Seconds between two looks, while there is nothing to sample, whether the iterator was closed.
_LOOK = 0.1


class Sample(NamedTuple):
    """An example of a replay buffer with priorities.

    Attributes:
        key: The number of the example, for `ReplayBuffer.update`.
        probability: How likely it was to be drawn.
        example: The example.
    """

    key: Any
    probability: Any
    example: Any


class ReplayBuffer(Dataset[Any]):
    """A buffer of examples: a Dataset of random draws from it, with replacement. See `replay`.

    Thread safety: you may call every method from every thread. Iterators may run while others add.

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
        self._most = np.finfo(np.float64).max / capacity  # of a priority, so that the sum of all is a number
        self._rows: _Rows | None = None  # from the first example on
        self._changed = ReentrantCondition()
        self._inserted = self._sampled = 0
        self._closed = False
        super().__init__(_OfReplay(self, seed))

    def add(self, example: Any, priority: float | None = None, *, timeout: float | None = None) -> int:
        """Add an example; the oldest one goes if the buffer is full. Arrays are copied.

        Args:
            example: The example. All have the structure, the shapes and the dtypes of the first.
            priority: How often it is drawn, relative to the others, if the buffer has priorities; 1 by default.
            timeout: Seconds to wait while `samples_per_insert` makes adding wait; None for no limit.

        Returns:
            Its key, for `update`: 0 for the first example, 1 for the next.

        Raises:
            InvalidArgumentError, TypeError: The example does not fit the first one, or the priority is wrong.
            OverflowError: A number does not fit the first example's dtype.
            ResourceExhaustedError: There is no memory for as many examples like the first.
            DeadlineExceededError: The time is up. CancelledError: The buffer is closed.
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
        values = None if rows is None else rows.plain(example)
        if values is None:
            values = self._values(example)
        deadline = None if timeout is None else time.monotonic() + seconds(timeout, "add: timeout")
        with self._changed:
            while (
                self._rate.per_insert is not None
                and not self._closed
                and self._rate.inserts(self._inserted, self._sampled) < 1
            ):
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    text = f"'{self.name}': add waited for samples to be taken, as samples_per_insert says"
                    raise DeadlineExceededError(None, None, text)
                self._changed.wait(left)
            if self._closed:
                raise CancelledError(None, None, f"'{self.name}' is closed: nothing can be added")
            assert self._rows is not None
            key = self._inserted
            slot = key % self.capacity
            self._rows.store(slot, values)
            if self._tree is not None:
                self._tree.set_one(slot, weight)
            self._inserted += 1
            self._changed.notify_all()
        return key

    def update(self, keys: Any, priorities: Any) -> int:
        """Change the priorities of examples.

        Args:
            keys: Their keys: what `add` returned, or `key` of samples. Those of examples that have gone are ignored.
            priorities: A priority for each, or one for all.

        Returns:
            How many were changed.

        Raises:
            InvalidArgumentError: The buffer has no priorities, there was no such example, or a priority is wrong.
        """
        if self._tree is None:
            raise self._without_priorities()
        numbers = np.atleast_1d(np.asarray(keys))
        if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and len(numbers)):
            raise invalid(f"update: keys must be integers, got dtype {numbers.dtype}, shape {show(numbers.shape)}")
        weights = self._weights(priorities, len(numbers), "update")
        with self._changed:
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self._inserted:
                odd = int(numbers.min()) if numbers.min() < 0 else int(numbers.max())
                raise invalid(f"update: there was no example with the key {odd}: the last one is {self._inserted - 1}")
            numbers = numbers.astype(np.int64)
            there = numbers >= self._inserted - self.capacity
            self._tree.set(numbers[there] % self.capacity, weights[there])
            self._changed.notify_all()
        return int(there.sum())

    @property
    def size(self) -> int:
        """How many examples it holds now."""
        return min(self._inserted, self.capacity)

    @property
    def inserted(self) -> int:
        """How many examples were added."""
        return self._inserted

    @property
    def sampled(self) -> int:
        """How many samples were taken, by all iterators."""
        return self._sampled

    def close(self) -> None:
        """End all iterators, and refuse further examples. Threads that wait in `add` get a CancelledError."""
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

    def _values(self, example: Any) -> list[Any]:
        """Return what is to be stored of an example; the first one that can be stored decides the columns."""
        rows = self._rows
        if rows is None:
            made = _Rows(example, self.capacity, self.name)
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
                raise TypeError  # such as for "1", which float64 would take
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
        """Wait until samples may be taken, or the buffer is closed, for at most so many seconds; return whether."""
        if self._tree is None and self._allowed() > 0:  # a look without the lock
            return True
        deadline = time.monotonic() + timeout
        with self._changed:
            while not self._closed and self._allowed() < 1:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, _LOOK))
            return True

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Columns, NDArray[np.int64]] | None:
        """Return up to n samples, and their keys; None once the buffer is closed."""
        with self._changed:
            while not self._closed and (allowed := self._allowed()) < 1:  # another iterator was faster
                self._changed.wait(_LOOK)
            if self._closed:
                return None
            n = min(n, allowed)
            chances = None
            if self._tree is None:
                slots = rng.integers(0, self.size, n) if n > 1 else np.array([rng.integers(0, self.size)])  # 2 us less
            else:
                slots = self._tree.draw(rng.random(n))
                chances = self._tree.get(slots) / self._tree.total
            assert self._rows is not None
            columns = self._rows.rows(slots)
            newest = self._inserted - 1
            keys = newest - (newest - slots) % self.capacity
            self._sampled += n
            if self._rate.per_insert is not None:
                self._changed.notify_all()
            structure, order = self._rows.structure(chances is not None)
        found = [keys, chances, *columns]
        return Columns([found[i] for i in order], n, structure), keys

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
        capacity: How many examples fit.
        priorities: Draw examples in proportion to their priorities. A draw is then a `Sample`: key, probability and
            example, and `update` changes priorities.
        min_size: Examples needed before the first draw.
        samples_per_insert: Samples for each added example, on average; whoever is ahead waits. None for no limit.
        slack: How many samples either side may be ahead.
        seed: Seed for the draws.
        name: Name in errors and reports.

    Raises:
        ValueError: A number is out of range.
        TypeError: An argument is not a number.
        ResourceExhaustedError: There is no memory for as many priorities.

    Examples:
        >>> buffer = pipeline.replay(100, seed=1)
        >>> for step in range(150):
        ...     _ = buffer.add({"state": np.full(3, step), "reward": 1.0})
        >>> batch = next(iter(buffer.batch(8)))
        >>> batch["state"].shape, bool(batch["state"].min() >= 50)
        ((8, 3), True)
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
    """How far adding and sampling may get ahead of each other.

    Args:
        min_size: How many examples there must be before the first sample.
        per_insert: Samples for each example; None for no limit.
        slack: By how many samples either may be ahead; None for the default.

    Raises:
        InvalidArgumentError: The slack is so small that neither side could go on.
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


class _Rows:
    """Where the examples are: a column for each component, with a row for each example.

    Args:
        example: The first example, which decides shapes and dtypes.
        capacity: How many examples there is room for.
        name: What errors call the buffer.
    """

    def __init__(self, example: Any, capacity: int, name: str) -> None:
        self._name = name
        self._nest = Nest(example, False) if is_nested(example, False) else None
        values = [example] if self._nest is None else self._nest.flatten(example)
        self._forms = [_form(value) for value in values]
        self._columns = [form.room(capacity) for form in self._forms]
        self._kind, self._keys = type(example), _keys_of(example)
        self._first = list(zip(map(type, values), self._forms, strict=True))
        if len(self._keys) not in (0, len(values)) or (not self._keys and self._nest is not None):
            self._kind = type(None)  # a structure, none of whose examples is `plain`
        self._structures: dict[bool, tuple[Any, list[int]]] = {}

    def values(self, example: Any) -> list[Any]:
        """Return what is to be stored of an example; an error if it does not fit."""
        if self._nest is None:
            if is_nested(example, False):
                raise invalid(f"'{self._name}': the first example was one value, and this is {example!r:.80}")
            flat = [example]
        else:
            try:
                flat = self._nest.flatten(example)
            except ValueError as error:
                raise invalid(f"'{self._name}': the example differs from the first: {error}") from error
        return [self._fitting(i, form, value) for i, (form, value) in enumerate(zip(self._forms, flat, strict=True))]

    def plain(self, example: Any) -> list[Any] | None:
        """As `values`, if all are numbers and arrays with the types, dtypes and shapes of the first; else None.

        Five values take 2 us, and 25 by `values`.
        """
        if type(example) is not self._kind:
            return None
        try:
            values = [example[key] for key in self._keys] if self._keys else [example]
        except LookupError:
            return None
        if self._keys and len(example) != len(values):
            return None
        for value, (kind, form) in zip(values, self._first, strict=True):
            if type(value) is not kind:
                return None
            if kind is np.ndarray:
                if value.dtype is not form.dtype or value.shape != form.shape or value.dtype.hasobject:
                    return None
            elif kind not in _NUMBERS or (kind is int and not -_LARGE < value < _LARGE):
                return None
        return values

    def structure(self, samples: bool) -> tuple[Any, list[int]]:
        """Return the structure of an example, or of a `Sample` of one, as `Columns` has it, and its order of columns.

        The order is that of the key, the probability and the columns of `rows`.
        """
        if samples not in self._structures:
            key, chance, *columns = [np.array([i]) for i in range(2 + len(self._columns))]
            block = columns[0] if self._nest is None else self._nest.pack(columns, True)
            structure, found = flat(Sample(key, chance, block) if samples else block)
            self._structures[samples] = structure, [int(column[0]) for column in found]
        return self._structures[samples]

    def store(self, slot: int, values: list[Any]) -> None:
        """Store an example. Ctrl-C does not come between its columns, as there is no step of Python."""
        columns: list[Any] = self._columns
        collections.deque(map(operator.setitem, columns, itertools.repeat(slot), values), maxlen=0)

    def rows(self, slots: NDArray[np.int64]) -> list[Any]:
        """Return some examples as columns."""
        if len(slots) == 1:
            first = int(slots[0])
            taken = [column[first : first + 1].copy() for column in self._columns]
        else:
            taken = [column.take(slots, axis=0) for column in self._columns]
        return [form.drawn(column) for form, column in zip(self._forms, taken, strict=True)]

    def _fitting(self, i: int, first: _Form, value: Any) -> Any:
        refuse_missing(value, f"'{self._name}': {self._where(i)}")
        form = _form(value)
        if form.shape != first.shape:
            hint = "pad it, or add it as a pipeline.ListValue"
            text = f"has shape {show(form.shape)}, and in the first example {show(first.shape)}: {hint}"
            raise InvalidArgumentError(None, None, f"'{self._name}': {self._where(i)} {text}")
        if not form.fits(first):
            own = form.text() if form.lists else f"dtype {numpy_of(value).dtype}"
            text = f"has {own}, and in the first example {first.text()}"
            raise TypeError(f"'{self._name}': {self._where(i)} {text}")
        if isinstance(value, (bytes, str, ListValue)):
            return kept(value)
        array = numpy_of(value)
        if first.dtype.kind in "OSU":
            return array if array.shape else array[()]
        return array if array.dtype == first.dtype else self._cast(i, first.dtype, array)

    def _cast(self, i: int, dtype: np.dtype[Any], array: NDArray[Any]) -> NDArray[Any]:
        """Return numbers in the dtype of a column; OverflowError if one is out of its range."""
        with np.errstate(over="ignore"):
            cast = array.astype(dtype)
        if dtype.kind in "mM":  # times in larger units
            if (np.isnat(cast) | (cast == array)).all():
                return cast
            text = f"has dtype {array.dtype}, and in the first example {dtype}, which does not hold {array!s:.80}"
            raise TypeError(f"'{self._name}': {self._where(i)} {text}")
        lost = cast != array if dtype.kind in "iu" else np.isfinite(array) & ~np.isfinite(cast)
        if lost.any():
            info = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
            text = f"{array[lost].flat[0]} is out of the range of {dtype} ({info.min} to {info.max})"
            raise OverflowError(f"'{self._name}': {self._where(i)}: {text}")
        return cast

    def _where(self, i: int) -> str:
        return "the example" if self._nest is None else f"component {self._nest.names[i]!r}"


# Types of single values that fit the column of a value of the same type.
_NUMBERS = frozenset({float, bool, complex, int, *np.sctypeDict.values()}) - {np.str_, np.bytes_, np.void, np.object_}
_NUMBERS -= {np.datetime64, np.timedelta64}  # have several units
_LARGE = 1 << 62  # an integer of Python that may fit no column


def _keys_of(example: Any) -> list[Any]:
    """Return the keys of the values of a dict or tuple, in the order of `Nest.flatten`; none for a single value."""
    if type(example) is dict:
        return sorted(example, key=str)
    return list(range(len(example))) if type(example) is tuple else []


class _Form(NamedTuple):
    """What all values of a component have in common.

    Attributes:
        shape: Their shape; that of a ListValue is ().
        dtype: Their dtype; that of texts says nothing of their length.
        lists: Whether each is a ListValue.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    lists: bool = False

    def fits(self, first: _Form) -> bool:
        """Whether values of this form can be stored as values of another one."""
        if self.lists or first.lists:
            return self.lists and first.lists
        if self.dtype == first.dtype or first.dtype == np.dtype(object):
            return True
        # NumPy would cast structures by the order of their fields, and has no limits of dtypes that are not its own.
        pair = self.dtype, first.dtype
        return all(each.kind in "biufcmM" and each.isbuiltin != 2 for each in pair) and np.can_cast(*pair, "same_kind")

    def text(self) -> str:
        """What errors say of it."""
        if self.lists:
            return "a pipeline.ListValue"
        return f"dtype {self.dtype.name if self.dtype.kind in 'SU' else self.dtype}"  # or "<U0"

    def room(self, capacity: int) -> NDArray[Any]:
        """Return a column for values of this form; of objects for texts, whose lengths differ."""
        return _room((capacity, *self.shape), np.dtype(object) if self.dtype.kind in "SU" else self.dtype)

    def drawn(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column of draws for the caller, who may change it."""
        return object_vector([kept(each) for each in column]) if self.lists else column


def _form(value: Any) -> _Form:
    if isinstance(value, ListValue):
        return _Form((), np.dtype(object), True)
    if isinstance(value, (bytes, str)):  # not as an array, which would be a copy
        return _Form((), np.dtype("S" if isinstance(value, bytes) else "U"))
    array = numpy_of(value)
    return _Form(array.shape, np.dtype(array.dtype.kind) if array.dtype.kind in "SU" else array.dtype)


def _tree(capacity: int) -> SumTree:
    try:
        return SumTree(capacity)
    except (ValueError, MemoryError):
        raise ResourceExhaustedError(
            None, None, f"replay: capacity: there is no memory for {capacity:,} priorities"
        ) from None


def _room(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        return np.empty(shape, dtype)
    except (ValueError, MemoryError):
        text = (
            f"replay: capacity: there is no memory for {shape[0]:,} examples of dtype {dtype}, shape {show(shape[1:])}"
        )
        raise ResourceExhaustedError(None, None, text) from None


class _OfReplay(Node):
    """Draws from a replay buffer.

    Args:
        buffer: The buffer.
        seed: Of the draws.
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
        return f"'{self.buffer.name}' is a replay buffer that others fill, which cannot go back"

    def stream(self, run: Run, state: Any = None) -> Stream:
        seed, seed2 = run.seeds.pair(self._seed)
        words = [each & (1 << 64) - 1 for each in (seed, seed2 + run.epoch)]
        rng = np.random.Generator(np.random.Philox(key=np.array(words, np.uint64)))
        return _Drawn(self.buffer, rng, run)


class _Drawn(Stream):
    """Draws from a replay buffer, in one iterator."""

    def __init__(self, buffer: ReplayBuffer, rng: np.random.Generator, run: Run) -> None:
        self._buffer, self._rng, self._clock = buffer, rng, run.clock
        self._count = 0

    def take(self, n: int) -> Block | None:
        while not self.wait(_LOOK):
            self._clock.check()
        found = self._buffer._draw(n, self._rng)
        if found is None:
            return None
        values, keys = found
        self._count += len(keys)
        return Block(values, keys)

    def wait(self, timeout: float) -> bool:
        return self._buffer._may_draw(timeout)

    def state(self) -> Any:
        return self._count
