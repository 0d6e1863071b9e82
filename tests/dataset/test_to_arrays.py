"""to_arrays: a dataset that fits into memory, as arrays."""

import numpy as np
import pytest
from helpers import raises

import pipeline
from pipeline.errors import InvalidArgumentError


def test_a_table_is_its_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,name\n" + "".join(f"{i},n{i}\n" for i in range(5000)))
    table = pipeline.csv(path).to_arrays()
    assert table["x"].tolist() == list(range(5000))
    assert [each if isinstance(each, str) else each.decode() for each in table["name"]] == [
        f"n{i}" for i in range(5000)
    ]


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ([1, 2, 3], np.array([1, 2, 3])),
        ([(1, 2.5), (2, 3.5)], (np.array([1, 2]), np.array([2.5, 3.5]))),
        ([np.ones((2, 3), np.float32)] * 4, np.ones((4, 2, 3), np.float32)),
        ([{"a": {"b": 1}}] * 2, {"a": {"b": np.array([1, 1])}}),
    ],
)
def test_the_structure_is_that_of_an_element(elements, expected):
    found = pipeline.dataset(elements).to_arrays()
    np.testing.assert_equal(found, expected)
    assert type(found) is type(expected)


def test_arrays_own_their_memory():
    given = np.arange(6.0).reshape(3, 2)
    found = pipeline.arrays(given).to_arrays()
    found += 1
    assert given.tolist() == np.arange(6.0).reshape(3, 2).tolist()


def test_streams_workers_and_padding():
    def lists():
        for i in range(3000):
            yield [i] * (i % 3 + 1)

    found = pipeline.dataset(lists).map(np.asarray, workers=2).to_arrays(pad=-1)
    assert found.shape == (3000, 3)
    assert found[4].tolist() == [4, 4, -1]
    with raises(InvalidArgumentError, "batch: the value has shape [1] in one example and [2] in another"):
        pipeline.dataset(lists).to_arrays()


def test_no_elements_and_no_end():
    with raises(InvalidArgumentError, "to_arrays: the dataset has no elements"):
        pipeline.dataset([]).to_arrays()
    with raises(InvalidArgumentError, "to_arrays: the dataset has no end: write take(n) before it"):
        pipeline.dataset([1]).repeat().to_arrays()
