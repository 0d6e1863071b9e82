"""interleave: elements from several datasets in turn; the next one replaces a finished one when due."""

import chains
import pytest
from dataset_contract import check, stream

import pipeline

LENGTHS = 3, 0, 5, 1, 2


def part(number):
    return pipeline.dataset([10 * number + i for i in range(LENGTHS[number])])


@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize("cycle", [None, 1, 2, 3, 9])
def test_interleave(cycle, block):
    lists = [list(part(number)) for number in range(5)]
    parts = [part(number) for number in range(5)]
    check(pipeline.interleave(parts, cycle, block), chains.round_robin(lists, block, cycle))
    nested = pipeline.dataset(range(5)).map(part)
    check(pipeline.interleave(nested, cycle, block), chains.round_robin(lists, block, cycle or 4))


def test_the_example_of_tf_data():
    """The example in the tf.data.Dataset.interleave documentation."""
    data = pipeline.dataset(range(1, 6)).map(six_times)
    expected = "1111 2222 11 22 3333 4444 33 44 5555 55"
    check(pipeline.interleave(data, 2, 4), [int(x) for x in expected.replace(" ", "")])


def six_times(x):
    return pipeline.dataset([x] * 6)


class Unopened(Exception):
    """Raised by an input when it is opened."""


def unopened():
    raise Unopened


def test_a_dataset_is_opened_when_it_is_its_turn():
    one = pipeline.interleave([part(0), pipeline.dataset(unopened)], 2, 2)
    found = []
    with pytest.raises(Unopened):
        found.extend(one)
    assert found == [0, 1]
    nested = pipeline.interleave(pipeline.dataset([0, 9]).map(part), 2, 2)
    found = []
    with pytest.raises(IndexError):
        found.extend(nested)
    assert found == [0, 1]


def test_files_found_on_the_way(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text(f"{name}0\n{name}1\n")
    files = stream([str(tmp_path / name) for name in "abc"])
    check(pipeline.interleave(files.map(pipeline.text), cycle_length=2), ["a0", "b0", "a1", "b1", "c0", "c1"])


def test_what_is_no_dataset():
    with pytest.raises(ValueError, match="interleave: expected a dataset of datasets, but an element is 1"):
        list(pipeline.interleave(pipeline.dataset([1])))
