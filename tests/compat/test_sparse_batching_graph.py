"""Sparse examples in batch functions, with threads."""

import numpy as np
import pytest
from graph_pipelines import drain, graph_session, running  # noqa: F401  (a fixture)

import pipeline.compat.v1 as tf
from pipeline.compat.input.sparse_map import SparseTensorsMap


def example(number):
    """Return, for example i, i values, all of them i, at the first positions of a sparse vector with length i + 1."""
    i = tf.train.range_input_producer(tf.constant(number, tf.int64), num_epochs=1, shuffle=False).dequeue()
    return tf.SparseTensor(tf.expand_dims(tf.range(i), 1), tf.fill([tf.cast(i, tf.int32)], i), [i + 1]), i


def rows(batch):
    """Return the values per example in a batch."""
    sparse, numbers = batch
    assert sparse.dense_shape.tolist() == [len(numbers), max(numbers) + 1]
    return {int(n): sparse.values[sparse.indices[:, 0] == row].tolist() for row, n in enumerate(numbers)}


@pytest.mark.parametrize("threads", [1, 4])
def test_every_example_keeps_its_values(sess, threads):
    made = tf.train.batch(list(example(60)), 8, num_threads=threads, allow_smaller_final_batch=True)
    with running(sess):
        found = {}
        for batch in drain(sess, made):
            found |= rows(batch)
    assert found == {i: [i] * i for i in range(60)}


def test_tables_are_empty_in_the_end(sess, monkeypatch):
    tables = []
    made_of = SparseTensorsMap.__init__
    monkeypatch.setattr(SparseTensorsMap, "__init__", lambda self: (tables.append(self), made_of(self))[0])
    sparse, i = example(50)
    made = tf.train.shuffle_batch([sparse, i], 5, 30, 10)
    with running(sess):
        drain(sess, made[1])  # takes the sparse ones too
    assert len(tables) == 1
    assert not tables[0]._kept  # private, as in TensorFlow, where such a table is invisible too


def test_joined_sources_share_a_table(sess):
    entries = [list(example(20)), list(example(20))]
    made = tf.train.batch_join(entries, 4)
    with running(sess):
        values = [int(value) for batch in drain(sess, made) for value in batch[0].values]
    assert np.bincount(values).tolist() == [0] + [2 * i for i in range(1, 20)]
