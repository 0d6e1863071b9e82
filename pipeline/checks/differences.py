"""difference: find the first place where two elements differ."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.foreign import numpy_of

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 120


class Difference(NamedTuple):
    """The place where two elements differ.

    Attributes:
        where: The path within the element, such as "['image'][2, 0]"; "" for the element itself.
        expected, got: The values there, as text.
    """

    where: str
    expected: str
    got: str


def difference(expected: Any, got: Any, exact: bool = True) -> Difference | None:
    """Return the first difference between two elements; None if they are equal.

    Args:
        expected: One element.
        got: The other.
        exact: Compare dtypes and container types too; otherwise only values count.
    """
    return _first(expected, got, "", True) if exact else _first(values_of(expected), values_of(got), "", False)


def shown(value: Any) -> str:
    """Return a value as one short line of text."""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        return " ".join(_REPR.repr(value).split())
    except Exception:  # the repr of a user's value failed
        return f"<{type(value).__name__}>"


def values_of(element: Any) -> Any:
    """Return an element as dicts, lists and Python scalars."""
    if isinstance(element, dict):
        return {key: values_of(value) for key, value in element.items()}
    if isinstance(element, (tuple, list)):
        return [values_of(each) for each in element]
    if isinstance(element, np.generic) or (_is_array(element) and not isinstance(element, (str, bytes))):
        found = numpy_of(element).tolist()
        return values_of(found) if isinstance(found, list) and found and _is_array(found[0]) else found
    return element


def _is_array(value: Any) -> bool:
    return hasattr(type(value), "__array__")


def _first(one: Any, other: Any, where: str, exact: bool) -> Difference | None:
    if type(one) is not type(other) and (exact or _is_container(one) or _is_container(other)):
        return Difference(where, _typed(one), _typed(other))
    if isinstance(one, Mapping):
        return _of_mappings(one, other, where, exact)
    if isinstance(one, (list, tuple)):
        return _of_sequences(one, other, where, exact)
    if _is_array(one) and not isinstance(one, np.generic):
        return _of_arrays(numpy_of(one), numpy_of(other), where, exact)
    same = _equal(one, other)
    if same:
        return None
    parts = (_parts(one), _parts(other)) if same is None else (None, None)
    if parts[0] is None or parts[1] is None:
        return Difference(where, shown(one), shown(other))
    return _first(parts[0], parts[1], where, exact)


def _is_container(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple)) or _is_array(value)


def _typed(value: Any) -> str:
    return f"{shown(value)} ({type(value).__name__})"


def _of_mappings(one: Mapping[Any, Any], other: Mapping[Any, Any], where: str, exact: bool) -> Difference | None:
    if list(one) != list(other) if exact else set(one) != set(other):
        return Difference(where, f"the keys {shown(list(one))}", f"the keys {shown(list(other))}")
    return next((found for key in one if (found := _first(one[key], other[key], f"{where}[{key!r}]", exact))), None)


def _of_sequences(one: Sequence[Any], other: Sequence[Any], where: str, exact: bool) -> Difference | None:
    if len(one) != len(other):
        return Difference(where, f"{len(one):,} items: {shown(one)}", f"{len(other):,} items: {shown(other)}")
    pairs = enumerate(zip(one, other, strict=True))
    return next((found for i, pair in pairs if (found := _first(*pair, f"{where}[{i}]", exact))), None)


def _of_arrays(one: NDArray[Any], other: NDArray[Any], where: str, exact: bool) -> Difference | None:
    if one.dtype != other.dtype or one.shape != other.shape:
        return Difference(where, *(f"{each.dtype} of shape {list(each.shape)}" for each in (one, other)))
    if one.dtype.hasobject:
        return _of_sequences(one.ravel().tolist(), other.ravel().tolist(), where, exact)
    if one.dtype.kind == "V":  # structured arrays: NaN in them has no `!=`
        return None if one.tobytes() == other.tobytes() else Difference(where, shown(one), shown(other))
    differ = (one != other) & ~((one != one) & (other != other))
    if not differ.any():
        return None
    at = tuple(int(i) for i in np.argwhere(differ)[0])
    place = f"[{', '.join(map(str, at))}]" if at else ""
    return Difference(f"{where}{place}", shown(one[at].item()), shown(other[at].item()))


def _equal(one: Any, other: Any) -> bool | None:
    """Return whether two values are equal; None if their class does not define equality."""
    if one is other:
        return True
    if not any("__eq__" in vars(kind) for kind in type(one).__mro__[:-1]):  # the last is object
        return None
    try:
        return bool(one == other) or bool(one != one and other != other)  # NaN
    except Exception:  # such as a dataclass with arrays
        return None


def _parts(value: Any) -> list[Any] | None:
    """Return an object's contents as `pickle` sees them; None without any."""
    try:
        reduced = value.__reduce_ex__(2)
    except Exception:  # a user's class may raise anything: it cannot be pickled
        return None
    if isinstance(reduced, str):
        return None
    _, arguments, *state = reduced
    return [list(arguments), *(list(each) if isinstance(each, Iterator) else each for each in state)]
