"""Pad components with the bucketed length up to a bucket's boundary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline.errors import invalid
from pipeline.nest import ListValue, Nest, parts_of
from pipeline.stages.collate import empty_string, is_array


class Component:
    """A component's first dimension in the examples so far.

    Attributes:
        rows: The first dimension in all examples; None if it varies.
        follows: True if it was always the example's length.
        padded: True if a batch has been padded.
    """

    def __init__(self, rows: int | None = None, follows: bool = True, padded: bool = False) -> None:
        self.rows, self.follows, self.padded = rows, follows, padded

    @property
    def is_padded(self) -> bool:
        """True if batches are padded: a fixed vector is not."""
        return self.rows is None or self.follows

    def state(self) -> list[Any]:
        """Return plain data for `Component(*state)`."""
        return [self.rows, self.follows, self.padded]


class ToBoundary:
    """Pads batches up to boundaries.

    Only components named by `fill` are padded. Without names, a component is padded if its first dimension has varied
    so far, or was always the example's length, because batches in short runs need not show variation. This depends on
    earlier examples, so it is part of the state.

    Args:
        fill: Value used to pad rows, for all components or by name.
        state: From `state()`; None at the beginning.
    """

    def __init__(self, fill: Any, state: Any = None) -> None:
        self._fill = fill
        self._seen = None if state is None else [Component(*each) for each in state]

    def state(self) -> Any:
        """Return plain data."""
        return None if self._seen is None else [each.state() for each in self._seen]

    def note(self, example: Any, length: Any) -> None:
        """Note the shapes in an example with this length."""
        if isinstance(self._fill, Mapping):
            return
        values = _components(example)
        if self._seen is None:
            self._seen = [Component(_rows(value)) for value in values]
        for seen, value in zip(self._seen, values, strict=False):  # `batch` reports a different structure
            rows = _rows(value)
            seen.rows = rows if seen.rows == rows else None
            seen.follows = seen.follows and rows == length

    def padded(self, batch: Any, boundary: int) -> Any:
        """Return a batch with `boundary` rows in all padded components.

        Raises:
            InvalidArgumentError: An earlier batch was padded, and now the component seems to have a fixed size.
        """
        nest = Nest(batch, False) if parts_of(batch) is not None else None
        names: list[Any] = ["the value"] if nest is None else nest.names
        columns = [batch] if nest is None else nest.flatten(batch)
        if self._seen is not None and len(self._seen) != len(columns):
            have = f"{len(self._seen)} components, and the batch has {len(columns)}"
            raise invalid(f"load_state_dict: the state is damaged: it has {have}")
        wide = [self._longer(i, *each, boundary) for i, each in enumerate(zip(names, columns, strict=True))]
        return wide[0] if nest is None else nest.pack(wide)

    def _longer(self, i: int, name: Any, column: Any, boundary: int) -> Any:
        fill = self._fill.get(name) if isinstance(self._fill, Mapping) else self._fill
        if fill is None or not isinstance(column, np.ndarray) or column.ndim < 2 or column.shape[1] >= boundary:
            return column
        if self._seen is not None:
            seen = self._seen[i]
            if not seen.is_padded and seen.padded:
                raise invalid(
                    f"bucket: pad_to_boundary=True: component {name!r} has shape {list(column.shape[1:])} in all "
                    "examples so far, so it is not padded. An earlier batch padded it, because its size was the length "
                    "of the examples. Name the components to pad, such as pad={'tokens': 0}"
                )
            if not seen.is_padded:
                return column
            seen.padded = True
        if not isinstance(fill, (bytes, str)):  # numeric rows were padded already
            fill = empty_string([column], fill)
        wide = np.full((column.shape[0], boundary, *column.shape[2:]), fill, column.dtype)
        wide[:, : column.shape[1]] = column
        return wide


def _components(example: Any) -> list[Any]:
    """Return an example's components in their order within a batch."""
    if parts_of(example) is None or (isinstance(example, list) and is_array(example)):
        return [example]
    return Nest(example, False).flatten(example)


def _rows(value: Any) -> int | None:
    """Return a value's first dimension; -1 for scalars, which are never padded."""
    if isinstance(value, (list, tuple)):
        return -1 if isinstance(value, ListValue) else len(value)
    shape = getattr(value, "shape", None)
    return int(shape[0]) if shape else -1
