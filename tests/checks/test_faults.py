"""Planted faults in functions and recipes: the matching check finds each and names its step."""

import itertools
import os
import threading

import numpy as np
import pytest

import pipeline
from pipeline.testing import CheckFailed, check_resume


def failure(data, **options):
    with pytest.raises(CheckFailed) as failed:
        check_resume(data, **options)
    return failed.value


def numbers(n=20):
    return pipeline.arrays(np.arange(n))


def double(number):
    return number * 2


def hidden_counter():
    counter = itertools.count()

    def counted(number):
        return number + next(counter)

    return counted


def test_a_function_with_hidden_state():
    found = failure(numbers().map(double).map(hidden_counter()).batch(3))
    assert (found.check, found.element, found.where) == ("again", 0, "[0]")
    assert found.step.startswith(".map(counted), written at ")
    assert "test_faults.py" in found.step
    assert "a counter" in found.hint
    assert found.replay == "pipeline.testing.check_resume(dataset, checks=['again'])"


def test_random_numbers_that_are_not_of_example_rng():
    rng = np.random.default_rng(1)
    found = failure(numbers().map(lambda number: number + rng.random()).shuffle(seed=1))
    assert found.check == "again"
    assert "pipeline.example_rng()" in str(found)


def test_an_example_that_is_changed_in_place():
    examples = [{"n": [i]} for i in range(6)]

    def append(example):
        example["n"].append(0)
        return example

    found = failure(pipeline.dataset(examples).map(append))
    assert found.check == "again"
    assert found.step.startswith(".map(append)")


class Smoothed:
    """Remembers the last example: right in a pass from the beginning, wrong after a resume."""

    def __init__(self):
        self.last = 0

    def __call__(self, number):
        found = number + (self.last if number else 0)
        self.last = number
        return found


def test_a_function_that_remembers_the_last_example():
    found = failure(numbers().map(Smoothed()).batch(2), checks=["again", "resume"])
    assert (found.check, found.element, found.resumed_at) == ("resume", 1, 1)
    assert "remembers something" in found.hint
    assert found.replay.endswith("checks=['resume'], at=1)")
    again = failure(numbers().map(Smoothed()).batch(2), checks=["resume"], at=1)
    assert (again.expected, again.got, again.where) == (found.expected, found.got, found.where)


def test_it_is_found_by_index_too():
    assert failure(numbers().map(Smoothed())).check == "index"


def test_items_that_differ_by_thread():
    found = failure(numbers().map(double).map(lambda number: number + threading.get_ident() % 1009).batch(4))
    assert found.check == "workers"
    assert "with workers=2" in found.when
    assert "the thread or process that calls it" in found.hint


def process_number(number):
    return number + os.getpid()


def test_items_that_differ_by_process():
    with pipeline.processes(1) as workers:
        found = failure(numbers().map(process_number), workers=[workers])
    assert found.check == "workers"
    assert found.step.startswith(".map(process_number)")


def test_a_filter_that_depends_on_earlier_examples():
    class Fresh:
        def __init__(self):
            self.seen = set()

        def __call__(self, number):
            if number == 0:
                self.seen.clear()
            new = number % 7 not in self.seen
            self.seen.add(number % 7)
            return new

    found = failure(numbers().filter(Fresh()))
    assert found.check == "resume"
    assert found.step.startswith(".filter(Fresh")


def test_a_dataset_that_can_be_read_once():
    found = failure(pipeline.dataset(iter(range(5))))
    assert (found.check, found.got) == ("again", "range_iterator is an iterator")
    found = failure(pipeline.dataset(iter(range(5))), checks=["resume"])
    assert found.when == "the dataset has no states"


def test_a_dataset_without_states():
    found = failure(numbers().map(double, workers=2, ordered=False), checks=["resume"])
    assert "ordered=False" in found.got


def test_a_function_that_fails_when_it_is_called_again():
    calls = itertools.count()

    def once(number):
        if next(calls) >= 20:
            raise KeyError("no more")
        return number

    found = failure(numbers().map(once))
    assert found.got == "raised KeyError: 'no more'"
    assert isinstance(found.__cause__, KeyError)


def test_an_error_of_the_first_pass_is_the_functions_own():
    with pytest.raises(ZeroDivisionError):
        check_resume(numbers().map(lambda number: 1 // 0))


@pytest.mark.parametrize(
    ("expected", "element", "text"),
    [([0, 1, 9], 2, "differs from the expected one"), ([0, 1], 2, "one too many"), ([0, 1, 2, 3], 3, "is missing")],
)
def test_other_elements_than_expected(expected, element, text):
    found = failure(numbers(3), expected=expected)
    assert (found.check, found.element) == ("elements", element)
    assert text in found.when


def test_a_dataset_that_another_seed_makes_each_time():
    seeds = itertools.count()
    found = failure(lambda: numbers().shuffle(seed=next(seeds)))
    assert found.check == "again"
    assert found.step.startswith(".shuffle(...)")


def test_the_step_of_a_branch():
    bad = numbers().map(hidden_counter())
    found = failure(pipeline.mix([numbers(), bad], [1, 1], seed=1).batch(2))
    assert found.step.startswith(".map(counted)")


def first_ten():
    calls = itertools.count()

    def negated(number):
        return number if next(calls) < 10 else -number

    return negated


@pytest.mark.parametrize(
    ("make", "step"),
    [
        (lambda f: numbers().map(f).map(double).batch(2), "unknown: one of .map(negated), .map(double)"),
        (lambda f: numbers().map(f).batch(2), ".map(negated)"),
        (lambda f: numbers().map(f), ".map(negated)"),
    ],
    ids=["two functions", "one function", "last"],
)
def test_a_function_that_behaves_when_it_is_called_again(make, step):
    found = failure(make(first_ten()))
    assert (found.check, found.step) == ("again", step)
    assert found.hint == "it remembers something from earlier runs: pass a function that makes the dataset"
    function = first_ten()
    assert failure(lambda: make(function)).hint == "it remembers something from earlier runs"


def test_another_recipe_each_time_behind_a_function():
    seeds = itertools.count()
    found = failure(lambda: numbers().map(double).shuffle(seed=next(seeds)))
    assert found.step.startswith(".shuffle(...)")


def test_a_seed_that_was_not_given():
    found = failure(lambda: numbers().shuffle())
    assert (found.check, found.hint.split(",")[0]) == ("again", "no seed was given")
