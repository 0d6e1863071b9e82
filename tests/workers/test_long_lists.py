"""Functions that hold long lists: processes get each change, and what has not changed only once."""

import functools
import os
import signal
from concurrent.futures import BrokenExecutor

import pytest
import worker_functions as functions
from helpers import raises, wait_until

import pipeline

COUNT = 10_000
METHODS = functions.METHODS
pytestmark = pytest.mark.usefixtures("nothing_left")  # two idle workers would take turns


def run(function, workers, places=(0, 1, -1)):
    found = [*pipeline.dataset(list(places)).map(function, workers=workers)]
    wait_until(lambda: not functions.workers(), "the worker to be free")
    return found


def expected(function, places=(0, 1, -1)):
    return [(repr(each), type(each).__name__, len(function.items)) for each in map(function.items.__getitem__, places)]


def names(count=COUNT):
    return [f"/data/train/{i:08}.jpg" for i in range(count)]


CHANGES = {
    "item": lambda items: items.__setitem__(1, "other"),
    "equal item with another type": lambda items: items.__setitem__(1, functions.Text(items[1])),
    "bytes": lambda items: items.__setitem__(0, b"x"),
    "more": lambda items: items.append("more"),
    "fewer": lambda items: items.pop(),
    "reversed": lambda items: items.reverse(),
    "emptied and filled": lambda items: (items.clear(), items.extend(map(str, range(COUNT)))),
    "an object": lambda items: items.__setitem__(-1, functions.Holding(items=[])),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_list_is_sent_again(change):
    holding, workers = functions.Holding(items=names()), pipeline.processes(1)
    made = {run(holding, workers)[0][3] for _ in range(3)}
    assert len(made) == 1
    CHANGES[change](holding.items)
    found = run(holding, workers)
    assert found[0][3] > made.pop()
    assert [each[1:3] for each in found] == [each[1:] for each in expected(holding)]
    assert [each[0] for each in found[:2]] == [each[0] for each in expected(holding)[:2]]


@pytest.mark.parametrize(("before", "after"), [(1, True), (1, 1.0), (0.0, -0.0), (None, 0), ("a", b"a"), (2**70, 5)])
def test_equal_values_are_not_mistaken(before, after):
    holding, workers = functions.Holding(items=[before, *range(COUNT)]), pipeline.processes(1)
    assert [each[:3] for each in run(holding, workers)] == expected(holding)
    holding.items[0] = after
    assert [each[:3] for each in run(holding, workers)] == expected(holding)


def test_another_list_with_the_same_items():
    """It need not be sent."""
    holding, workers = functions.Holding(items=names()), pipeline.processes(1)
    made = run(holding, workers)[0][3]
    holding.items = names()
    assert run(holding, workers)[0][3] == made
    assert run(functions.Holding(items=names()), workers)[0][3] == made
    holding.items = names(COUNT - 1)
    assert [each[:3] for each in run(holding, workers)] == expected(holding)


def test_one_list_in_several_places():
    items = names()
    twice = functions.Twice(items=items, again=items, within={"deep": [items]}, other=list(items))
    assert run(twice, pipeline.processes(1), [0]) == [(True, True, "changed here", items[0])]
    assert items[0] == "/data/train/00000000.jpg"


@pytest.mark.parametrize(
    "items",
    [
        ["cat", "dog"] * COUNT,
        [None, float("nan"), 1.5, True, 3 + 4j, 2**80, "ä", b""] * COUNT,
        [functions.Text("a"), *map(str, range(COUNT))],
        [[], *map(str, range(COUNT))],
        tuple(map(str, range(COUNT))),
    ],
    ids=["repeated", "mixed", "subclass", "nested", "tuple"],
)
@pytest.mark.parametrize("method", METHODS)
def test_values(items, method):
    holding = functions.Holding(items=items)
    with pipeline.processes(2, method=method) as workers:
        assert [each[:3] for each in pipeline.dataset([0, 1, -1]).map(holding, workers=workers)] == expected(holding)


def test_a_closure():
    pytest.importorskip("cloudpickle")
    items = names()
    with pipeline.processes(1) as workers:
        data = pipeline.dataset([0, 1]).map(lambda i: items[i], workers=workers)
        assert [*data] == items[:2]
        items[1] = "other"
        assert [*data] == items[:2]


@pytest.mark.parametrize("changes", [False, True])
def test_killed_while_a_function_is_in_use(changes):
    holding = functions.Holding(items=names())
    with pipeline.processes(1) as workers:
        call = functools.partial(holding)
        assert workers.submit(call, 0).result()[2] == COUNT
        again = functools.partial(holding)
        assert workers.submit(again, 0).result()[2] == COUNT
        number = workers.submit(os.getpid).result()
        os.kill(number, signal.SIGKILL)
        wait_until(lambda: number not in functions.workers(), "its end")
        if not changes:
            assert workers.submit(again, 0).result()[2] == COUNT
            return
        holding.items.append("more")
        with raises(BrokenExecutor, "a worker process started late, and the function has changed in the meantime"):
            workers.submit(again, 0).result()
