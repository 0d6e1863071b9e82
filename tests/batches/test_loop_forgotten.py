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
@pytest.mark.parametrize("num_threads", [1, 3])
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
    reader = pipeline.TextLineReader(on_error="skip")  # which keeps its errors, and their tracebacks the loop

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
