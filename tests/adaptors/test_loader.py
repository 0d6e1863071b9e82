"""What the adaptors share: epochs, batches that are converted ahead, states, shares; and structures."""

import dataclasses
import itertools
import json
import logging
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

import pipeline
from pipeline.adaptors.loader import Loader
from pipeline.adaptors.structure import mapping
from pipeline.errors import FailedPreconditionError, InvalidArgumentError, StateMismatchError


class Lists(Loader):
    """Its batches are lists."""

    def __init__(self, data, ahead=0, shard=(0, 1)):
        super().__init__(data, ahead)
        self.shard = shard

    def _shard(self):
        return self.shard

    def _conversion(self, batch):
        return lambda each: each.tolist()


def joined(lists):
    return list(itertools.chain.from_iterable(lists))


def shuffled(rows=20, **options):
    source = pipeline.arrays(np.arange(rows), shuffle=True, seed=1)
    return pipeline.batch(source, 4, deterministic=True, **options)


aheads = pytest.mark.parametrize("ahead", [0, 1, 3, 64])


@aheads
def test_each_iter_is_an_epoch_in_another_order(ahead):
    with Lists(shuffled(), ahead) as loader:
        epochs = [list(loader) for _ in range(3)]
        assert len(loader) == 5
    for epoch in epochs:
        assert sorted(joined(epoch)) == list(range(20))
    assert len({str(epoch) for epoch in epochs}) == 3
    loop = shuffled()
    assert epochs == [[batch.tolist() for batch in loop] for _ in range(3)]


@aheads
def test_an_epoch_that_was_left_is_not_gone_on_with(ahead):
    with Lists(shuffled(), ahead) as loader:
        left = iter(loader)
        next(left), next(left)
        second = list(loader)
        with pytest.raises(FailedPreconditionError, match="another iter\\(\\) has begun an epoch since this one"):
            next(left)
        whole = iter(loader)
        third = list(whole)
        iter(loader)
        assert list(whole) == []  # it has seen its end
    whole = shuffled()
    rounds = [[batch.tolist() for batch in whole] for _ in range(3)]
    assert [second, third] == rounds[1:]


