"""Shuffling and padding together: draws as in RandomShuffleQueue, batches as in PaddingFIFOQueue."""

import numpy as np
import pytest

from pipeline import InvalidArgumentError, PaddingShuffleQueue, RandomShuffleQueue


def filled(seed, rows, min_after_dequeue=0):
    queue = PaddingShuffleQueue(100, min_after_dequeue, ["int64", "string"], [[None], []], seed=seed)
    for k in range(rows):
        queue.enqueue((np.full(k % 5, k), str(k)))
    return queue


def test_the_draws_are_those_of_a_shuffle_queue():
    plain = RandomShuffleQueue(100, 0, "int64", shapes=(), seed=3)
    plain.enqueue_many([range(20)])
    padded = filled(3, 20)
    assert [int(text) for text in padded.dequeue_many(20)[1]] == plain.dequeue_many(20).tolist()


def test_batches_are_padded_to_their_longest():
    queue = filled(1, 20)
    while queue.size():
        rows, texts = queue.dequeue_many(4)
        numbers = [int(text) for text in texts]
        assert rows.shape == (4, max(k % 5 for k in numbers))
        for row, k in zip(rows, numbers, strict=True):
            assert row.tolist() == [k] * (k % 5) + [0] * (rows.shape[1] - k % 5)


def test_the_minimum_stays_until_the_queue_is_closed():
    queue = filled(1, 12, min_after_dequeue=8)
    queue.dequeue_many(4)
    with pytest.raises(TimeoutError):
        queue.dequeue(timeout=0)
    queue.close()
    assert len(queue.dequeue_up_to(100)[1]) == 8


@pytest.mark.parametrize(("capacity", "min_after_dequeue"), [(3, 3), (3, -1), (0, 0)])
def test_limits(capacity, min_after_dequeue):
    with pytest.raises(InvalidArgumentError, match="min_after_dequeue"):
        PaddingShuffleQueue(capacity, min_after_dequeue, "int64", [[None]])
