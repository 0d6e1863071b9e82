"""Skipped examples keep later resumes, choices and indices right, and the shards after a prefetch."""

import itertools
import json

import pytest

import pipeline


def no_fours(number):
    if number % 5 == 4:
        raise ValueError("a four")
    return number


def stream(n):
    return pipeline.dataset(range(n)).filter(lambda number: number >= 0)


def skipping(source, workers=None):
    return source.map(no_fours, on_error="skip", workers=workers)


DATASETS = {
    "map of a stream": lambda: skipping(stream(90)),
    "workers": lambda: skipping(stream(90), 2),
    "map of a sequence": lambda: skipping(pipeline.dataset(range(90))),
    "shuffle": lambda: skipping(stream(40)).shuffle(5, seed=1),
    "zip": lambda: pipeline.zip(skipping(stream(40)), skipping(pipeline.dataset(range(40)))),
    "mix": lambda: pipeline.mix([skipping(stream(30)), skipping(pipeline.dataset(range(30)))], [0.7, 0.3], seed=1),
    "interleave": lambda: pipeline.interleave([skipping(stream(20)), skipping(pipeline.dataset(range(20)))]),
    "prefetch": lambda: skipping(stream(40)).prefetch(3),
    "map": lambda: skipping(stream(40)).map(lambda number: number + 1),
    "batch": lambda: skipping(stream(40)).batch(3).map(lambda batch: batch.tolist()),
    "share": lambda: skipping(stream(40)).shard(1, 3),
    "share of a prefetch": lambda: stream(40).prefetch(3).shard(1, 3),
    "prefetch of a share": lambda: stream(40).prefetch(3).shard(1, 3).prefetch(2),
    "map of a share": lambda: stream(40).prefetch(3).shard(1, 3).map(lambda number: number + 1),
}


@pytest.mark.parametrize("name", DATASETS)
def test_a_resume_gives_the_elements_that_were_left(name):
    data = DATASETS[name]()
    whole = list(data)
    assert whole
    for k in range(len(whole) + 1):
        with iter(data) as before, iter(data) as after:
            assert [next(before) for _ in range(k)] == whole[:k]
            after.load_state_dict(json.loads(json.dumps(before.state_dict())))
            assert list(after) == whole[k:], k


KEPT = [number for number in range(40) if number % 5 != 4]
NUMBERS = pipeline.dataset(range(40))


def test_what_is_left_out_does_not_count_in_take_and_skip():
    assert list(skipping(NUMBERS).take(6)) == KEPT[:6]
    assert list(skipping(NUMBERS).skip(6)) == KEPT[6:]
    assert list(skipping(NUMBERS).take(20).skip(3)) == KEPT[3:20]
    assert list(skipping(NUMBERS).map(lambda number: number).take(6)) == KEPT[:6]


def test_a_choice_behind_another_part_leaves_out_what_fails():
    assert list(skipping(NUMBERS).prefetch(2).shard(1, 2)) == list(skipping(NUMBERS).shard(1, 2))  # it changes nothing
    assert list(skipping(NUMBERS).prefetch(2).take(9)) == KEPT[:9]
    assert list(skipping(NUMBERS).repeat(2).take(40)) == (KEPT + KEPT)[:40]
    assert sorted(skipping(NUMBERS).shuffle(seed=1)) == KEPT
    hosts = [list(skipping(NUMBERS).shuffle(seed=1).shard(i, 3)) for i in range(3)]
    assert sorted(itertools.chain(*hosts)) == KEPT
    with pytest.raises(ValueError, match="shuffle: repeat is a stream"):
        skipping(NUMBERS).repeat(2).shuffle(seed=1)


def test_numbers_of_enumerate_stay_with_their_examples():
    pairs = [(number, 10 + number) for number in range(20)]
    for source in (pipeline.dataset(range(10, 30)), pipeline.dataset(range(10, 30)).filter(bool)):
        numbered = source.enumerate()
        assert list(numbered.shard(1, 3)) == pairs[1::3]
        assert list(numbered.skip(3).take(5)) == pairs[3:8]
        assert sorted(numbered.shuffle(4, seed=1)) == pairs
    assert sorted(pipeline.dataset(range(10, 30)).enumerate().shuffle(seed=1)) == pairs
    assert list(pipeline.dataset(range(10, 30)).enumerate().sample([0, 1] + [0] * 18, 2, seed=1)) == [(1, 11)] * 2


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_hosts_get_equally_many_of_what_is_left(n, workers):
    numbers = skipping(pipeline.dataset(range(21)), workers)
    hosts = [list(numbers.shard(i, n, drop_remainder=True)) for i in range(n)]
    kept = list(numbers)
    assert hosts == [kept[i : len(kept) // n * n : n] for i in range(n)]
