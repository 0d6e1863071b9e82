"""IndexedSlices, and what becomes of them where a tensor is expected."""

from compat_cases import case, table


def _slices(tf, shape=(4, 2)):
    whole = None if shape is None else tf.constant(shape)
    return tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), tf.constant([0, 2, 0]), whole)


@case(graph=False)
def fetched(tf, sess):
    got = sess.run(_slices(tf))
    return [type(got).__name__, got.values, got.indices, got.dense_shape]


table(
    as_a_tensor=lambda tf: tf.convert_to_tensor(_slices(tf), name="dense"),
)


table(
    "",
    {"graph": False},
    in_an_operation=lambda tf: tf.add(_slices(tf), tf.ones([4, 2])),
    without_a_shape=lambda tf: tf.convert_to_tensor(_slices(tf, None)),
    as_another_dtype=lambda tf: tf.convert_to_tensor(_slices(tf), tf.int32),
)
