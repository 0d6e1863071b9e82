"""Components whose rows vary in length: in the queue each row is an object, an array of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.batches.finish import Finish, holds_arrays
from pipeline.dtypes import STRING, object_vector
from pipeline.errors import invalid
from pipeline.queues.components import Component, Shape
from pipeline.queues.values import element, elements

_EMPTY = Component(np.dtype(np.float64), "array", (None,))  # of an empty list nobody knows what could have been in it


class RaggedRows:
    """Makes objects of the rows of one component, all of the dtype and rank of the first that is no empty list.

    Args:
        index: Which component it is.
        where: What it is called in errors.
        infer: Returns dtype and shape of a row.

    Thread safety: every method may be called from every thread; a lock guards the decision about dtype and rank.
    """

    def __init__(self, index: int, where: str, infer: Callable[[Any], tuple[np.dtype[Any], Shape]]) -> None:
        self.index = index
        self._where = where
        self._infer = infer
        self._lock = threading.Lock()
        self._decided: Component | None = None

    def one(self, row: Any) -> NDArray[Any]:
        """A row as an array that nobody else changes."""
        return np.asarray(element(row, self._component(row), self.index, self._where))

    def many(self, rows: Any) -> NDArray[Any]:
        """The rows of a block as objects."""
        if not len(rows) or (isinstance(rows, np.ndarray) and holds_arrays(rows)):
            return np.asarray(rows, object)
        return object_vector(elements(rows, self._component(rows[0]), self.index, None, self._where)[0])

    def _component(self, row: Any) -> Component:
        if self._decided is None:
            if _tells_nothing(row):
                return _EMPTY
            with self._lock:
                if self._decided is None:
                    dtype, shape = self._infer(row)
                    rank = (None,) * len(shape or ())
                    text = dtype == STRING
                    self._decided = Component(
                        np.dtype(object) if text else dtype, "bytes" if text else "array", rank, keeps=True
                    )
        return self._decided


def _tells_nothing(row: Any) -> bool:
    """Whether this is an empty list, or the array that NumPy makes of one."""
    if isinstance(row, np.ndarray):
        return bool(row.shape == (0,) and row.dtype == np.float64)
    return isinstance(row, (list, tuple)) and not row


def kinds_of(
    finish: Finish, names: Sequence[Any], each: bool, shapes: Sequence[Sequence[int | None]]
) -> tuple[list[str | None], list[int]]:
    """What becomes of each component with rows that are arrays, and of which components the rows have to be made such.

    Args:
        finish: What was asked for.
        names: Of the components; their numbers if they have none.
        each: Whether examples come one by one, so that any of their arrays may vary.
        shapes: Of the components of the first example; () for objects too.

    Raises:
        InvalidArgumentError: There is no component of a name.
    """
    ragged, count = finish.ragged, len(names)
    if not isinstance(ragged, Mapping):
        vary = each and finish.varies and ragged is not None
        return [ragged] * count, [i for i in range(count) if vary and shapes[i]]
    for name in ragged:
        if name not in names:
            raise invalid(f"ragged: there is no component {name!r}; the components are {', '.join(map(repr, names))}")
    return [ragged.get(name) for name in names], [i for i in range(count) if names[i] in ragged and shapes[i]]
