"""next(timeout=): elements a thread has yet to prepare at the timeout are not lost, anywhere in a chain."""

import functools
import itertools
import sys
import threading

import chains
import numpy as np
import pytest

import pipeline
from pipeline.errors import DeadlineExceededError

ITEMS = 60


class Gate:
    """A function that holds items; `open` lets the next one through."""

    def __init__(self):
        self._tickets = threading.Semaphore(0)

    def open(self, count=1):
        self._tickets.release(count)

    def __call__(self, item):
        assert self._tickets.acquire(timeout=60)
        return item


CHAINS = {
    "map": lambda data: data,
    "batch": lambda data: data.batch(7),
    "pool": lambda data: data.shuffle(10, seed=1).batch(4),
    "skip": lambda data: data.filter(lambda x: x % 5).skip(13),
    "concatenate": lambda data: data.concatenate(data.take(9)).filter(lambda x: x % 5).skip(50),
    "shard": lambda data: data.filter(lambda x: x % 5).shard(1, 3, drop_remainder=True).batch(3),
    "zip": lambda data: pipeline.zip(data.filter(lambda x: x % 5), data.shard(0, 2)).skip(3),
    "window": lambda data: data.window(3, 8),
    "bucket": lambda data: data.map(lambda x: [x] * (x % 4 + 1)).bucket([2, 3], [2, 3, 2]),
    "pack": lambda data: data.map(lambda x: [x] * (x % 4 + 1)).pack(6),
    "sort": lambda data: data.sort(6, lambda x: -x).batch(4),
    "unbatch": lambda data: data.batch(7).unbatch(),
    "windows of batches": lambda data: data.batch(7, drop_remainder=True).window(3, 1),
    "pool of batches": lambda data: data.batch(7).shuffle(3, seed=1),
    "flat_map": lambda data: data.batch(7).flat_map(list),
    "map in workers": lambda data: data.batch(7).map(lambda batch: batch, workers=2),
}


@pytest.mark.parametrize("source", ["map", "generator"])
@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_nothing_is_lost_when_the_time_is_up_and_states_are_exact(chain, source):
    expected = [chains.plain(each) for each in chain(pipeline.dataset(range(ITEMS)).map(int))]
    gate = Gate()

    def generator():
        yield from map(gate, range(ITEMS))

    given = pipeline.dataset(range(ITEMS)).map(gate) if source == "map" else pipeline.dataset(generator)
    data = chain(given).prefetch(1)
    with iter(data) as iterator:
        states, got, late = [iterator.state_dict()], [], 0
        with pytest.raises(DeadlineExceededError, match="no element within the timeout; nothing was lost"):
            iterator.next(timeout=0)
        while len(got) < len(expected):
            try:
                got.append(chains.plain(iterator.next(timeout=0)))
                states.append(iterator.state_dict())
            except DeadlineExceededError:
                late += 1
                gate.open()
        gate.open(1000)  # after the last one
        assert next(iterator, None) is None
    assert late
    assert got == expected
    for k, state in enumerate(states):
        gate.open(1000)
        with iter(data) as again:
            again.load_state_dict(state)
            assert [chains.plain(each) for each in again] == expected[k:]


UNTIMED = {
    "list": lambda data: data,
    "batch": lambda data: data.batch(2),
    "workers": lambda data: data.map(int, workers=2),
    "before the end": lambda data: data.prefetch(2).batch(2),
    "prefetch(0)": lambda data: data.prefetch(0),
}


@pytest.mark.parametrize("chain", UNTIMED.values(), ids=UNTIMED)
@pytest.mark.parametrize("timeout", [0, 60])
def test_without_a_thread_it_is_an_error_that_loses_nothing(chain, timeout):
    expected = [chains.plain(each) for each in chain(pipeline.dataset(range(6)))]
    iterator, found = iter(chain(pipeline.dataset(range(6)))), []
    while len(found) < len(expected):
        with pytest.raises(pipeline.FailedPreconditionError, match=r"your own thread: add \.prefetch\(1\) at its end"):
            iterator.next(timeout=timeout)
        found.append(chains.plain(next(iterator)))
    assert found == expected
    assert next(iterator, None) is None


TIMED = {
    "prefetch": lambda data: data.prefetch(1),
    "checksum": lambda data: data.prefetch(1).checksum(),
    "in time": lambda data: data.batch(1, max_wait=0.001, collate=lambda each: each[0]),
}


@pytest.mark.parametrize("chain", TIMED.values(), ids=TIMED)
def test_ends_that_can_be_waited_for(chain):
    gate = Gate()
    with iter(chain(pipeline.dataset(range(6)).map(gate))) as iterator:
        with pytest.raises(DeadlineExceededError):
            iterator.next(timeout=0)
        gate.open(6)
        assert [iterator.next(timeout=60) for _ in range(6)] == list(range(6))
        with pytest.raises(StopIteration):
            iterator.next(timeout=60)


