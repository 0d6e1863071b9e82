"""TensorShape and Dimension: what is known about the shape of a tensor before it has a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

Sizes = tuple[int | None, ...] | None


class Dimension:
    """One size of a shape: an int, or None where it is not known. Arithmetic with an unknown gives an unknown."""

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
        """Whether both may be the same size."""
        other = as_dimension(other).value
        return self.value is None or other is None or self.value == other

    def assert_is_compatible_with(self, other: Any) -> None:
        """ValueError unless both may be the same size."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """The size that is known of either; ValueError if they differ."""
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
    """`value` as a Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


class TensorShape:
    """The shape of a tensor as far as it is known: the rank may be unknown, and each size may be.

    Args:
        dims: None (nothing is known), an int, or a sequence of ints, None and Dimensions.

    Attributes:
        sizes: A tuple of int or None; None if the rank is unknown.
    """

    __slots__ = ("sizes",)

    def __init__(self, dims: Any) -> None:
        self.sizes: Sizes
        if dims is None:
            self.sizes = None
        elif isinstance(dims, TensorShape):
            self.sizes = dims.sizes
        elif hasattr(dims, "unknown_rank"):
            self.sizes = None if dims.unknown_rank else tuple(None if d.size < 0 else d.size for d in dims.dim)
        elif isinstance(dims, (list, tuple)) or hasattr(dims, "__iter__"):
            self.sizes = tuple(
                d if (type(d) is int and d >= 0) or d is None else Dimension(d).value
                for d in dims  # fast for plain sizes
            )
        else:
            self.sizes = (Dimension(dims).value,)

    @property
    def dims(self) -> list[Dimension] | None:
        """The Dimensions; None if the rank is unknown."""
        return None if self.sizes is None else [Dimension(size) for size in self.sizes]

    @property
    def ndims(self) -> int | None:
        """The rank; None if it is unknown."""
        return None if self.sizes is None else len(self.sizes)

    rank = ndims

    def as_list(self) -> list[int | None]:
        """The sizes as a list of int or None; ValueError if the rank is unknown."""
        if self.sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self.sizes)

    def num_elements(self) -> int | None:
        """The number of elements; None if it is not known."""
        if self.sizes is None or None in self.sizes:
            return None
        count = 1
        for size in self.sizes:
            count *= size  # type: ignore[operator]
        return count

    def is_fully_defined(self) -> bool:
        """Whether the rank and every size are known."""
        return self.sizes is not None and None not in self.sizes

    def assert_is_fully_defined(self) -> None:
        """ValueError unless everything is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both may be the same shape."""
        a, b = self.sizes, as_shape(other).sizes
        if a is None or b is None:
            return True
        return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))

    def assert_is_compatible_with(self, other: Any) -> None:
        """ValueError unless both may be the same shape."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def assert_same_rank(self, other: Any) -> None:
        """ValueError unless both may have the same rank."""
        other = as_shape(other)
        if self.sizes is not None and other.sizes is not None and len(self.sizes) != len(other.sizes):
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int | None) -> None:
        """ValueError unless the rank may be `rank`."""
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def merge_with(self, other: Any) -> TensorShape:
        """What is known of either; ValueError if they cannot be the same shape."""
        other = as_shape(other)
        if self.sizes is None:
            return TensorShape(other)
        if other.sizes is None:
            return self
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        return TensorShape([y if x is None else x for x, y in zip(self.sizes, other.sizes, strict=True)])

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """What holds for both."""
        other = as_shape(other)
        if self.sizes is None or other.sizes is None or len(self.sizes) != len(other.sizes):
            return unknown_shape()
        return TensorShape([x if x == y else None for x, y in zip(self.sizes, other.sizes, strict=True)])

    def concatenate(self, other: Any) -> TensorShape:
        """This shape followed by the other; unknown if either is."""
        other = as_shape(other)
        if self.sizes is None or other.sizes is None:
            return unknown_shape()
        return TensorShape(self.sizes + other.sizes)

    def with_rank(self, rank: int | None) -> TensorShape:
        """This shape with the rank known; ValueError if it has another."""
        try:
            return self.merge_with(unknown_shape(rank))
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape; ValueError if its rank is less."""
        if self.sizes is not None and len(self.sizes) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape; ValueError if its rank is more."""
        if self.sizes is not None and len(self.sizes) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def as_proto(self) -> Any:
        """The shape as a protocol buffer prints it."""
        from pipeline.compat.core.node_def import TensorShapeProto

        return TensorShapeProto(self.sizes)

    def __len__(self) -> int:
        if self.sizes is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self.sizes)

    def __bool__(self) -> bool:
        return self.sizes is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self.sizes is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter([Dimension(size) for size in self.sizes])

    def __getitem__(self, key: Any) -> Any:
        if self.sizes is not None:
            part = self.sizes[key]
            return TensorShape(part) if isinstance(key, slice) else Dimension(part)
        if not isinstance(key, slice):
            return Dimension(None)
        start = key.start if key.start is not None else 0
        if key.step is not None or key.stop is None or start < 0 or key.stop < 0:
            return unknown_shape()
        return unknown_shape(max(0, key.stop - start))

    def __eq__(self, other: object) -> bool:
        try:
            other = as_shape(other)
        except (TypeError, ValueError):
            return False
        return self.sizes == other.sizes

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.sizes)

    def __repr__(self) -> str:
        if self.sizes is None:
            return "TensorShape(None)"
        return f"TensorShape([{', '.join(f'Dimension({size})' for size in self.sizes)}])"

    def __str__(self) -> str:
        if self.sizes is None:
            return "<unknown>"
        if len(self.sizes) == 1:
            return f"({'?' if self.sizes[0] is None else self.sizes[0]},)"
        return f"({', '.join('?' if size is None else str(size) for size in self.sizes)})"

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return as_shape(other).concatenate(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self.sizes,)


def as_shape(shape: Any) -> TensorShape:
    """`shape` as a TensorShape."""
    return shape if shape.__class__ is TensorShape else TensorShape(shape)


def unknown_shape(rank: int | None = None) -> TensorShape:
    """A shape of which nothing, or only the rank, is known."""
    return TensorShape(None if rank is None else (None,) * rank)


def scalar() -> TensorShape:
    """The shape of a scalar."""
    return TensorShape(())


def vector(length: int | None) -> TensorShape:
    """The shape of a vector."""
    return TensorShape((length,))


def matrix(rows: int | None, cols: int | None) -> TensorShape:
    """The shape of a matrix."""
    return TensorShape((rows, cols))


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape of what two broadcast shapes give.

    Raises:
        ValueError: They cannot be broadcast.
    """
    x, y = as_shape(shape_x).sizes, as_shape(shape_y).sizes
    if x is None or y is None:
        return unknown_shape()
    rank = max(len(x), len(y))
    result: list[int | None] = []
    for a, b in zip((1,) * (rank - len(x)) + x, (1,) * (rank - len(y)) + y, strict=True):
        if a == 1 or b == 1:
            result.append(b if a == 1 else a)
        elif a is None or b is None:
            # A size above 1 decides: the unknown one is that or 1.
            known = b if a is None else a
            result.append(known if known != 0 else None)
        elif a == b:
            result.append(a)
        else:
            raise ValueError(f"Incompatible shapes for broadcasting: {as_shape(shape_x)} and {as_shape(shape_y)}")
    return TensorShape(result)


def dimension_value(dimension: Any) -> int | None:
    """The size of a Dimension, or the int or None itself."""
    return dimension.value if isinstance(dimension, Dimension) else dimension
