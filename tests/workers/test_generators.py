"""Global random generators: seeded per example in worker processes, reported elsewhere."""

import functools
import itertools
import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import worker_functions as functions
from helpers import run_file, run_script

import pipeline

NUMBERS = 60


def drawn(workers, state=None):
    """Return the draws by a map, and a flat_map after it, for shuffled numbers."""
    data = pipeline.dataset(range(NUMBERS)).shuffle(seed=1).map(functions.shared_draws, workers=workers)
    data = data.flat_map(functions.three_shared_draws, workers=workers)
    found = iter(data)
    if state is not None:
        found.load_state_dict(state)
    return found


@pytest.fixture(scope="module")
def one():
    return np.array(list(drawn(pipeline.processes(1))))


def test_no_two_examples_draw_alike_in_processes():
    data = pipeline.dataset(range(400)).map(functions.shared_draws, workers=pipeline.processes(4))
    for column in np.array(list(data)).T:
        assert len(np.unique(column)) == 400


def test_the_numbers_are_those_of_any_processes(one):
    assert (np.array(list(drawn(pipeline.processes(3)))) == one).all()
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        assert (np.array(list(drawn(executor))) == one).all()


def test_the_numbers_are_those_of_a_run_that_was_not_stopped(one):
    with drawn(pipeline.processes(2)) as first:
        got = list(itertools.islice(first, 100))
        state = first.state_dict()
    got += drawn(pipeline.processes(1), state)
    assert (np.array(got) == one).all()


def test_two_functions_and_two_generators_do_not_draw_alike(one):
    data = pipeline.dataset(range(NUMBERS)).shuffle(seed=1).map(functions.shared_draws, workers=pipeline.processes(1))
    uniform = np.array(list(data))[:, [0, 1, 4]].ravel()
    assert len(np.unique([*uniform, *one[:, [0, 1, 4]].ravel()])) == NUMBERS * 3 * 4


def test_other_seeds_and_epochs_draw_other_numbers(one):
    data = pipeline.dataset(range(NUMBERS)).map(functions.shared_draws, workers=pipeline.processes(1), seed=1)
    first, second = np.array(list(data)), np.array(list(data.epoch(1)))
    assert not np.isin(first, second).any()
    assert not np.isin(first, one).any()


def test_outputs_of_a_generator_do_not_depend_on_draws_between_them():
    """In a worker, later functions run after each output, before the generator goes on."""
    with pipeline.processes(1) as workers:
        data = pipeline.dataset(range(9)).flat_map(functions.three_shared_draws, workers=workers, seed=1)
        one, two = (
            np.array(list(data.map(functools.partial(functions.after_draws, count), workers=workers)))
            for count in (1, 2)
        )
    assert (one == two).all()


@pytest.mark.parametrize("workers", [None, 1, 3])
def test_those_of_the_program_are_left_alone(workers):
    """The program's training uses them too."""
    random.seed(1)
    wanted = [random.random() for _ in range(NUMBERS)]
    random.seed(1)
    got = list(pipeline.dataset(range(NUMBERS)).map(lambda _: random.random(), workers=workers, seed=1))
    assert sorted(got) == sorted(wanted)


@pytest.mark.parametrize(
    ("kind", "function", "names"),
    [
        ("map", lambda _: np.random.random(), "NumPy's np.random"),
        ("map", lambda _: random.gauss(0, 1) + np.random.randn(), "Python's random and NumPy's np.random"),
        ("filter", lambda _: np.random.random() < 2, "NumPy's np.random"),
    ],
)
def test_a_function_that_draws_in_the_program_is_reported_once(kind, function, names, caplog):
    data = getattr(pipeline.dataset(range(9)), kind)(function)
    list(data.batch(4).prefetch(1))
    list(data)
    list(getattr(pipeline.dataset(range(9)), kind)(function))
    (told,) = caplog.messages
    assert told.startswith(f"{kind}(<lambda>) uses {names}, which your whole process shares")


@pytest.mark.parametrize("draws", ["np.random.rand()", "np.random.default_rng(1).random()", "0"])
@pytest.mark.parametrize("workers", [None, 2])
def test_numpys_generator_is_watched_before_anything_imports_it(draws, workers):
    """NumPy imports it at its first use, which may be in the function."""
    script = f"""
import numpy as np
import pipeline

def noisy(number):
    return number + {draws}

data = pipeline.dataset(range(100)).map(noisy, workers={workers})
for epoch in range(3):
    list(data.epoch(epoch))
"""
    told = run_script(script).stderr
    assert told.count("map(noisy) uses NumPy's np.random, which your whole process shares") == ("rand()" in draws)


def test_others_are_not_reported(caplog):
    data = pipeline.dataset(range(9)).map(lambda _: pipeline.example_rng().random()).filter(lambda x: x < 2)
    assert len(list(data)) == 9
    assert not caplog.messages


@pytest.mark.parametrize(
    ("function", "name"),
    [(functions.own_draws, "own_draws) has its own generator OWN"), (functions.OwnDraws().draw, "draw) has its own")],
    ids=["global", "attribute"],
)
def test_copies_of_a_generator_in_processes_are_reported_once(function, name, caplog):
    with pipeline.processes(1) as workers:
        for _ in range(2):
            data = pipeline.dataset(range(8)).map(function, workers=workers).repeat(2)
            assert len(list(data)) == 16
    (text,) = caplog.messages
    assert text.startswith(f"map({name}")
    assert "each process draws from its own copy, usually the same numbers, and a resume repeats them" in text


OTHER_THREAD = """
import random
import threading

import numpy as np
import pipeline

def pure(number):
    ran.set()
    assert drawn.wait(60)
    return np.sqrt(number)

def noisy(number):
    ran.set()
    assert drawn.wait(60)
    return {draw}

def draw():
    assert ran.wait(60)
    random.random()
    drawn.set()

ran, drawn = threading.Event(), threading.Event()
thread = threading.Thread(target=draw)
thread.start()
data = pipeline.dataset(range(9)).map({function}, workers={workers})  # here
list(data)
thread.join()
"""


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize(
    ("function", "draw", "text"),
    [
        ("pure", "0", "Python's random was used while map(pure) ran, by it or by another thread. If by it, its"),
        ("noisy", "random.random()", "map(noisy) uses Python's random, which your whole process shares. Its numbers"),
        ("noisy", "0 * np.random.rand()", "map(noisy) uses NumPy's np.random, which your whole process shares. Its"),
    ],
    ids=["pure", "python", "numpy"],
)
def test_a_function_is_not_accused_of_what_another_thread_draws(function, draw, text, workers, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(OTHER_THREAD.format(function=function, draw=draw, workers=workers))
    done = run_file(path)
    assert done.returncode == 0
    told = done.stderr
    line = path.read_text().partition("# here")[0].count("\n") + 1
    assert told.startswith(f"{path}:{line}: RuntimeWarning: {text}")
    assert told.count("RuntimeWarning") == 1
