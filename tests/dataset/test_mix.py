"""mix: elements from several datasets, drawn by weight."""

import numpy as np
import pytest
from dataset_contract import check, stream

import pipeline

A, B = pipeline.dataset(range(0, 60)), stream(range(100, 130))


@pytest.mark.parametrize("stop", ["all_exhausted", "first_exhausted"])
def test_a_resume_anywhere(stop):
    data = pipeline.mix([A, B, pipeline.dataset([-1])], [0.6, 0.3, 0.1], seed=1, stop=stop)
    found = list(data)
    check(data, found)
    for which in (A, B):
        mine = [x for x in found if (x < 100) == (which is A) and x >= 0]
        assert mine == list(which)[: len(mine)]
    if stop == "all_exhausted":
        assert sorted(found) == sorted([*A, *B, -1])


def test_weights_are_kept():
    counts = np.zeros(2)
    data = pipeline.mix([A.repeat().map(lambda x: 0), B.repeat().map(lambda x: 1)], [0.7, 0.3], seed=1)
    for each in data.take(4000):
        counts[each] += 1
    assert abs(counts[0] / 4000 - 0.7) < 0.03


def test_equal_weights_and_none():
    only = pipeline.mix([A, B], [1, 0], seed=1)
    assert list(only) == list(A)
    assert sorted(pipeline.mix([A, B], seed=1)) == sorted([*A, *B])


def test_epochs_draw_anew():
    data = pipeline.mix([A, B], seed=1)
    assert list(data.epoch(1)) != list(data)
    check(data.epoch(1), list(data.epoch(1)))
    assert list(data.repeat(2)) == [*data, *data.epoch(1)]


def test_an_unknown_stop():
    with pytest.raises(ValueError, match="stop must be 'all_exhausted' or 'first_exhausted'"):
        pipeline.mix([A], stop="never")


def joined_in_each_way(one, other):
    yield pipeline.mix([one, other], [0.5, 0.5], seed=1)
    yield one.concatenate(other)
    yield pipeline.interleave([one, other])


@pytest.mark.parametrize(
    "made", [lambda v: v, lambda v: [v], lambda v: np.array([v] * 2, object)], ids=["one", "list", "array"]
)
@pytest.mark.parametrize("by_block", [False, True])
def test_text_and_bytes_make_no_batch(made, by_block):
    one, other = ([{"n": i, "v": made(v)} for i in range(3)] for v in ("a", b"b"))
    datasets = [stream(each) if by_block else pipeline.dataset(each) for each in (one, other)]
    for data in joined_in_each_way(*datasets):
        for batches in (
            data.batch(6),
            data.batch(6, pad=0),
            data.shuffle(9, seed=1).batch(6),
            data.prefetch(2).batch(6),
        ):
            with pytest.raises(
                TypeError, match=r"component 'v' is (str|bytes) in one example and (str|bytes) in anoth"
            ):
                list(batches)
    with pytest.raises(TypeError, match=r"component 'v' is "):
        list(pipeline.batch_join(datasets, 6, num_threads=0))


def test_text_and_missing_values_make_a_batch():
    one, other = (stream([{"v": v}] * 2) for v in ("a", None))
    for data in joined_in_each_way(one, other):
        [batch] = data.batch(4)
        assert sorted(map(str, batch["v"])) == ["None", "None", "a", "a"]


def test_text_and_bytes_in_one_list():
    with pytest.raises(TypeError, match=r"component 'v' is a list of str and bytes"):
        list(pipeline.dataset([{"v": ["a", b"b"]}]).batch(1))
