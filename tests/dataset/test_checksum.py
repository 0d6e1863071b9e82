"""checksum: the fingerprint covers the bytes delivered, for any batching, workers or resume."""

import dataclasses
import json

import numpy as np
import pytest

import pipeline


def fingerprint(dataset):
    with iter(dataset) as iterator:
        for _ in iterator:
            pass
        return iterator.fingerprint()


def rows(n=20):
    return [{"x": np.arange(3) + i, "name": f"row {i}", "n": i} for i in range(n)]


def test_elements_are_passed_on():
    data = pipeline.dataset(rows()).checksum()
    assert [row["n"] for row in data] == list(range(20))
    assert len(data) == 20
    assert repr(data).endswith(".checksum()")


def test_one_bit_shows():
    for change in (
        lambda row: row["x"].__setitem__(1, 99),
        lambda row: row.update(name="another"),
        lambda row: row.update(n=-1),
        lambda row: row.update(x=row["x"].astype(np.int32)),
        lambda row: row.update(x=row["x"].reshape(3, 1)),
        lambda row: row.update(name=row["name"].encode()),
        lambda row: row.update(more=None),
    ):
        changed = rows()
        change(changed[7])
        assert fingerprint(pipeline.dataset(changed).checksum()) != fingerprint(pipeline.dataset(rows()).checksum())
    assert fingerprint(pipeline.dataset(rows()).checksum()) == fingerprint(pipeline.dataset(rows()).checksum())


def test_the_order_shows_too():
    data = pipeline.dataset(rows()).shuffle(seed=1).checksum()
    assert fingerprint(data) != fingerprint(data.epoch(1))
    assert fingerprint(data) != fingerprint(pipeline.dataset(rows()).checksum())


def test_it_is_the_same_for_all_batch_sizes_workers_and_ways_to_hold_rows():
    data = pipeline.dataset(rows()).map(lambda row: row["x"] * 2.0)
    expected = fingerprint(data.checksum())
    assert fingerprint(data.checksum().batch(3)) == fingerprint(data.checksum().batch(7).prefetch(2)) == expected
    parallel = pipeline.dataset(rows()).map(lambda row: row["x"] * 2.0, workers=3)
    assert fingerprint(parallel.checksum()) == fingerprint(parallel.prefetch(3).checksum().batch(4)) == expected
    whole = parallel.checksum().batch(3, drop_remainder=True).batch(2).prefetch(1)  # 18 of the 20
    assert fingerprint(whole) == fingerprint(parallel.take(18).checksum())
    array = np.stack([row["x"] for row in rows()])
    assert fingerprint(pipeline.arrays(array).checksum()) == fingerprint(pipeline.dataset(list(array)).checksum())


@pytest.mark.parametrize("names", [None, ("x", "y")], ids=["tuple", "dict"])
def test_rows_of_several_arrays(names):
    """Those of a batch are summed together."""
    arrays = np.arange(22.0).reshape(11, 2), np.arange(11, dtype=np.int16)
    data = pipeline.arrays(arrays if names is None else dict(zip(names, arrays, strict=True))).checksum()
    assert fingerprint(data.batch(4)) == fingerprint(data.batch(3)) == fingerprint(data)


def test_batches_and_their_rows():
    data = pipeline.dataset([1, 2, 3, 4])
    other = pipeline.dataset([1, 2, 3, 5])
    assert fingerprint(data.batch(2).checksum()) != fingerprint(other.batch(2).checksum())
    assert fingerprint(data.batch(2).checksum()) != fingerprint(data.checksum().batch(2))
    assert fingerprint(data.batch(2).checksum().batch(2)) == fingerprint(data.batch(2).checksum())


def test_rows_of_batches_have_the_order_of_these():
    data = [pipeline.dataset(range(12)).shuffle(seed=seed).batch(4).unbatch() for seed in (1, 2)]
    assert fingerprint(data[0].checksum()) != fingerprint(data[1].checksum())
    assert fingerprint(data[0].checksum()) == fingerprint(pipeline.dataset(range(12)).shuffle(seed=1).checksum())


DATA = pipeline.dataset([[1], [2], [3]]).checksum()
AFTER = {
    "map": lambda: DATA.map(len),
    "filter": lambda: DATA.filter(len),
    "shuffle": lambda: DATA.shuffle(),
    "take": lambda: DATA.batch(2).take(1),
    "unbatch": lambda: DATA.unbatch(),
    "sort": lambda: DATA.sort(2, len),
    "window": lambda: DATA.prefetch(1).window(2),
    "zip": lambda: pipeline.zip(DATA, DATA),
    "mix": lambda: pipeline.mix([DATA, DATA]),
    "concatenate": lambda: DATA.concatenate(DATA),
    "batch": lambda: DATA.batch(2, pad=0),
}


@pytest.mark.parametrize("name", AFTER)
def test_what_must_not_come_after_it_is_refused_where_it_is_written(name):
    with pytest.raises(pipeline.InvalidArgumentError, match=rf"checksum: {name} comes after it: only batch\(n\)"):
        AFTER[name]()


def test_batches_of_another_size_continue_the_sum():
    data = pipeline.dataset(rows()).checksum()
    with iter(data.batch(3)) as batches:
        for _ in range(3):
            next(batches)
        state = json.loads(json.dumps(batches.state_dict()))
    with iter(data.batch(4)) as batches:
        batches.load_state_dict(state, allow={"batch_size"})
        assert len(list(batches)) == 3
        assert batches.fingerprint() == fingerprint(data)


@pytest.mark.parametrize("k", range(8))
def test_resumed_anywhere(k):
    data = pipeline.dataset(rows()).shuffle(8, seed=1).checksum().batch(3)
    with iter(data) as batches:
        for _ in range(min(k, 7)):
            next(batches)
        state = json.loads(json.dumps(batches.state_dict()))
    with iter(data) as batches:
        batches.load_state_dict(state)
        for _ in batches:
            pass
        assert batches.fingerprint() == fingerprint(data)


def test_before_the_first_element():
    with iter(pipeline.dataset(rows()).checksum().batch(3)) as batches:
        assert batches.delivered == (0, 0)
        assert batches.fingerprint() == "0-0000000000000000"


def test_what_has_no_bytes():
    class Thing:
        pass

    with pytest.raises(TypeError, match="expected arrays, numbers and strings, got Thing"):
        list(pipeline.dataset([{"a": Thing()}]).checksum())

    @dataclasses.dataclass
    class Pair:
        x: int
        y: list

    assert fingerprint(pipeline.dataset([Pair(1, [2, None])]).checksum()) != fingerprint(
        pipeline.dataset([Pair(1, [None, 2])]).checksum()
    )
    for odd in (
        1 << 80,
        2.5,
        float("nan"),
        1j,
        True,
        np.float16(2),
        np.array(["a", None], object),
        np.datetime64("2020"),
    ):
        assert fingerprint(pipeline.dataset([odd]).checksum()) == fingerprint(pipeline.dataset([odd]).checksum())


def test_a_recipe_without_checksum_says_so():
    with (
        iter(pipeline.dataset([1])) as iterator,
        pytest.raises(pipeline.FailedPreconditionError, match=r"\.checksum\(\)"),
    ):
        iterator.fingerprint()
    with iter(pipeline.dataset([1, 2])) as iterator:
        next(iterator)
        state = iterator.state_dict()
    with pytest.raises(pipeline.StateMismatchError):
        iter(pipeline.dataset([1, 2]).checksum()).load_state_dict(state)
