"""Common behaviour of the adaptors: epochs, batches converted ahead, states, shards and structures."""

import contextlib
import dataclasses
import itertools
import json
import signal
import sys
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest
from orchestration import threads_since

import pipeline
from pipeline.adaptors.loader import Loader
from pipeline.adaptors.structure import mapped
from pipeline.errors import FailedPreconditionError


class Lists(Loader):
    """Its batches are lists."""

    def __init__(self, data, ahead=0, shard=(0, 1)):
        super().__init__(data, ahead)
        self.shard = shard

    def _shard(self):
        return self.shard

    def _convert(self, batch):
        return batch.tolist()


def decoded(batch):
    """Convert byte arrays to text, in the same structure."""
    return mapped(lambda value, name: bytes(value).decode(), batch)


class Texts(Loader):
    """Its batches are texts from byte arrays."""

    def __init__(self, data, ahead=0):
        super().__init__(data, ahead)

    def _convert(self, batch):
        return decoded(batch)


TEXTS = np.frombuffer(b"".join(b"%03d" % i for i in range(900)), np.uint8).reshape(-1, 3)
FORMS = {"bare": TEXTS, "tuple": (TEXTS, TEXTS[:, :1].copy()), "dict": {"b": TEXTS, "a": TEXTS}}


def texts(form="tuple", rows=900):
    given = mapped(lambda array, name: array[:rows], FORMS[form])
    return pipeline.arrays(given, shuffle=True, seed=1).batch(4, drop_remainder=True)


def joined(lists):
    return list(itertools.chain.from_iterable(lists))


def shuffled(rows=20):
    return pipeline.arrays(np.arange(rows), shuffle=True, seed=1).batch(4, drop_remainder=True).prefetch(2)


aheads = pytest.mark.parametrize("ahead", [0, 1, 3, 64])


