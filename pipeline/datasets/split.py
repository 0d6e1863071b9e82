"""split: two parts of a dataset, decided by element numbers, by a key, or per class."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import integer
from pipeline.errors import invalid
from pipeline.stages import by_name as stages
from pipeline.stages.calls import check_function, name_of
from pipeline.stages.index import ENDLESS
from pipeline.stages.part import position


def parts_of(dataset: Any, fraction: Any, seed: Any, by: Any, stratify: Any) -> tuple[Any, Any]:
    """Return a Dataset's two parts; arguments and errors are as in `Dataset.split`."""
    share = _checked_fraction(fraction)
    number = integer(seed, "split: seed")
    if by is not None and stratify is not None:
        raise invalid("split: by= keeps the elements of a key together, so stratify= cannot divide them: pass one")
    if by is not None:
        value = _value(by, "by")
        one, other = (dataset.filter(_OfKey(value, share, number, first)) for first in (True, False))
        return one, other
    # Independent of workers and full caches, because a state may be loaded with different ones.
    known = dataset._node.indexed and dataset._node.length() != ENDLESS
    if stratify is not None and not known:
        raise dataset._no_order("split(stratify=...)", "pass by= or neither")
    if known:
        classes = None if stratify is None else _classes(dataset, stratify)
        one, other = (dataset._then(stages.Part, share, number, first, classes) for first in (True, False))
        return one, other
    numbered = dataset.enumerate()
    one, other = (numbered.filter(_AtNumber(share, number, first)).map(_element) for first in (True, False))
    return one, other


def _checked_fraction(given: Any) -> float:
    if isinstance(given, (bool, str, bytes)) or not isinstance(given, (int, float, np.integer, np.floating)):
        raise TypeError(f"split: fraction must be a number between 0 and 1, got {given!r:.80}")
    if not 0 < float(given) < 1:
        raise invalid(f"split: fraction must be between 0 and 1, such as 0.8, got {given!r}")
    return float(given)


def _value(given: Any, what: str) -> Callable[[Any], Any]:
    """Return a function from an element to its key or class."""
    if isinstance(given, str):
        return _Field(given, what)
    check_function(f"split: {what}", given, "the name of a field")
    return given  # type: ignore[no-any-return]


def _classes(dataset: Any, stratify: Any) -> NDArray[np.int64]:
    """Return the class index of each element."""
    if isinstance(stratify, (Sequence, np.ndarray)) and not isinstance(stratify, str):
        values: list[Any] = np.asarray(stratify).tolist() if isinstance(stratify, np.ndarray) else list(stratify)
        if len(values) != len(dataset):
            have = f"{len(dataset):,} elements, got {len(values):,}"
            raise invalid(f"split: stratify must have a class for each of {have}")
    else:
        value = _value(stratify, "stratify")
        values = [value(element) for element in dataset]
    numbers: dict[bytes, int] = {}
    found = [numbers.setdefault(_bytes_of(each, "stratify"), len(numbers)) for each in values]
    return np.array(found, np.int64)


def _element(numbered: tuple[int, Any]) -> Any:
    return numbered[1]


class _Field:
    """Returns an element's field."""

    def __init__(self, name: str, what: str) -> None:
        self._name, self._what = name, what
        self.__qualname__ = name

    def __call__(self, element: Any) -> Any:
        if not isinstance(element, Mapping) or self._name not in element:
            fields = f"fields {', '.join(map(repr, element))}" if isinstance(element, Mapping) else "no fields"
            raise invalid(f"split: {self._what}={self._name!r} is not there: the element has {fields}")
        return element[self._name]


class _OfKey:
    """Returns whether an element belongs to a part, by its key."""

    def __init__(self, value: Callable[[Any], Any], fraction: float, seed: int, first: bool) -> None:
        self._value, self._fraction, self._seed, self._first = value, fraction, seed, first
        self.__qualname__ = f"split({fraction}, seed={seed}, by={name_of(value)})"

    def __call__(self, element: Any) -> bool:
        salt = str(self._seed).encode()[:64]
        found = hashlib.blake2b(_bytes_of(self._value(element), "by"), digest_size=8, key=salt).digest()
        return bool((int.from_bytes(found, "little") / 2.0**64 < self._fraction) == self._first)


class _AtNumber:
    """Returns whether an element belongs to a part, by its number."""

    def __init__(self, fraction: float, seed: int, first: bool) -> None:
        self._fraction, self._seed, self._first = fraction, seed, first
        self.__qualname__ = f"split({fraction}, seed={seed})"

    def __call__(self, numbered: tuple[int, Any]) -> bool:
        (found,) = position(self._seed, np.array([numbered[0]])).tolist()
        return bool((found < self._fraction) == self._first)


def _bytes_of(key: Any, what: str) -> bytes:
    """Return a key's bytes, equal in every process. A text and its UTF-8 are one key."""
    if isinstance(key, np.ndarray) and not key.ndim:
        key = key[()]
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, str):
        return b"t" + key.encode(errors="surrogatepass")
    if isinstance(key, (bytes, bytearray)):
        return b"t" + bytes(key)
    if isinstance(key, (bool, int)):
        return b"n%d" % operator.index(key)
    if key is None:
        return b"-"
    if isinstance(key, tuple):
        parts = [_bytes_of(each, what) for each in key]
        return b"(" + b"".join(b"%d:%b" % (len(part), part) for part in parts)
    kind = type(key).__name__
    raise TypeError(f"split: {what} must return strings, integers, or tuples of them, got {kind}: {key!r:.80}")
