"""DataLoader(pad_last=True): all processes get the same number of equal batches, and a mask marks the real rows."""

import pickle

import numpy as np
import pytest
from dataset_contract import check, stream
from test_torch_processes import in_group

import pipeline
from pipeline.adaptors.padding import padded
from pipeline.datasets.share import Share, share_of

torch = pytest.importorskip("torch")

ROWS = 22


def numbers(size=4):
    return pipeline.arrays(np.arange(ROWS)).batch(size)


def shares(data, count):
    """Return each process's rows; its shard alone, as a loader requests it."""
    return [share_of(data, Share(i, count, False, True, True)) for i in range(count)]


@pytest.mark.parametrize("count", [2, 3, 5, 7])
@pytest.mark.parametrize("rows", [1, 6, 7])
@pytest.mark.parametrize("source", [stream, pipeline.dataset], ids=["stream", "list"])
def test_shares_are_equal_and_have_all(source, rows, count):
    data = source(range(rows)).map(abs, workers=2).prefetch(2)
    found, rounds = [], -(-rows // count)
    for i, mine in enumerate(shares(data, count)):
        own = list(range(i, rows, count))
        padding = [list(range(0, rows, count))[-1]] * (rounds - len(own))
        check(mine, own + padding)
        with iter(mine) as iterator:
            assert len(list(iterator)) == rounds
            assert iterator.delivered == (rounds, len(own))  # padding is not an example
        found += own
    assert sorted(found) == list(range(rows))


@pytest.mark.parametrize("source", [stream, pipeline.dataset], ids=["stream", "list"])
def test_other_processes_continue(source):
    data = source(range(23))
    for i, mine in enumerate(shares(data, 4)):
        with iter(mine) as iterator:
            taken = [next(iterator) for _ in range(3)]
            state = iterator.state_dict()
        assert taken == [i, 4 + i, 8 + i]
        rest = []
        for other in shares(data, 3):
            with iter(other) as iterator:
                iterator.load_state_dict(state)
                before = iterator.delivered[1]
                for element in iterator:
                    rest += [element] * (iterator.delivered[1] - before)
                    before = iterator.delivered[1]
        assert sorted(rest) == list(range(12, 23))


def test_rows_are_filled_up():
    names = np.array(["a", "b"], object)
    batch = {"x": np.arange(6).reshape(2, 3), "names": names, "scale": np.float32(2), "pair": np.arange(3)}
    filled, mask = padded(batch, 4, True)
    assert filled["x"].tolist() == [[0, 1, 2], [3, 4, 5], [3, 4, 5], [3, 4, 5]]
    assert filled["names"].tolist() == ["a", "b", "b", "b"]
    assert (filled["scale"], filled["pair"].tolist()) == (2, [0, 1, 2])  # these are not rows
    assert mask.tolist() == [True, True, False, False]
    assert padded(batch, 2, False)[1].tolist() == [False, False]
    with pytest.raises(pipeline.errors.InvalidArgumentError, match="a batch has no arrays with rows"):
        padded(["a"], 2, True)


def test_one_process():
    loader = pipeline.torch.DataLoader(numbers(), pad_last=True)
    copied = pickle.loads(pickle.dumps(loader))
    for each in (loader, loader, copied):
        found = list(each)
        assert [batch.shape for batch, _ in found] == [mask.shape for _, mask in found] == [(4,)] * 6
        assert torch.cat([batch[mask] for batch, mask in found]).tolist() == list(range(ROWS))
    assert found[-1][1].tolist() == [True, True, False, False]
    with pipeline.torch.DataLoader(numbers(), pad_last=True, device="cpu", prefetch=3) as ahead:
        assert [mask.sum().item() for _, mask in ahead] == [4, 4, 4, 4, 4, 2]


@pytest.mark.parametrize(
    "data",
    [
        lambda: numbers().unbatch().map(abs),
        lambda: numbers().filter(bool),
        lambda: pipeline.dataset([[1], [2, 3]]).batch(2, collate="row_splits"),
        lambda: iter(numbers()),
    ],
    ids=["unbatch", "filter", "row_splits", "iterator"],
)
def test_batches_without_a_size(data):
    with pytest.raises(pipeline.errors.InvalidArgumentError, match="pad_last=True needs batches of one size"):
        pipeline.torch.DataLoader(data(), pad_last=True)
    with pytest.raises(TypeError, match="pad_last"):
        pipeline.torch.DataLoader(numbers(), pad_last="yes")


def test_a_group_validates_every_example(tmp_path):
    program = f"""
data = pipeline.arrays(np.arange({ROWS}))
stream = data.filter(lambda x: True)
for name, data in ("index", data), ("stream", stream):
    loader = pipeline.torch.DataLoader(data.batch(4), pad_last=True)
    total = torch.zeros(2, dtype=torch.int64)
    said[name] = []
    for batch, mask in loader:
        counts = torch.stack([batch[mask].sum(), mask.sum()])
        torch.distributed.all_reduce(counts)  # all processes come equally often
        rows = [torch.empty_like(batch) for _ in range(world)]
        torch.distributed.all_gather(rows, batch)  # and with as many rows
        total += counts
        said[name].append(batch[mask].tolist())
    said[name + " total"] = total.tolist()
try:
    list(pipeline.torch.DataLoader(stream.batch(4).shard(rank, world), pad_last=True))
except pipeline.FailedPreconditionError as error:
    said["error"] = str(error)
"""
    said = in_group(program, tmp_path, 4)
    for name in ("index", "stream"):
        seen = [x for each in said for batch in each[name] for x in batch]
        assert sorted(seen) == list(range(ROWS))
        assert {len(each[name]) for each in said} == {2}
        assert all(each[f"{name} total"] == [sum(range(ROWS)), ROWS] for each in said)
    assert all("is already one process's shard: leave out .shard(...)" in each["error"] for each in said)