def test_what_cannot_be_read_again_is_read_on(caplog):
    loader = Lists(pipeline.batch(iter(range(12)), 4))
    assert next(iter(loader)) == [0, 1, 2, 3]
    assert list(loader) == [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert not caplog.records
    assert list(loader) == []
    assert "an iterator has only one epoch: pass the dataset" in caplog.text


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

    with Lists(pipeline.dataset(numbers).batch(4), ahead) as loader:
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
    assert list(batches) == []
    with pytest.raises(FailedPreconditionError, match="is closed: make another loader"):
        list(loader)


def test_no_threads_stay_behind():
    begun = threads_since()
    with Lists(shuffled().prefetch(3), 1) as loader:
        for _ in range(5):
            next(iter(loader))
    assert not begun()


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


@aheads
@pytest.mark.parametrize("form", FORMS)
def test_states_and_epochs_of_batches_of_several_components(form, ahead):
    loader, other = Texts(texts(form, 40), 0), Texts(texts(form, 40), ahead)
    for taken in (0, 1, 3, 10):
        one, two = iter(loader), iter(other)
        assert [next(one) for _ in range(taken)] == [next(two) for _ in range(taken)]
        assert loader.state_dict() == other.state_dict()
        loader.load_state_dict(other.state_dict())
        with pytest.raises(FailedPreconditionError, match="a later iter"):
            next(one)
        assert list(loader) == list(two)
        assert next(two, None) is None


@aheads
def test_other_iterators_and_epochs_that_are_set(ahead):
    loader = Texts(texts(rows=40), ahead)
    first, second = iter(loader), iter(loader)
    assert next(second) != next(second)
    with pytest.raises(FailedPreconditionError, match="a later iter"):
        next(first)
    loader.set_epoch(7)  # in the middle, without effect
    assert len(list(second)) == 8
    assert next(second, None) is None
    third = iter(loader)
    loader.set_epoch(5)
    assert list(third) == list(Texts(texts(rows=40).epoch(5)))
    fourth = iter(loader)
    assert next(fourth) != next(fourth)
    loader.close()
    assert list(fourth) == []


@aheads
@pytest.mark.parametrize("form", FORMS)
def test_an_error_in_the_conversion_of_a_component_ends_the_epoch(form, ahead):
    array = np.full((40, 2), ord("a"), np.uint8)
    array[21] = 255
    given = mapped(lambda value, name: array, FORMS[form])
    loader = Texts(pipeline.arrays(given).batch(4), ahead)
    for _ in range(2):
        batches, found = iter(loader), []
        with pytest.raises(UnicodeDecodeError, match="0xff"):
            found.extend(next(batches) for _ in range(10))
        assert len(found) == 5
        assert next(batches, None) is None
        assert loader.state_dict()["loop"]


def test_an_iterator_has_no_state():
    with pipeline.batch(iter(range(8)), 4, deterministic=True) as batches:
        loader = Lists(batches)
        next(iter(loader))
        with pytest.raises(FailedPreconditionError, match="iterator"):
            loader.state_dict()


def test_arguments():
    with pytest.raises(TypeError, match=r"Lists takes batches: .* not single examples of arrays: add \.batch\(n\)"):
        Lists(pipeline.arrays(np.arange(3)).checksum())
    with pytest.raises(TypeError, match=r"Lists takes batches: a dataset such as source\.batch.* not \[1, 2\]"):
        Lists([1, 2])
    with pytest.raises(ValueError, match="prefetch must be at least 0 and at most 64, got 65"):
        Lists(shuffled(), 65)
    with pytest.raises(TypeError, match="prefetch must be an integer"):
        Lists(shuffled(), 1.5)


# Shards ---------------------------------------------------------------------------------------------------------------


def numbers():
    yield from range(20)


NUMBERS = np.arange(20)
DATASETS = {
    "array": lambda: pipeline.dataset(NUMBERS).batch(2),
    "list": lambda: pipeline.dataset(NUMBERS.tolist()).batch(2),
    "source": lambda: pipeline.arrays(NUMBERS, shuffle=True, seed=1).batch(2),
    "pool": lambda: pipeline.arrays(NUMBERS).shuffle(7, seed=3).batch(2),
    "generator function": lambda: pipeline.dataset(numbers).batch(2),
    "workers": lambda: pipeline.dataset(NUMBERS.tolist()).map(np.int64, workers=2).batch(2),
    "prefetch": lambda: pipeline.dataset(NUMBERS).batch(2).prefetch(3),
}


@pytest.mark.parametrize("kind", DATASETS)
@pytest.mark.parametrize("count", [2, 5])
def test_shares_are_disjoint_and_complete(kind, count):
    loaders = [Lists(DATASETS[kind](), 1, (index, count)) for index in range(count)]
    for epoch in [[list(loader) for loader in loaders] for _ in range(3)]:
        assert len({len(batches) for batches in epoch}) == 1
        assert sorted(joined(joined(epoch))) == list(range(20))


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

    def change(value, name):
        names.append(name)
        return value + 1 if name != "b/1" else -value

    batch = {"b": (1, 2), "a": [3, {"deep": 4}], "pair": Pair(5, (6,)), "boxes": Boxes(7, [8])}
    changed = mapped(change, batch)
    assert changed == {"b": (2, -2), "a": [4, {"deep": 5}], "pair": Pair(6, (7,)), "boxes": Boxes(8, [9])}
    assert [type(each) for each in changed.values()] == [tuple, list, Pair, Boxes]
    assert names == ["b/0", "b/1", "a/0", "a/1/deep", "pair/0", "pair/1/0", "boxes/corner", "boxes/sizes/0"]
    assert mapped(change, 3) == 4
    assert mapped(change, []) == []
    assert batch["b"] == (1, 2)


def test_a_list_that_is_one_value_is_one_component():
    value = pipeline.ListValue([1, 2])
    assert mapped(lambda value, name: (name, value), {"chat": value}) == {"chat": ("chat", value)}


class Failing(Lists):
    """Its conversion fails for batch number `bad`, as often as there are errors."""

    def __init__(self, loop, ahead, bad, errors):
        super().__init__(loop, ahead)
        self.bad, self.errors = bad, errors

    def _convert(self, batch):
        if batch[0] == 4 * self.bad and self.errors:
            raise self.errors.pop()
        return batch.tolist()


@aheads
def test_an_interrupt_in_a_conversion_loses_nothing(ahead):
    with Failing(
        pipeline.dataset(np.arange(20)).batch(4), ahead, 3, [KeyboardInterrupt(), KeyboardInterrupt()]
    ) as loader:
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


@aheads
def test_an_interrupt_in_a_function_of_the_dataset_loses_nothing(ahead):
    left = [KeyboardInterrupt(), KeyboardInterrupt()]

    def doubled(number):
        if number == 9 and left:
            raise left.pop()
        return 2 * number

    with Lists(pipeline.dataset(range(20)).map(doubled).batch(4), ahead) as loader:
        batches, got = iter(loader), []
        while len(got) < 20:
            with contextlib.suppress(KeyboardInterrupt):
                got += next(batches)
        assert next(batches, None) is None
    assert got == list(range(0, 40, 2))
    assert not left


class Alarm(Exception):
    """Raised by a signal handler."""


@aheads
def test_an_error_of_a_signal_handler_does_not_end_the_epoch(ahead):
    def handler(number, frame):
        raise Alarm

    class Struck(Lists):
        struck = False

        def _convert(self, batch):
            if batch[0] == 8 and not self.struck:
                self.struck = True
                signal.raise_signal(signal.SIGUSR1)
            return batch.tolist()

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with Struck(pipeline.dataset(np.arange(20)).batch(4), ahead) as loader:
            batches, got, alarms = iter(loader), [], 0
            while len(got) < 20:
                try:
                    got += next(batches)
                except Alarm:
                    alarms += 1
            assert next(batches, None) is None
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert got == list(range(20))
    assert alarms == 1


def struck_at(line, batches):
    """Take all batches, interrupting the loader before a line in its code; return them, and whether it was reached."""
    count, got, struck = 0, [], False

    def trace(frame, event, _):
        nonlocal count
        if frame.f_globals["__name__"] != "pipeline.adaptors.loader":
            return None
        if event == "line":
            count += 1
            if count == line:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        while True:
            try:
                got += next(batches)
            except KeyboardInterrupt:
                struck = True
                sys.settrace(None)
    except StopIteration:
        return got, struck
    finally:
        sys.settrace(None)


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_an_interrupt_at_any_line_loses_at_most_the_batch_that_is_handed_over(ahead):
    lost, line, struck = 0, 0, True
    while struck:
        line += 1
        loader = Lists(pipeline.dataset(np.arange(24)).batch(4), ahead)
        got, struck = struck_at(line, iter(loader))
        missing = sorted(set(range(24)) - set(got))
        assert got == [number for number in range(24) if number not in missing]
        assert missing in [[]] + [list(range(i, i + 4)) for i in range(0, 24, 4)]
        lost += len(missing) // 4
        loader.close()
    assert line > 6 * 10
    assert lost <= 6  # at `return`: once per batch


class Waiting(Lists):
    """The third batch cannot be delivered."""

    given = 0

    def _given(self, batch):
        self.given += 1
        if self.given == 3:
            raise OSError("the device is gone")
        return batch


@aheads
def test_an_error_in_handing_over_is_raised_once(ahead):
    with Waiting(pipeline.dataset(np.arange(20)).batch(4), ahead) as loader:
        batches = iter(loader)
        assert [next(batches), next(batches)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        with pytest.raises(OSError, match="the device is gone"):
            next(batches)
        assert next(batches, None) is None
        assert next(iter(loader)) == [0, 1, 2, 3]


@aheads
def test_an_error_in_a_conversion_comes_after_the_batches_before(ahead):
    def made():
        return pipeline.dataset(np.arange(20)).batch(4)

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
