"""A session's staging area contents: elements in order (Buffer) or by key (StagingMap). Calls may wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.conditions import ReentrantCondition
from pipeline.errors import ResourceExhaustedError, invalid


def size_of(values: Any) -> int:
    """Return the bytes used by an element's components."""
    total = 0
    for each in values:
        array = np.asarray(each, object) if isinstance(each, bytes) else np.asarray(each)
        total += sum(map(len, array.ravel())) if array.dtype == object else array.nbytes
    return total


class _Limited:
    """Limits element count and bytes. Thread safe: `_condition` guards everything; puts and takes notify it."""

    def __init__(self, capacity: int, memory_limit: int) -> None:
        self._condition = ReentrantCondition()
        self._capacity, self._limit = capacity, memory_limit
        self._bytes = 0

    def __len__(self) -> int:
        raise NotImplementedError

    def _wait_for_room(self, run: Any, needed: int) -> None:
        if self._limit and needed > self._limit:
            raise ResourceExhaustedError(
                None,
                None,
                f"Attempted to insert tensors with combined size of '{needed}' bytes into Staging Area with a memory "
                f"limit of '{self._limit}'.",
            )

        def room() -> bool:
            fits = not self._limit or self._bytes + needed <= self._limit
            return fits and (not self._capacity or len(self) < self._capacity)

        run.wait_for(self._condition, room, "Stage")


class Buffer(_Limited):
    """Elements, first in, first out."""

    def __init__(self, capacity: int, memory_limit: int) -> None:
        super().__init__(capacity, memory_limit)
        self._items: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._items)

    def put(self, run: Any, values: tuple[Any, ...]) -> None:
        """Wait for room, and add an element."""
        needed = size_of(values)
        with self._condition:
            self._wait_for_room(run, needed)
            self._items.append(values)
            self._bytes += needed
            self._condition.notify_all()

    def get(self, run: Any) -> tuple[Any, ...]:
        """Wait for an element, and take the first."""
        with self._condition:
            run.wait_for(self._condition, lambda: bool(self._items), "Unstage")
            values = self._items.pop(0)
            self._bytes -= size_of(values)
            self._condition.notify_all()
            return values

    def peek(self, run: Any, index: int) -> tuple[Any, ...]:
        """Wait until an element with this index exists, and return it without taking it."""
        with self._condition:
            run.wait_for(self._condition, lambda: index < len(self._items), "Unstage")
            return self._items[index]

    def clear(self) -> None:
        """Drop everything."""
        with self._condition:
            self._items.clear()
            self._bytes = 0
            self._condition.notify_all()


class StagingMap(_Limited):
    """Elements by key; one can be put in and taken out in several parts.

    Args:
        count: Components per element.
        ordered: True if a take without a key takes the smallest key; otherwise it takes the element completed first.
        capacity: Maximum number of complete elements; 0 means no limit.
        memory_limit: Maximum size in bytes; 0 means no limit.
    """

    def __init__(self, count: int, ordered: bool, capacity: int, memory_limit: int) -> None:
        super().__init__(capacity, memory_limit)
        self._count, self._ordered = count, ordered
        self._complete: dict[int, dict[int, Any]] = {}
        self._incomplete: dict[int, dict[int, Any]] = {}

    def __len__(self) -> int:
        return len(self._complete)

    @property
    def incomplete(self) -> int:
        """The count of elements that lack components."""
        return len(self._incomplete)

    def put(self, run: Any, key: int, indices: list[int], values: tuple[Any, ...]) -> None:
        """Wait for room, and add components to an element."""
        needed = size_of(values)
        with self._condition:
            self._wait_for_room(run, needed)
            self._check(indices)
            if len(indices) == self._count and key not in self._incomplete:
                parts: dict[int, Any] = {}
            else:
                parts = self._incomplete.setdefault(key, {})
            for index, value in zip(indices, values, strict=True):
                if index in parts:
                    raise invalid(
                        f"The tensor for index '{index}' for key '{key}' was already initialized '{self._count}'."
                    )
                parts[index] = value
            self._bytes += needed
            if len(parts) == self._count:
                self._incomplete.pop(key, None)
                self._complete.setdefault(key, parts)
            self._condition.notify_all()

    def _check(self, indices: list[int]) -> None:
        for index in indices:
            if not 0 <= index < self._count:
                raise invalid(f"Index '{index}' is not in the range [0, {self._count})")

    def take(self, run: Any, key: int | None, indices: list[int], keep: bool = False) -> tuple[int, list[Any]]:
        """Wait for a complete element, the next one if `key` is None, and take components from it.

        Returns:
            The key and the components.

        Raises:
            InvalidArgumentError: A component was taken before.
        """
        with self._condition:
            self._check(indices)
            if key is None:
                run.wait_for(self._condition, lambda: bool(self._complete), "Unstage")
                key = min(self._complete) if self._ordered else next(iter(self._complete))
            else:
                wanted = key
                run.wait_for(self._condition, lambda: wanted in self._complete, "Unstage")
            parts = self._complete[key]
            for index in indices:
                if index not in parts:
                    raise invalid(f"Tensor at index '{index}' for key '{key}' has already been removed.")
            values = [parts[index] for index in indices]
            if not keep:
                for index in set(indices):
                    self._bytes -= size_of((parts.pop(index),))
                if not parts:
                    del self._complete[key]
                self._condition.notify_all()
            return key, values

    def clear(self) -> None:
        """Drop everything."""
        with self._condition:
            self._complete.clear()
            self._incomplete.clear()
            self._bytes = 0
            self._condition.notify_all()
