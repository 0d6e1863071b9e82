"""`for element in queue`."""

import numpy as np
import pytest
from helpers import plain, run_in_thread, start_blocked, wait_blocked


@pytest.fixture
def queue(queues):
    return queues.FIFOQueue(3, np.int32, shapes=())


def test_it_waits_for_elements_and_ends_at_the_end(queue):
    consumer = run_in_thread(lambda: [plain(value) for value in queue])
    wait_blocked(queue, dequeues=1)
    queue.enqueue_many([list(range(10))])
    wait_blocked(queue, dequeues=1)
    queue.close()
    assert consumer.result() == list(range(10))


def test_several_share_the_elements(queue):
    consumers = [run_in_thread(lambda: [plain(value) for value in queue]) for _ in range(3)]
    queue.enqueue_many([list(range(100))])
    queue.close()
    assert sorted(value for consumer in consumers for value in consumer.result()) == list(range(100))


def test_leaving_early_takes_no_more(queue):
    queue.enqueue_many([[1, 2, 3]])
    for value in queue:
        assert value == 1
        break
    assert queue.size() == 2
    assert plain(next(iter(queue))) == 2


def test_elements_are_those_of_dequeue(queues):
    queue = queues.FIFOQueue(3, [np.int32, np.int32], names=["a", "b"])
    queue.enqueue({"a": 1, "b": 2})
    queue.close()
    assert plain(list(queue)) == [{"a": 1, "b": 2}]


def test_producers_that_wait_are_released(queue):
    producer = start_blocked(queue, "enqueue_many", [list(range(20))])
    close = start_blocked(queue, "close")
    assert plain(list(queue)) == list(range(20))
    assert (producer.result(), close.result()) == (None, None)
