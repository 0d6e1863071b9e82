"""huggingface: examples from Hugging Face datasets."""

from __future__ import annotations

import copy
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import invalid
from pipeline.keywords import tells_keywords
from pipeline.orders.numbered import parse_shard, sampled
from pipeline.sources.arrow_columns import digest_of, table_as, takeable
from pipeline.sources.arrow_rows import RowsByNumber
from pipeline.sources.arrow_types import schema_as_read
from pipeline.sources.extras import RowSelection, names_of, needs
from pipeline.sources.huggingface_columns import apart, form_of
from pipeline.sources.nodes import Parts, Table
from pipeline.sources.order import Epochs
from pipeline.sources.source import Source, TableSource
from pipeline.sources.stream import PartsSource

# Examples read from a stream at once; fewer if they may be large.
_PIECE = 256

# Rows sampled by a Dataset's digest: they may be images.
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
    """Read a Hugging Face dataset: each example is a dict with one value per column.

    Datasets are read as Arrow blocks, with the types of `arrow`. If you set a format or a transform, it is used
    as is. A `Dataset` is indexed, an `IterableDataset` is a stream. Images of several sizes need `batch(n, pad=0)`.

    Args:
        dataset: A Dataset or IterableDataset.
        columns: Columns to read; None reads all.
        defaults: Values for missing fields, by column, as in `arrow`.
        num_epochs: Number of epochs; None repeats forever.
        shuffle: Shuffle, in a different order each epoch. An IterableDataset reorders its shards by `set_epoch`.
        seed: Seed for the order; for a Dataset only.
        shard: (index, count): read every count-th example, or every count-th shard of an IterableDataset.

    Raises:
        InvalidArgumentError: A column or default does not fit. When you iterate: a row has a missing value.
        ValueError: An option is wrong, or does not fit this kind of dataset.
        TypeError: `dataset` is something else, such as a DatasetDict.
        ImportError: datasets is not installed.

    Examples:
        >>> import datasets
        >>> words = datasets.Dataset.from_dict({"word": ["red", "blue"], "label": [0, 1]})
        >>> [batch["label"].tolist() for batch in pipeline.huggingface(words).batch(2)]
        [[0, 1]]
    """
    library = needs("datasets", "huggingface")
    columns = names_of(columns, "huggingface")
    if isinstance(dataset, library.Dataset):
        return TableSource(_Rows(_selected(dataset, columns), defaults), Epochs(num_epochs, shuffle, seed, shard))
    if not isinstance(dataset, library.IterableDataset):
        splits = f": choose a split, such as dataset[{next(iter(dataset))!r}]" if isinstance(dataset, dict) else ""
        raise TypeError(f"huggingface: a {type(dataset).__name__} is not a Dataset or IterableDataset{splits}")
    if seed is not None:
        raise ValueError("huggingface: an IterableDataset takes its seed itself: dataset.shuffle(seed=...)")
    index, count = parse_shard(shard, dataset.num_shards, "shards")
    if count > 1:
        dataset = dataset.shard(num_shards=count, index=index)
    return PartsSource(_Stream(_selected(dataset, columns), defaults, shuffle), Epochs(num_epochs))


def _selected(dataset: Any, columns: Sequence[str] | None) -> Any:
    if columns is None:
        return dataset
    names = dataset.column_names
    missing = [name for name in columns if names is not None and name not in names]
    if missing or not columns:
        what = f"there is no column {missing[0]!r}" if missing else "no columns are chosen"
        raise invalid(f"huggingface: {what}; the columns are {', '.join(map(repr, names))}")
    return dataset.select_columns(columns)


class _Rows(Table):
    """A Dataset, by index."""

    kind = "huggingface"
    unit = "examples"

    def __init__(self, dataset: Any, defaults: Mapping[str, Any] | None) -> None:
        self._form = form_of(dataset, defaults)
        self._dataset, self.most, self.one_by_one = self._form.dataset, self._form.most, self._form.one_by_one
        self.ahead = not self.one_by_one
        self._by_number = None
        if self._form.of_tables:
            self._by_number = RowsByNumber(takeable(dataset.data.table), _places(dataset))

    def __len__(self) -> int:
        return len(self._dataset)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return self._form.block(self._piece(numbers))

    def loose(self, numbers: NDArray[np.int64]) -> Any:
        return self._form.block(self._piece(numbers), apart)

    def _piece(self, numbers: NDArray[np.int64]) -> Any:
        if self._by_number is not None:
            return self._form.piece(self._by_number.take(numbers))
        neighbours = RowSelection(numbers).neighbours
        return self._form.piece(self._dataset[numbers.tolist() if neighbours is None else neighbours])

    def data(self) -> list[Any]:
        return [self._dataset._fingerprint]  # identifies its rows and their transformations

    def facts(self) -> dict[str, Any]:
        sample = self._dataset.with_format("arrow")[sampled(len(self), _SAMPLED).tolist()]
        return {
            **self._form.facts(),
            "rows": len(self),
            "digest": digest_of(table_as(sample, schema_as_read(sample.schema), "huggingface")),
        }


def _places(dataset: Any) -> NDArray[np.int64] | None:
    """Return each row's index in the table of a shuffled or selected Dataset; None for other Datasets."""
    places = dataset._indices
    return None if places is None else places.column(0).to_numpy().astype(np.int64)


def _with_own_place(dataset: Any) -> Any:
    """Return an IterableDataset with its own epoch and position; copies by `copy.copy` share them."""
    other = object.__new__(type(dataset))
    vars(other).update(vars(dataset))
    if "_ex_iterable" in vars(other):
        other._ex_iterable = _own_steps(other._ex_iterable)
    return other


def _own_steps(step: Any) -> Any:
    """Copy a stream's steps: each stores its own position, and the steps it reads from."""
    other = copy.copy(step)
    if hasattr(step, "ex_iterable"):
        other.ex_iterable = _own_steps(step.ex_iterable)
    if hasattr(step, "ex_iterables"):
        other.ex_iterables = [_own_steps(each) for each in step.ex_iterables]
    return other


class _Stream(Parts):
    """An IterableDataset."""

    kind = "huggingface"
    unit = "datasets"
    names: Sequence[str] = ("",)
    of_files = False

    def __init__(self, dataset: Any, defaults: Mapping[str, Any] | None, shuffle: bool) -> None:
        self._form = form_of(dataset, defaults)
        self._dataset, self.most, self.one_by_one = self._form.dataset, self._form.most, self._form.one_by_one
        self._shuffle = shuffle

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield pieces; a place is the dataset's state before one, or nothing for the start."""
        dataset = _with_own_place(self._dataset)
        if self._shuffle:
            dataset.set_epoch(epoch + 1)  # 0 keeps the order
        if place:
            dataset.load_state_dict(copy.deepcopy(place))
        before = place or {}  # a dataset's state before its first example is no position
        for piece in dataset.iter(batch_size=min(_PIECE, self.most)):
            yield before, self._form.piece(piece)
            before = copy.deepcopy(dataset.state_dict())

    def block(self, piece: Any) -> Any:
        return self._form.block(piece)

    def loose(self, piece: Any) -> Any:
        return self._form.block(piece, apart)

    def facts(self) -> dict[str, Any]:
        return {**self._form.facts(), "shuffled": self._shuffle}
