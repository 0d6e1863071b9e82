"""shard: every n-th element is a host's; together the hosts have each once. See test_hosts.py for draws."""

import itertools

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
