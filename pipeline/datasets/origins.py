"""Sources of elements: tables, files, sequences, iterables, functions, queues, and iterators that know their place."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._flow import items_at
from pipeline._meter import Meter
from pipeline.datasets.node import ENDLESS, Node, Opening, no_position
from pipeline.datasets.seed import Seed
from pipeline.errors import DeadlineExceededError, OutOfRangeError, invalid
from pipeline.flow.block import Block, Columns, Examples, Numbers
from pipeline.flow.pump import Pump
from pipeline.flow.recorder import Recorder
from pipeline.flow.run import name_of
from pipeline.flow.stream import Stream, dropped, shorter
from pipeline.flow.table import Index, Indexed, TableRows, made_of
from pipeline.producers.numbered import Numbered, digest

# Seconds between two looks, while a queue has nothing, whether the iterator was closed.
_LOOK = 0.1

_NEVER = object()  # no function returns it


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


class OfTable(OfSource):
    """The rows of a table.

    Args:
        table: The rows.
        facts, order: As for OfSource.
    """

    def __init__(self, table: Any, facts: Callable[[], dict[str, Any]], order: Any) -> None:
        super().__init__(table.kind, facts, order)
        self.table = table

    @property
    def indexed(self) -> bool:
        return self.table.sizes is None and self.order.num_epochs is not None

    def about(self) -> str:
        return f"{len(self.table):,} {self.table.unit}"

    def length(self) -> int | None:
        return ENDLESS if self.order.num_epochs is None else int(self.order.num_epochs * self.order.length)

    def open(self, shared: Opening, epoch: int) -> Stream:
        index = self.index(shared, epoch)
        if index is not None:
            return shared.gauged(self, Indexed(index, len(index)))
        length = self.length()
        total = None if length == ENDLESS else length
        groups = _Groups(self.table, self.numbered(shared), epoch * (total or 0), total, shared.meter(self))
        return shared.gauged(self, groups)

    def index(self, shared: Opening, epoch: int) -> Index | None:
        length = self.length() if self.indexed else None
        if length is None:
            return None
        return _Rows(self.table, self.numbered(shared), epoch * length, length, shared.meter(self))


class _Rows:
    """The rows of a table by their place in its order."""

    def __init__(self, table: Any, numbered: Numbered, begin: int, length: int, meter: Meter | None) -> None:
        self._table, self._numbered, self._begin, self._length = table, numbered, begin, length
        self._meter = meter
        self._orders: dict[int, Any] = {}

    def __len__(self) -> int:
        return self._length

    def block(self, numbers: Numbers) -> Block:
        if isinstance(numbers, range) and numbers.step == 1:
            rows = self._numbered.numbers(self._begin + numbers.start, len(numbers))
        else:
            wanted = np.arange(numbers.start, numbers.stop, numbers.step) if isinstance(numbers, range) else numbers
            rows = self._scattered(self._begin + wanted)
        return Block(TableRows(self._table, rows, self._meter), rows, numbers)

    def _scattered(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        numbered = self._numbered
        epochs, places = np.divmod(wanted, numbered.length)
        index, count = numbered.shard
        if numbered.shuffle is None:
            return index + places * count
        rows = np.empty(len(wanted), np.int64)
        for epoch in np.unique(epochs).tolist():
            if epoch not in self._orders:
                if len(self._orders) > 1:
                    self._orders.pop(next(iter(self._orders)))
                self._orders[epoch] = numbered.order(epoch)
            mine = epochs == epoch
            rows[mine] = self._orders[epoch][places[mine]]
        return rows


class _Groups:
    """Rows that come in groups, or without end."""

    chooses = True

    def __init__(self, table: Any, numbered: Numbered, begin: int, total: int | None, meter: Meter | None) -> None:
        self._table, self._numbered, self._begin, self._total = table, numbered, begin, total
        self._meter = meter
        self._next = 0

    def take(self, n: int) -> Block | None:
        n = min(n, self._table.most)
        if self._total is not None:
            n = min(n, self._total - self._next)
        if n < 1:
            return None
        rows = self._numbered.numbers(self._begin + self._next, n)
        if not len(rows):
            return None
        first, self._next = self._next, self._next + len(rows)
        return Block(TableRows(self._table, rows, self._meter), rows, range(first, self._next))

    def skip(self, n: int) -> int:
        if self._total is not None:
            n = min(n, self._total - self._next)
        self._next += n
        return n

    def position(self) -> Any:
        return self._next

    def seek(self, position: Any) -> None:
        self._next = int(position)

    def close(self) -> None:
        pass


class OfParts(OfSource):
    """The examples of files, or of other parts, one part after the other.

    Args:
        parts: The parts.
        facts, order: As for OfSource.
        total: How many examples all epochs have; None if that is not known.
        cursor: Makes a place in them, of the number of a pass.
    """

    def __init__(
        self,
        parts: Any,
        facts: Callable[[], dict[str, Any]],
        order: Any,
        total: int | None,
        cursor: Callable[[int], Any],
    ) -> None:
        super().__init__(parts.kind, facts, order)
        self.parts, self._total, self._cursor = parts, total, cursor

    def about(self) -> str:
        return f"{len(self.parts.names):,} {self.parts.unit}"

    def length(self) -> int | None:
        return ENDLESS if self.order.num_epochs is None else self._total

    def open(self, shared: Opening, epoch: int) -> Stream:
        cursor = self._cursor(epoch)
        cursor._opened = shared.opened(self.parts)
        return shared.gauged(self, _Parts(cursor, self.numbered(shared), shared.meter(self)))


class _Parts:
    def __init__(self, cursor: Any, numbered: Numbered, meter: Meter | None) -> None:
        self.cursor, self._meter = cursor, meter
        self.cursor._numbered = numbered
        self.cursor.inside = True
        self._key: Any = None  # which part is read
        self._part = self._inside = 0  # its number, and how many examples of it came

    def take(self, n: int) -> Block | None:
        cursor = self.cursor
        first = cursor._taken
        try:
            piece = cursor._pull(n)
        except OutOfRangeError:
            return None
        if (key := (cursor._epoch, cursor._part)) != self._key:
            epoch = cursor._first_epoch + cursor._epoch
            (part,) = cursor._numbered.numbers(epoch * cursor._order.length + cursor._part, 1)
            self._inside = self._inside if self._key is None else 0
            self._key, self._part = key, int(part)
        begin, self._inside = self._inside, self._inside + len(piece)
        base = (self._part << 40) + begin
        values = PieceValues(cursor._parts, piece, self._meter)
        return Block(values, range(base, base + len(piece)), range(first, first + len(piece)))

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        reason = self.cursor._no_state()
        if reason is not None:
            raise no_position(f"{self.cursor.name} has no position to go back to: {reason}")
        key = self._key is not None and self._key != (self.cursor._epoch, self.cursor._part)
        return [0 if key else self._inside, *self.cursor._position()]

    def seek(self, position: Any) -> None:
        self._inside, *inner = position
        self.cursor.close()
        self.cursor._go_to(inner)
        self._key = None

    def close(self) -> None:
        self.cursor.close()


class PieceValues:
    """Examples of a piece of a file, not made yet."""

    __slots__ = ("meter", "parts", "piece")

    def __init__(self, parts: Any, piece: Any, meter: Meter | None) -> None:
        self.parts, self.piece, self.meter = parts, piece, meter

    def __len__(self) -> int:
        return len(self.piece)

    def __getitem__(self, which: slice) -> PieceValues | Columns | Examples:
        if which.step not in (None, 1):
            return self.made()[which]
        begin, end, _ = which.indices(len(self))
        return PieceValues(self.parts, self.piece[begin:end], self.meter)

    def made(self) -> Columns | Examples:
        if self.meter is not None:
            return self.meter.make(len(self.piece), made_of, self.parts, self.piece, len(self.piece))
        return made_of(self.parts, self.piece, len(self.piece))

    def name(self, i: int) -> str | None:
        named = getattr(self.parts, "named", None)
        return None if named is None else named(self.piece, i)


class OfSequence(Node):
    """The items of a list, or of anything else with a length and items by number."""

    kind = "sequence"
    stage = "source"

    def __init__(self, items: Any) -> None:
        self.items = items

    @property
    def indexed(self) -> bool:
        return True

    def length(self) -> int | None:
        return len(self.items)

    def options(self) -> dict[str, Any]:
        return {"type": type(self.items).__name__, "length": len(self.items), "sample": _sample(self.items)}

    def open(self, shared: Opening, epoch: int) -> Stream:
        return shared.gauged(self, Indexed(_Items(self.items, shared.meter(self)), len(self.items)))

    def index(self, shared: Opening, epoch: int) -> Index | None:
        return _Items(self.items, shared.meter(self))

    def text(self) -> str:
        return f"dataset({type(self.items).__name__} of {len(self.items):,})"

    def label(self) -> str:
        return type(self.items).__name__


class _Items:
    def __init__(self, items: Any, meter: Meter | None) -> None:
        self._items, self._meter = items, meter

    def __len__(self) -> int:
        return len(self._items)

    def block(self, numbers: Numbers) -> Block:
        return Block(ItemValues(self._items, numbers, self._meter), numbers, numbers)


class ItemValues:
    """Items of a sequence, not asked for yet."""

    __slots__ = ("items", "meter", "numbers")

    def __init__(self, items: Any, numbers: Numbers, meter: Meter | None) -> None:
        self.items, self.numbers, self.meter = items, numbers, meter

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, which: slice) -> ItemValues:
        return ItemValues(self.items, self.numbers[which], self.meter)

    def made(self) -> Columns | Examples:
        return self._made() if self.meter is None else self.meter.make(len(self), self._made)

    def _made(self) -> Columns | Examples:
        items, numbers = self.items, self.numbers
        if type(items) in (list, tuple):
            if isinstance(numbers, range):
                return Examples(list(items[numbers.start : numbers.stop : numbers.step]))
            return Examples(items_at(items, numbers))
        listed = list(numbers) if isinstance(numbers, range) else numbers.tolist()
        together = getattr(type(items), "__getitems__", None)
        if together is not None:
            found = list(together(items, listed))
            if len(found) != len(listed):
                name = type(items).__name__
                raise invalid(f"{name}.__getitems__ returned {len(found)} items for {len(listed)} numbers")
            return Examples(found)
        return Examples([items[number] for number in listed])

    def name(self, i: int) -> str | None:
        return None


def _sample(items: Any) -> str:
    """Return a digest of some items that are plain values."""
    if type(items) not in (list, tuple, range):
        return ""
    picked = [items[i] for i in range(0, len(items), max(1, len(items) // 64))][:64]
    plain = [each if isinstance(each, (str, bytes, int, float, bool)) else type(each).__name__ for each in picked]
    return digest([np.array([repr(each) for each in plain], object)]) if plain else ""


class OfIterable(Node):
    """The items of an iterable, which starts over for each pass, or the results of a generator function."""

    kind = "iterable"
    stage = "source"
    live = True

    def __init__(self, make: Callable[[], Iterator[Any]], name: str, once: str | None, length: int | None) -> None:
        self._make, self._name, self._once, self._length = make, name, once, length
        self._used: list[Any] = []

    @property
    def once(self) -> str | None:
        return self._once

    def length(self) -> int | None:
        return self._length

    def options(self) -> dict[str, Any]:
        return {"name": self._name}

    def text(self) -> str:
        return f"dataset({self._name})"

    def label(self) -> str:
        return self._name

    def open(self, shared: Opening, epoch: int) -> Stream:
        shared.start_runners()
        once = None if self._once is None else f"{self._name} {self._once}"
        return shared.gauged(self, _Iterated(self._make, once))


class _Iterated:
    """Items of an iterable. Its position is how many came: after a seek the first ones come again and are dropped."""

    def __init__(self, make: Callable[[], Iterator[Any]], once: str | None) -> None:
        self._make, self._once = make, once
        self._pump: Pump | None = None
        self._count = 0
        self._left = 0  # items to drop

    def _begin(self) -> Pump:
        pump = self._pump
        if pump is None:
            pump = self._pump = Pump(self._make())
            if self._left:
                came = sum(1 for _ in itertools.islice(pump.iterator, self._left))
                if came < self._left:
                    raise shorter()
                self._left = 0
        return pump

    def take(self, n: int) -> Block | None:
        values = self._begin().take(n)
        if values is None:
            return None
        first, self._count = self._count, self._count + len(values)
        numbers = range(first, self._count)
        return Block(values, numbers, numbers)

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        if self._once is not None:
            raise no_position(
                f"{self._once}: pass a sequence, a generator function, or an iterator with state_dict and "
                "load_state_dict"
            )
        return [self._count]

    def seek(self, position: Any) -> None:
        (count,) = position
        if self._once is not None and (count != self._count or self._pump is not None):
            self.position()
        self.close()
        self._pump, self._count, self._left = None, count, count

    def close(self) -> None:
        close = None if self._pump is None else getattr(self._pump.iterator, "close", None)
        if self._once is None and close is not None:
            close()


class OfStateful(Node):
    """The items of an iterator, or iterable, that says where it is: `state_dict` and `load_state_dict`."""

    kind = "stateful"
    stage = "source"
    live = True

    def __init__(self, given: Any, name: str) -> None:
        self._given, self._name = given, name

    @property
    def once(self) -> str | None:
        return f"{self._name} is an iterator" if hasattr(type(self._given), "__next__") else None

    def options(self) -> dict[str, Any]:
        return {"name": self._name}

    def text(self) -> str:
        return f"dataset({self._name})"

    def label(self) -> str:
        return self._name

    def open(self, shared: Opening, epoch: int) -> Stream:
        shared.start_runners()
        return shared.gauged(self, _Stateful(self._given))


class _Stateful:
    def __init__(self, given: Any) -> None:
        self._given = given
        self._iterator: Iterator[Any] | None = None
        self._count = 0

    def take(self, n: int) -> Block | None:
        if self._iterator is None:
            self._iterator = iter(self._given)
        values = Pump(self._iterator).take(n)
        if values is None:
            return None
        first, self._count = self._count, self._count + len(values)
        numbers = range(first, self._count)
        return Block(values, numbers, numbers)

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        place: Any = self._iterator if hasattr(self._iterator, "state_dict") else self._given
        return [self._count, copy.deepcopy(place.state_dict())]

    def seek(self, position: Any) -> None:
        self._count, state = position
        if hasattr(self._given, "load_state_dict"):
            self._given.load_state_dict(copy.deepcopy(state))
            self._iterator = None
        else:
            iterator: Any = iter(self._given)
            iterator.load_state_dict(copy.deepcopy(state))
            self._iterator = iterator

    def close(self) -> None:
        pass


class OfCallable(Node):
    """The results of a function, one a call, until it raises OutOfRangeError or StopIteration."""

    kind = "callable"
    stage = "source"
    live = True

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function, self.name = function, name_of(function)

    @property
    def once(self) -> str | None:
        return f"{self.name} is called until its input ends"

    def options(self) -> dict[str, Any]:
        return {"function": self.name}

    def text(self) -> str:
        return f"dataset({self.name})"

    def label(self) -> str:
        return self.name

    def open(self, shared: Opening, epoch: int) -> Stream:
        shared.start_runners()
        return shared.gauged(self, _Called(Recorder(self.function, self.name, shared.things)))


class _Called:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._pump = self._begin()
        self._ids: list[int | None] = []  # of the results that no `take` has returned yet
        self._count = 0

    def _begin(self) -> Pump:
        return Pump(iter(self._call, _NEVER))

    def _call(self) -> Any:
        try:
            example = self._recorder.call()
        except OutOfRangeError as error:
            raise_why(error)
            raise
        self._ids.append(self._recorder.element())
        return example

    def take(self, n: int) -> Block | None:
        values = self._pump.take(n)
        if values is None:
            return None
        first, self._count = self._count, self._count + len(values)
        numbers = range(first, self._count)
        ids, self._ids = self._ids, []
        return Block(values, numbers if None in ids else np.array(ids, np.int64), numbers)

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        return [self._count, self._pump.ended, self._recorder.position()]

    def seek(self, position: Any) -> None:
        self._count, ended, inner = position
        self._pump = self._begin()
        self._pump.ended = ended
        self._recorder.seek(inner)

    def close(self) -> None:
        self._recorder.close()


class OfQueue(Node):
    """The elements of a queue that others fill."""

    kind = "queue"
    stage = "source"
    live = True

    def __init__(self, queue: Any) -> None:
        self.queue = queue

    @property
    def once(self) -> str | None:
        return f"'{self.queue.name}' is a queue"

    def options(self) -> dict[str, Any]:
        return {"name": self.queue.name}

    def text(self) -> str:
        return f"dataset(queue '{self.queue.name}')"

    def label(self) -> str:
        return str(self.queue.name)

    def open(self, shared: Opening, epoch: int) -> Stream:
        shared.start_runners()
        return shared.gauged(self, _Dequeued(self.queue, shared))


class _Dequeued:
    """Elements of a queue. What was taken out stays here until the next call, or `done`; see Prefetch."""

    def __init__(self, queue: Any, shared: Opening) -> None:
        self._queue, self._shared, self._count = queue, shared, 0
        self._elements: list[Any] = []  # number `_first`, if there is one
        self._first = 0

    def take(self, n: int) -> Block | None:
        number = self._count
        self._forget(number)
        while not self._elements:
            self._shared.check()
            dequeue = functools.partial(self._queue.dequeue, timeout=self._shared.left(_LOOK))
            try:
                self._elements.extend(itertools.starmap(dequeue, ((),)))  # no interrupt comes in between
            except DeadlineExceededError:
                continue
            except OutOfRangeError as error:
                raise_why(error)
                return None
        self._count = number + 1
        element = self._elements[0]
        if type(element) is list:  # of components; a list inside an example is an array
            element = tuple(element)
        return Block(Examples([element]), range(number, number + 1), range(number, number + 1))

    def _forget(self, number: int) -> None:
        """Forget the elements before one."""
        if self._first < number:
            self._elements.clear()
            self._first = number

    def done(self) -> None:
        self._forget(self._count)

    def again(self, taken: int) -> bool:
        """After an interrupt: go on after so many elements."""
        if self._first <= taken:
            self._count = taken
        return self._count == taken

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        raise no_position(f"'{self._queue.name}' is a queue that others fill, which cannot go back")

    def seek(self, position: Any) -> None:
        self.position()

    def close(self) -> None:
        pass


def raise_why(error: OutOfRangeError) -> None:
    """Raise what closed a queue, if that was an error and not the end of its input."""
    cause = error.__cause__
    if isinstance(cause, Exception) and not isinstance(cause, OutOfRangeError):
        raise cause


def sequence_of(given: Any) -> bool:
    """Whether something has its items by number."""
    kind = type(given)
    return hasattr(kind, "__len__") and hasattr(kind, "__getitem__") and not hasattr(kind, "keys")
