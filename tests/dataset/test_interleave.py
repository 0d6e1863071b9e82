"""interleave: elements of several datasets in turn; one that ends is replaced by the next."""

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


def test_files_found_on_the_way(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text(f"{name}0\n{name}1\n")
    files = stream([str(tmp_path / name) for name in "abc"])
    check(pipeline.interleave(files.map(pipeline.text), cycle_length=2), [b"a0", b"b0", b"a1", b"b1", b"c0", b"c1"])


def test_what_is_no_dataset():
    with pytest.raises(ValueError, match="interleave: expected a dataset of datasets, and an element is 1"):
        list(pipeline.interleave(pipeline.dataset([1])))
