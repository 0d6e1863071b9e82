"""ReplayRows: a replay buffer's storage, and checks on examples and states against the first example."""

from __future__ import annotations

import collections
import itertools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline._replay import PlainRows
from pipeline._rows import Gatherer, gathers
from pipeline.dtypes import integer, object_vector, refuse_missing
from pipeline.errors import InvalidArgumentError, ResourceExhaustedError, invalid, show
from pipeline.foreign import numpy_of
from pipeline.nest import ListValue, Nest, is_nested, kept
from pipeline.stages.block import flat, text_of


class ReplayRows:
    """Storage for examples: a column per component, with a row per example.

    Args:
        example: The first example; it determines shapes and dtypes.
        capacity: The most examples.
        name: The buffer's name in errors.

    Attributes:
        plain: Stores examples with the first one's types, dtypes and shapes.
    """

    def __init__(self, example: Any, capacity: int, name: str) -> None:
        self._name = name
        self._nest = Nest(example, False) if is_nested(example, False) else None
        values = [example] if self._nest is None else self._nest.flatten(example)
        self._forms = [_form(value) for value in values]
        self._columns = [form.room(capacity) for form in self._forms]
        self.plain = PlainRows(self._columns, tuple(_numbers_like(each) for each in values), _plain_structure(example))
        self._gatherer = Gatherer(tuple(self._columns)) if gathers(tuple(self._columns), capacity, True) else None
        self._lists = [i for i, form in enumerate(self._forms) if form.lists]
        self._structures: dict[Any, tuple[Any, list[int]]] = {}

    def values(self, example: Any) -> list[Any]:
        """Return an example's values for storage; an error if it does not fit."""
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

    def block(self, slots: NDArray[np.int64]) -> Any:
        """Return some examples in their structure, with a column per value."""
        columns = [
            form.drawn(column.take(slots, axis=0)) for form, column in zip(self._forms, self._columns, strict=True)
        ]
        return columns[0] if self._nest is None else self._nest.pack(columns)

    def fill(self, slots: NDArray[np.int64], columns: list[NDArray[Any]]) -> None:
        """Store examples given as columns."""
        for i, (form, own, column) in enumerate(zip(self._forms, self._columns, columns, strict=True)):
            if column.shape[1:] != form.shape or (own.dtype != column.dtype and not own.dtype.hasobject):
                raise invalid(f"'{self._name}': load_state_dict: {self._where(i)} of the state differs from row to row")
            own[slots] = form.drawn(column)

    def structure(self, around: Callable[[Any, Any, Any], Any] | None) -> tuple[Any, list[int]]:
        """Return the structure for an example, or for a sample around it, as in `Columns`, and its column order.

        The order is: key, probability, and the columns of `rows`.
        """
        if around not in self._structures:
            key, chance, *columns = [np.array([i]) for i in range(2 + len(self._columns))]
            block = columns[0] if self._nest is None else self._nest.pack(columns, True)
            structure, found = flat(around(key, chance, block) if around else block)
            self._structures[around] = structure, [int(column[0]) for column in found]
        return self._structures[around]

    def store(self, slot: int, values: list[Any]) -> None:
        """Store an example. Ctrl-C cannot arrive between its columns, because no Python code runs."""
        columns: list[Any] = self._columns
        collections.deque(map(operator.setitem, columns, itertools.repeat(slot), values), maxlen=0)

    def rows(self, slots: NDArray[np.int64]) -> list[Any]:
        """Return some examples as columns."""
        if self._gatherer is not None:
            taken = self._gatherer.take(slots)
        else:
            taken = [column.take(slots, axis=0) for column in self._columns]
        for i in self._lists:
            taken[i] = self._forms[i].drawn(taken[i])
        return taken

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
        """Return numbers in a column's dtype; OverflowError if one is out of range."""
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


