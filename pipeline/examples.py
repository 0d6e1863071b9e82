"""What an example is made of: its container, and the dtype and shape of each component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.values import infer


class Layout:
    """The form of examples, learnt from the first one; takes examples apart and puts batches together.

    Args:
        example: The first example: a dict, list or tuple of components, or a single component.
        many: It is a block of examples: the first dimension of each component counts them.

    Raises:
        ValueError: The example has no components.
    """

    def __init__(self, example: Any, many: bool) -> None:
        self._keys: list[Any] | None = None
        self._count: int | None = None  # of components; None: the example is its only component
        if isinstance(example, dict):
            self._keys = sorted(example, key=str)
        elif isinstance(example, (list, tuple)):
            self._count = len(example)
        parts = self.components(example)
        if not parts:
            raise ValueError("Expected at least one tensor in batch(): the example is empty")
        inferred = [_infer(part, many, self._where(i)) for i, part in enumerate(parts)]
        self.dtypes = [dtype for dtype, _ in inferred]
        self._shapes = [shape for _, shape in inferred]

    def components(self, example: Any) -> list[Any]:
        """The components of an example, in the order of the queue.

        Raises:
            ValueError: It has other keys, or another number of components, than the first example.
        """
        if self._keys is not None:
            if not isinstance(example, dict) or example.keys() != set(self._keys):
                got = sorted(example, key=str) if isinstance(example, dict) else type(example).__name__
                raise ValueError(f"every example must have the keys of the first one, {self._keys}; got {got}")
            return [example[key] for key in self._keys]
        if self._count is None:
            return [example]
        if not isinstance(example, (list, tuple)) or len(example) != self._count:
            got = f"{len(example)} of them" if isinstance(example, (list, tuple)) else type(example).__name__
            raise ValueError(f"every example must be a list or tuple of {self._count} components; got {got}")
        return list(example)

    def _where(self, index: int) -> str:
        return f"batch: component {index if self._keys is None else repr(self._keys[index])} of the first example"

    def rebuild(self, batch: Any) -> Any:
        """The batch that the queue gave, in the container of the examples."""
        if self._keys is None:
            return batch
        return dict(zip(self._keys, batch if len(self._keys) > 1 else [batch], strict=True))

    def fixed_shapes(self, given: Sequence[Any] | None) -> Any:
        """The shapes for a queue without padding."""
        return self._shapes if given is None else given

    def padded_shapes(self, given: Sequence[Any] | None) -> Any:
        """The shapes for a padding queue; those that were not given may vary in every dimension."""
        return [(None,) * len(shape) for shape in self._shapes] if given is None else given


def _infer(part: Any, many: bool, where: str) -> tuple[Any, tuple[int | None, ...]]:
    dtype, shape = infer(part, many, where)
    if isinstance(part, np.ndarray) and dtype.hasobject and part.size:
        # Columns of strings come as object arrays.
        shape = part.shape[1:] if many else part.shape
        if all(isinstance(value, (bytes, str)) for value in part.flat):
            dtype = np.dtype("S")
    return dtype, shape or ()
