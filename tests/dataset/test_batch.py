"""batch: elements stacked in their structure, padded, split or combined by a function."""

import collections

import chains
import numpy as np
import pytest
from dataset_contract import check, stream

import pipeline

Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("n", [1, 3, 7, 8])
@pytest.mark.parametrize("source", [pipeline.dataset(range(7)), stream(range(7))], ids=["list", "stream"])
def test_batch(source, n, whole):
    ends = range(0, 7 - n + 1, n) if whole else range(0, 7, n)
    check(source.batch(n, drop_remainder=whole), [list(range(7))[i : i + n] for i in ends])


@pytest.mark.parametrize("example", [1, 1.5, "a", b"a", (1, "a"), {"x": 1, "y": (2, 3)}, Point(1, [2, 3])], ids=str)
def test_structures(example):
    (batch,) = pipeline.dataset([example, example]).batch(2)
    assert type(batch) is (np.ndarray if not isinstance(example, (tuple, dict)) else type(example))
    (one,) = pipeline.dataset([example]).batch(1).unbatch()
    assert chains.plain(one) == chains.plain(example)


def test_padding():
    rows = stream([[1, 2, 3], [4], [], [5, 6]])
    check(rows.batch(2, pad=0), [[[1, 2, 3], [4, 0, 0]], [[0, 0], [5, 6]]])
    check(rows.batch(4, pad=-1), [[[1, 2, 3], [4, -1, -1], [-1, -1, -1], [5, 6, -1]]])
    check(rows.batch(4, collate="row_splits"), [([1, 2, 3, 4, 5, 6], [0, 3, 4, 4, 6])])
    named = stream([{"a": [1], "b": 2}, {"a": [3, 4], "b": 5}])
    check(named.batch(2, pad={"a": 9}), [{"a": [[1, 9], [3, 4]], "b": [2, 5]}])


def test_a_function_of_the_list():
    check(stream("abcde").batch(2, collate="".join), ["ab", "cd", "e"])


def test_dropped_examples_are_counted():
    with iter(pipeline.dataset(range(7)).batch(3, drop_remainder=True)) as batches:
        assert len(list(batches)) == 2
        assert batches.num_dropped == 1


@pytest.mark.parametrize("seconds", [np.int64(60), np.float32(60), 60])
def test_seconds_of_any_kind(seconds):
    with iter(pipeline.dataset(range(3)).batch(2, max_wait=seconds)) as batches:
        assert [each.tolist() for each in batches] == [[0, 1], [2]]


@pytest.mark.parametrize("options", [{"collate": "sum"}, {"pad": 0, "collate": "stack"}, {"max_wait": 0}], ids=str)
def test_wrong_options(options):
    with pytest.raises(ValueError, match="batch: "):
        pipeline.dataset([1]).batch(2, **options)


@pytest.mark.parametrize(
    "kind", [str, np.str_, lambda text: np.bytes_(text.encode()), np.array], ids=["str", "str_", "bytes_", "array"]
)
@pytest.mark.parametrize("way", [{}, {"pad": 0}, {"collate": "row_splits"}], ids=["stack", "pad", "row_splits"])
def test_texts_of_any_kind_are_stacked(kind, way):
    data = pipeline.dataset(range(3)).map(lambda i: {"name": kind("x" * i)})
    [batch] = data.batch(3, **way)
    assert batch["name"].dtype == object
    assert [len(each) for each in batch["name"]] == [0, 1, 2]


@pytest.mark.parametrize("sizes", [(2, 1), (1, 1), (1, 2), (1, 1, 1), (3, 1, 2)], ids=str)
@pytest.mark.parametrize("repeats", [1, 2])
def test_batches_of_batches_of_numbers(sizes, repeats):
    data, expected = pipeline.arrays(np.arange(12)).repeat(repeats), np.tile(np.arange(12), repeats)
    for size in sizes:
        data = data.batch(size, drop_remainder=True)
        expected = expected[: len(expected) // size * size].reshape(-1, size, *expected.shape[1:])
    assert np.array(list(data)).tolist() == expected.tolist()
    assert [data[i].tolist() for i in range(len(data))] == expected.tolist()
    check(data, list(expected))
    shuffled = [each.tolist() for each in data.shuffle(seed=1)]
    assert sorted(shuffled) == sorted(expected.tolist())


def test_a_mapping_of_a_collate_function_stays_what_it_is():
    """Such as a tokenizer's BatchEncoding, because programs call its methods."""
    data = pipeline.dataset(range(4)).batch(2, collate=lambda rows: collections.UserDict(x=np.array(rows)))
    batches = list(data)
    assert [type(each) for each in batches] == [collections.UserDict] * 2
    assert [each["x"].tolist() for each in batches] == [[0, 1], [2, 3]]
