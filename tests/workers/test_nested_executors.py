"""An executor whose function iterates over a dataset with the same executor does not wait for itself."""

import multiprocessing
from concurrent.futures import Executor, ThreadPoolExecutor

import pytest
from helpers import run_in_thread, run_script

import pipeline

NUMBERS = pipeline.dataset(range(6))
INNER = [0, 1, 2]


class Own(Executor):
    """A user-defined executor class, in threads."""

    def __init__(self, count):
        self._pool = ThreadPoolExecutor(count)

    def submit(self, fn, /, *args, **kwargs):
        return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, *args, **kwargs):
        self._pool.shutdown(*args, **kwargs)


@pytest.fixture(params=[ThreadPoolExecutor, Own, pipeline.threads])
def executor(request):
    with request.param(2) as made:
        yield made


def inner(executor, **options):
    return pipeline.dataset(INNER).map(abs, workers=executor, **options)


def nested(write, executor):
    """Return the results from six calls in an executor on a dataset's elements."""
    return run_in_thread(list, NUMBERS.map(write, workers=executor)).result()


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("prefetch", [0, 1])
def test_the_same_executor(executor, prefetch, ordered):
    def function(_):
        data = inner(executor, ordered=ordered)
        return sorted(data.prefetch(prefetch) if prefetch else data)

    assert nested(function, executor) == [INNER] * 6


def test_through_another_one(executor):
    with ThreadPoolExecutor(1) as other:
        within = pipeline.dataset(INNER).map(lambda _: list(inner(executor)), workers=other)
        assert nested(lambda _: list(within), executor) == [[INNER] * 3] * 6


def test_flat_map(executor):
    data = NUMBERS.flat_map(lambda _: inner(executor, seed=1), workers=executor)
    assert run_in_thread(list, data).result() == INNER * 6


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("prefetch", [0, 2])
def test_iterators_that_have_begun_outside(executor, prefetch, ordered):
    data = pipeline.dataset(range(1000)).map(abs, workers=executor, ordered=ordered)
    iterators = [iter(data.prefetch(prefetch) if prefetch else data) for _ in NUMBERS]
    first = [next(each) for each in iterators]
    rest = nested(lambda i: sum(iterators[i]), executor)
    assert [one + more for one, more in zip(first, rest, strict=True)] == [499_500] * 6


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork")
def test_processes_that_are_forks():
    """They have a copy of the executor, without its workers."""
    done = run_script("""
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import pipeline

def nested(_):
    return list(pipeline.dataset(range(3)).map(abs, workers=executor))

with ProcessPoolExecutor(2, mp_context=get_context("fork")) as executor:
    print(list(pipeline.dataset(range(3)).map(nested, workers=executor)))
""")
    assert done.stdout == "[[0, 1, 2], [0, 1, 2], [0, 1, 2]]\n", done.stderr