def test_what_cannot_be_read_again_is_read_on(caplog):
    loader = Lists(pipeline.batch(iter(range(12)), 4))
    assert next(iter(loader)) == [0, 1, 2, 3]
    assert list(loader) == [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert not caplog.records
    assert list(loader) == []
    assert "cannot be read again" in caplog.text


def test_the_next_epoch_may_begin_in_another_thread():
    loader, seen = Lists(shuffled()), []
    list(loader)
    thread = threading.Thread(target=lambda: seen.extend(loader))
    thread.start()
    thread.join()
    assert sorted(joined(seen)) == list(range(20))


@aheads
def test_an_error_comes_after_the_batches_before_it(ahead):
    def numbers():
        yield from range(9)
        raise OSError("the disk is gone")

    with Lists(pipeline.batch(numbers, 4), ahead) as loader:
        batches = iter(loader)
        assert [next(batches), next(batches)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        with pytest.raises(OSError, match="the disk is gone"):
            next(batches)
        assert [next(batches, None) for _ in range(3)] == [None] * 3  # once; the epoch has ended
        again = iter(loader)
        assert next(again) == [0, 1, 2, 3]
        with pytest.raises(OSError, match="the disk is gone"):
            list(again)


def test_a_closed_loader_is_at_its_end():
    loader = Lists(shuffled(), 2)
    batches = iter(loader)
    next(batches)
    loader.close()
    loader.close()
    assert list(batches) == list(loader) == []


def test_no_threads_stay_behind():
    before = threading.active_count()
    with Lists(shuffled(num_threads=3), 1) as loader:
        for _ in range(5):
            next(iter(loader))
    assert threading.active_count() == before


@aheads
@pytest.mark.parametrize("taken", [0, 1, 3, 5])
def test_a_state_is_that_after_the_last_batch_that_was_asked_for(ahead, taken):
    loader = Lists(shuffled(), ahead)
    list(loader)
    batches = iter(loader)
    for _ in range(taken):
        next(batches)
    state = json.loads(json.dumps(loader.state_dict()))
    other = Lists(shuffled(), ahead)
    other.load_state_dict(state)
    assert list(other) == list(batches)
    assert list(other) == list(loader)


@aheads
def test_after_a_state_from_between_two_epochs_the_next_one_begins(ahead):
    loader = Lists(shuffled(), ahead)
    list(loader)
    state = loader.state_dict()
    other = Lists(shuffled(), ahead)
    other.load_state_dict(state)
    assert other.state_dict() == state
    rest = [list(other), list(other)]
    assert [len(each) for each in rest] == [5, 5]
    assert rest == [list(loader), list(loader)]


def test_a_state_can_be_loaded_again_and_in_the_middle():
    loader = Lists(shuffled(), 1)
    batches = iter(loader)
    next(batches)
    state, rest = loader.state_dict(), list(batches)
    for _ in range(2):
        loader.load_state_dict(state)
        assert list(loader) == rest


def test_a_loop_in_free_order_begins_the_epoch_of_its_state_again(caplog):
    def loader():
        return Lists(pipeline.batch(pipeline.arrays(np.arange(20), shuffle=True, seed=1), 4))

    one = loader()
    list(one)
    second = iter(one)
    first = next(second)
    with caplog.at_level(logging.WARNING, "pipeline.batches"):
        state = one.state_dict()
        one.state_dict()
    assert caplog.text.count("pass deterministic=True") == 1
    other = loader()
    other.load_state_dict(state)
    assert list(other) == [first, *second]
    third = list(one)
    after = one.state_dict()
    other.load_state_dict(after)
    assert list(other) == list(one) != third


def test_states_that_do_not_fit():
    loader = Lists(shuffled())
    for state in ({}, {"loop": ""}, None, loader.loop.state_dict()):
        with pytest.raises(InvalidArgumentError, match="no state of a loader"):
            loader.load_state_dict(state)
    state = loader.state_dict()
    smaller = Lists(pipeline.batch(pipeline.arrays(np.arange(20), shuffle=True, seed=1), 2, deterministic=True))
    with pytest.raises(StateMismatchError, match="batch_size"):
        smaller.load_state_dict(state)
    smaller.load_state_dict(state, allow={"batch_size"})
    assert len(list(smaller)) == 10


def test_an_iterator_has_no_state():
    loader = Lists(pipeline.batch(iter(range(8)), 4, deterministic=True))
    next(iter(loader))
    with pytest.raises(FailedPreconditionError, match="iterator"):
        loader.state_dict()


def test_arguments():
    with pytest.raises(TypeError, match=r"Lists takes batches: .* not the examples .* add \.batch\(batch_size\)"):
        Lists(pipeline.arrays(np.arange(3)))
    with pytest.raises(TypeError, match=r"Lists takes batches: a dataset such as source\.batch.* not \[1, 2\]"):
        Lists([1, 2])
    with pytest.raises(ValueError, match="prefetch must be at least 0 and at most 64, got 65"):
        Lists(shuffled(), 65)
    with pytest.raises(TypeError, match="prefetch must be an integer"):
        Lists(shuffled(), 1.5)


def test_the_epoch_that_is_set():
    loop = shuffled()
    plain = [[batch.tolist() for batch in loop] for _ in range(4)]
    loader = Lists(shuffled(), 1)
    loader.set_epoch(2)
    assert [list(loader), list(loader)] == plain[2:]
    batches = iter(loader)
    loader.set_epoch(1)
    assert next(batches) == plain[1][0]
    loader.set_epoch(3)  # in the middle
    assert list(batches) == plain[1][1:]
    state = loader.state_dict()
    for epoch in (1, 3):
        other = Lists(shuffled(), 1)
        other.load_state_dict(state)
        other.set_epoch(epoch)
        assert list(other) == plain[epoch]
    with pytest.raises(TypeError, match="epoch must be an integer"):
        loader.set_epoch("1")


# Shares ---------------------------------------------------------------------------------------------------------------


def loops():
    numbers = np.arange(20)
    yield "array", lambda: pipeline.batch(numbers, 2)
    yield "list", lambda: pipeline.batch(numbers.tolist(), 2, num_threads=2)
    yield "source", lambda: pipeline.batch(pipeline.arrays(numbers, shuffle=True, seed=1), 2)
    yield "pool", lambda: pipeline.shuffle_batch(pipeline.arrays(numbers), 2, min_after_dequeue=7, seed=3)
    yield "generator function", lambda: pipeline.batch(lambda_of_numbers, 2)
    yield "function=", lambda: pipeline.batch(numbers.tolist(), 2, function=np.int64, workers=pipeline.threads(2))
    yield "producer", lambda: pipeline.batch(pipeline.range_input_producer(20, num_epochs=1, seed=4), 2)
    yield "slices", lambda: pipeline.batch(pipeline.slice_input_producer([numbers], num_epochs=1, seed=4), 2)
    yield (
        "map_ahead",
        lambda: pipeline.batch(pipeline.map_ahead(np.int64, numbers.tolist(), workers=pipeline.threads(1)), 2),
    )


def lambda_of_numbers():
    yield from range(20)


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in loops()])
@pytest.mark.parametrize("count", [2, 5])
def test_shares_are_disjoint_and_complete(make, count):
    loaders = [Lists(make(), 1, (index, count)) for index in range(count)]
    again = loaders[0].loop._latest.starts_over
    epochs = [[list(loader) for loader in loaders] for _ in range(3 if again else 1)]
    for epoch in epochs:
        assert len({len(batches) for batches in epoch}) == 1
        assert sorted(joined(joined(epoch))) == list(range(20))


