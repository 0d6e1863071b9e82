"""A loop over batches that has ended, in any way, is garbage, and so is its source."""

import gc
import weakref

import numpy as np
import pytest
from orchestration import fresh_collection, no_thread_left, source

import pipeline
from pipeline.runners.registry import reset


@pytest.fixture(autouse=True)
def _alone():
    with fresh_collection(), no_thread_left():
        yield


class Row:
    """What a source gives, as a method of an object that weak references may refer to."""

    def __init__(self, count):
        self._take = source([(i, float(i)) for i in range(count)])

    def __call__(self):
        return self._take()


@pytest.mark.parametrize("count", [0, 5, 200])
@pytest.mark.parametrize("most", [0, 1, 3, 1000])
@pytest.mark.parametrize("num_threads", [0, 1, 3])
def test_nothing_holds_a_loop_that_is_over(count, most, num_threads):
    row = Row(count)
    known = weakref.ref(row)
    with pipeline.shuffle_batch(
        row, 4, 100, 50, num_threads=num_threads, allow_smaller_final_batch=True, seed=1
    ) as batches:
        loop = weakref.ref(batches)
        for i, _ in enumerate(batches):
            if i == most:
                break
    del row, batches
    gc.collect()
    assert known() is None
    assert loop() is None


def loop_over_files(path, num_epochs, most):
    """Weak references to the reader and to the loop, which has ended."""
    files = pipeline.string_input_producer(["missing"] + [str(path)] * 3, shuffle=False, num_epochs=num_epochs)
    reader = pipeline.TextLineReader(on_error="skip")  # which keeps its errors

    def block():
        return np.array(reader.read_up_to(files, 20).values, object)

    options = {"enqueue_many": True, "allow_smaller_final_batch": True, "seed": 1}
    with pipeline.shuffle_batch(block, 10, 40, 10, **options) as batches:
        for i, _ in enumerate(batches):
            if i == most:
                break
    reset()
    return weakref.ref(reader), weakref.ref(batches)


@pytest.mark.parametrize("most", [0, 3, 40, 1000])
@pytest.mark.parametrize("num_epochs", [1, 5, 100])
def test_nothing_holds_a_loop_over_files(tmp_path, num_epochs, most):
    (tmp_path / "f").write_bytes(b"line\n" * 50)
    reader, loop = loop_over_files(tmp_path / "f", num_epochs, most)
    gc.collect()
    assert reader() is None
    assert loop() is None


@pytest.mark.parametrize("chained", [False, True])
def test_the_error_of_the_first_example_does_not_hold_the_loop(chained):
    """It was raised below the loop's own `next`, whose frame it must not keep: the threads would go on for ever."""
    failed = []

    def take():
        if not failed:
            failed.append(True)
            try:
                raise KeyError("no such row")
            except KeyError as error:
                raise ValueError("a bad row") from error if chained else None
        return np.int64(1)

    loop = pipeline.batch(take, 4, on_error="skip")
    next(loop)
    [error] = loop.errors
    assert isinstance(error, ValueError)
    assert isinstance(error.__cause__, KeyError) == chained
    known = weakref.ref(loop)
    del loop
    gc.collect()
    assert known() is None


@pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="errors have no notes before Python 3.11")
def test_a_skipped_error_tells_where_it_was_raised():
    rows = iter([lambda: 1, lambda: 1 // 0, lambda: 2])

    def take():
        return np.int64(next(rows)())

    with pipeline.batch(take, 2, on_error="skip", allow_smaller_final_batch=True) as loop:
        assert [batch.tolist() for batch in loop] == [[1, 2]]
        [error] = loop.errors
    assert error.__traceback__ is None
    assert "in take" in error.__notes__[-1]
    assert "1 // 0" in error.__notes__[-1]


def lines_of(path):
    """A reader and its names, and a function that reads from them."""
    path.write_bytes(b"line\n" * 50)
    files, reader = pipeline.string_input_producer([str(path)] * 3), pipeline.TextLineReader()
    return (files, reader), lambda: reader.read(files).value


def dequeued(_):
    rows = pipeline.range_input_producer(50)
    return rows, lambda: rows.dequeue()


def slices(_):
    rows = pipeline.slice_input_producer([np.arange(50)])
    return rows, rows


def producer(_):
    rows = pipeline.range_input_producer(50)
    return rows, rows


def ahead(_):
    items = pipeline.map_ahead(abs, list(range(50)), pipeline.threads(1))
    return items, items


def in_memory(_):
    items = pipeline.arrays(np.arange(50))
    return items, items


@pytest.mark.parametrize("num_threads", [0, 2])
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("kind", [lines_of, dequeued, slices, producer, ahead, in_memory])
def test_its_input_does_not_hold_its_queue(tmp_path, kind, deterministic, num_threads):
    """A producer that was registered lives as long as the program; a reader or a map_ahead as long as you keep it."""
    things, source = kind(tmp_path / "f")
    with pipeline.shuffle_batch(source, 4, 30, 10, num_threads, seed=1, deterministic=deterministic) as batches:
        for _, _ in zip(range(4), batches, strict=False):
            pass
        known = [weakref.ref(each) for each in (batches, batches._latest, batches.queue)]
    del batches, source
    gc.collect()
    assert [each() for each in known] == [None] * 3
    assert things is not None
