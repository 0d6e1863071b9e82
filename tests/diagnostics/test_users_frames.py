"""Tracebacks from a user's function: the line that requested a batch, and then that function."""

import functools
import itertools
import sys
import traceback

import ahead_functions
import numpy as np
import pytest
from helpers import told

import pipeline
from pipeline.adaptors.loader import Loader

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="tracebacks show our frames too")

BAD = 7


def decode(number):
    if number == BAD:
        raise ValueError("odd")
    return number


def rows():
    yield from map(decode, range(20))


class Rows:
    def __iter__(self):
        return self

    def __init__(self):
        self.numbers = iter(range(20))

    def __next__(self):
        return decode(next(self.numbers))


def called():
    numbers = itertools.count()

    def read():
        return decode(next(numbers))

    return read


def kept(number):
    return decode(number) >= 0


NUMBERS = pipeline.dataset(range(20))
OPTIONS = [{}, {"num_threads": 0}, {"deterministic": True}]
KINDS = {
    "generator": lambda **options: pipeline.batch(rows, 3, **options),
    "iterator": lambda **options: pipeline.batch(Rows(), 3, **options),
    "callable": lambda **options: pipeline.batch(called(), 3, **options),
    "join": lambda **options: pipeline.batch_join([rows, rows], 3, **options),
    "shuffled": lambda **options: pipeline.shuffle_batch(rows, 3, 10, 2, **options),
    "dataset": lambda **options: pipeline.batch(NUMBERS.map(decode), 3, **options),
}
LOOPS = {f"{name}-{told(each)}": functools.partial(KINDS[name], **each) for name in KINDS for each in OPTIONS} | {
    "map": lambda: iter(NUMBERS.map(decode)),
    "map of rows": lambda: iter(pipeline.arrays(np.arange(20)).map(decode).batch(3)),
    "workers": lambda: iter(NUMBERS.map(decode, workers=2).batch(3)),
    "workers, unordered": lambda: iter(NUMBERS.map(decode, workers=2, ordered=False).batch(3)),
    "filter": lambda: iter(NUMBERS.filter(kept).batch(3)),
    "prefetch": lambda: iter(NUMBERS.map(decode).batch(3).prefetch(2)),
    "first": lambda: iter(pipeline.dataset(range(BAD, 20)).map(decode).batch(3)),
}


def names(error):
    """Return the functions in an error's traceback, from the catching one on."""
    return [(frame.filename, frame.name) for frame in traceback.extract_tb(error.__traceback__)]


def check(error, *between):
    """None of our frames is between the test and the functions in this file."""
    found = names(error)
    assert {file for file, _ in found} == {__file__}
    assert [name for _, name in found[1:]] == [*between, "decode"]


BETWEEN = {
    "generator": ["rows"],
    "join": ["rows"],
    "shuffled": ["rows"],
    "iterator": ["__next__"],
    "callable": ["read"],
    "filter": ["kept"],
}


@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop(kind):
    between = BETWEEN.get(kind.partition("-")[0], [])
    with LOOPS[kind]() as loop, pytest.raises(ValueError, match="odd") as caught:
        list(loop)
    check(caught.value, *between)
    with LOOPS[kind]() as loop:
        with pytest.raises(ValueError, match="odd") as caught:  # noqa: PT012
            while True:
                next(loop)
        check(caught.value, *between)
        assert next(loop, None) is None


class Arrays(Loader):
    def _convert(self, batch):
        return batch


@pytest.mark.parametrize("ahead", [0, 2])
def test_a_loader(ahead):
    with Arrays(NUMBERS.map(decode).batch(3), ahead) as loader, pytest.raises(ValueError, match="odd") as caught:
        list(loader)
    check(caught.value)


def test_a_function_in_a_process():
    """The worker's frames are text: the traceback has none of them, and none of ours before them."""
    dataset = NUMBERS.map(ahead_functions.fails_at_third, workers=pipeline.processes(1))
    with iter(dataset.batch(3)) as loop, pytest.raises(ValueError, match="bad item 2") as caught:
        list(loop)
    assert len(names(caught.value)) == 1
    lines = [line for line in str(caught.value.__cause__).splitlines() if line.startswith("  File ")]
    assert len(lines) == 1
    assert lines[0].endswith("in fails_at_third")


def test_an_error_that_was_skipped():
    with iter(NUMBERS.map(decode, on_error="skip")) as loop:
        list(loop)
    if sys.version_info >= (3, 11):
        first, note = loop.errors[0].__notes__
        assert first == f"decode: example {BAD}"
        assert next(line for line in note.splitlines() if "  File" in line).endswith("in decode")


def test_threads_of_a_runner_made_by_hand():
    """A Coordinator joining them raises the error: first come the call's frames, then the user's."""
    queue, read = pipeline.FIFOQueue(30, "int64", ()), called()
    runner, coord = pipeline.QueueRunner(queue, [lambda: queue.enqueue(read())]), pipeline.Coordinator()
    threads = runner.create_threads(coord=coord, start=True)
    with pytest.raises(ValueError, match="odd") as caught:
        coord.join(threads)
    of_test = [name for file, name in names(caught.value) if file == __file__]
    assert of_test[1:] == ["<lambda>", "read", "decode"]
    assert names(caught.value)[-4][1] == "_raise_as_reported"


def test_errors_of_ours_keep_their_frames():
    with pytest.raises(pipeline.InvalidArgumentError) as caught:
        list(pipeline.batch([np.zeros(2), np.zeros(3)], 2))
    assert len(names(caught.value)) > 1


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no notes before Python 3.11")
@pytest.mark.parametrize("kind", ["map", "workers", "prefetch", "first"])
def test_the_note_names_function_and_example(kind):
    with LOOPS[kind]() as loop, pytest.raises(ValueError, match="odd") as caught:
        list(loop)
    first, second = caught.value.__notes__
    assert first == f"decode: example {0 if kind == 'first' else BAD}"
    assert second.startswith("in .map(decode")
    assert f"written at {__file__.rpartition('tests/')[1]}" in second


def test_no_runner_that_a_loop_has_made_is_named():
    with KINDS["generator"]() as loop, pytest.raises(ValueError, match="odd") as caught:
        list(loop)
    assert "QueueRunner" not in str(caught.value)
