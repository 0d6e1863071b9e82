"""TensorShapeProto: a shape as a message."""

from __future__ import annotations

from pipeline.compat.graph.dimensions import Sizes


class _Dim:
    def __init__(self, size: int | None) -> None:
        self.size = -1 if size is None else size


class TensorShapeProto:
    """A shape."""

    def __init__(self, sizes: Sizes) -> None:
        self.unknown_rank = sizes is None
        self.dim = [_Dim(size) for size in sizes or ()]

    def lines(self) -> list[str]:
        """The text."""
        if self.unknown_rank:
            return ["unknown_rank: true"]
        return [line for dim in self.dim for line in ("dim {", *([f"  size: {dim.size}"] if dim.size else []), "}")]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorShapeProto) and self.lines() == other.lines()

    def __hash__(self) -> int:
        return hash(tuple(self.lines()))

    def __repr__(self) -> str:
        return "".join(line + "\n" for line in self.lines())
