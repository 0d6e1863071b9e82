"""len() of a loop that cannot know it says why: what to change follows from that."""

import numpy as np
import pytest
from helpers import raises

import pipeline

ROWS = np.arange(10)


def rows():
    yield from ROWS


def of_function():
    return 1


UNKNOWN = {
    "on_error": (pipeline.batch, {"tensors": ROWS, "on_error": "skip"}, "on_error='skip' may leave examples out"),
    "keep_input": (pipeline.batch, {"tensors": ROWS, "keep_input": bool}, "'keep_input' may leave examples out"),
    "function": (pipeline.batch, {"tensors": of_function}, "the number of examples of of_function is not known"),
    "generator": (pipeline.batch, {"tensors": rows}, "the number of examples of rows is not known"),
    "no end": (
        pipeline.batch,
        {"tensors": pipeline.arrays(ROWS, num_epochs=None)},
        "arrays has num_epochs=None, no end",
    ),
    "blocks": (
        pipeline.batch,
        {"tensors": [ROWS], "enqueue_many": True},
        "the blocks of list may have any number of examples",
    ),
    "buckets": (
        pipeline.bucket_by_sequence_length,
        {"input_length": int, "tensors": ROWS, "bucket_boundaries": [5]},
        "their lengths decide which bucket each example goes into",
    ),
    "one of two": (
        pipeline.batch_join,
        {"tensors_list": [pipeline.arrays(ROWS), pipeline.arrays(ROWS, num_epochs=None)]},
        "arrays has num_epochs=None, no end",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_why_the_length_is_not_known(case):
    function, arguments, reason = UNKNOWN[case]
    text = "loop: how many batches there are is known only at the end of its source, as "
    with raises(TypeError, text + reason):
        len(function(**arguments, batch_size=4, name="loop"))


def test_of_a_queue():
    queue = pipeline.FIFOQueue(10, ["int64"], [()], name="own")
    with raises(
        TypeError, "batch: how many batches there are is known only at the end of its source, as own is a queue"
    ):
        len(pipeline.batch(queue, 2))