def test_a_loop_with_a_share_keeps_it():
    numbers = np.arange(20)
    loader = Lists(pipeline.batch(numbers, 5, shard=(1, 2)), shard=(0, 2))
    assert joined(loader) == [5, 6, 7, 8, 9, 15, 16, 17, 18, 19]


def test_what_cannot_be_shared_says_why():
    def source(**options):
        return pipeline.arrays(np.arange(20), **options)

    reasons = {
        "an iterator": pipeline.batch(iter(range(9)), 2),
        "an iterator ": pipeline.batch(pipeline.map_ahead(int, iter(range(9)), workers=pipeline.threads(1)), 2),
        "function or queue": pipeline.batch(lambda: 1, 2),
        "another order. Pass seed= to the source": pipeline.batch(source(shuffle=True), 2),
        "another order. Pass seed= to the batch function": pipeline.shuffle_batch(source(), 2, min_after_dequeue=3),
        "is the share (1, 2) of its rows already": pipeline.batch(source(shard=(1, 2)), 2),
        "buckets": pipeline.bucket_by_sequence_length(len, [[1], [2]], 1, [2]),
    }
    for reason, loop in reasons.items():
        with pytest.raises(FailedPreconditionError) as caught:
            iter(Lists(loop, shard=(0, 2)))
        assert reason.strip() in str(caught.value)
        assert "each of which would read all of it" in str(caught.value)
    begun = pipeline.batch(source(), 2)
    next(begun)
    with pytest.raises(FailedPreconditionError, match="it has begun"):
        iter(Lists(begun, shard=(0, 2)))


