"""`dataset(x, workers=)`: a slow `__getitem__` in threads and processes, with the order, states and errors of `map`."""

import json
import random
import sys
import threading

import numpy as np
import pytest
from dataset_contract import check

import pipeline

pytestmark = pytest.mark.filterwarnings("ignore:.*shares:RuntimeWarning")


class Squares:
    """Items computed on access."""

    def __init__(self, count=7, fails=()):
        self.count, self.fails = count, fails

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index in self.fails:
            raise LookupError(f"no square of {index}")
        return {"n": index, "square": np.full(2, index**2, np.float32)}


class Drawn(Squares):
    """Items with random numbers from a generator shared by the process."""

    def __getitem__(self, index):
        return random.random()


class Gone(Squares):
    """Items equal to None."""

    def __getitem__(self, index):
        return None if index == 3 else index


WORKERS = {"threads": lambda: 2, "processes": lambda: pipeline.processes(2), "auto": lambda: "auto"}


@pytest.fixture(params=WORKERS)
def workers(request):
    return WORKERS[request.param]()


def test_items_are_the_same(workers):
    items = Squares()
    check(pipeline.dataset(items, workers=workers), [items[i] for i in range(7)])


def test_choices_are_made_among_numbers(workers):
    data, plain = pipeline.dataset(Squares(), workers=workers), pipeline.dataset(Squares())
    for chosen in (
        lambda d: d.shuffle(seed=1).take(5).batch(2),
        lambda d: d.shard(1, 2).shuffle(seed=2).repeat(2).batch(3),
        lambda d: d.shuffle(3, seed=1).map(lambda each: each["n"]).prefetch(1),
        lambda d: d.skip(2).window(2).enumerate(),
    ):
        check(chosen(data), list(chosen(plain)))


def test_only_what_is_chosen_is_fetched():
    items = Squares(fails=range(3, 7))
    assert [each["n"] for each in pipeline.dataset(items, workers=2).take(3)] == [0, 1, 2]


def test_a_state_loads_with_other_workers_and_with_none():
    made = [pipeline.dataset(Squares(), workers=given).shuffle(seed=1).batch(2) for given in (None, 2, "auto")]
    made.append(pipeline.dataset(Squares(), workers=pipeline.processes(1)).shuffle(seed=1).batch(2))
    whole = [batch["n"].tolist() for batch in made[0]]
    for saver in made:
        with iter(saver) as batches:
            next(batches)
            state = json.loads(json.dumps(batches.state_dict()))
        for loader in made:
            with iter(loader) as batches:
                batches.load_state_dict(state)
                assert [batch["n"].tolist() for batch in batches] == whole[1:]


@pytest.mark.parametrize("step", ["shuffle", "map", "shard"])
def test_states_of_streams_load_with_other_workers_and_with_none(step):
    def made(workers):
        data = pipeline.dataset(Squares(11), workers=workers).shuffle(4, seed=1)
        data = data.shard(1, 2) if step == "shard" else data
        data = data.map(lambda each: each["n"], workers=2 if step == "map" else None)
        return data.repeat(2) if step == "shuffle" else data

    for saver, loader in ((None, 2), (2, None), (2, 3), ("auto", None)):
        check(made(saver), list(made(loader)))
        with iter(made(saver)) as numbers:
            taken = [next(numbers) for _ in range(3)]
            state = json.loads(json.dumps(numbers.state_dict()))
        with iter(made(loader)) as numbers:
            numbers.load_state_dict(state)
            assert taken + list(numbers) == list(made(None))


def test_errors_name_the_item_and_come_after_those_before(workers):
    data, found = pipeline.dataset(Squares(fails=[4]), workers=workers).shuffle(seed=1), []
    order = [each["n"] for each in pipeline.dataset(Squares()).shuffle(seed=1)]
    with pytest.raises(LookupError, match="no square of 4") as failed:
        found.extend(each["n"] for each in data)
    assert found == order[: order.index(4)]
    if sys.version_info >= (3, 11):
        notes = "\n".join(failed.value.__notes__)
        assert "Squares: example 4" in notes
        assert "in pipeline.dataset(Squares of 7) written at " in notes


def test_an_item_that_is_none():
    with pytest.raises(ValueError, match="Gone returned None, which is not an example"):
        list(pipeline.dataset(Gone(), workers=2))


def test_threads_fetch_at_the_same_time():
    both = threading.Barrier(2)

    class Meeting(Squares):
        def __getitem__(self, index):
            both.wait(60)
            return index

    assert list(pipeline.dataset(Meeting(4), workers=2)) == [0, 1, 2, 3]


def test_processes_seed_the_shared_generators_by_item():
    data = pipeline.dataset(Drawn(), workers=pipeline.processes(2))
    first = list(data)
    assert len(set(first)) == 7
    assert list(data) == first
    assert not set(first) & set(data.epoch(1))


@pytest.mark.parametrize(
    "given", [[1, 2], (1, 2), range(3), np.ones(3), {"x": np.ones(3)}, iter([1]), {1}, pipeline.dataset([1])]
)
def test_what_has_no_items_of_its_own_is_refused(given):
    with pytest.raises(TypeError, match=r"dataset: workers= calls the __getitem__ of your own sequence, not of "):
        pipeline.dataset(given, workers=2)


@pytest.mark.parametrize(
    ("workers", "kind"), [(0, ValueError), (True, TypeError), ("two", TypeError), (1.5, TypeError)]
)
def test_wrong_workers(workers, kind):
    with pytest.raises(kind, match="dataset: workers must be"):
        pipeline.dataset(Squares(), workers=workers)


def test_what_cannot_be_sent_is_refused_when_it_is_written():
    items = Squares()
    items.lock = threading.Lock()
    with pytest.raises(TypeError, match="dataset: workers: <Squares> cannot be sent to other processes"):
        pipeline.dataset(items, workers=pipeline.processes(2))


def test_the_report_has_a_row_for_it():
    with iter(pipeline.dataset(Squares(50), workers=2).batch(5)) as batches:
        next(batches)
        assert [stage.name for stage in batches.report().stages] == ["Squares", "batch(5)", "Squares"]
        text = str(batches.report())
    assert any(line.startswith("Squares ") and "2 threads" in line for line in text.splitlines())
