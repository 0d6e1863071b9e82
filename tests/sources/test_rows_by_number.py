"""Rows from Arrow and Hugging Face tables by index: with one chunk, several copied ones, and many."""

import numpy as np
import pytest

import pipeline

pyarrow = pytest.importorskip("pyarrow")

COUNT, CHUNK = 60, 7
COLUMNS = {
    "n": list(range(COUNT)),
    "word": [f"{n}é" for n in range(COUNT)],
    "list": [list(range(n % 4)) for n in range(COUNT)],
    "box": [{"x": n / 2} for n in range(COUNT)],
}


@pytest.fixture(params=["one chunk", "copied", "large"])
def chunks(request, monkeypatch):
    if request.param == "large":
        monkeypatch.setattr("pipeline.sources.arrow_rows._COPIED", 0)  # private: no table is small enough to be copied
    table = pyarrow.table(COLUMNS)
    if request.param == "one chunk":
        return table
    return pyarrow.concat_tables([table.slice(first, CHUNK) for first in range(0, COUNT, CHUNK)])


def of_arrow(table, **options):
    return pipeline.arrow(table, **options)


def of_hugging_face(table, **options):
    datasets = pytest.importorskip("datasets", reason="Hugging Face's library is large: make test-sources installs it")
    return pipeline.huggingface(datasets.Dataset(table), **options)


def of_a_selection(table, **options):
    datasets = pytest.importorskip("datasets", reason="Hugging Face's library is large: make test-sources installs it")
    twice = pyarrow.concat_tables([table, table])
    picked = [n + COUNT if n % 2 else n for n in reversed(range(COUNT))]
    back = np.array(COLUMNS["n"] * 2)[picked]
    order = np.argsort(back).tolist()
    return pipeline.huggingface(datasets.Dataset(twice).select(picked).select(order), **options)


def check(example):
    n = int(example["n"])
    assert (example["word"], example["list"].tolist()) == (f"{n}é", list(range(n % 4)))
    assert example["box"]["x"] == n / 2
    return n


@pytest.fixture(params=[of_arrow, of_hugging_face, of_a_selection])
def make(request):
    return request.param


def test_rows_in_order_and_shuffled(make, chunks):
    assert [check(each) for each in make(chunks)] == list(range(COUNT))
    shuffled = [check(each) for each in make(chunks, shuffle=True, seed=3)]
    assert sorted(shuffled) == list(range(COUNT)) != shuffled
    assert [check(each) for each in make(chunks).shuffle(seed=3).filter(lambda row: True)] != list(range(COUNT))
    assert [check(make(chunks)[n]) for n in (0, 33, COUNT - 1)] == [0, 33, COUNT - 1]


def test_loops_resume_at_every_row(make, chunks):
    data = make(chunks, shuffle=True, seed=3)
    wanted = [check(each) for each in data]
    loop = iter(data)
    for n in range(0, COUNT, 13):
        state = loop.state_dict()
        again = iter(make(chunks, shuffle=True, seed=3))
        again.load_state_dict(state)
        assert [check(each) for each in again] == wanted[n:]
        for _ in range(13):
            next(loop, None)


def test_rows_that_are_left_out(make):
    numbers = [None if n % 5 == 3 else n for n in range(COUNT)]
    table = pyarrow.table({"n": numbers})
    loop = iter(make(table).map(lambda row: int(row["n"]), on_error="skip") if make is of_arrow else make(table))
    wanted = [n for n in numbers if n is not None]
    if make is of_arrow:
        assert list(loop) == wanted
        assert loop.num_errors == COUNT - len(wanted)
    else:
        assert [int(next(loop)["n"]) for _ in range(3)] == wanted[:3]
        with pytest.raises(pipeline.InvalidArgumentError, match="column 'n'"):
            next(loop)


def test_a_table_of_string_views():
    datasets = pytest.importorskip("datasets", reason="Hugging Face's library is large: make test-sources installs it")
    words = pyarrow.array(COLUMNS["word"], pyarrow.string_view())
    data = pipeline.huggingface(datasets.Dataset(pyarrow.table({"word": words})), shuffle=True, seed=1)
    assert sorted(each["word"] for each in data) == sorted(COLUMNS["word"])