def test_a_state_goes_on_with_another_number_of_processes():
    def loaders(count):
        made = [Lists(pipeline.batch(np.arange(48), 12 // count), shard=(index, count)) for index in range(count)]
        return made, [iter(each) for each in made]

    two, iterators = loaders(2)
    for each in iterators:
        next(each)
    state = two[0].state_dict()
    rest = [joined(next(each) for each in iterators) for _ in range(3)]
    three, _ = loaders(3)
    for each in three:
        each.load_state_dict(state, allow={"batch_size"})
    iterators = [iter(each) for each in three]
    assert [joined(next(each) for each in iterators) for _ in range(3)] == rest
    two[1].load_state_dict(state)  # of process 0
    assert len(list(two[1])) == 3


# Structures -----------------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass(frozen=True)
class Boxes:
    corner: Any
    sizes: Any


def test_structures_come_back_as_they_were():
    names = []

    def change_of(value, name):
        names.append(name)
        return lambda each: each + 1 if name != "b/1" else -each

    batch = {"b": (1, 2), "a": [3, {"deep": 4}], "pair": Pair(5, (6,)), "boxes": Boxes(7, [8])}
    change = mapping(batch, change_of)
    expected = {"b": (2, -2), "a": [4, {"deep": 5}], "pair": Pair(6, (7,)), "boxes": Boxes(8, [9])}
    for _ in range(2):
        changed = change(batch)
        assert changed == expected
        assert [type(each) for each in changed.values()] == [tuple, list, Pair, Boxes]
    assert names == ["b/0", "b/1", "a/0", "a/1/deep", "pair/0", "pair/1/0", "boxes/corner", "boxes/sizes/0"]
    assert mapping(3, change_of)(3) == 4


def test_components_that_change_alike():
    def change_of(value, name):
        return str

    assert mapping((1, 2), change_of)((1, 2)) == ("1", "2")
    assert mapping({"a": 1, "b": 2}, change_of)({"a": 1, "b": 2}) == {"a": "1", "b": "2"}
    assert mapping([], change_of)([]) == []


class Failing(Lists):
    """Its conversion fails for batch number `bad`, as often as there are errors."""

    def __init__(self, loop, ahead, bad, errors):
        super().__init__(loop, ahead)
        self.bad, self.errors = bad, errors

    def _conversion(self, batch):
        def convert(each):
            if each[0] == 4 * self.bad and self.errors:
                raise self.errors.pop()
            return each.tolist()

        return convert


@aheads
def test_an_interrupt_in_a_conversion_loses_nothing(ahead):
    loop = pipeline.batch(np.arange(20), 4, deterministic=True)
    with Failing(loop, ahead, 3, [KeyboardInterrupt(), KeyboardInterrupt()]) as loader:
        batches, got, interrupts = iter(loader), [], 0
        while len(got) < 20:
            try:
                got += next(batches)
            except KeyboardInterrupt:
                interrupts += 1
                assert loader.loop.delivered[0] == 4
                assert loader.state_dict()["loop"]
        assert next(batches, None) is None
    assert got == list(range(20))
    assert interrupts == 2


class Waiting(Lists):
    """The third batch cannot be given."""

    _waits, given = True, 0

    def _given(self, batch):
        self.given += 1
        if self.given == 3:
            raise OSError("the device is gone")
        return batch


@aheads
def test_an_error_in_handing_over_is_raised_once(ahead):
    with Waiting(pipeline.batch(np.arange(20), 4, deterministic=True), ahead) as loader:
        batches = iter(loader)
        assert [next(batches), next(batches)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        with pytest.raises(OSError, match="the device is gone"):
            next(batches)
        assert next(batches, None) is None
        assert next(iter(loader)) == [0, 1, 2, 3]


@aheads
def test_an_error_in_a_conversion_comes_after_the_batches_before(ahead):
    def made():
        return pipeline.batch(np.arange(20), 4, deterministic=True)

    with Failing(made(), ahead, 3, [TypeError("no such dtype")]) as loader:
        batches = iter(loader)
        assert [next(batches) for _ in range(3)] == [list(range(i, i + 4)) for i in (0, 4, 8)]
        state = loader.state_dict()
        with pytest.raises(TypeError, match="no such dtype"):
            next(batches)
        assert next(batches, None) is None
        assert loader.state_dict() == state
    with Lists(made(), ahead) as resumed:
        resumed.load_state_dict(state)
        assert joined(resumed) == list(range(12, 20))
