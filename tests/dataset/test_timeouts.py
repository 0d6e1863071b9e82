"""next(timeout=): what was done when the time is up is not lost, wherever in a chain that was."""

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


class Slow:
    """Items of which every few come after the time is up, as far as the clock of the iterator goes."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        self.calls = 0
        monkeypatch.setattr("pipeline.flow.run.time.monotonic", lambda: self.now)

    def __call__(self, item):
        self.calls += 1
        if self.calls % 3 == 0:
            self.now += 10.0
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
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("resumed", [False, True])
def test_nothing_is_lost_when_the_time_is_up(chain, resumed, monkeypatch):
    expected = [chains.plain(each) for each in chain(pipeline.dataset(range(ITEMS)).map(int))]
    slow = Slow(monkeypatch)
    data = chain(pipeline.dataset(range(ITEMS)).map(slow))
    iterator, got, late = iter(data), [], 0
    if resumed:
        got = [chains.plain(next(iterator)) for _ in range(3)]
        again = iter(data)
        again.load_state_dict(iterator.state_dict())
        iterator = again
    for _ in itertools.repeat(None, 100 * ITEMS):
        try:
            got.append(chains.plain(iterator.next(timeout=1)))
        except DeadlineExceededError:
            late += 1
        except StopIteration:
            break
    assert got == expected
    assert late or chain not in [CHAINS[name] for name in ("batch", "pool", "bucket", "pack")]


BEHIND = {
    "unbatch": lambda data: data.batch(7).unbatch(),
    "window": lambda data: data.batch(7, drop_remainder=True).window(3, 1),
    "zip": lambda data: pipeline.zip(data.batch(7), data.batch(3)),
    "pool": lambda data: data.batch(7).shuffle(3, seed=1),
    "filter": lambda data: data.batch(7).filter(lambda batch: batch[0] % 2),
    "flat_map": lambda data: data.batch(7).flat_map(list),
    "pack": lambda data: data.batch(7).pack(9),
    "map in workers": lambda data: data.batch(7).map(lambda batch: batch, workers=2),
}


@pytest.mark.parametrize("source", ["map", "generator"])
@pytest.mark.parametrize("chain", (CHAINS | BEHIND).values(), ids=CHAINS | BEHIND)
def test_states_after_timeouts_are_exact(chain, source, monkeypatch):
    expected = [chains.plain(each) for each in chain(pipeline.dataset(range(ITEMS)).map(int))]
    slow = Slow(monkeypatch)

    def generator():
        yield from map(slow, range(ITEMS))

    data = chain(pipeline.dataset(range(ITEMS)).map(slow) if source == "map" else pipeline.dataset(generator))
    with iter(data) as iterator:
        states = [iterator.state_dict()]
        for _ in itertools.repeat(None, 100 * ITEMS):
            try:
                iterator.next(timeout=1)
            except DeadlineExceededError:
                continue
            except StopIteration:
                break
            states.append(iterator.state_dict())
    assert len(states) == len(expected) + 1
    for k, state in enumerate(states):
        with iter(data) as again:
            again.load_state_dict(state)
            assert [chains.plain(each) for each in again] == expected[k:]


class Stateful:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.items)

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


SOURCES = {
    "generator": None,
    "iterator": lambda items: items,
    "stateful": Stateful,
    "function": lambda items: lambda: next(items),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_a_source_that_gives_one_after_the_other_is_asked_no_more_when_the_time_is_up(kind, monkeypatch):
    now, asked = 0.0, []
    monkeypatch.setattr("pipeline.flow.run.time.monotonic", lambda: now)

    def items():
        nonlocal now
        for i in range(100):
            now += 1.0
            asked.append(i)
            yield i

    given = items if kind == "generator" else SOURCES[kind](items())
    iterator = iter(pipeline.dataset(given).batch(40))
    for after in (3, 6, 9):
        with pytest.raises(DeadlineExceededError, match="nothing was lost"):
            iterator.next(timeout=2.5)
        assert len(asked) == after
    assert [batch.tolist() for batch in iterator] == [list(range(40)), list(range(40, 80)), list(range(80, 100))]


class Blocking:
    """Item 3 comes when it is let go, at the latest after a minute, in which no test may end well."""

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
    "map in workers": lambda blocking: pipeline.dataset(range(6)).map(blocking, workers=2),
    "sequence": lambda blocking: pipeline.dataset(blocking).prefetch(1),
    "iterable": lambda blocking: pipeline.dataset(iter(blocking)).prefetch(1),
    "batch": lambda blocking: pipeline.dataset(blocking).batch(2).prefetch(1).unbatch(),
}


@pytest.mark.parametrize("chain", HELD.values(), ids=HELD)
def test_a_call_that_takes_long_in_a_thread_holds_up_no_timeout(chain):
    """The call is still under way when `next` gives up, and its result comes with a later one."""
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
def test_states_count_what_was_left_out_after_what_came_before_it(chain, workers, monkeypatch):
    """A position counted an error when the example before it was yet to come: a resume lost that."""
    slow = Slow(monkeypatch)
    data = chain(
        pipeline.dataset(range(ITEMS)).map(lambda item: slow(fails_at_some(item)), on_error="skip", workers=workers)
    )
    expected = [chains.plain(each) for each in data]
    iterator, got, late = iter(data), [], 0
    while len(got) < len(expected):
        try:
            got.append(chains.plain(iterator.next(timeout=1)))
        except DeadlineExceededError:
            late += 1
            continue
        with iter(data) as again:
            again.load_state_dict(iterator.state_dict())
            assert [chains.plain(each) for each in itertools.islice(again, 1)] == expected[len(got) :][:1]
    assert late
    assert got == expected


@pytest.mark.parametrize("workers", [None, "auto"])
@pytest.mark.parametrize("kind", ["filter", "flat_map"])
def test_the_time_is_up_on_the_way_to_a_state(kind, workers, monkeypatch):
    slow = Slow(monkeypatch)
    data = pipeline.dataset(range(ITEMS))
    if kind == "filter":
        data = data.filter(lambda item: slow(item) % 5 > 0, workers=workers)
    else:
        data = data.flat_map(lambda item: [slow(item)] * 2, workers=workers)
    expected = list(data)
    with iter(data) as iterator:
        first = list(itertools.islice(iterator, 15))
        state = iterator.state_dict()
    late = 0
    with iter(data) as iterator:
        iterator.load_state_dict(state)
        while len(first) < len(expected):
            try:
                first.append(iterator.next(timeout=1))
            except DeadlineExceededError:
                late += 1
    assert late
    assert first == expected


@pytest.mark.parametrize(("size", "workers"), [(1, None), (2, None), (2, "auto")])
def test_asking_again_and_again_without_time(size, workers):
    data = pipeline.dataset(range(2)).flat_map(lambda item: range(10), workers=workers)
    with iter(data.batch(size) if size > 1 else data) as iterator:
        found = [chains.plain(next(iterator))]
        for _ in range(2 * sys.getrecursionlimit()):
            with pytest.raises(DeadlineExceededError):
                iterator.next(timeout=0)
        found += [chains.plain(each) for each in iterator]
    assert np.ravel(found).tolist() == [*range(10)] * 2


def test_many_of_a_batch_in_time():
    """It looked whether there were more, each time one generator deeper."""
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
def test_a_time_of_their_own_that_is_up_is_an_error(chain, where):
    """As that of an iterator within a function. It was taken for the time of `next`, and the data ended there."""

    def late(item):
        if item == 26:
            raise DeadlineExceededError(None, None, "no answer")
        return item

    def numbers():
        yield from map(late, range(40)) if where == "source" else range(40)

    data = pipeline.dataset(numbers)
    data = chain(data if where == "source" else data.map(late))
    for timeout in (None, 60):
        with iter(data) as iterator:
            with pytest.raises(DeadlineExceededError, match="no answer"):
                exhaust(iterator, timeout)
            assert next(iterator, None) is None
