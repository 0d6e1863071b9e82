"""Programs end in the middle of an iterator: generators end silently, before modules lose their names."""

import pytest
from helpers import run_script

PROGRAM = """
import atexit, sys, threading

def read_on():  # called after the handler of the library, which is imported later
    if {later}:
        print([int(next(each)) for each in kept])

atexit.register(read_on)
import numpy as np
import pipeline

def numbers():
    try:
        yield from range(1000)
    finally:
        if np.zeros is not None:
            print("end")

def several(number):
    yield from numbers()

data = pipeline.dataset(numbers)
kept = [iter({data})]
print([int(next(each)) for each in kept])
sys.kept = kept  # lives longer than the names of this module
"""


def ended(**texts):
    done = run_script(PROGRAM.format(**{"later": False, **texts}))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "data",
    ["data", "data.shuffle(10, seed=1)", "pipeline.dataset([1, 2]).flat_map(several)", "data.map(abs, workers=2)"],
)
def test_a_generator_ends(data):
    assert ended(data=data)[1:] == ["end"]


@pytest.mark.parametrize("data", ["data.prefetch(2)", "data.map(abs, workers=2).prefetch(1)"])
def test_a_generator_in_a_thread_prints_nothing(data):
    """Its thread has half a second to end it."""
    assert ended(data=data)[1:] in (["end"], [])


def test_a_later_exit_handler_reads_on():
    assert ended(data="data", later=True) == ["[0]", "end", "[1]"]


def test_whatever_another_generator_raises():
    program = """
import functools, sys
import pipeline

def numbers(name):
    try:
        yield from range(1000)
    finally:
        print(name)
        if name == "b":
            raise ValueError("for a test")

kept = [iter(pipeline.dataset(functools.partial(numbers, name))) for name in "abc"]
print([next(each) for each in kept])
sys.kept = kept
"""
    done = run_script(program)
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == ["[0, 0, 0]", "a", "b", "c"]
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.rstrip().endswith("ValueError: for a test")


def test_a_thread_that_waits_in_next():
    """The iterator is in a function that never returns; the program ends."""
    program = """
import sys, threading
import pipeline

inside = threading.Event()

def waiting(number):
    inside.set()
    threading.Event().wait()

loop = iter(pipeline.dataset(range(9)).map(waiting))
threading.Thread(target=next, args=(loop,), daemon=True).start()
inside.wait()
"""
    done = run_script(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
