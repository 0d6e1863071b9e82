"""TensorShape: a tensor's shape as far as it is known before it has a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pipeline.compat.graph.dimensions import Dimension, Sizes
from pipeline.errors import show

if TYPE_CHECKING:
    from pipeline.proto.tensor import TensorShapeProto


class TensorShape:
    """A shape with a possibly unknown rank or sizes.

    Args:
        dims: None (unknown rank), an int, or a sequence of ints, None and Dimensions; or a TensorShapeProto.

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
                for d in dims  # fast path for plain ints
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
        """Return the sizes as a list of int or None; ValueError if the rank is unknown."""
        if self.sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self.sizes)

    def num_elements(self) -> int | None:
        """Return the element count; None if it is unknown."""
        if self.sizes is None or None in self.sizes:
            return None
        count = 1
        for size in self.sizes:
            count *= size  # type: ignore[operator]
        return count

    def is_fully_defined(self) -> bool:
        """Return whether the rank and every size are known."""
        return self.sizes is not None and None not in self.sizes

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless the rank and every size are known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether both can be the same shape."""
        a, b = self.sizes, as_shape(other).sizes
        if a is None or b is None:
            return True
        return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless both can be the same shape."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def assert_same_rank(self, other: Any) -> None:
        """Raise ValueError unless both can have the same rank."""
        other = as_shape(other)
        if self.sizes is not None and other.sizes is not None and len(self.sizes) != len(other.sizes):
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int | None) -> None:
        """Raise ValueError unless the rank can be `rank`."""
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def merge_with(self, other: Any) -> TensorShape:
        """Return the shape with everything known from either; ValueError if they cannot be the same shape."""
        other = as_shape(other)
        if self.sizes is None:
            return TensorShape(other)
        if other.sizes is None:
            return self
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        return TensorShape([y if x is None else x for x, y in zip(self.sizes, other.sizes, strict=True)])

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """Return the most specific shape compatible with both."""
        other = as_shape(other)
        if self.sizes is None or other.sizes is None or len(self.sizes) != len(other.sizes):
            return unknown_shape()
        return TensorShape([x if x == y else None for x, y in zip(self.sizes, other.sizes, strict=True)])

    def concatenate(self, other: Any) -> TensorShape:
        """Return this shape followed by the other; its rank is unknown if either is."""
        other = as_shape(other)
        if self.sizes is None or other.sizes is None:
            return unknown_shape()
        return TensorShape(self.sizes + other.sizes)

    def with_rank(self, rank: int | None) -> TensorShape:
        """Return this shape with this rank; ValueError if it has another."""
        try:
            return self.merge_with(unknown_shape(rank))
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape; ValueError if its rank is less."""
        if self.sizes is not None and len(self.sizes) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape; ValueError if its rank is more."""
        if self.sizes is not None and len(self.sizes) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def as_proto(self) -> TensorShapeProto:
        """Return the shape as a protocol buffer."""
        from pipeline.proto.tensor import shape_message  # few programs look at definitions

        return shape_message(self.sizes)

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
    """Return `shape` as a TensorShape."""
    return shape if shape.__class__ is TensorShape else TensorShape(shape)


def unknown_shape(rank: int | None = None) -> TensorShape:
    """Return a shape with unknown sizes, and an unknown rank unless it is given."""
    return TensorShape(None if rank is None else (None,) * rank)


def scalar() -> TensorShape:
    """Return the shape of a scalar."""
    return TensorShape(())


def vector(length: int | None) -> TensorShape:
    """Return a vector's shape."""
    return TensorShape((length,))


def matrix(rows: int | None, cols: int | None) -> TensorShape:
    """Return a matrix's shape."""
    return TensorShape((rows, cols))


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Return the broadcast shape of two shapes.

    Raises:
        ValueError: The shapes cannot be broadcast.
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
            # A known size above 1 decides: the unknown size is that or 1.
            result.append((b if a is None else a) or None)
        elif a == b:
            result.append(a)
        else:
            raise ValueError(f"Incompatible shapes for broadcasting: {as_shape(shape_x)} and {as_shape(shape_y)}")
    return TensorShape(result)


def merged(a: TensorShape, b: TensorShape) -> TensorShape:
    """Merge as `merge_with` does; the error names the axis where the shapes differ."""
    x, y = a.sizes, b.sizes
    if x is not None and y is not None:
        if len(x) != len(y):
            raise ValueError(f"Shapes must be equal rank, but are {len(x)} and {len(y)}")
        for axis, (p, q) in enumerate(zip(x, y, strict=True)):
            if p is not None and q is not None and p != q:
                raise ValueError(
                    f"Dimension {axis} in both shapes must be equal, but are {p} and {q}. "
                    f"Shapes are {show(x)} and {show(y)}."
                )
    return a.merge_with(b)
