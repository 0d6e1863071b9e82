"""IndexedSlices as fetches."""

from compat_cases import case


def _slices(tf, shape=(4, 2)):
    whole = None if shape is None else tf.constant(shape)
    return tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), tf.constant([0, 2, 0]), whole)


@case(graph=False)
def fetched(tf, sess):
    got = sess.run(_slices(tf))
    return [type(got).__name__, got.values, got.indices, got.dense_shape]
