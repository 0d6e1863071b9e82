"""Dimension: one size of a shape, possibly unknown."""

from __future__ import annotations

from typing import Any, NoReturn


class Dimension:
    """One size in a shape: an int, or None if unknown. Arithmetic with an unknown size gives an unknown size."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        if isinstance(value, Dimension):
            value = value.value
        if value is not None:
            try:
                number = value.__index__()
            except AttributeError:
                number = _not_a_size(value)
            if number < 0:
                raise ValueError(f"Dimension {number} must be >= 0")
            value = number
        self.value: int | None = value

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)

    def __eq__(self, other: object) -> Any:
        other = _value_or_none(other)
        if other is NotImplemented:
            return other
        return None if self.value is None or other is None else self.value == other

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is None or equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return self.value  # type: ignore[return-value]  # int() raises the TypeError for None

    __index__ = __int__

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether both can be the same size."""
        other = as_dimension(other).value
        return self.value is None or other is None or self.value == other

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless both can be the same size."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """Return the known size; ValueError if both are known and differ."""
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other.value if self.value is None else self.value)

    def _with(self, other: Any, function: Any, swap: bool = False) -> Any:
        try:
            value = as_dimension(other).value
        except (TypeError, ValueError):
            return NotImplemented
        if self.value is None or value is None:
            return Dimension(None)
        return Dimension(function(value, self.value) if swap else function(self.value, value))

    def __add__(self, other: Any) -> Any:
        return self._with(other, int.__add__)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, int.__add__)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, int.__sub__)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, int.__sub__, swap=True)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, int.__mul__)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, int.__mul__)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, int.__floordiv__)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(other, int.__floordiv__, swap=True)

    def __mod__(self, other: Any) -> Any:
        return self._with(other, int.__mod__)

    def __rmod__(self, other: Any) -> Any:
        return self._with(other, int.__mod__, swap=True)

    def __truediv__(self, other: Any) -> NoReturn:
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', please use // instead"
        )

    def __rtruediv__(self, other: Any) -> NoReturn:
        raise TypeError(
            f"unsupported operand type(s) for /: '{type(other).__name__}' and 'Dimension', please use // instead"
        )

    __div__ = __floordiv__

    def _compare(self, other: Any, function: Any) -> Any:
        value = as_dimension(other).value
        return None if self.value is None or value is None else function(self.value, value)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, int.__lt__)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, int.__le__)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, int.__gt__)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, int.__ge__)


def _not_a_size(value: Any) -> NoReturn:
    raise TypeError(f"Dimension value must be integer or None or have an __index__ method, got value '{value!r}'")


def _value_or_none(other: Any) -> Any:
    try:
        return as_dimension(other).value
    except (TypeError, ValueError):
        return NotImplemented


def as_dimension(value: Any) -> Dimension:
    """Return `value` as a Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: Any) -> int | None:
    """Return a Dimension's size; an int or None as is."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


# A shape's sizes; None if the rank is unknown.
Sizes = tuple[int | None, ...] | None
