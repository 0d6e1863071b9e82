"""Buckets: batches of examples with similar length."""

import numpy as np
import pytest
from graph_pipelines import drain, graph_session, running  # noqa: F401  (a fixture)

import pipeline.compat.v1 as tf

training = tf.contrib.training


def lengths(number=20):
    """Example i has the length i % 7 + 1 and the values i, i, ..."""
    i = tf.train.range_input_producer(number, num_epochs=1, shuffle=False).dequeue()
    length = i % 7 + 1
    return length, tf.fill([length], i)


@pytest.mark.parametrize("smaller", [False, True])
def test_batches_of_similar_length(sess, smaller):
    length, values = lengths(50)
    made = training.bucket_by_sequence_length(
        length, [values], 4, [3, 5], dynamic_pad=True, allow_smaller_final_batch=smaller
    )
    assert made[1][0].shape.as_list() == [None if smaller else 4, None]
    with running(sess):
        found = drain(sess, made)
    seen = []
    for sizes, (rows,) in found:
        assert len({int(np.searchsorted([3, 5], size, "right")) for size in sizes}) == 1
        assert rows.shape == (len(sizes), max(sizes))
        seen += [int(row[0]) for row in rows]
        assert all((row[:size] == row[0]).all() and not row[size:].any() for row, size in zip(rows, sizes, strict=True))
    assert len(set(seen)) == len(seen)
    assert sorted(seen) == list(range(50)) if smaller else len(seen) > 40


def test_which_bucket(sess):
    i = tf.train.range_input_producer(12, num_epochs=1, shuffle=False).dequeue()
    which, made = training.bucket({"i": i}, i % 3, [2, 4, 2], 3)
    assert made["i"].shape.as_list() == [None]
    with running(sess):
        found = [(int(number), batch["i"].tolist()) for number, batch in drain(sess, [which, made])]
    assert sorted(found) == [(0, [0, 3]), (0, [6, 9]), (1, [1, 4, 7, 10]), (2, [2, 5]), (2, [8, 11])]


def test_dropped_examples(sess):
    i = tf.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue()
    _, made = training.bucket([i], 0, 2, 1, keep_input=tf.equal(i % 2, 0))
    with running(sess):
        assert [batch.tolist() for batch in drain(sess, made)] == [[0, 2], [4, 6]]


def test_names(sess):
    length, values = lengths()
    sizes, made = training.bucket_by_sequence_length(length, {"v": values}, 2, [4], dynamic_pad=True)
    assert sizes.name == "bucket_by_sequence_length/dequeue_top:1"
    assert made["v"].name == "bucket_by_sequence_length/dequeue_top:2"
    names = [runner.name for runner in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)]
    assert names[1:] == ["bucket_by_sequence_length/bucket_queue_0", "bucket_by_sequence_length/top_queue"]


@pytest.mark.parametrize(
    ("boundaries", "error", "text"),
    [
        (5, TypeError, "must be a list or tuple"),
        ([], ValueError, "must not be empty"),
        ([1, 2.5], TypeError, "must be integers"),
        ([3, 3], ValueError, "sequential increasing"),
    ],
)
def test_boundaries(sess, boundaries, error, text):
    with pytest.raises(error, match=text):
        training.bucket_by_sequence_length(1, [1], 2, boundaries)


def test_lists_have_an_element_for_each_bucket(sess):
    with pytest.raises(ValueError, match="num_buckets elements"):
        training.bucket([1], 0, [2], 2)
    with pytest.raises(ValueError, match=r"\(\[1\]\) must have exactly num_buckets \(2\) elements"):
        training.bucket([1], 0, 2, 2, bucket_capacities=[1])
