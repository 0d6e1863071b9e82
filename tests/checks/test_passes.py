"""Sound datasets and sources pass, and the result lists the checks run and skipped, with reasons."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from dataset_contract import stream
from own_reader import Reader

import pipeline
from pipeline.errors import InvalidArgumentError
from pipeline.testing import check_resume, check_source


def noisy(number):
    return number + pipeline.example_rng().normal()


def is_even(number):
    return int(number) % 2 == 0


def test_all_checks_are_listed():
    data = pipeline.arrays(np.arange(24.0)).shuffle(seed=1).map(noisy, workers=2).batch(5)
    checked = check_resume(data, expected=list(data))
    assert list(checked.passed) == ["elements", "again", "length", "index", "resume", "resumed", "workers", "hosts"]
    assert checked.skipped == {}
    assert str(checked).splitlines()[0] == "elements: 5 elements as expected"


def test_what_does_not_apply_has_a_reason():
    checked = check_resume(stream(range(5)).shuffle(3))
    assert checked.skipped == {
        "length": "the dataset has no known length",
        "index": "the dataset has no random access",
        "workers": "no step calls a function of yours that workers may call",
        "hosts": "shard: shuffle has no seed, so each host would draw its own order; give it a seed",
    }


SOUND = [
    lambda: stream(range(20)).filter(is_even, seed=1).shuffle(4, seed=2).batch(3),
    lambda: pipeline.dataset([]).map(noisy, seed=1),
    lambda: pipeline.dataset([7]),
    lambda: pipeline.dataset(range(7)).repeat(),
    lambda: pipeline.mix([stream(range(9)), pipeline.dataset(range(5)).map(noisy, seed=1)], [1, 2], seed=3),
    lambda: pipeline.dataset(range(30)).map(noisy, seed=1).batch(4).prefetch(2).unbatch(),
    lambda: pipeline.dataset(range(12)).map(noisy, seed=1).shuffle(seed=4).epoch(2),
    lambda: pipeline.dataset(range(12)).map(noisy, seed=1).checksum().batch(5),
]


@pytest.mark.parametrize("make", SOUND, ids=range(len(SOUND)))
@pytest.mark.parametrize("made_each_time", [False, True])
def test_sound_datasets(make, made_each_time):
    checked = check_resume(make if made_each_time else make(), limit=40)
    assert {"again", "resume", "resumed"} <= checked.passed.keys()


def test_only_the_beginning_of_what_is_long():
    checked = check_resume(pipeline.dataset(range(10**9)), limit=10)
    assert checked.passed["resume"] == "at 10 positions"
    assert checked.passed["length"] == "1,000,000,000"


def test_one_check_at_one_element():
    checked = check_resume(pipeline.dataset(range(9)), checks=["resume"], at=4)
    assert checked.passed == {"resume": "at 1 position"}
    with pytest.raises(InvalidArgumentError, match="at must be at most 9 here, got 10"):
        check_resume(pipeline.dataset(range(9)), at=10)


def test_processes():
    with pipeline.processes(1) as workers:
        checked = check_resume(pipeline.dataset(range(6)).map(abs), workers=[workers], checks=["workers"])
    assert list(checked.passed) == ["workers"]


class Counter:
    """A source with a state."""

    n = 7
    at, loaded = 0, False

    def __iter__(self):
        self.at, self.loaded = self.at if self.loaded else 0, False
        while self.at < self.n:
            self.at += 1
            yield self.at - 1

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at, self.loaded = state["at"], True


@pytest.mark.parametrize(
    "source",
    [
        Counter,
        lambda: [np.full(3, i) for i in range(5)],
        range(8),
        [],
    ],
)
def test_sound_sources(source):
    checked = check_source(source)
    assert {"again", "resume", "rows", "batch"} <= checked.passed.keys() | checked.skipped.keys()
    assert {"epochs", "shuffle", "shard", "options"} == {
        each for each in checked.skipped if each not in ("length", "index", "batch", "workers", "hosts")
    }


def test_an_iterator_is_compared_with_another_of_its_class():
    checked = check_source(Reader)
    assert (checked.passed["again"], checked.passed["resume"]) == ("5 elements in 2 passes", "at 6 positions")
    assert "again" in check_resume(lambda: pipeline.dataset(Reader()).map(abs).batch(2)).passed


def test_a_source_with_all_options():
    def rows(num_epochs=1, shuffle=False, seed=None, shard=None):
        return pipeline.arrays(np.arange(9), num_epochs=num_epochs, shuffle=shuffle, seed=seed, shard=shard)

    checked = check_source(rows, expected=range(9), hosts=(2, 3))
    assert checked.skipped == {}
    assert {"elements", "epochs", "shuffle", "shard", "options"} <= checked.passed.keys()


PROGRAM = """
import sys
sys.modules["pytest"] = None
import pipeline
from pipeline.testing import check_resume
print(check_resume(pipeline.dataset(range(3))).passed["resume"])
"""


def test_no_test_framework_is_needed():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("at 4 positions\n", "")


def test_outputs_without_an_end_stay_with_the_thread_that_iterates():
    data = stream([1, 2]).flat_map(itertools.count).take(5)
    checked = check_resume(data, expected=[1, 2, 3, 4, 5])
    assert checked.skipped["workers"] == "no step calls a function of yours that workers may call"
    worked = pipeline.dataset([1, 2]).flat_map(range, workers=2)
    assert "workers" in check_resume(worked, expected=[0, 0, 1]).passed


def test_passes_in_the_same_order_are_no_mistake_here():
    """Elsewhere a second loop over a shuffled dataset warns, and warnings are errors in tests."""
    data = pipeline.dataset(range(9)).shuffle(seed=1).batch(2)
    assert "again" in check_resume(data).passed
    assert "again" in check_resume(lambda: data).passed
    assert "again" in check_source(data).passed
