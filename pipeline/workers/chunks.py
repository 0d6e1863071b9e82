"""What a worker of an executor does with a chunk of items: it calls the function for each and stacks the results."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import refuse_missing
from pipeline.errors import AbortedError, UnknownError
from pipeline.nest import ListValue, Nest, has_nested, kept
from pipeline.on_error import of_record, set_on
from pipeline.queues.values import copied_lists
from pipeline.tracebacks import RemoteTraceback, of_user

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1  # of an int64


class ResultBlock(NamedTuple):
    """Examples of neighbouring items of a chunk that have the same structure, dtypes and shapes, stacked.

    Attributes:
        size: The number of examples.
        container: For dicts the tuple of their keys; for tuples that class; for nested examples a Nest; None for
            examples of one component: also lists, and dicts and tuples with nothing in them.
        components: The values of each component: an array, or a list of values that are not NumPy's.
    """

    size: int
    container: Any
    components: Sequence[Any]

    @property
    def bytes(self) -> int:
        """Of the arrays."""
        return sum(each.nbytes for each in self.components if isinstance(each, np.ndarray))


class FailedItem:
    """The error of an item for which the function failed; or, among items, that of one that could not be made.

    An exception that cannot be pickled and unpickled would break the whole executor, so an UnknownError replaces it.
    The `__cause__` of an error that comes from another process is a RemoteTraceback.
    """

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __repr__(self) -> str:
        return repr(self.error)

    def __reduce__(self) -> tuple[Any, ...]:
        error = self.error
        try:
            data = pickle.dumps(error)
        except Exception:
            data = b""
        only = "".join(traceback.format_exception_only(type(error), error)).strip()
        text = "".join(traceback.format_exception(type(error), error, of_user(error.__traceback__)))
        return _unpickled, (data, only, text, of_record(error))  # what it was raised from stays there


class WorkerDied(AbortedError):
    """A worker process ended in the middle of a call.

    Attributes:
        index: Which item of a chunk it was at; None if nobody knows.
        how: How it ended, as text.
    """

    def __init__(self, index: int | None, how: str) -> None:
        super().__init__(None, None, f"a worker process {how}")
        self.index = index
        self.how = how


def _unpickled(data: bytes, only: str, text: str, blamed: bool = True) -> FailedItem:
    try:
        error = pickle.loads(data)
    except Exception:
        error = None
    if not isinstance(error, BaseException):  # a class of the user's may pickle as anything
        error = UnknownError(None, None, only)
    set_on(error, "__cause__", RemoteTraceback(text))
    if not blamed:
        set_on(error, "of_record", False)
    return FailedItem(error)


def _put(rows: NDArray[Any], at: int, row: NDArray[Any]) -> None:
    rows[at] = row


class _Here:
    """What a worker process does in its own way.

    Attributes:
        empty: Makes the arrays of results.
        put: Copies a row into one of them, at an index.
        at: Called with the index of each item of a chunk, before the function; None if nobody wants to know.
    """

    def __init__(self) -> None:
        self.empty: Callable[[Sequence[int], np.dtype[Any]], NDArray[Any]] = np.empty
        self.put: Callable[[NDArray[Any], int, NDArray[Any]], object] = _put
        self.at: Callable[[int], object] | None = None


here = _Here()


def _taken_apart(example: Any) -> tuple[Any, list[Any]]:
    """Return the container of an example and its components."""
    container, parts = _container_and_parts(example)
    return container, [
        part if type(part) is np.ndarray else _private(part, container, i) for i, part in enumerate(parts)
    ]


def _container_and_parts(example: Any) -> tuple[Any, list[Any]]:
    """Take apart what stays apart in batches. A list is for the batch to judge: it may be an array, or components."""
    if isinstance(example, list) or (isinstance(example, (dict, tuple)) and not example):
        return None, [example]
    if has_nested(example, False) or (isinstance(example, dict) and type(example) is not dict):
        nest = Nest(example, False)
        return nest, nest.flatten(example)
    if isinstance(example, dict):
        return tuple(example), list(example.values())
    if isinstance(example, tuple):
        return type(example), list(example)
    return None, [example]


def _private(part: Any, container: Any, index: int) -> Any:
    """Return a component that the function cannot change any more, even if it returns the same object each time.

    Tensors and the like become arrays; numbers, strings and lists stay what they are.

    Raises:
        InvalidArgumentError: It has masked values or nulls.
    """
    if isinstance(part, np.generic):
        return part
    if hasattr(part, "__array__"):
        names = container.names if isinstance(container, Nest) else container
        name = repr(names[index]) if isinstance(names, (list, tuple)) else str(index)
        refuse_missing(part, f"component {name} of what the function returned")
        return np.asarray(part)
    if isinstance(part, ListValue):
        return ListValue(map(copied_lists, part))
    if container is None and isinstance(part, (list, tuple)):
        return kept(part)
    return bytes(part) if isinstance(part, bytearray) else copied_lists(part)


def _forms(container: Any, parts: Sequence[Any]) -> list[Any]:
    return [_form(part, container) for part in parts]


def _form(part: Any, container: Any) -> Any:
    """Return what the values of one component in a block must have in common, so that they mean what each means alone.

    Raises:
        ValueError: It is a list of lists that differ in length.
    """
    if isinstance(part, np.ndarray):
        return part.dtype, part.shape
    if isinstance(part, (list, tuple)) and container is not None and not isinstance(part, ListValue):
        array = np.asarray(part)
        return type(part), array.dtype.kind if array.dtype.kind in "SU" else array.dtype, array.shape
    if isinstance(part, np.generic) and part.dtype.kind in "mM":
        return part.dtype  # with its unit
    # NumPy makes floats of Python's integers where one of them has more than 64 bits with its sign.
    return (int, _LEAST <= part <= _MOST) if type(part) is int else type(part)


class _Growing:
    """A block that grows by one example after the other. Arrays are copied once, to where the block has them.

    Args:
        container, parts: The first example.
        forms: Those of its parts.
        room: For how many there shall be room at first.
    """

    def __init__(self, container: Any, parts: list[Any], forms: list[Any], room: int) -> None:
        self._container = container
        self._forms = forms
        self._size = 0
        self._columns: list[Any] = [
            here.empty((room, *part.shape), part.dtype) if isinstance(part, np.ndarray) else [] for part in parts
        ]
        self._add(parts)

    def add(self, container: Any, parts: list[Any], forms: list[Any]) -> bool:
        """Add an example, if it is like the first."""
        alike = container == self._container and forms == self._forms
        if alike:
            self._add(parts)
        return alike

    def _add(self, parts: list[Any]) -> None:
        for i, part in enumerate(parts):
            column = self._columns[i]
            if isinstance(column, list):
                column.append(part)
                continue
            if len(column) == self._size:
                self._columns[i] = here.empty((2 * len(column), *part.shape), part.dtype)
                self._columns[i][: self._size] = column
            here.put(self._columns[i], self._size, part)
        self._size += 1

    def block(self) -> ResultBlock:
        """What has been added."""
        return ResultBlock(self._size, self._container, [self._finished(column) for column in self._columns])

    def _finished(self, column: Any) -> Any:
        return finished(column if isinstance(column, list) or len(column) == self._size else column[: self._size])


def finished(column: Any) -> Any:
    """Return a component of a block: numbers of NumPy in an array, which costs less to send. Its strings stay what they
    are: an array would drop zeros at their ends, and give them one length."""
    numbers = isinstance(column, list) and isinstance(column[0], np.generic) and column[0].dtype.kind not in "SU"
    return np.array(column) if numbers else column


class Gathered:
    """Outputs of one structure that a worker stacks, with the input and the path of each.

    Args:
        example, index, path: The first output.
        room: For how many there shall be room at first.
    """

    def __init__(self, example: Any, index: int, path: int, room: int) -> None:
        container, parts = _taken_apart(example)
        self._growing = _Growing(container, parts, _forms(container, parts), room)
        self._indices, self._paths = [index], [path]

    def add(self, example: Any, index: int, path: int) -> bool:
        """Add an output, if it is like the first."""
        container, parts = _taken_apart(example)
        if not self._growing.add(container, parts, _forms(container, parts)):
            return False
        self._indices.append(index)
        self._paths.append(path)
        return True

    def done(self) -> tuple[ResultBlock, list[int], list[int]]:
        """Return what was added."""
        return self._growing.block(), self._indices, self._paths
