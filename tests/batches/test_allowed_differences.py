"""Differences between a saved loop and the one that goes on, which the user accepts by name."""

import itertools
import os

import numpy as np
import pytest

import pipeline
from pipeline.errors import StateMismatchError

ROWS = 130


def source_of(kind, epochs=2):
    if kind == "slices":
        return pipeline.slice_input_producer([np.arange(ROWS)], num_epochs=epochs, seed=1)
    queue = pipeline.range_input_producer(ROWS, num_epochs=epochs, seed=1)
    return lambda: int(queue.dequeue())


def make(kind, batch_size, shard=None, epochs=2):
    options = {"seed": 2, "deterministic": True, "shard": shard}
    return pipeline.shuffle_batch(source_of(kind, epochs), batch_size, 90, 40, **options)


def flat(batches):
    return [np.asarray(batch).reshape(-1).tolist() for batch in batches]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["slices", "function"])
def test_another_number_of_hosts(kind):
    whole = flat(make(kind, 24))
    with make(kind, 3, (5, 8)) as loop:
        taken = flat(itertools.islice(loop, 4))
        state = loop.state_dict()
    assert taken == [batch[15:18] for batch in whole[:4]]
    shares = []
    for host in range(3):
        with make(kind, 8, (host, 3)) as loop:
            with pytest.raises(StateMismatchError, match="shard"):
                loop.load_state_dict(state)
            loop.load_state_dict(state, allow={"shard"})
            shares.append(flat(loop))
    assert [list(itertools.chain(*batch)) for batch in zip(*shares, strict=True)] == whole[4:]


@pytest.mark.parametrize("kind", ["slices", "function"])
def test_another_global_batch(kind):
    with make(kind, 3, (0, 8)) as loop:
        next(loop)
        state = loop.state_dict()
    with make(kind, 4, (0, 8)) as loop:
        with pytest.raises(StateMismatchError, match="batch_size"):
            loop.load_state_dict(state, allow={"shard"})


@pytest.mark.parametrize("kind", ["slices", "function"])
def test_another_batch_size(kind):
    whole = list(itertools.chain(*flat(make(kind, 10))))
    with make(kind, 10) as loop:
        taken = flat(itertools.islice(loop, 3))
        state = loop.state_dict()
    with make(kind, 13) as loop:
        loop.load_state_dict(state, allow={"batch_size"})
        rest = flat(loop)
    assert {len(batch) for batch in rest} == {13}
    assert list(itertools.chain(*taken, *rest)) == whole[: 30 + 13 * len(rest)]


@pytest.mark.parametrize("kind", ["slices", "function"])
def test_more_epochs(kind):
    longer = flat(make(kind, 10, epochs=4))
    with make(kind, 10) as loop:
        taken = flat(itertools.islice(loop, 3))
        state = loop.state_dict()
    with make(kind, 10, epochs=4) as loop:
        if kind == "function":
            loop.load_state_dict(state)
        # A producer that is passed directly is compared at once.
        compared = (lambda: next(loop)) if kind == "function" else lambda: loop.load_state_dict(state)
        with pytest.raises(StateMismatchError, match="num_epochs"):
            compared()
    with make(kind, 10, epochs=4) as loop:
        loop.load_state_dict(state, allow={"num_epochs"})
        assert taken + flat(loop) == longer


def test_a_file_with_another_time(tmp_path):
    """Of a file that is read whole there is no checksum."""
    path = tmp_path / "one.bin"
    path.write_bytes(b"x")

    def loop_over():
        queue = pipeline.string_input_producer([path] * 6, num_epochs=1, shuffle=False)
        reader = pipeline.WholeFileReader()
        return pipeline.batch(lambda: reader.read(queue).value, 2, deterministic=True)

    with loop_over() as loop:
        next(loop)
        state = loop.state_dict()
    os.utime(path, ns=(1, 1))
    with loop_over() as loop:
        with pytest.raises(StateMismatchError, match="changed after the state was saved"):
            loop.load_state_dict(state)
        loop.load_state_dict(state, allow={"mtime"})
        assert len(list(loop)) == 2


def test_a_name_that_cannot_be_allowed():
    with make("slices", 10) as loop, pytest.raises(ValueError, match="seeds"):
        loop.load_state_dict(loop.state_dict(), allow={"seeds"})
