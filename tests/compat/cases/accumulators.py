"""ConditionalAccumulator and SparseConditionalAccumulator."""

import numpy as np
from compat_cases import case


@case()
def the_mean_is_taken(tf, sess):
    held = tf.ConditionalAccumulator(tf.float32, shape=[2], name="Q")
    first, second = held.apply_grad([1.0, 2.0]), held.apply_grad(tf.constant([3.0, 5.0]), local_step=1)
    size, taken = held.num_accumulated(), held.take_grad(2)
    found = [sess.run(size)]
    sess.run([first, second])
    found += [sess.run(size), sess.run(taken), sess.run(size)]
    sess.run(first)  # of an older step now
    found.append(sess.run(size))
    sess.run(second)
    return [*found, sess.run(size), held.name, held.dtype]


@case()
def the_sum_is_taken(tf, sess):
    held = tf.ConditionalAccumulator(tf.float64, reduction_type="SUM")
    for value in ([1.0], [2.0]):
        sess.run(held.apply_grad(np.array(value)))
    return sess.run(held.take_grad(1))


@case()
def the_step_may_go_back(tf, sess):
    held = tf.ConditionalAccumulator(tf.float32, shape=())
    for step in (3, 1):
        sess.run(held.set_global_step(step))
    sess.run([held.apply_grad(1.0, local_step=2), held.apply_grad(5.0, local_step=3)])
    return sess.run([held.num_accumulated(), held.take_grad(1)])


@case(message="Shape mismatch: expected .2., got .1.")
def shapes_must_agree_when_run(tf, sess):
    held = tf.ConditionalAccumulator(tf.float32, shape=[2])
    sess.run(held.apply_grad(tf.placeholder_with_default([1.0], None)))


@case()
def shapes_must_agree_when_built(tf):
    tf.ConditionalAccumulator(tf.float32, shape=[2]).apply_grad([1.0])


@case()
def dtypes_must_agree(tf):
    tf.ConditionalAccumulator(tf.float32).apply_grad(tf.constant([1, 2]))


@case(message="num_required must be positive")
def at_least_one_is_required(tf, sess):
    sess.run(tf.ConditionalAccumulator(tf.float32).take_grad(0))


@case()
def a_run_that_waits_ends_in_time(tf, sess):
    sess.run(tf.ConditionalAccumulator(tf.float32).take_grad(1), options=tf.RunOptions(timeout_in_ms=50))


@case()
def reductions_are_two(tf):
    tf.ConditionalAccumulator(tf.float32, reduction_type="MAX")


@case()
def strings_have_no_mean(tf):
    tf.ConditionalAccumulator(tf.string)


@case()
def static_shapes(tf):
    held = tf.ConditionalAccumulator(tf.float32, shape=[None, 2])
    return held.take_grad(1).shape.as_list()


@case()
def rows(tf, sess):
    held = tf.SparseConditionalAccumulator(tf.float32, shape=[None, 2], name="S")
    first = held.apply_grad([0, 2], [[1.0, 1.0], [2.0, 2.0]], [3, 2])
    slices = tf.IndexedSlices(tf.constant([[4.0, 4.0]]), tf.constant([2], tf.int64), None)
    second = held.apply_indexed_slices_grad(slices)
    sess.run([first, second])
    found = [sess.run(held.num_accumulated()), list(sess.run(held.take_grad(2)))]
    sess.run(held.apply_grad([1], [[1.0, 3.0]], local_step=1))
    return [*found, list(sess.run(held.take_indexed_slices_grad(1)))]


@case()
def sums_of_rows(tf, sess):
    held = tf.SparseConditionalAccumulator(tf.float64, reduction_type="SUM")
    for _ in range(3):
        sess.run(held.apply_grad([1, 4], np.ones([2, 2])))
    return list(sess.run(held.take_grad(1)))


@case()
def rows_of_a_wrong_shape(tf, sess):
    held = tf.SparseConditionalAccumulator(tf.float32, shape=[None, 2])
    sess.run(held.apply_grad([0], [[1.0, 1.0, 1.0]], [3, 3]))


@case()
def rows_of_a_wrong_rank(tf, sess):
    held = tf.SparseConditionalAccumulator(tf.float32, shape=[None, 2])
    sess.run(held.apply_grad([0], [1.0]))


@case()
def rows_of_an_older_step(tf, sess):
    held = tf.SparseConditionalAccumulator(tf.float32)
    sess.run(held.set_global_step(2))
    sess.run(held.apply_grad([0], [[1.0]], local_step=1))
    return sess.run(held.num_accumulated())
