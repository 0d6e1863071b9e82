"""Source streams close their files when an iterator is left, not only when it is garbage."""

import gc

import numpy as np
import pytest

import pipeline
from pipeline.sources.nodes import Parts
from pipeline.sources.order import Epochs
from pipeline.sources.stream import BlockPiece, PartsSource


class Numbers(Parts):
    """Pieces with three numbers; `open` counts the reads begun and not ended."""

    kind = "numbers"
    unit = "parts"
    names = ("",)
    of_files = False

    def __init__(self):
        self.open = 0

    def read(self, part, epoch, place):
        self.open += 1
        try:
            for first in range(place or 0, 300, 3):
                yield first, BlockPiece(np.arange(first, first + 3))
        finally:
            self.open -= 1

    def block(self, piece):
        return piece.block

    def facts(self):
        return {}


def test_a_stream_is_closed_when_its_loop_is_left():
    gc.disable()
    try:
        for threads in (0, 1):
            stream = Numbers()
            source = PartsSource(stream, Epochs(None))
            batches = pipeline.batch(source, 4, num_threads=threads)
            with batches:
                assert next(batches).tolist() == [0, 1, 2, 3]
                assert stream.open == 1
            assert stream.open == 0
            resumed = pipeline.batch(source, 4, num_threads=threads)  # the state is still available
            resumed.load_state_dict(batches.state_dict())
            with resumed:
                assert next(resumed).tolist() == [4, 5, 6, 7]
    finally:
        gc.enable()
    assert stream.open == 0


@pytest.mark.parametrize("num_threads", [0, 1])
def test_the_threads_of_a_loop_close_what_they_read_with_a_coordinator_of_yours(num_threads):
    coord, stream = pipeline.Coordinator(), Numbers()
    batches = pipeline.batch(PartsSource(stream, Epochs(None)), 4, num_threads=num_threads, coord=coord)
    with batches:
        assert next(batches).tolist() == [0, 1, 2, 3]
        assert stream.open == 1
    coord.request_stop()
    coord.join()
    assert stream.open == 0
    batches.close()  # it is still available


def test_loops_that_share_a_source_close_only_their_own():
    stream = Numbers()
    source = PartsSource(stream, Epochs(1))
    first, second = pipeline.batch(source, 4), pipeline.batch(source, 4)
    with second:
        with first:
            assert next(first).tolist() == next(second).tolist() == [0, 1, 2, 3]
            assert stream.open == 2
        assert stream.open == 1
        assert len(list(second)) == 74
