"""The traceback of an exception of the user's function: the line that asked for a batch, and then that function."""

import itertools
import sys
import traceback

import ahead_functions
import numpy as np
import pytest

import pipeline
from pipeline.adaptors.loader import Loader

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


def mapped(workers):
    return pipeline.map_ahead(decode, range(20), workers=workers)


DETERMINISTIC = {"deterministic": True}
LOOPS = {
    "function": lambda **options: pipeline.batch(range(20), 3, function=decode, **options),
    "function over a source": lambda **options: pipeline.batch(
        pipeline.arrays(np.arange(20)), 3, function=decode, **options
    ),
    "workers": lambda **options: pipeline.batch(range(20), 3, function=decode, workers=pipeline.threads(2), **options),
    "map_ahead": lambda **options: pipeline.batch(mapped(pipeline.threads(2)), 3, **options),
    "generator": lambda **options: pipeline.batch(rows, 3, **options),
    "iterator": lambda **options: pipeline.batch(Rows(), 3, **options),
    "callable": lambda **options: pipeline.batch(called(), 3, **options),
    "join": lambda **options: pipeline.batch_join([rows, rows], 3, **options),
    "shuffled": lambda **options: pipeline.shuffle_batch(rows, 3, 10, 2, **options),
    "keep_input": lambda **options: pipeline.batch(range(20), 3, keep_input=kept, **options),
    "first": lambda **options: pipeline.batch(range(BAD, 20), 3, function=decode, **options),
}


def names(error):
    """The functions in the traceback of an error, from the one that caught it on."""
    return [(frame.filename, frame.name) for frame in traceback.extract_tb(error.__traceback__)]


def check(error, *between):
    """No frame of ours comes between the test and the functions of this file."""
    found = names(error)
    assert {file for file, _ in found} == {__file__}
    assert [name for _, name in found[1:]] == [*between, "decode"]


BETWEEN = {
    "generator": ["rows"],
    "join": ["rows"],
    "shuffled": ["rows"],
    "iterator": ["__next__"],
    "callable": ["read"],
}
BETWEEN |= {"keep_input": ["kept"]}


@pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"deterministic": True}], ids=str)
@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop(kind, options):
    with LOOPS[kind](**options) as loop, pytest.raises(ValueError, match="odd") as caught:
        list(loop)
    check(caught.value, *BETWEEN.get(kind, []))
    with LOOPS[kind](**options) as loop:
        with pytest.raises(ValueError, match="odd") as caught:  # noqa: PT012
            while True:
                next(loop)
        check(caught.value, *BETWEEN.get(kind, []))
        assert next(loop, None) is None


def test_results_without_a_loop():
    with mapped(pipeline.threads(2)) as source, pytest.raises(ValueError, match="odd") as caught:
        list(source)
    check(caught.value)


class Arrays(Loader):
    def _conversion(self, batch):
        return lambda each: each


@pytest.mark.parametrize("ahead", [0, 2])
def test_a_loader(ahead):
    with Arrays(LOOPS["function"](), ahead) as loader, pytest.raises(ValueError, match="odd") as caught:
        list(loader)
    check(caught.value)


def test_a_function_in_a_process():
    """Its frames are text: there are none here, and none of ours comes before them there."""
    loop = pipeline.batch(range(20), 3, function=ahead_functions.fails_at_third, workers=pipeline.processes(1))
    with loop, pytest.raises(ValueError, match="bad item 2") as caught:
        list(loop)
    assert len(names(caught.value)) == 1
    lines = [line for line in str(caught.value.__cause__).splitlines() if line.startswith("  File ")]
    assert len(lines) == 1
    assert lines[0].endswith("in fails_at_third")


def test_an_error_that_was_skipped():
    with LOOPS["function"](on_error="skip") as loop:
        list(loop)
    if sys.version_info >= (3, 11):
        note = loop.errors[0].__notes__[-1]
        assert next(line for line in note.splitlines() if "  File" in line).endswith("in decode")


def test_threads_of_a_runner_made_by_hand():
    """A Coordinator that joins them raises it: its frames are those of the call, and then come the user's."""
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
@pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"deterministic": True}], ids=str)
@pytest.mark.parametrize("kind", ["function", "workers", "map_ahead", "first"])
def test_the_note_names_function_and_item(kind, options):
    with LOOPS[kind](**options) as loop, pytest.raises(ValueError, match="odd") as caught:
        list(loop)
    number = 0 if kind == "first" else BAD
    assert caught.value.__notes__ == [f"function 'decode', item {number}{f', {BAD}' if kind == 'first' else ''}"]


@pytest.mark.parametrize("options", [{}, {"num_threads": 0}], ids=str)
def test_a_queue_names_no_runner_that_a_loop_has_made(options):
    with LOOPS["generator"](**options) as loop:
        with pytest.raises(ValueError, match="odd"):
            list(loop)
        with pytest.raises(pipeline.OpError) as caught:
            loop.queue.dequeue_many(20)
        assert "QueueRunner" not in str(caught.value)
