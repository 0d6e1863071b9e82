"""shard: each host gets every n-th element; together they have each once. See test_hosts.py for draws."""

import itertools

import numpy as np
import pytest
from dataset_contract import check, states_of, stream

import pipeline


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("source", [pipeline.dataset(range(7)), stream(range(7))], ids=["list", "stream"])
def test_shard(source, n, whole):
    for i in range(n):
        mine = list(range(i, 7, n))
        check(source.shard(i, n, drop_remainder=whole), mine[: 7 // n] if whole else mine)


def test_hosts_make_what_they_keep():
    for i in range(3):
        made = []
        assert list(pipeline.dataset(range(9)).map(lambda x: made.append(x) or x).shard(i, 3)) == made  # noqa: B023
        assert made == list(range(i, 9, 3))


def test_whole_batches_behind_batch():
    hosts = [list(pipeline.dataset(range(8)).batch(2).shard(i, 2)) for i in range(2)]
    assert [batch.tolist() for batch in itertools.chain(*hosts)] == [[0, 1], [4, 5], [2, 3], [6, 7]]


def test_any_host_resumes_from_the_state_of_another():
    data = [stream(range(12)).filter(bool).shard(i, 2, drop_remainder=True) for i in range(2)]
    states = states_of(data[0])
    for k, state in enumerate(states):
        with iter(data[1]) as other:
            other.load_state_dict(state, allow={"shard"})
            assert list(other) == list(data[1])[k:]


@pytest.mark.parametrize(("i", "n"), [(2, 2), (-1, 2), (0, 0)])
def test_no_such_host(i, n):
    with pytest.raises(ValueError, match="shard: "):
        pipeline.dataset([1]).shard(i, n)


@pytest.mark.parametrize("order", [{}, {"shuffle": True, "seed": 1}], ids=["in order", "shuffled"])
def test_the_part_of_a_source_is_not_divided_again(tmp_path, order):
    for name in "ab":
        (tmp_path / name).write_text("1\n2\n")
    part = pipeline.text([str(tmp_path / name) for name in "ab"], shard=(0, 2), **order)
    assert len(list(part.shard(0, 1))) == 2
    for behind in (part, part.map(len), pipeline.mix([part, part], [1, 1], seed=1)):
        with pytest.raises(ValueError, match="text has shard= already"):
            behind.shard(0, 2)


NUMBERS = np.arange(48)


@pytest.mark.parametrize("hosts", [1, 3, 4, 6])
@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("shuffle", [False, True])
def test_other_hosts_with_other_batches_go_on(hosts, prefetch, shuffle):
    """As docs/reproducibility.md promises, if together they take as much as before."""

    def batches(i, n):
        data = pipeline.arrays(NUMBERS, shuffle=shuffle, seed=1).shard(i, n).batch(12 // n)
        return iter(data.prefetch(prefetch) if prefetch else data)

    before = [batches(i, 2) for i in range(2)]
    taken = [int(x) for one in before for _ in range(2) for x in next(one)]
    after = [batches(i, hosts) for i in range(hosts)]
    for each in after:
        each.load_state_dict(before[0].state_dict(), allow={"shard", "batch_size"})
    rest = [int(x) for one in after for batch in one for x in batch]
    assert len(taken) == 24
    assert sorted(taken + rest) == NUMBERS.tolist()


@pytest.mark.parametrize("hosts", [1, 4])
def test_the_hosts_of_a_source_stay_as_many(hosts):
    saved = iter(pipeline.arrays(NUMBERS, shard=(0, 2)).batch(4))
    next(saved)
    other = pipeline.arrays(NUMBERS, shard=(1, 2)).batch(4)
    with iter(other) as resumed:
        resumed.load_state_dict(saved.state_dict(), allow={"shard"})
        assert next(resumed).tolist() == [9, 11, 13, 15]
    fewer_or_more = iter(pipeline.arrays(NUMBERS, shard=(0, hosts)).batch(4))
    with pytest.raises(pipeline.StateMismatchError, match=rf"arrays: shard= had 2 hosts .* and has {hosts} now: only"):
        fewer_or_more.load_state_dict(saved.state_dict(), allow={"shard"})