class Blocking:
    """Item 3 comes when released, at the latest after a minute, by which time no test can pass."""

    def __init__(self):
        self.go = threading.Event()
        self.let_go = False

    def __call__(self, item):
        if item == 3:
            self.let_go = self.go.wait(60)
        return item

    def __iter__(self):
        return map(self, range(6))

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return self(i)


HELD = {
    "map": lambda blocking: pipeline.dataset(range(6)).map(blocking).prefetch(1),
    "map in workers": lambda blocking: pipeline.dataset(range(6)).map(blocking, workers=2).prefetch(1),
    "sequence": lambda blocking: pipeline.dataset(blocking).prefetch(1),
    "iterable": lambda blocking: pipeline.dataset(iter(blocking)).prefetch(1),
    "batch": lambda blocking: pipeline.dataset(blocking).batch(2).unbatch().prefetch(1),
}


@pytest.mark.parametrize("chain", HELD.values(), ids=HELD)
def test_a_call_that_takes_long_in_a_thread_holds_up_no_timeout(chain):
    """The call is still running when `next` gives up, and a later one returns its result."""
    blocking = Blocking()
    with iter(chain(blocking)) as iterator:
        in_time = functools.partial(iterator.next, timeout=0.5)
        got = []
        with pytest.raises(DeadlineExceededError, match="nothing was lost"):
            got.extend(iter(in_time, None))
        assert not blocking.let_go
        blocking.go.set()
        assert [*got, *iterator] == list(range(6))
    assert blocking.let_go


def fails_at_some(item):
    if item % 5 == 1:
        raise ValueError(item)
    return item


SKIPPING = {
    "unbatch": lambda data: data.batch(7).unbatch(),
    "window": lambda data: data.window(6, 2),
}


@pytest.mark.parametrize("workers", [None, "auto"])
@pytest.mark.parametrize("chain", SKIPPING.values(), ids=SKIPPING)
def test_states_count_what_was_left_out_after_what_came_before_it(chain, workers):
    gate = Gate()
    data = chain(
        pipeline.dataset(range(ITEMS)).map(lambda item: gate(fails_at_some(item)), on_error="skip", workers=workers)
    ).prefetch(1)
    gate.open(1000)
    expected = [chains.plain(each) for each in data]
    with iter(data) as iterator:
        for k in range(len(expected)):
            assert chains.plain(iterator.next(timeout=60)) == expected[k]
            gate.open(ITEMS)
            with iter(data) as again:
                again.load_state_dict(iterator.state_dict())
                assert [chains.plain(each) for each in itertools.islice(again, 1)] == expected[k + 1 :][:1]


@pytest.mark.parametrize(("size", "workers"), [(1, None), (2, None), (2, "auto")])
def test_asking_again_and_again_without_time(size, workers):
    gate = Gate()
    data = pipeline.dataset(range(2)).flat_map(lambda item: range(gate(10)), workers=workers)
    with iter((data.batch(size) if size > 1 else data).prefetch(1)) as iterator:
        for _ in range(2 * sys.getrecursionlimit()):
            with pytest.raises(DeadlineExceededError):
                iterator.next(timeout=0)
        gate.open(2)
        assert np.ravel([chains.plain(each) for each in iterator]).tolist() == [*range(10)] * 2


def test_many_of_a_batch_in_time():
    data = pipeline.dataset(range(2)).prefetch(1).batch(1, max_wait=1.0)
    count = 2 * sys.getrecursionlimit()
    assert list(data.flat_map(lambda batch: range(count))) == [*range(count)] * 2


OWN = {
    "batch": lambda data: data.batch(4),
    "pool": lambda data: data.shuffle(5, seed=1).batch(4),
    "pool, prefetch": lambda data: data.shuffle(5, seed=1).batch(4).prefetch(2),
    "pool behind workers": lambda data: data.map(int, workers=2).shuffle(5, seed=1).batch(4),
    "in time": lambda data: data.prefetch(2).batch(4, max_wait=1e-6),
    "in time, behind workers": lambda data: data.prefetch(2).map(int, workers=2).batch(4, max_wait=1e-6),
    "mix": lambda data: pipeline.mix([data, data], [0.5, 0.5], seed=1).batch(4),
}


def exhaust(iterator, timeout):
    while True:
        iterator.next(timeout=timeout)


@pytest.mark.parametrize("chain", OWN.values(), ids=OWN)
@pytest.mark.parametrize("where", ["source", "function"])
@pytest.mark.parametrize("timeout", [None, 60])
def test_a_time_of_their_own_that_is_up_is_an_error(chain, where, timeout):
    """Such as from an iterator within a function."""

    def late(item):
        if item == 26:
            raise DeadlineExceededError(None, None, "no answer")
        return item

    def numbers():
        yield from map(late, range(40)) if where == "source" else range(40)

    data = pipeline.dataset(numbers)
    data = chain(data if where == "source" else data.map(late))
    with iter(data if timeout is None else data.prefetch(1)) as iterator:
        with pytest.raises(DeadlineExceededError, match="no answer"):
            exhaust(iterator, timeout)
        assert next(iterator, None) is None
