"""Many threads enqueue small elements singly into full queues, or blocks into a deterministic one, and none is left.

Waiting threads may nap.
"""

import threading

import numpy as np
import pytest
from helpers import plain, start_blocked, waiting

from pipeline import FIFOQueue, RandomShuffleQueue
from pipeline.errors import CancelledError, DeadlineExceededError

CAPACITY, CROWD = 64, 12


@pytest.fixture
def full():
    queue = FIFOQueue(CAPACITY, np.int32, shapes=())
    queue.enqueue_many([list(range(CAPACITY))])
    return queue


@pytest.mark.parametrize("taken", [CROWD, 2 * CROWD, CAPACITY])
def test_all_that_are_served_return_though_nobody_calls_again(full, taken):
    calls = [start_blocked(full, "enqueue", 100 + k) for k in range(CROWD)]
    full.dequeue_many(taken)
    assert [call.result() for call in calls] == [None] * CROWD
    assert waiting(full) == (0, 0)
    full.close()
    assert plain(full.dequeue_up_to(999))[-CROWD:] == [100 + k for k in range(CROWD)]


def test_a_consumer_that_waits_gets_what_the_crowd_brings(full):
    calls = [start_blocked(full, "enqueue", 100 + k) for k in range(CROWD)]
    assert plain(full.dequeue_many(CAPACITY + CROWD)) == [*range(CAPACITY), *(100 + k for k in range(CROWD))]
    assert [call.result() for call in calls] == [None] * CROWD


def test_a_close_that_cancels_ends_only_the_enqueues_that_are_not_stored(full):
    calls = [start_blocked(full, "enqueue", 100 + k) for k in range(CROWD)]
    full.dequeue_many(CROWD // 2)
    full.close(cancel_pending_enqueues=True)
    for call in calls[: CROWD // 2]:
        assert call.result() is None
    for call in calls[CROWD // 2 :]:
        with pytest.raises(CancelledError):
            call.result()
    assert plain(full.dequeue_up_to(999))[-CROWD // 2 :] == [100 + k for k in range(CROWD // 2)]


def test_deadlines_of_a_crowd_end_its_waits(full):
    calls = [start_blocked(full, "enqueue", 100 + k, timeout=0.3) for k in range(CROWD)]
    for call in calls:
        with pytest.raises(DeadlineExceededError):
            call.result()
    assert (full.size(), waiting(full)) == (CAPACITY, (0, 0))


@pytest.mark.parametrize("crowd", [1, 2, CROWD])
@pytest.mark.parametrize("capacity", [CAPACITY, 2 * CAPACITY])
def test_every_row_of_a_crowd_arrives_once_and_in_the_order_of_its_thread(capacity, crowd):
    each, batch = 1_000, 50
    queue = FIFOQueue(capacity, np.int32, shapes=(2,))

    def put(thread):
        for k in range(each):
            queue.enqueue(np.array([thread, k], np.int32))

    threads = [threading.Thread(target=put, args=(k,)) for k in range(crowd)]
    for thread in threads:
        thread.start()
    rows = np.concatenate([queue.dequeue_many(batch) for _ in range(crowd * each // batch)])
    for thread in threads:
        thread.join()
    for k in range(crowd):
        assert rows[rows[:, 0] == k, 1].tolist() == list(range(each))
    assert queue.size() == 0


class TestBlocksInLockstep:
    KEPT, BLOCK = 40, 8

    @pytest.fixture
    def pool(self):
        queue = RandomShuffleQueue(100, self.KEPT, np.int32, shapes=(), seed=1, deterministic=True)
        queue.enqueue_many([list(range(100))])
        return queue

    def blocks(self, crowd):
        return [[list(range(100 + k * self.BLOCK, 100 + (k + 1) * self.BLOCK))] for k in range(crowd)]

    @pytest.mark.parametrize("crowd", [1, 3])
    @pytest.mark.parametrize("taken", [24, 60])
    def test_all_that_are_served_return_though_nobody_calls_again(self, pool, taken, crowd):
        calls = [start_blocked(pool, "enqueue_many", block) for block in self.blocks(crowd)]
        drawn = plain(pool.dequeue_many(taken))
        assert [call.result() for call in calls] == [None] * crowd
        assert waiting(pool) == (0, 0)
        pool.close()
        assert sorted(drawn + plain(pool.dequeue_up_to(999))) == list(range(100 + crowd * self.BLOCK))

    def test_a_block_that_is_partly_stored_waits_for_the_rest(self, pool):
        (block,) = self.blocks(1)
        call = start_blocked(pool, "enqueue_many", block)
        drawn = plain(pool.dequeue_many(self.BLOCK - 3))
        assert waiting(pool) == (1, 0)
        drawn += plain(pool.dequeue_many(3))
        assert call.result() is None
        pool.close()
        assert sorted(drawn + plain(pool.dequeue_up_to(999))) == list(range(100 + self.BLOCK))

    def test_a_consumer_that_waits_gets_what_they_bring(self, pool):
        def put():
            for k in range(20):
                pool.enqueue_many([list(range(100 + k * self.BLOCK, 100 + (k + 1) * self.BLOCK))])
            pool.close()

        thread = threading.Thread(target=put)
        thread.start()
        drawn = [number for _ in range(22) for number in plain(pool.dequeue_many(10))]
        drawn += plain(pool.dequeue_up_to(999))
        thread.join()
        assert sorted(drawn) == list(range(100 + 20 * self.BLOCK))

    def test_a_close_that_cancels_ends_only_what_is_not_stored(self, pool):
        first, second = (start_blocked(pool, "enqueue_many", block) for block in self.blocks(2))
        pool.dequeue_many(self.BLOCK)
        pool.close(cancel_pending_enqueues=True)
        assert first.result() is None
        with pytest.raises(CancelledError):
            second.result()
