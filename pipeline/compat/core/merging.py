"""What is known of two shapes that must be equal, with the errors that operations give."""

from __future__ import annotations

from pipeline.compat.core.shapes import TensorShape


def merged(a: TensorShape, b: TensorShape) -> TensorShape:
    """What is known of either shape; ValueError, which names the axis, if they cannot be equal."""
    x, y = a.sizes, b.sizes
    if x is not None and y is not None:
        if len(x) != len(y):
            raise ValueError(f"Shapes must be equal rank, but are {len(x)} and {len(y)}")
        for axis, (p, q) in enumerate(zip(x, y, strict=True)):
            if p is not None and q is not None and p != q:
                raise ValueError(
                    f"Dimension {axis} in both shapes must be equal, but are {p} and {q}. "
                    f"Shapes are {_listed(x)} and {_listed(y)}."
                )
    return a.merge_with(b)


def _listed(sizes: tuple[int | None, ...]) -> str:
    return "[" + ",".join("?" if size is None else str(size) for size in sizes) + "]"
