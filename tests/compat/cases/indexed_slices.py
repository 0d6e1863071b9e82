"""IndexedSlices, and what becomes of them where a tensor is expected."""

from compat_cases import case


def slices(tf, shape=(4, 2)):
    whole = None if shape is None else tf.constant(shape)
    return tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), tf.constant([0, 2, 0]), whole)


@case()
def as_a_tensor(tf):
    return tf.convert_to_tensor(slices(tf), name="dense")


@case(graph=False)
def in_an_operation(tf):
    return tf.add(slices(tf), tf.ones([4, 2]))


@case(graph=False)
def without_a_shape(tf):
    return tf.convert_to_tensor(slices(tf, None))


@case(graph=False)
def as_another_dtype(tf):
    return tf.convert_to_tensor(slices(tf), tf.int32)


@case(graph=False)
def or_slices(tf):
    given, other = slices(tf), tf.constant(1)
    sparse = tf.SparseTensor([[0]], [1], [2])
    convert = tf.convert_to_tensor_or_indexed_slices
    kept = [convert(each) is each for each in (given, other, sparse)]
    return [tf.constant(kept), convert([1, 2], tf.int64), tf.constant(convert(given, tf.float32) is given)]


@case(graph=False)
def or_slices_of_another_dtype(tf):
    return tf.convert_to_tensor_or_indexed_slices(slices(tf), tf.int32)


@case(graph=False)
def fetched(tf, sess):
    got = sess.run(slices(tf))
    return [type(got).__name__, got.values, got.indices, got.dense_shape]
