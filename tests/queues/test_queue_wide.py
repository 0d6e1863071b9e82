"""Queues with more components than the C stack describes.

Private names: `_convert`, which is slow and must not be called, and `_enqueue_given`, by which loops enqueue.
"""

import numpy as np
import pytest

import pipeline
from pipeline.queues.rows import Rows

WIDTH = 40


def wide(kind=pipeline.FIFOQueue, **options):
    return kind(100, dtypes=["float32", "int64"] * (WIDTH // 2), shapes=[()] * WIDTH, **options)


def block(rows):
    return tuple((np.arange(rows) + 1000 * i).astype(["float32", "int64"][i % 2]) for i in range(WIDTH))


def in_vain(vals, many):
    raise AssertionError("what fits as it is need not be converted")


def test_blocks_that_fit_go_in_as_they_are(monkeypatch):
    queue = wide()
    monkeypatch.setattr(queue, "_convert", in_vain, raising=False)
    queue.enqueue_many(block(10))
    for found, expected in zip(queue.dequeue_many(10), block(10), strict=True):
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)


def test_chosen_rows_go_in_as_they_are(monkeypatch):
    queue, numbers = wide(), np.array([7, 2, 2, 9])
    monkeypatch.setattr(queue, "_convert", in_vain, raising=False)
    queue.enqueue_many(tuple(Rows(each, numbers) for each in block(10)))
    assert all(
        np.array_equal(found, each[numbers]) for found, each in zip(queue.dequeue_many(4), block(10), strict=True)
    )


@pytest.mark.parametrize("enqueue", ["enqueue", "_enqueue_given"])
def test_single_elements_that_fit_go_in_as_they_are(monkeypatch, enqueue):
    queue = wide()
    monkeypatch.setattr(queue, "_convert", in_vain, raising=False)
    for row in zip(*block(3), strict=True):
        getattr(queue, enqueue)(row)
    assert [queue.dequeue() for _ in range(3)] == [list(row) for row in zip(*block(3), strict=True)]


def test_what_does_not_fit_is_converted_or_refused():
    queue = wide()
    queue.enqueue_many([each.tolist() for each in block(3)])
    queue.enqueue(tuple(range(WIDTH)))
    found = queue.dequeue_many(4)
    assert [each.tolist() for each in found] == [[*each.tolist(), i] for i, each in enumerate(block(3))]
    *most, last = block(3)
    with pytest.raises(pipeline.errors.InvalidArgumentError, match="component 39"):
        queue.enqueue_many((*most, last[:2]))
    with pytest.raises(TypeError, match="expected int64"):
        queue.enqueue((*range(WIDTH - 1), "x"))
    assert queue.size() == 0


def test_names_and_shuffling():
    names = [f"c{i}" for i in range(WIDTH)]
    queue = pipeline.RandomShuffleQueue(
        100, 0, ["float32", "int64"] * (WIDTH // 2), shapes=[()] * WIDTH, names=names, seed=1
    )
    queue.enqueue_many(dict(zip(names, block(50), strict=True)))
    found = queue.dequeue_many(50)
    order = np.argsort(found["c0"])
    assert order.tolist() != list(range(50))
    assert all(np.array_equal(found[name][order], each) for name, each in zip(names, block(50), strict=True))
