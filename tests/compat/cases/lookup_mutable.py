"""Tables that a program changes while it runs: MutableHashTable and DenseHashTable."""

from compat_cases import case


def mutable(tf, keys=None, default=-1, **options):
    return tf.lookup.experimental.MutableHashTable(keys or tf.string, tf.as_dtype("int64"), default, **options)


def dense(tf, default=-1):
    return tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, default, empty_key=0, deleted_key=-7)


@case()
def names(tf, sess):
    table = mutable(tf)
    insert = table.insert(["a", "b"], [1, 2])
    found = table.lookup(tf.constant(["b", "x"]))
    size, kept = table.size(), table.remove(tf.constant(["a"]))
    keys, values = table.export()
    seen = [sess.run(size), sess.run(insert), sess.run(found), sess.run(size), sess.run(kept), sess.run([keys, values])]
    return [
        seen,
        table.name,
        insert.name,
        found.name,
        size.name,
        kept.name,
        keys.name,
        str(found.shape),
        str(keys.shape),
    ]


@case(graph=False)
def a_key_that_is_set_again(tf, sess):
    table = mutable(tf, tf.int64)
    sess.run(table.insert([1, 2, 1], [10, 20, 30]))
    sess.run(table.insert(2, 40))
    return sess.run([table.lookup(1), table.lookup([[1, 2], [3, 2]]), table.size()])


@case(graph=False)
def values_that_are_vectors(tf, sess):
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, [0.0, -1.0])
    sess.run(table.insert(["a", "b"], [[1, 2], [3, 4]]))
    found = table.lookup(tf.constant([["b"], ["c"]]))
    return [sess.run(found), str(found.shape), sess.run(table.lookup(tf.constant("a")))]


@case(graph=False)
def values_that_are_strings(tf, sess):
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.string, "none")
    sess.run(table.insert([1, 2], ["x", "yy"]))
    return sess.run([table.lookup([2, 3]), table[1]])


@case(graph=False)
def defaults_of_a_call(tf, sess):
    table = mutable(tf, tf.int64)
    sess.run(table.insert([1], [10]))
    return sess.run(
        [table.lookup([1, 2, 3], tf.constant([5, 6, 7], tf.int64)), table.lookup([2, 3], tf.constant(9, tf.int64))]
    )


@case(graph=False)
def each_session_has_its_own(tf, sess):
    table = mutable(tf, tf.int64)
    sess.run(table.insert([1], [10]))
    with tf.Session() as other:
        return [sess.run(table.size()), other.run(table.size())]


@case(graph=False)
def keys_of_another_dtype_to_remove(tf):
    return mutable(tf).remove(tf.constant([1]))


@case(graph=False)
def keys_of_another_dtype_to_look_up(tf):
    return mutable(tf).lookup(tf.constant([1]))


@case(graph=False)
def values_of_another_shape(tf, sess):
    table = mutable(tf)
    sess.run(table.insert(["a", "b"], tf.placeholder_with_default(tf.constant([1], tf.int64), None)))


@case()
def a_dense_table(tf, sess):
    table = dense(tf)
    sess.run(table.insert([1, 2], [10, 20]))
    before = sess.run([table.lookup([1, 3]), table.size()])
    sess.run(table.remove(tf.constant([1, 5], tf.int64)))
    return [before, sess.run([table.lookup([1, 2]), table.size()]), table.name]


@case(graph=False)
def the_empty_key(tf, sess):
    sess.run(dense(tf).insert([0], [1]))


@case(graph=False)
def the_deleted_key(tf, sess):
    sess.run(dense(tf).lookup([1, -7]))


@case(graph=False)
def the_deleted_key_to_remove(tf, sess):
    sess.run(dense(tf).remove(tf.constant([-7], tf.int64)))
