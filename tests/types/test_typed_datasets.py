"""Datasets in typed programs: mypy and pyright, both strict, infer each transformation's result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import pipeline


class Item:
    def __init__(self, number: int) -> None:
        self.number = number


class Items:
    """As torch.utils.data.Dataset."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Item:
        return Item(index)


def numbers() -> Iterator[int]:
    yield from (1, 2, 3)


def total(items: list[int]) -> int:
    return sum(items)


def test_what_datasets_are_made_of() -> None:
    assert_type(pipeline.dataset([1, 2]), pipeline.Dataset[int])
    assert_type(pipeline.dataset(range(2)), pipeline.Dataset[int])
    assert_type(pipeline.dataset(numbers), pipeline.Dataset[int])
    assert_type(pipeline.dataset(Items()), pipeline.Dataset[Item])
    assert_type(pipeline.dataset(pipeline.dataset(["a"])), pipeline.Dataset[str])
    arrays: pipeline.Dataset[Any] = pipeline.dataset({"x": np.zeros(3)})
    assert len(arrays) == 3
    assert [item.number for item in pipeline.dataset(Items())] == [0, 1, 2]


def test_one_example_for_another() -> None:
    data = pipeline.dataset([1, 2, 3])
    texts = data.map(lambda number: f"{number:03d}", workers=2)
    assert_type(texts, pipeline.Dataset[str])
    assert list(texts.map(str.strip).filter(lambda text: text.endswith("2"))) == ["002"]
    assert_type(data.flat_map(lambda number: [number / 2] * number), pipeline.Dataset[float])
    assert_type(data.enumerate(), pipeline.Dataset[tuple[int, int]])
    assert_type(pipeline.dataset(Items()).map(lambda item: item.number), pipeline.Dataset[int])


def test_functions_that_do_not_fit_are_found() -> None:
    """Type checkers would report an unused `ignore` here; nothing is called."""
    data = pipeline.dataset([1, 2, 3])
    data.map(str.strip)  # type: ignore[arg-type]
    data.filter(str.isdigit)  # type: ignore[arg-type]
    data.batch(2, collate="".join)  # type: ignore[arg-type]


def test_which_examples() -> None:
    data = pipeline.dataset([1, 2, 3])
    chosen = data.shuffle(seed=1).repeat(2).take(5).skip(1).shard(0, 2).epoch(1).prefetch(1)
    assert_type(chosen, pipeline.Dataset[int])
    assert_type(data.sample([1, 1, 1], seed=1)[0], int)
    assert_type(data.concatenate(pipeline.dataset(["a"])), pipeline.Dataset[int | str])


def test_several_into_one() -> None:
    data = pipeline.dataset([1, 2, 3])
    assert_type(data.batch(2, collate=total), pipeline.Dataset[int])
    sums = data.batch(2, collate=lambda items: sum(items) / len(items))
    assert_type(sums, pipeline.Dataset[float])
    batch: NDArray[np.int64]
    for batch in data.batch(2, drop_remainder=True):
        assert batch.tolist() == [1, 2]
    row: dict[str, NDArray[Any]]
    for row in pipeline.dataset([[1, 2]]).pack(3):
        assert row["tokens"].tolist() == [1, 2, 0]


def test_several_datasets() -> None:
    data, texts = pipeline.dataset([1, 2]), pipeline.dataset(["a", "b"])
    assert_type(pipeline.zip(data, texts), pipeline.Dataset[tuple[int, str]])
    assert_type(pipeline.zip(data, texts, data), pipeline.Dataset[tuple[int, str, int]])
    assert list(pipeline.zip([data, texts])) == [(1, "a"), (2, "b")]
    assert_type(pipeline.mix([data, data], [1, 2], seed=1), pipeline.Dataset[int])
    assert_type(pipeline.interleave([data, data]), pipeline.Dataset[int])
    assert_type(pipeline.interleave(texts.map(lambda text: pipeline.dataset([text])), 2), pipeline.Dataset[str])


def test_iterators() -> None:
    data = pipeline.dataset([1, 2, 3]).prefetch(1)
    with iter(data) as iterator:
        assert_type(iterator, pipeline.DatasetIterator[int])
        assert_type(next(iterator), int)
        assert_type(iterator.next(timeout=5), int)
        state: dict[str, Any] = iterator.state_dict()
    with iter(data) as again:
        again.load_state_dict(state)
        rest: list[int] = list(again)
    assert rest == [3]

    async def run() -> list[int]:
        return [number async for number in data]

    assert asyncio.run(run()) == [1, 2, 3]
