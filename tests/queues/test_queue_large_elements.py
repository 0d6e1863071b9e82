"""Rows with 16 KiB and more: arrays without another writer are held by reference, all others are copied.

The private `_enqueue_given` lets a loop give away its arrays.
"""

import gc
import sys
import weakref

import numpy as np
import pytest
from tracing import ArrayBytes

import pipeline
from pipeline import DeadlineExceededError, FIFOQueue, PriorityQueue, RandomShuffleQueue

LARGE, SMALL = (64, 64, 4), (8, 8, 4)
held = pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="references are not counted")


def large(fill=1, shape=LARGE):
    return np.full(shape, fill, np.uint8)


def place(array):
    return array.__array_interface__["data"][0]


def given(queue, *arrays):
    """Give arrays away, made by functions so that no reference remains. Return their addresses."""
    values = tuple(make() for make in arrays)
    places = [place(each) for each in values]
    queue._enqueue_given(values)
    return places


@held
def test_what_is_given_away_comes_out_without_a_copy():
    queue = FIFOQueue(4, "uint8", shapes=[LARGE])
    (where,) = given(queue, large)
    out = queue.dequeue()
    assert place(out) == where
    out[:] = 3  # it is the caller's own


def test_an_array_that_somebody_has_is_copied():
    queue = FIFOQueue(4, "uint8", shapes=[LARGE])
    array = large(1)
    queue._enqueue_given((array,))
    queue.enqueue(array)
    array[:] = 2
    assert [queue.dequeue().max(), queue.dequeue_many(1).max()] == [1, 1]


def test_an_array_with_a_view_is_copied():
    queue = FIFOQueue(4, "uint8", shapes=[LARGE])
    views = []

    def make():
        array = large(1)
        views.append(array[:1])
        return array

    given(queue, make)
    views[0][:] = 2
    assert queue.dequeue().max() == 1


def test_a_view_is_copied():
    queue = FIFOQueue(4, "uint8", shapes=[LARGE])
    block = np.ones((2, *LARGE), np.uint8)
    given(queue, lambda: block[0])
    block[:] = 2
    assert queue.dequeue().max() == 1


def test_an_array_in_bytes_is_held_and_comes_out_writable():
    queue = FIFOQueue(4, "uint8", shapes=[LARGE])
    data = bytes(range(256)) * 64
    queue.enqueue(np.frombuffer(data, np.uint8).reshape(LARGE))
    queue.enqueue(np.frombuffer(data, np.uint8).reshape(LARGE))
    one = queue.dequeue()
    one[:] = 0
    assert queue.dequeue_many(1)[0].tobytes() == data


@pytest.mark.parametrize("kind", ["fifo", "shuffle", "priority"])
def test_batches_of_held_and_copied_rows(kind):
    shapes = [LARGE, ()]
    if kind == "priority":
        queue = PriorityQueue(50, ["uint8", "int64"], shapes=shapes)
    elif kind == "shuffle":
        queue = RandomShuffleQueue(50, 0, ["uint8", "int64"], shapes=shapes, seed=1)
    else:
        queue = FIFOQueue(50, ["uint8", "int64"], shapes=shapes)
    lead = (np.int64(1),) if kind == "priority" else ()
    for i in range(0, 30, 3):
        queue._enqueue_given((*lead, large(i), i))
        kept = large(i + 1)
        queue.enqueue((*lead, kept, i + 1))
        kept[:] = 255
        block = [np.full((1, *LARGE), i + 2, np.uint8), [i + 2]]
        queue.enqueue_many([[1], *block] if lead else block)
    images, numbers = queue.dequeue_many(30)[-2:]
    assert sorted(numbers) == list(range(30))
    for image, number in zip(images, numbers, strict=True):
        assert (image == number).all()


@held
def test_what_was_held_is_let_go():
    queue = FIFOQueue(50, ["uint8"], shapes=[LARGE])
    size = large().nbytes
    with ArrayBytes() as alive:
        for _ in range(20):
            given(queue, large)
        assert alive() == 20 * size
        for _ in range(10):
            queue.dequeue()
        assert alive() == 10 * size
        del queue
        gc.collect()
        assert alive() == 0


@held
def test_an_array_with_a_weak_reference_is_copied():
    """The owner could get the memory back through it, and write to it."""
    queue, kept = FIFOQueue(50, ["uint8"], shapes=[LARGE]), []

    def make():
        array = large()
        kept.append(weakref.ref(array))
        array.fill(7)
        return array

    queue._enqueue_given((make(),))
    gc.collect()
    assert kept[0]() is None
    assert (queue.dequeue() == 7).all()


def test_a_batch_that_times_out_puts_held_rows_back():
    queue = FIFOQueue(50, ["uint8"], shapes=[LARGE])
    for i in range(3):
        queue._enqueue_given((large(i),))
    with pytest.raises(DeadlineExceededError):
        queue.dequeue_many(5, timeout=0)
    assert [each[0, 0, 0] for each in queue.dequeue_many(3)] == [0, 1, 2]


def test_out_takes_held_rows():
    queue = FIFOQueue(50, ["uint8"], shapes=[LARGE])
    for i in range(3):
        queue._enqueue_given((large(i),))
    out = np.empty((3, *LARGE), np.uint8)
    assert queue.dequeue_many(3, out=out) is out
    assert [each.max() for each in out] == [0, 1, 2]


def test_many_held_rows_grow_the_queue_and_shrink_it():
    queue = FIFOQueue(-1, ["uint8"], shapes=[LARGE])
    for _ in range(3):
        for i in range(300):
            queue._enqueue_given((large(i % 250),))
        got = queue.dequeue_many(300)
        assert [int(each) for each in got[:, 0, 0, 0]] == [i % 250 for i in range(300)]


def test_rows_that_do_not_fit_are_refused_as_ever():
    queue = FIFOQueue(4, "uint8", shapes=[LARGE])
    with pytest.raises(pipeline.InvalidArgumentError, match="Shape mismatch"):
        queue._enqueue_given((large(1, SMALL),))
    queue._enqueue_given((np.ones(LARGE, np.float64),))
    assert queue.dequeue().dtype == np.uint8
    assert queue.size() == 0


@pytest.mark.parametrize(
    "container",
    [lambda image: image, lambda image: (image, 1), lambda image: {"image": image}],
    ids=["array", "tuple", "dict"],
)
def test_a_source_that_uses_one_buffer_again_is_copied_from(container):
    buffer, count = large(), iter(range(8))

    def source():
        buffer[:] = next(count)
        return container(buffer)

    with pipeline.batch(source, 8, capacity=16) as batches:
        (batch,) = list(batches)
    images = batch["image"] if isinstance(batch, dict) else batch[0] if isinstance(batch, tuple) else batch
    assert images[:, 0, 0, 0].tolist() == list(range(8))


def test_a_source_that_keeps_its_tuple_is_copied_from():
    kept = (large(), np.int32(0))
    count = iter(range(8))

    def source():
        kept[0][:] = next(count)
        return kept

    with pipeline.batch(source, 8, capacity=16) as batches:
        ((images, _),) = list(batches)
    assert images[:, 0, 0, 0].tolist() == list(range(8))


def test_a_generator_that_keeps_its_array_is_copied_from():
    def examples():
        image = large()
        for i in range(8):
            image[:] = i
            yield image

    with pipeline.batch(examples(), 8, capacity=16) as batches:
        (images,) = list(batches)
    assert images[:, 0, 0, 0].tolist() == list(range(8))
