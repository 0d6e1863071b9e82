"""Many producers and consumers, timeouts and closes: every element comes out once, or is still in the queue."""

import random
import sys

import numpy as np
import pytest
from helpers import plain, run_in_thread

from pipeline.errors import CancelledError, DeadlineExceededError, OutOfRangeError

PRODUCERS, CONSUMERS, CALLS = 4, 3, 60
KINDS = ["FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue"]


def build(queues, kind, capacity):
    if kind == "RandomShuffleQueue":
        return queues.RandomShuffleQueue(capacity, capacity // 3, [np.int64, "string"], shapes=[(), ()])
    if kind == "PaddingFIFOQueue":
        return queues.PaddingFIFOQueue(capacity, [np.int64, "string"], [(), (None,)])
    if kind == "PriorityQueue":
        return queues.PriorityQueue(capacity, "string", shapes=())
    return queues.FIFOQueue(capacity, [np.int64, "string"], shapes=[(), ()])


def tags(kind, values):
    """The second component repeats the number, so that mixed-up elements are detected."""
    words = [b"%d" % value for value in values]
    return [[word] for word in words] if kind == "PaddingFIFOQueue" else words


class Producer:
    """Enqueues blocks of numbers and records those certainly stored, and the blocks stored only in part."""

    def __init__(self, queue, kind, number, patience, calls=CALLS):
        self.queue, self.kind, self.patience, self.calls = queue, kind, patience, calls
        self.random = random.Random(number)
        self.next = number * 10**6
        self.stored, self.partly = [], []

    def run(self):
        for _ in range(self.calls):
            block = list(range(self.next, self.next + self.random.choice([1, 1, 1, 2, 7, 25])))
            self.next = block[-1] + 1
            timeout = self.random.choice(self.patience)
            try:
                if len(block) == 1:
                    self.queue.enqueue((block[0], tags(self.kind, block)[0]), timeout=timeout)
                else:
                    self.queue.enqueue_many((block, tags(self.kind, block)), timeout=timeout)
                self.stored.append(block)
            except DeadlineExceededError:
                self.partly.append(block)
            except CancelledError:
                self.partly.append(block)
                return


class Consumer:
    """Dequeues until the end and keeps the results."""

    def __init__(self, queue, kind, number, patience):
        self.queue, self.kind, self.patience = queue, kind, patience
        self.random = random.Random(1000 + number)
        self.out = []

    def run(self):
        while True:
            timeout, n = self.random.choice(self.patience), self.random.choice([1, 2, 5, 12])
            method = self.random.choice(["dequeue", "dequeue_many", "dequeue_up_to"])
            if self.kind == "PriorityQueue":
                n = min(n, self.queue.stats().capacity)  # more never arrive together
            try:
                if method == "dequeue":
                    value, tag = self.queue.dequeue(timeout=timeout)
                    self.take([int(value)], [tag])
                else:
                    values, words = getattr(self.queue, method)(n, timeout=timeout)
                    self.take(plain(values), plain(words))
            except DeadlineExceededError:
                continue
            except OutOfRangeError:
                if method != "dequeue_many":
                    return

    def take(self, values, words):
        assert [np.ravel(word).tolist() for word in words] == [[b"%d" % value] for value in values]
        self.out += values


def drain(queue):
    while True:
        try:
            yield int(queue.dequeue()[0])
        except OutOfRangeError:
            return


def check(kind, producers, consumers, rest):
    out = [value for consumer in consumers for value in consumer.out]
    found = set(out) | set(rest)
    assert len(found) == len(out) + len(rest), "an element came out twice"
    for producer in producers:
        for block in producer.stored:
            assert found.issuperset(block), "a stored element was lost"
        for block in producer.partly:
            stored = [value for value in block if value in found]
            assert stored == block[: len(stored)], "rows of a call that gave up are not its first ones"
            assert len(block) > 1 or not stored, "an element whose enqueue failed is in the queue"
    blocks = [block for producer in producers for block in producer.stored + producer.partly]
    assert found <= {value for block in blocks for value in block}
    if kind in ("FIFOQueue", "PaddingFIFOQueue"):
        for consumer in consumers:
            by_producer = {}
            for value in consumer.out:
                by_producer.setdefault(value // 10**6, []).append(value)
            assert all(values == sorted(values) for values in by_producer.values())


def outlive(calls):
    for call in calls:
        call.result()


@pytest.mark.parametrize("capacity", [1, 7, 100])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_when_producers_end(queues, kind, capacity):
    queue = build(queues, kind, capacity)
    producers = [Producer(queue, kind, i, [None]) for i in range(PRODUCERS)]
    consumers = [Consumer(queue, kind, i, [None]) for i in range(CONSUMERS)]
    running = [run_in_thread(each.run) for each in producers]
    reading = [run_in_thread(each.run) for each in consumers]
    outlive(running)
    queue.close()
    outlive(reading)
    assert queue.size() == 0
    assert not any(producer.partly for producer in producers)
    check(kind, producers, consumers, [])


@pytest.mark.parametrize("capacity", [2, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_to_timeouts(queues, kind, capacity):
    queue = build(queues, kind, capacity)
    patience = [0, 0.0001, 0.001, 0.003]
    producers = [Producer(queue, kind, i, patience) for i in range(PRODUCERS)]
    consumers = [Consumer(queue, kind, i, patience) for i in range(CONSUMERS)]
    running = [run_in_thread(each.run) for each in producers]
    reading = [run_in_thread(each.run) for each in consumers]
    outlive(running)
    queue.close()
    outlive(reading)
    check(kind, producers, consumers, list(drain(queue)))


@pytest.mark.parametrize("cancel", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_to_a_close_amid_the_work(queues, kind, cancel):
    queue = build(queues, kind, 5)
    # Until the close: if they ended by themselves, a slow main thread would wait forever for its 100 elements.
    producers = [Producer(queue, kind, i, [None, None, 0.001], sys.maxsize) for i in range(PRODUCERS)]
    consumers = [Consumer(queue, kind, i, [None, 0.001]) for i in range(CONSUMERS)]
    running = [run_in_thread(each.run) for each in producers]
    reading = [run_in_thread(each.run) for each in consumers[1:]]
    consumer = consumers[0]
    for _ in range(100):
        value, tag = queue.dequeue()
        consumer.take([int(value)], [tag])
    queue.close(cancel)
    outlive(running + reading)
    assert queue.is_closed()
    check(kind, producers, consumers, list(drain(queue)))
