"""split: two disjoint parts, equal in every run and complete together."""

import pickle

import numpy as np
import pytest
from dataset_contract import check
from helpers import raises, run_script

import pipeline
from pipeline.errors import InvalidArgumentError

FRACTIONS = [0.05, 0.5, 0.8, 0.999]


def stream(count=1000):
    def numbers():
        yield from range(count)

    return pipeline.dataset(numbers)


SOURCES = {
    "indexed": lambda: pipeline.dataset(range(1000)),
    "arrays": lambda: pipeline.arrays(np.arange(1000)).map(int),
    "stream": stream,
    "filtered": lambda: pipeline.dataset(range(1500)).filter(lambda number: number < 1000),
    "workers": lambda: pipeline.dataset(range(1000)).map(abs, workers=2),
    "cached": lambda: pipeline.dataset(range(1000)).map(abs).cache(),
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("fraction", FRACTIONS)
def test_the_parts_are_disjoint_whole_and_in_order_however_elements_come(kind, fraction):
    one, other = map(list, SOURCES[kind]().split(fraction, seed=3))
    assert one == sorted(one)
    assert other == sorted(other)
    assert sorted(one + other) == list(range(1000))
    assert abs(len(one) - 1000 * fraction) < 80  # five standard deviations at the widest
    assert one == list(pipeline.dataset(range(1000)).split(fraction, seed=3)[0])


def test_seeds_differ():
    parts = {tuple(pipeline.dataset(range(100)).split(0.5, seed=seed)[0]) for seed in [*range(20), -1, 2**40]}
    assert len(parts) == 22


def test_an_element_stays_in_its_part_while_data_are_appended():
    for make in (lambda n: pipeline.dataset(range(n)), stream):
        before, after = make(500).split(0.8, seed=1)[0], make(1000).split(0.8, seed=1)[0]
        assert list(before) == [number for number in after if number < 500]


def test_parts_of_indexed_datasets_are_indexed():
    train, validation = pipeline.dataset(range(100)).map(lambda number: number * 2).split(0.8, seed=1)
    assert len(train) + len(validation) == 100
    assert [train[i] for i in range(len(train))] == list(train)
    assert sorted(train.shuffle(seed=2)) == list(train)
    assert pickle.loads(pickle.dumps(pipeline.dataset(range(9)).split(0.5)[1])).to_arrays().tolist()


def test_a_split_part_is_split_again_by_other_draws():
    train, _ = pipeline.dataset(range(1000)).split(0.5, seed=1)
    one, other = train.split(0.5, seed=1)
    assert 150 < len(one) < 350
    assert sorted([*one, *other]) == list(train)


@pytest.mark.parametrize("by", ["user", lambda row: (row["user"], 1)])
def test_all_elements_of_a_key_are_in_one_part(by):
    rows = [{"user": f"u{i % 50}", "x": i} for i in range(1000)]
    one, other = map(list, pipeline.dataset(rows).split(0.7, seed=1, by=by))
    users = [{row["user"] for row in part} for part in (one, other)]
    assert not users[0] & users[1]
    assert sorted(row["x"] for row in one + other) == list(range(1000))
    assert 20 < len(users[0]) < 48  # out of 50, with 35 expected


def test_keys_are_the_same_in_every_process():
    code = "\n".join(
        [
            "import pipeline",
            "keys = [f'k{i}' for i in range(200)] + list(range(200)) + [(i, 'a') for i in range(9)] + [None]",
            "print(list(pipeline.dataset([{'k': key} for key in keys]).map(str).split(0.5, seed=7, by=str)[0]))",
        ]
    )
    one, other = run_script(code), run_script(code)
    assert one.stdout == other.stdout
    assert "k" in one.stdout


def test_a_text_and_its_bytes_are_one_key():
    texts = [f"k{i}" for i in range(100)]
    one = pipeline.dataset(texts).split(0.5, by=lambda text: text)[0]
    other = pipeline.dataset([text.encode() for text in texts]).split(0.5, by=lambda text: text)[0]
    assert list(one) == [each.decode() for each in other]


@pytest.mark.parametrize("given", ["label", lambda row: row["label"], "labels"])
def test_stratified_parts_have_the_share_of_each_class(given):
    labels = [0] * 700 + [1] * 290 + [2] * 10
    rows = [{"label": label, "x": i} for i, label in enumerate(labels)]
    stratify = labels if given == "labels" else given
    one, other = (list(part) for part in pipeline.dataset(rows).split(0.8, seed=5, stratify=stratify))
    assert [sum(row["label"] == label for row in one) for label in range(3)] == [560, 232, 8]
    assert sorted(row["x"] for row in one + other) == list(range(1000))
    assert [row["x"] for row in one] == sorted(row["x"] for row in one)


def test_states_are_of_one_part_and_split():
    one, other = pipeline.dataset(range(100)).split(0.5, seed=1)
    with iter(one) as elements:
        first = [next(elements) for _ in range(7)]
        state = elements.state_dict()
    with iter(one) as elements:
        elements.load_state_dict(state)
        assert first + list(elements) == list(one)
    for wrong in (other, pipeline.dataset(range(100)).split(0.5, seed=2)[0]):
        with iter(wrong) as elements, pytest.raises(pipeline.errors.StateMismatchError):
            elements.load_state_dict(state)


@pytest.mark.parametrize("source", [lambda: pipeline.dataset(range(40)), lambda: stream(40)], ids=["indexed", "stream"])
@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("options", [{}, {"by": abs}])
def test_contract(source, workers, options):
    for part in source().map(abs, workers=workers).split(0.6, seed=1, **options):
        check(part, list(part))
        check(part.map(str).batch(3, drop_remainder=True), list(part.map(str).batch(3, drop_remainder=True)))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"fraction": 0}, ValueError, "split: fraction must be between 0 and 1, such as 0.8, got 0"),
        ({"fraction": 1.0}, ValueError, "split: fraction must be between 0 and 1"),
        ({"fraction": float("nan")}, ValueError, "split: fraction must be between 0 and 1"),
        ({"fraction": "0.8"}, TypeError, "split: fraction must be a number between 0 and 1, got '0.8'"),
        ({"fraction": 0.8, "seed": 1.5}, TypeError, "split: seed"),
        ({"fraction": 0.8, "by": abs, "stratify": abs}, ValueError, "split: by= keeps the elements of a key together"),
        ({"fraction": 0.8, "by": 3}, TypeError, "split: by"),
        (
            {"fraction": 0.8, "stratify": [1, 2]},
            ValueError,
            "split: stratify must have a class for each of 10 elements, got 2",
        ),
    ],
)
def test_wrong_arguments(arguments, error, text):
    with raises(error, text):
        pipeline.dataset(range(10)).split(**arguments)


