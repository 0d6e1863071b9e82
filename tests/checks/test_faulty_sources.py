"""Planted faults in sources: the matching check finds each."""

import itertools

import numpy as np
import pytest
from own_reader import Reader

import pipeline
from pipeline.testing import CheckFailed, check_source


def failure(source, **options):
    with pytest.raises(CheckFailed) as failed:
        check_source(source, **options)
    return failed.value


class Stateful:
    """A sound source with a state; the faults below change one method."""

    n = 8
    at, loaded = 0, False

    def __iter__(self):
        self.at, self.loaded = self.at if self.loaded else 0, False
        while self.at < self.n:
            self.at += 1
            yield self.at * 10

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at, self.loaded = state["at"], True


def test_a_source_that_forgets_its_position():
    class Forgets(Stateful):
        def load_state_dict(self, state):
            pass

    found = failure(Forgets)
    assert (found.check, found.element, found.expected, found.got) == ("resume", 1, "20", "10")
    assert "does not contain its whole position" in found.hint
    assert found.step.startswith("pipeline.dataset(Forgets)")
    assert found.replay == "pipeline.testing.check_source(source, checks=['resume'])"


def test_a_source_that_is_one_element_behind():
    class Behind(Stateful):
        def state_dict(self):
            return {"at": max(0, self.at - 1)}

    assert failure(Behind).check == "resume"


def test_a_source_that_keeps_its_position_elsewhere():
    """A long-lived object hides it; one made for each run does not."""

    class Elsewhere(Stateful):
        def state_dict(self):
            return {}

        def load_state_dict(self, state):
            pass

    assert failure(Elsewhere).check == "resume"


class Items:
    def __init__(self, count=6):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return np.array([i, i])


def test_a_source_whose_length_is_wrong():
    class Lies:
        def __len__(self):
            return 9

        def __iter__(self):
            yield from range(8)

    found = failure(Lies)
    assert (found.check, found.expected, found.got) == ("length", "8 elements, as in a loop", "9")
    assert "len() of the source" in found.hint


def test_items_that_are_made_differently_each_time():
    class Counts(Items):
        calls = itertools.count()

        def __getitem__(self, i):
            return i + next(self.calls)

    assert failure(Counts()).check == "again"


def test_a_length_above_the_last_item():
    class Shorter(Items):
        def __getitem__(self, i):
            return range(4)[i]

    found = failure(Shorter)
    assert (found.check, found.expected, found.got) == ("length", "6 examples", "4")
    assert found.when == "the source has no example 4, and len() is 6"


def test_an_index_error_within_an_item():
    class Broken(Items):
        def __getitem__(self, i):
            return [0, 1, 2, 3, 4, 5][i + 3 * (i == 3)]

    with pytest.raises(IndexError):
        check_source(Broken)


def test_an_iterable_that_does_not_start_anew():
    class Stays(Stateful):
        def __iter__(self):
            while self.at < self.n:
                self.at += 1
                yield self.at

        def load_state_dict(self, state):
            self.at = state["at"]

    found = failure(Stays)
    assert (found.check, found.element, found.expected) == ("again", 0, "1")
    assert found.when == "cannot be made in the second epoch of one source"
    assert "reset its position in __iter__ or at its end" in found.hint


def test_an_iterable_whose_second_epoch_is_shorter():
    class Shrinks:
        n = 5

        def __iter__(self):
            yield from range(self.n)
            self.n -= 1

    found = failure(Shrinks)
    assert (found.check, found.element, found.when) == ("again", 4, "is missing in the second epoch of one source")


def test_an_iterator_that_forgets_its_position():
    class Forgets(Reader):
        def load_state_dict(self, state):
            pass

    assert failure(Forgets).check == "resume"


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        (lambda: (i for i in range(5)), "pass a list, or a generator function itself"),
        (lambda: iter([1, 2]), "pass a list, or a generator function itself"),
        (Reader(), "pass its class, or a function that makes it"),
    ],
    ids=["generator", "iterator", "object"],
)
def test_sources_of_one_pass(source, remedy):
    found = failure(source)
    assert (found.check, found.when) == ("again", "the dataset has one pass only")
    assert remedy in found.hint


def test_an_iterable_that_goes_on_where_it_was():
    class GoesOn:
        def __init__(self):
            self.left = list(range(9))

        def __iter__(self):
            while self.left:
                yield self.left.pop()

    found = failure(GoesOn())
    assert (found.check, found.got) == ("again", "the end")
    assert "read again" in found.hint


def rows(n=9, **options):
    return pipeline.arrays(np.arange(n), **options)


ALL = ("num_epochs", "shuffle", "seed", "shard")


def without(options, *names):
    return {name: value for name, value in options.items() if name not in names}


@pytest.mark.parametrize(
    ("check", "make", "text"),
    [
        ("epochs", lambda **options: rows(**without(options, "num_epochs")), "is missing with num_epochs=2"),
        ("shuffle", lambda **options: rows(**without(options, "shuffle")), "shuffle=True changes nothing"),
        ("shuffle", lambda **options: rows(**{**options, "seed": 7}), "all seeds give the same order"),
        ("shard", lambda **options: rows(**without(options, "shard")), "among all hosts"),
        ("shard", lambda **options: rows(8 if "shard" in options else 9, **options), "is missing among all hosts"),
        ("options", lambda num_epochs=1, **options: rows(num_epochs=num_epochs or 1, **options), "num_epochs=0"),
        ("options", lambda shard=None, **options: rows(shard=shard if shard != 1 else None, **options), "shard=1"),
    ],
)
def test_options_that_do_something_else(check, make, text):
    found = failure(make, options=ALL, checks=[check])
    assert found.check == check
    assert text in str(found)


def test_a_shuffle_that_loses_an_example():
    def loses(shuffle=False, seed=None):
        return rows(shuffle=shuffle, seed=seed).take(8 if shuffle else 9)

    found = failure(loses, checks=["shuffle"])
    assert "is missing with shuffle=True, seed=1" in found.when


def test_a_shuffle_that_gives_an_example_twice():
    def doubles(shuffle=False, seed=None):
        return rows(shuffle=shuffle, seed=seed).map(lambda number: np.minimum(number, 7)) if shuffle else rows()

    found = failure(doubles, checks=["shuffle"])
    assert "once more" in found.got


def test_batches_that_differ_from_examples():
    calls = itertools.count()
    data = pipeline.dataset(range(6)).map(lambda number: number + (next(calls) >= 6))
    found = failure(data, checks=["batch"])
    assert (found.check, found.element) == ("batch", 0)
    assert "of batches differs from the examples of a loop" in found.when
