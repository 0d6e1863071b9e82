"""An iterator resumes from any state without a trace of the interruption: in batches and states."""

import json
import random

import pytest
import resumable
from resumable import digest, make

kinds = pytest.mark.parametrize("kind", resumable.SAVED)


def through_json(state):
    return json.loads(json.dumps(state))


def moment(loop):
    return through_json(loop.state_dict()), loop.delivered


def check_same(one, other):
    """Check that two moments are equal, except for effects of a thread reading ahead: files, and stream states."""
    files, others = dict(one[0]["files"]), dict(other[0]["files"])
    for mine, its in zip(files.pop("", ()), others.pop("", ()), strict=False):
        assert mine[:2] == its[:2]  # the reader, and the first file
        assert (mine[2] == its[2]) == (mine == its)  # the last file, and the digest of the sizes
    shared = files.keys() & others.keys()
    assert {name: files[name] for name in shared} == {name: others[name] for name in shared}
    ahead = {"files": None, "state": None, "checksum": None}
    assert {**one[0], **ahead} == {**other[0], **ahead}
    assert one[1:] == other[1:]


def straight(kind, folder):
    """Return a loop's batches, and its moments: before the first batch, after each, after the end."""
    batches, moments = [], []
    with make(kind, folder, threads=2) as loop:
        moments.append(moment(loop))
        for batch in loop:
            batches.append(digest(batch))
            moments.append(moment(loop))
        moments.append(moment(loop))
    return batches, moments


@pytest.mark.parametrize("kind", resumable.LOOPS)
def test_the_order_is_what_the_oracle_says(kind, folder):
    with make(kind, folder, threads=2) as loop:
        batches = [digest(batch) for batch in loop]
    expected = resumable.expected_digests(kind)
    assert expected is None or batches == expected
    assert sum(resumable.SIZES) // resumable.BATCH <= len(batches)


@kinds
def test_from_each_moment(kind, folder):
    rng = random.Random(kind)
    batches, moments = straight(kind, folder)
    for i, (state, delivered) in enumerate(moments):
        with make(kind, folder, **resumable.random_settings(rng)) as loop:
            loop.load_state_dict(state)
            assert moment(loop) == (state, delivered)  # its files too: nothing has begun
            check_rest(loop, batches, moments, min(i, len(batches)), rng)


def check_rest(loop, batches, moments, i, rng):
    """Check the loop's batches from index i on, and its state after some of them."""
    for j, batch in enumerate(loop, i):
        assert digest(batch) == batches[j]
        if rng.random() < 0.2:
            check_same(moment(loop), moments[j + 1])
    check_same(moment(loop), moments[-1])


@kinds
def test_resumed_again_and_again(kind, folder):
    """Each loop gives a batch or two, or none, and leaves its state to the next."""
    rng = random.Random(kind)
    batches, moments = straight(kind, folder)
    (state, _), seen = moments[0], 0
    while seen < len(batches):
        with make(kind, folder, **resumable.random_settings(rng)) as loop:
            loop.load_state_dict(state)
            for _ in range(min(rng.randrange(9), len(batches) - seen)):
                assert digest(next(loop)) == batches[seen]
                seen += 1
            check_same(moment(loop), moments[seen])
            state = through_json(loop.state_dict())