def test_wrong_values():
    with raises(InvalidArgumentError, "split: by='user' is not there: the element has fields 'x'"):
        list(pipeline.dataset([{"x": 1}]).split(0.5, by="user")[0])
    with pytest.raises(TypeError, match=r"split: by must return strings, integers, or tuples of them, got float: 0\.5"):
        list(pipeline.dataset([0.5]).split(0.5, by=lambda each: each)[0])
    with raises(InvalidArgumentError, "split(stratify=...): numbers is a stream: pass by= or neither"):
        stream().split(0.5, stratify=abs)
    with raises(InvalidArgumentError, "split: the batches of batch(max_wait=...) depend on time"):
        pipeline.dataset(pipeline.FIFOQueue(3, "int64", shapes=[()])).batch(2, max_wait=1).split(0.5)


@pytest.mark.parametrize("stratify", [None, lambda number: number % 3])
def test_states_do_not_depend_on_workers(stratify):
    def parts(workers):
        data = pipeline.dataset(range(60)).map(abs, workers=workers).enumerate().map(max)
        return data.split(0.6, seed=4, stratify=stratify)

    for alone, together in zip(parts(None), parts(2), strict=True):
        for one, other in ((alone, together), (together, alone)):
            with iter(one) as elements:
                states = [elements.state_dict(), *(elements.state_dict() for _ in elements)]
            for k, state in enumerate(states):
                with iter(other) as elements:
                    elements.load_state_dict(state)
                    assert list(elements) == list(alone)[k:]


def test_a_cache_that_is_filled_meanwhile_changes_no_part(tmp_path):
    data = pipeline.dataset(range(3000)).map(abs).cache(tmp_path / "kept")
    one = data.split(0.6, seed=4)[0]
    with iter(one) as elements:
        first = [next(elements) for _ in range(50)]
        state = elements.state_dict()
    assert len(list(data)) == 3000
    again = pipeline.dataset(range(3000)).map(abs).cache(tmp_path / "kept").split(0.6, seed=4)[0]
    with iter(again) as elements:
        elements.load_state_dict(state)
        assert first + list(elements) == list(one) == [again[i] for i in range(len(again))]


def test_an_endless_dataset_has_two_endless_parts():
    one, other = (part.take(50) for part in pipeline.dataset(range(10)).repeat().split(0.5, seed=1))
    assert len(list(one)) == len(list(other)) == 50
