"""Errors name their transformation, the line where it was written, and the examples."""

import copy
import json
import pickle
import re
import sys
from pathlib import Path

import pytest
from steps import STEPS

import pipeline

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")

NUMBERS = pipeline.dataset(range(10))


def bad(x):
    if x == 5:
        raise LookupError("oh")
    return x


CHAINS = {
    ".map(bad) ": lambda: NUMBERS.map(bad, workers=2).batch(2).prefetch(1),
    ".map(bad)  ": lambda: NUMBERS.map(bad).enumerate().shuffle(seed=1).take(10),
    ".filter(bad)": lambda: NUMBERS.filter(bad).shuffle(3).skip(1),
    ".flat_map(bad)": lambda: pipeline.zip(NUMBERS, NUMBERS.flat_map(bad)),
    ".batch(3)": lambda: NUMBERS.batch(3, collate=lambda rows: rows[9]).map(bad),
    ".batch(2)": lambda: pipeline.dataset([[1], [2, 3]]).batch(2).repeat(2),
    "pipeline.interleave(...)": lambda: pipeline.mix([pipeline.interleave(NUMBERS)]),
    "pipeline.dataset(failing)": lambda: pipeline.dataset(failing).batch(2),
    "pipeline.dataset(Items of 3)": lambda: pipeline.dataset(Items()).batch(2),
    "pipeline.jsonl(...)": lambda: pipeline.jsonl(__file__).batch(2),
}


def failing():
    yield 1
    raise LookupError("oh")


class Items:
    def __len__(self):
        return 3

    def __getitem__(self, i):
        raise LookupError("oh")


def check_note(call, name):
    """Check that the error of a chain names a step, and the line that writes the chain."""
    place = f"written at tests/{'/'.join(Path(call.__code__.co_filename).parts[-2:])}:{call.__code__.co_firstlineno}"
    for data in (call(), copy.deepcopy(call())):
        with pytest.raises((LookupError, ValueError, TypeError, pipeline.OpError)) as caught:
            list(data)
        (note,) = (each for each in caught.value.__notes__ if "written at" in each)
        assert re.fullmatch(f"in {name} {re.escape(place)}", note)


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.chdir(__file__.rpartition("/tests/")[0])


@pytest.mark.parametrize("name", CHAINS)
def test_errors_name_the_transformation_and_its_line(name):
    check_note(CHAINS[name], re.escape(name.strip()))


@pytest.mark.parametrize("name", [name for name, step in STEPS.items() if step.fails])
def test_errors_of_each_step_name_it(name):
    step = STEPS[name]
    check_note(step.fails, rf"(\.|pipeline\.){'map' if step.name == 'map_batches' else step.name}\(.+\)")


def test_elements_by_number_and_pickled_recipes_too():
    data = pickle.loads(pickle.dumps(NUMBERS.map(bad)))
    for look in (lambda: data[5], lambda: data.skip(5).spec):
        with pytest.raises(LookupError) as caught:
            look()
        first, second = caught.value.__notes__
        assert first == "bad: example 5"
        assert second.startswith("in .map(bad) written at ")


@pytest.mark.parametrize("prefetch", [0, 2])
def test_examples_that_do_not_fit_are_named(tmp_path, prefetch):
    file = tmp_path / "x.jsonl"
    file.write_text('{"a": 1}\n\n{"a": 2, "b": 3}\n')
    with pytest.raises(
        ValueError, match=r"of the first one, \['a'\]; got \['a', 'b'\] \(.*x.jsonl:1 and .*x.jsonl:3\)"
    ):
        next(iter(pipeline.jsonl(file).prefetch(prefetch).batch(2)))
    with pytest.raises(ValueError, match=r"\[1\] in one example and \[2\] in another.* \(example 1 and example 2\)"):
        list(pipeline.dataset([[0], [1], [2, 3]]).skip(1).batch(2))


@pytest.mark.parametrize(
    ("rows", "options", "text"),
    [
        ([{"x": [1.5]}, {"x": [1, 2]}], {"pad": 0}, "component 'x': pad: arrays.1. has dtype int64, expected float64"),
        ([{"x": [1]}, {"x": [[1]]}], {"pad": 0}, "component 'x' is list in one example and ListValue in another"),
        ([{"x": [1.5]}, {"x": [1, 2]}], {"collate": "row_splits"}, "component 'x': concatenate: "),
        ([{"x": {"y": 1}}, {"x": {"z": 1}}], {}, "examples differ in structure: "),
        ([{"\ud800": {"y": 1}}, {"x": {"z": 1}}], {}, "examples differ in structure: "),
    ],
    ids=["dtype", "rank", "row_splits", "structure", "half a surrogate pair"],
)
def test_examples_that_make_no_batch_are_named_by_file_and_line(tmp_path, rows, options, text):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises((TypeError, ValueError), match=rf"{text}.* \({path}:1 and {path}:2\)") as raised:
        list(pipeline.jsonl(path).batch(2, **options))
    str(raised.value).encode()  # it can be printed


@pytest.mark.parametrize("options", [{}, {"pad": 0}], ids=str)
def test_an_example_that_makes_no_array_is_named_alone(tmp_path, options):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": [1, 2]}\n{"a": [1, "x"]}\n')
    with pytest.raises(
        TypeError, match=rf"component 'a' is a list of strings and other values: \[1, 'x'\] \({path}:2\)"
    ):
        list(pipeline.jsonl(path).batch(2, **options))


@pytest.mark.parametrize(
    ("chain", "of"),
    [
        (lambda data, bad: data.bucket([2], [2, 2], length=bad), "example 4"),
        (lambda data, bad: data.batch(3, collate=lambda rows: bad(rows[1])), "the batch of example 3 to example 5"),
        (lambda data, bad: data.sort(3, bad), "example 4"),
    ],
    ids=["bucket", "batch", "sort"],
)
def test_functions_of_several_examples_are_named(chain, of):
    def bad(number):
        return abs(1 // (number - 4))

    with pytest.raises(ZeroDivisionError) as raised:
        list(chain(pipeline.dataset(range(9)), bad))
    assert any(
        re.fullmatch(rf"(bad|<lambda>): {of}", note) for note in getattr(raised.value, "__notes__", [f"bad: {of}"])
    )