def contents_of(state: Any, name: str) -> tuple[int, int, list[NDArray[Any]], Any]:
    """Return a state's contents: the counts, the columns, and the first example.

    Raises:
        InvalidArgumentError: It is not a buffer's state.
    """
    where = f"'{name}': load_state_dict"
    if not isinstance(state, dict) or not {"inserted", "sampled", "examples", "priorities"} <= state.keys():
        raise invalid(f"{where}: expected what state_dict() of a replay buffer returned, got {state!r:.80}")
    inserted, sampled = (integer(state[key], f"{where}: {key!r}") for key in ("inserted", "sampled"))
    examples = state["examples"]
    if examples is None:
        columns: list[Any] = []
    else:
        nest = Nest(examples, False) if is_nested(examples, False) else None
        columns = [examples] if nest is None else nest.flatten(examples)
    arrays = all(type(each) is np.ndarray and each.ndim for each in columns)
    sizes = {len(each) for each in columns} if arrays else {-1}
    if len(sizes) > 1 or not 0 <= max(sizes, default=0) <= inserted:
        raise invalid(f"{where}: expected arrays with a row for each of at most {inserted:,} examples")
    if sampled < 0 or (inserted > 0) is not bool(columns) or 0 in sizes:
        raise invalid(f"{where}: expected counts of at least 0, and None for no examples")
    if not columns:
        return inserted, sampled, columns, None
    values = [each[0] for each in columns]
    return inserted, sampled, columns, values[0] if nest is None else nest.pack(values)


# Number types that compare equal in a column: Python's, and NumPy's with the same dtype.
_TWINS: list[frozenset[type]] = [
    frozenset({float, np.float64}),
    frozenset({int, np.int64}),
    frozenset({bool, np.bool_}),
    frozenset({complex, np.complex128}),
]
# datetime64 and timedelta64 have several units.
_NO_NUMBERS = (np.flexible, np.object_, np.datetime64, np.timedelta64)


def _numbers_like(value: Any) -> frozenset[type]:
    """Return the number types for a value's column; none for other values."""
    kind = type(value)
    for twins in _TWINS:
        if kind in twins:
            return twins
    return frozenset({kind} if issubclass(kind, np.generic) and not issubclass(kind, _NO_NUMBERS) else ())


def _plain_structure(example: Any) -> tuple[Any, ...] | int | None:
    """Return an example's structure, as in `PlainRows`, with the keys in the order of `Nest.flatten`."""
    if type(example) is dict:
        return tuple(sorted(example, key=str))
    return len(example) if type(example) is tuple else None


class _Form(NamedTuple):
    """The common properties of a component's values.

    Attributes:
        shape: Their shape; () for a ListValue.
        dtype: Their dtype; for texts with any length.
        lists: True if each is a ListValue.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    lists: bool = False

    def fits(self, first: _Form) -> bool:
        """Return whether values in this form can be stored as another form's values."""
        if self.lists or first.lists:
            return self.lists and first.lists
        if self.dtype == first.dtype or first.dtype == np.dtype(object):
            return True
        # NumPy would cast structures by field order, and lacks limits for foreign dtypes.
        pair = self.dtype, first.dtype
        return all(each.kind in "biufcmM" and each.isbuiltin != 2 for each in pair) and np.can_cast(*pair, "same_kind")

    def text(self) -> str:
        """Its description in errors."""
        if self.lists:
            return "a pipeline.ListValue"
        return f"dtype {self.dtype.name if self.dtype.kind in 'SU' else self.dtype}"  # or "<U0"

    def room(self, capacity: int) -> NDArray[Any]:
        """Return a column for such values; an object column for texts."""
        return _room((capacity, *self.shape), np.dtype(object) if self.dtype.kind in "SU" else self.dtype)

    def drawn(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column of draws for the caller, who may change it."""
        return object_vector([kept(each) for each in column]) if self.lists else column


def _form(value: Any) -> _Form:
    if isinstance(value, ListValue):
        return _Form((), np.dtype(object), True)
    if isinstance(value, (bytes, str)):  # without a copy as an array
        return _Form((), np.dtype("S" if isinstance(value, bytes) else "U"))
    array = numpy_of(value)
    text = text_of(array) if isinstance(value, (list, tuple)) else None
    kind = array.dtype.kind if text is None else "U" if text is str else "S"
    return _Form(array.shape, np.dtype(kind) if kind in "SU" else array.dtype)


def _room(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        return np.empty(shape, dtype)
    except (ValueError, MemoryError):
        text = (
            f"replay: capacity: there is no memory for {shape[0]:,} examples of dtype {dtype}, shape {show(shape[1:])}"
        )
        raise ResourceExhaustedError(None, None, text) from None
