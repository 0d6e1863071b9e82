"""huggingface: the examples of datasets of Hugging Face."""

from __future__ import annotations

import copy
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import invalid
from pipeline.keywords import tells_keywords
from pipeline.producers.numbered import parse_shard, sampled
from pipeline.sources.arrow import digest_of, without_views
from pipeline.sources.extras import needs
from pipeline.sources.huggingface_columns import apart, form_of
from pipeline.sources.order import Epochs
from pipeline.sources.source import Source, TableSource
from pipeline.sources.stream import StreamSource

# Examples of a stream that are read at once; fewer where they may be large.
_PIECE = 256

# Rows of a Dataset that its digest looks at: they may be images.
_SAMPLED = 64


@tells_keywords
def huggingface(
    dataset: Any,
    columns: Sequence[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
    *,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> Source:
    """Make a source of the examples of a dataset of Hugging Face: dicts with a value for each column.

    Without a format, a dataset whose features are known is read as Arrow, block by block; see `arrow` for what becomes
    of its columns. Features such as images are decoded, columns beside them are as they would be alone. An `Array2D` is
    an array of the dtype of its feature. With a format, such as `with_format("numpy")` or a transform, the examples are
    what that gives. A `Dataset` is a sequence too, an `IterableDataset` is read as a stream.

    The features say which columns vary in length, whatever their rows are: a `List` without a length, and an `Array2D`
    without a first dimension. Images must be of one size, unless `dynamic_pad=True` or `ragged=` of the batch function
    pads them.

    Args:
        dataset: A Dataset or IterableDataset.
        columns: The columns to read; None means all.
        defaults: What to give for a missing value, by column, as for `arrow`; of a column that is read as Arrow only.
        num_epochs: How often it is read; None means without end.
        shuffle: Whether the order is random, another one in each epoch. An IterableDataset gets `set_epoch`, which
            orders its shards anew, and with them its own `shuffle`. The buffer of that is not part of a state, but the
            pool of `shuffle_batch` is.
        seed: Seed of the orders, of a Dataset only.
        shard: (index, count): read the examples `index`, `index + count`, ... of each order; of an IterableDataset the
            shards.

    Returns:
        The source, for the batch functions.

    Raises:
        InvalidArgumentError: There is no such column, its type cannot become an array, or a default does not fit. When
            a batch is taken: a row has a missing value. A ValueError too.
        ValueError: `num_epochs` or `shard` is out of range, `seed` is for an IterableDataset, or `defaults` for a
            dataset that is not read as Arrow.
        TypeError: `dataset` is something else, such as a DatasetDict, `defaults` is no dict, or a number is not an
            integer.
        ImportError: datasets is not installed.
    """
    library = needs("datasets", "huggingface", "huggingface")
    if isinstance(columns, (str, bytes)):
        raise TypeError(f"huggingface: columns must be a list of names, such as [{columns!r}], not {columns!r}")
    if isinstance(dataset, library.Dataset):
        return TableSource(_Rows(_selected(dataset, columns), defaults), Epochs(num_epochs, shuffle, seed, shard))
    if not isinstance(dataset, library.IterableDataset):
        splits = f": choose a split, such as dataset[{next(iter(dataset))!r}]" if isinstance(dataset, dict) else ""
        raise TypeError(f"huggingface: a {type(dataset).__name__} is no Dataset or IterableDataset{splits}")
    if seed is not None:
        raise ValueError("huggingface: an IterableDataset takes its seed itself: dataset.shuffle(seed=...)")
    index, count = parse_shard(shard, dataset.num_shards, "shards")
    if count > 1:
        dataset = dataset.shard(num_shards=count, index=index)
    return StreamSource(_Stream(_selected(dataset, columns), defaults, shuffle), Epochs(num_epochs))


def _selected(dataset: Any, columns: Sequence[str] | None) -> Any:
    if columns is None:
        return dataset
    names = dataset.column_names
    missing = [name for name in columns if names is not None and name not in names]
    if missing or not columns:
        what = f"there is no column {missing[0]!r}" if missing else "no columns are chosen"
        raise invalid(f"huggingface: {what}; the columns are {', '.join(map(repr, names))}")
    return dataset.select_columns(list(columns))


class _Rows:
    """A Dataset, by number."""

    kind = "huggingface"
    unit = "examples"
    sizes: Sequence[int] | None = None

    def __init__(self, dataset: Any, defaults: Mapping[str, Any] | None) -> None:
        self._form = form_of(dataset, defaults)
        self._dataset, self.most, self.singly = self._form.dataset, self._form.most, self._form.singly

    def __len__(self) -> int:
        return len(self._dataset)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return self._form.block(self._piece(numbers))

    def loose(self, numbers: NDArray[np.int64]) -> Any:
        return self._form.block(self._piece(numbers), apart)

    def _piece(self, numbers: NDArray[np.int64]) -> Any:
        first, last = int(numbers[0]), int(numbers[-1])
        neighbours = last - first + 1 == len(numbers) and bool((np.diff(numbers) == 1).all())
        rows = self._dataset[slice(first, last + 1) if neighbours else numbers.tolist()]
        return self._form.piece(rows)

    def facts(self) -> dict[str, Any]:
        sample = self._dataset.with_format("arrow")[sampled(len(self), _SAMPLED).tolist()]
        return {**self._form.facts(), "rows": len(self), "digest": digest_of(without_views(sample))}


def _with_own_place(dataset: Any) -> Any:
    """Return an IterableDataset with an epoch and a place of its own; what `copy.copy` makes shares them."""
    other = object.__new__(type(dataset))
    vars(other).update(vars(dataset))
    if "_ex_iterable" in vars(other):
        other._ex_iterable = _own_steps(other._ex_iterable)
    return other


def _own_steps(step: Any) -> Any:
    """Copy what a stream consists of: each step keeps its place in itself, and has those that it reads from."""
    other = copy.copy(step)
    if hasattr(step, "ex_iterable"):
        other.ex_iterable = _own_steps(step.ex_iterable)
    if hasattr(step, "ex_iterables"):
        other.ex_iterables = [_own_steps(each) for each in step.ex_iterables]
    return other


class _Stream:
    """An IterableDataset."""

    kind = "huggingface"
    unit = "datasets"
    names: Sequence[str] = ("",)
    of_files = False
    no_state: str | None = None

    def __init__(self, dataset: Any, defaults: Mapping[str, Any] | None, shuffle: bool) -> None:
        self._form = form_of(dataset, defaults)
        self._dataset, self.most, self.singly = self._form.dataset, self._form.most, self._form.singly
        self._shuffle = shuffle

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield pieces; a place is the state of the dataset before one, or nothing for the start."""
        dataset = _with_own_place(self._dataset)
        if self._shuffle:
            dataset.set_epoch(epoch + 1)  # 0 keeps the order
        if place:
            dataset.load_state_dict(copy.deepcopy(place))
        before = place or {}  # what a dataset says before its first example is not its place
        for piece in dataset.iter(batch_size=min(_PIECE, self.most)):
            yield before, self._form.piece(piece)
            before = copy.deepcopy(dataset.state_dict())

    def block(self, piece: Any) -> Any:
        return self._form.block(piece)

    def loose(self, piece: Any) -> Any:
        return self._form.block(piece, apart)

    def facts(self) -> dict[str, Any]:
        return {**self._form.facts(), "shuffled": self._shuffle}
