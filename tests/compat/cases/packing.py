"""Lists containing tensors: their conversion to tensors, and the ownership of returned lists."""

import numpy as np
from compat_cases import table


def a_size_may_be_a_list_of_float_tensors(tf):
    image = tf.constant(np.arange(60.0).reshape(4, 5, 3), tf.float32)
    height = tf.to_float(tf.shape(image)[0]) * 2.0
    return tf.image.resize_images(image, [height, 7]), tf.random_crop(image, [tf.to_float(tf.constant(4)), 5, 3])


def shapes_of_several_index_dtypes(tf):
    wide = tf.constant(2, tf.int64)
    return [
        tf.reshape(tf.zeros([4]), [wide, 2]),
        tf.reshape(tf.zeros([4]), [wide, tf.constant(2)]),
        tf.zeros([wide, wide]),
        tf.slice(tf.zeros([4, 4, 1]), [0, tf.constant(1), 0], [wide, 2, 1]),
    ]


def unknown(tf, *sizes):
    return tf.placeholder_with_default(tf.zeros(sizes), None)


def a_list_that_a_function_returned_may_be_changed(tf):
    channels = tf.split(axis=2, num_or_size_splits=3, value=tf.ones([2, 2, 3]))
    for i, mean in enumerate([123.0, 116.0, 103.0]):
        channels[i] -= mean
    rows = tf.unstack(tf.constant([1, 2, 3]))
    rows[0] += 10
    rows.append(tf.constant(4))
    parts = tf.dynamic_partition([1, 2], [0, 1], 2)
    parts[1] *= 3
    fields = tf.decode_csv("1,2", [[0], [0]])
    fields[0] -= 1
    return tf.concat(axis=2, values=channels), rows, parts, fields


def what_a_queue_or_producer_returned_may_be_changed(tf, sess):
    queue = tf.FIFOQueue(2, [tf.int32, tf.int32], [[], []])
    many = queue.enqueue_many([[1, 2], [3, 4]])
    both = queue.dequeue()
    both[0] = both[0] * 10
    sess.run(many)
    first, second = sess.run(both), sess.run(both)
    return first, second, [each.name for each in both[1].op.outputs]


table(
    a_list_takes_the_dtype_that_is_asked_for_where_its_first_tensor_has_another=lambda tf: [
        tf.convert_to_tensor([tf.constant(1.5), 2], dtype=tf.int32),
        tf.convert_to_tensor([2, tf.constant(1.5)], dtype=tf.int32),
        tf.convert_to_tensor([[2, tf.constant(1.5)], [1, 2]], dtype=tf.int64),
        tf.convert_to_tensor([tf.constant(1), tf.constant(1.5)], dtype=tf.int64),
        tf.convert_to_tensor([tf.constant(True), False], dtype=tf.float32),
    ],
    a_list_whose_first_tensor_has_the_dtype_is_not_cast=(
        lambda tf: tf.convert_to_tensor([tf.constant(1), tf.constant(1.5)], dtype=tf.int32),
        "Cannot convert a list containing a tensor of dtype",
    ),
    stack_names_the_dtypes_of_values=(
        lambda tf: tf.stack([tf.constant([1]), [2.5]], 1),
        "have types \\[int32, float32\\] that don't all match",
    ),
    concat_of_none=(
        lambda tf: tf.concat([tf.constant([1]), None], 0),
        "have types \\[int32, <NOT CONVERTIBLE TO TENSOR>\\] that don't all match",
    ),
    concat_names_the_dimension_that_differs=(
        lambda tf: tf.concat([unknown(tf, 2, 2, 3), unknown(tf, 2, 3, 1)], 2),
        r"Dimension 1 in both shapes must be equal: shape\[0\] = \[2,2,3\] vs. shape\[1\] = \[2,3,1\]",
    ),
    concat_of_ranks_that_differ=(
        lambda tf: tf.concat([unknown(tf, 2, 2), unknown(tf, 2)], 0),
        r"Ranks of all input tensors should match: shape\[0\] = \[2,2\] vs. shape\[1\] = \[2\]",
    ),
    concat_of_scalars_at_run_time=(lambda tf: tf.concat([unknown(tf), unknown(tf)], 0), "Can't concatenate scalars"),
    concat_along_a_vector=(
        lambda tf: tf.concat([unknown(tf, 2), unknown(tf, 2)], tf.placeholder_with_default([0, 1], None)),
        "axis tensor should be a scalar integer, but got shape",
    ),
    stack_of_shapes_that_differ=(
        lambda tf: tf.stack([unknown(tf, 2), unknown(tf, 2, 1)]),
        r"Shapes of all inputs must match: values\[0\].shape = \[2\] != values\[1\].shape = \[2,1\]",
    ),
)
