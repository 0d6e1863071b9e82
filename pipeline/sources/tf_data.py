"""tf_data: elements of a tf.data.Dataset."""

from __future__ import annotations

import math
import sys
from collections.abc import Generator, Sequence
from typing import Any

from pipeline.dtypes import object_vector
from pipeline.keywords import tells_keywords
from pipeline.nest import Nest, is_nested
from pipeline.on_error import add_note
from pipeline.orders.numbered import parse_shard
from pipeline.sources.extras import MANY, hint_of, needs, stacked
from pipeline.sources.nodes import Parts
from pipeline.sources.order import Epochs
from pipeline.sources.stream import BlockPiece, PartsSource

# TensorFlow batches elements with equal shapes: about this many bytes, and at most this many elements.
_PIECE_BYTES = 1 << 20
_PIECE = 256


@tells_keywords
def tf_data(
    dataset: Any,
    *,
    batched: bool = False,
    num_epochs: int | None = 1,
    shard: tuple[int, int] | None = None,
) -> PartsSource:
    """Read elements from a `tf.data.Dataset`; strings become bytes.

    It is a stream in TensorFlow's order. Elements with known shapes are read in blocks; others cost some Python each.
    It cannot save its position, because TensorFlow's iterators cannot.

    Args:
        dataset: The dataset; not an iterator.
        batched: Split its elements, if they are batches, into rows.
        num_epochs: Number of epochs; None repeats forever.
        shard: (index, count): keep every count-th element. TensorFlow computes the others too.

    Raises:
        ValueError: `num_epochs` or `shard` is wrong.
        TypeError: `dataset` is something else, or has a component such as a SparseTensor.
        ImportError: TensorFlow is not installed.

    Examples:
        >>> import tensorflow as tf
        >>> [batch.tolist() for batch in pipeline.tf_data(tf.data.Dataset.range(4)).batch(2)]
        [[0, 1], [2, 3]]
    """
    library = needs("tensorflow", "tf_data")
    if not isinstance(dataset, library.data.Dataset):
        raise TypeError(f"tf_data: a {type(dataset).__name__} is not a tf.data.Dataset{hint_of(dataset)}")
    known = int(dataset.cardinality())
    index, count = parse_shard(shard, known if known >= 0 else sys.maxsize, "elements")
    stream = _Stream(library, dataset.shard(count, index) if count > 1 else dataset, bool(batched))
    return PartsSource(stream, Epochs(num_epochs))


class _Stream(Parts):
    kind = "tf_data"
    unit = "datasets"
    names: Sequence[str] = ("",)
    of_files = False
    most = MANY
    no_state = "the source is a tf.data.Dataset, whose iterators do not report their position"

    def __init__(self, library: Any, dataset: Any, batched: bool) -> None:
        spec = dataset.element_spec
        self._nest = Nest(spec, False) if is_nested(spec, False) else None
        specs = [spec] if self._nest is None else self._nest.flatten(spec)
        names = [""] if self._nest is None else self._nest.names
        for name, each in zip(names, specs, strict=True):
            _check(library, each, name, batched)
        self._varies = [not each.shape.is_fully_defined() for each in specs]
        self._ragged = [isinstance(each, library.RaggedTensorSpec) for each in specs]
        self._batched = batched
        self._dataset, self._size = dataset, 1
        self._whole = not batched and not any(self._varies)
        if self._whole:
            size = sum(math.prod(each.shape) * each.dtype.size for each in specs)
            self._size = max(1, min(_PIECE, _PIECE_BYTES // max(1, size)))
            self._dataset = dataset.batch(self._size)
        self._shapes = [[str(each.dtype.name), str(each.shape)] for each in specs]

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield pieces, with placeholder places: this source has no states."""
        elements, number = self._dataset.as_numpy_iterator(), 0
        while True:
            try:
                element = next(elements, None)
            except Exception as error:
                where = f"element {number}" if self._size == 1 else f"elements {number} to {number + self._size - 1}"
                add_note(error, f"tf_data: in {where} of the dataset")
                raise
            if element is None:
                return
            number += self._size
            values = [element] if self._nest is None else self._nest.flatten(element)
            columns = list(map(self._column, values, self._varies, self._ragged))
            yield 0, BlockPiece(columns[0] if self._nest is None else self._nest.pack(columns, True))

    def block(self, piece: BlockPiece) -> Any:
        return piece.block

    def facts(self) -> dict[str, Any]:
        return {"components": self._shapes, "batched": self._batched}

    def _column(self, value: Any, varies: bool, ragged: bool) -> Any:
        """Return an element's component as a column."""
        if self._whole:
            return value
        if self._batched:
            return object_vector(list(value)) if ragged else value
        return object_vector([value]) if varies else stacked([value], self.kind)


def _check(library: Any, spec: Any, name: str, batched: bool) -> None:
    """Raise TypeError for a component that cannot become an array."""
    where = f"component {name!r}" if name else "the element"
    if isinstance(spec, library.RaggedTensorSpec) and spec.ragged_rank == batched:
        return
    if isinstance(spec, library.TensorSpec) and (not batched or spec.shape.rank != 0):
        return
    kind = type(spec).__name__.removesuffix("Spec")
    hint = {"RaggedTensor": "map it by .to_tensor()", "SparseTensor": "map it by tf.sparse.to_dense"}.get(kind)
    if isinstance(spec, library.TensorSpec):
        kind, hint = "scalar", "with batched=True each must have rows"
    raise TypeError(f"tf_data: {where} is a {kind}{f': {hint}' if hint else ''}")
