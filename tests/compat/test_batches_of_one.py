"""Batches with one large element are that element: no memory is shared with the queue or its producer."""

import numpy as np
import pytest

import pipeline.compat.v1 as tf

SHAPE = (64, 64, 3)  # 48 KiB


@pytest.mark.parametrize("kind", ["fifo", "shuffle"])
def test_a_batch_of_one_has_the_element_the_label_and_the_name(kind):
    with tf.Graph().as_default(), tf.Session() as sess:
        dtypes, shapes = [tf.float32, tf.int32, tf.string], [SHAPE, [], []]
        queue = tf.FIFOQueue(9, dtypes, shapes) if kind == "fifo" else tf.RandomShuffleQueue(9, 0, dtypes, shapes)
        image = tf.placeholder(tf.float32, SHAPE)
        number = tf.placeholder(tf.int32, [])
        fill = queue.enqueue([image * 2.0, number, tf.as_string(number)])
        given = np.random.default_rng(0).random(SHAPE, np.float32)
        for turn in range(3):
            sess.run(fill, {image: given + turn, number: turn})
        seen = set()
        for _ in range(3):
            images, labels, names = sess.run(queue.dequeue_many(1))
            assert (images.shape, images.dtype, labels.shape, labels.dtype) == ((1, *SHAPE), np.float32, (1,), np.int32)
            assert names.tolist() == [b"%d" % labels[0]]
            np.testing.assert_array_equal(images[0], (given + np.float32(labels[0])) * 2)
            images += 1  # the caller's own
            seen.add(int(labels[0]))
        assert seen == {0, 1, 2}


def test_the_element_of_a_constant_stays_as_it_is():
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(3, tf.float32, [SHAPE])
        value = tf.Variable(np.ones(SHAPE, np.float32))
        sess.run(value.initializer)
        for enqueue in (queue.enqueue(tf.ones(SHAPE)), queue.enqueue(value)):
            for _ in range(2):
                sess.run(enqueue)
                taken = sess.run(queue.dequeue_many(1))
                assert (taken == 1).all()
                taken += 1


def test_the_end_of_the_queue():
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(3, tf.float32, [SHAPE])
        sess.run([queue.enqueue(tf.ones(SHAPE))])
        sess.run(queue.close())
        taken = queue.dequeue_many(1)
        assert sess.run(taken).shape == (1, *SHAPE)
        with pytest.raises(tf.errors.OutOfRangeError, match=r"insufficient elements \(requested 1, current size 0\)"):
            sess.run(taken)
