"""Runs over more files than a state names: a digest over file sizes detects one changed long ago."""

import numpy as np
import pytest

import pipeline

FILES, LINES = 30, 4


@pytest.fixture(autouse=True)
def names(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.files.identity.KEPT", 4)
    paths = [tmp_path / f"{number}.csv" for number in range(FILES)]
    for number, path in enumerate(paths):
        path.write_text("".join(f"{number * LINES + line}\n" for line in range(LINES)))
    return list(map(str, paths))


def numbers_in(names):
    return pipeline.text(names, num_epochs=2, shuffle=True, seed=3).map(np.int64)


def numbers_in_two(names):
    return pipeline.zip(numbers_in(names[:12]), numbers_in(names[12:])).map(lambda pair: pair[0] * 1000 + pair[1])


def loop_over(source):
    return pipeline.shuffle_batch(source, 5, 20, 10, seed=7, deterministic=True, num_threads=2)


def started(make, names, batches):
    """Return a state from the middle, and the batches after it."""
    with loop_over(make(names)) as loop:
        for _ in range(batches):
            next(loop)
        return loop.state_dict(), [batch.tolist() for batch in loop]


@pytest.mark.parametrize(("make", "batches"), [(numbers_in, 15), (numbers_in, 33), (numbers_in_two, 8)])
def test_the_same_files_go_on(names, make, batches):
    state, rest = started(make, names, batches)
    assert len(state["files"]) == 1 + 4 * len(state["files"][""])
    again = loop_over(make(names))
    again.load_state_dict(state)
    with again:
        first = next(again).tolist()
        middle = again.state_dict()
        assert [first, *(batch.tolist() for batch in again)] == rest
    once_more = loop_over(make(names))
    once_more.load_state_dict(middle)
    with once_more:
        assert [batch.tolist() for batch in once_more] == rest[1:]


@pytest.mark.parametrize(("make", "batches"), [(numbers_in, 15), (numbers_in, 33), (numbers_in_two, 8)])
def test_a_file_that_was_changed_long_ago_is_found(names, make, batches):
    state, _ = started(make, names, batches)
    own = names[12:] if make is numbers_in_two else names
    order = [own[int(number) // LINES - FILES + len(own)] for number in list(numbers_in(own))[::LINES]]
    with open(next(name for name in order if name not in state["files"]), "a") as file:
        file.write("7\n")
    with loop_over(make(names)) as loop:
        loop.load_state_dict(state)
        with pytest.raises(
            pipeline.StateMismatchError, match="one of those before the last 4 has another size"
        ) as caught:
            next(loop)
    assert [what for what, _, _ in caught.value.differences] == ["files of text"]
