"""Lookup tables."""

from compat_cases import case


def table(tf, keys=("a", "b"), values=(1, 2), default=-1, **options):
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(list(keys), list(values), **options), default)


@case()
def strings(tf):
    return table(tf).lookup(tf.constant([["a", "z"], ["b", ""]]))


@case()
def scalar(tf):
    return table(tf, value_dtype=tf.int64).lookup(tf.constant("b"))


@case()
def numbers(tf):
    return table(tf, [1, 2], ["x", "y"], "?").lookup(tf.constant([2, 3]), name="look")


@case()
def sparse(tf):
    return table(tf).lookup(tf.SparseTensor([[0, 0]], ["b"], [1, 2]))


@case()
def unknown_shape(tf):
    return table(tf).lookup(tf.placeholder_with_default(["a"], None))


@case()
def size(tf):
    return table(tf).size()


@case()
def keys_of_another_type(tf):
    return table(tf).lookup(tf.constant([1]))


@case()
def the_same_key_twice(tf):
    return table(tf, ["a", "a"], [1, 1]).lookup(tf.constant(["a"]))


@case()
def two_values_of_a_key(tf):
    return table(tf, ["a", "a"], [1, 2]).lookup(tf.constant(["a"]))


@case()
def fewer_values(tf):
    return table(tf, ["a", "b"], [1])


@case()
def default_of_another_type(tf):
    return table(tf, default="x")


@case(graph=False)
def not_initialised(tf, sess):
    return sess.run(table(tf).lookup(tf.constant(["a"])))


@case(graph=False)
def initialised_twice(tf, sess):
    found = table(tf).lookup(tf.constant(["a"]))
    sess.run(tf.tables_initializer())
    sess.run(tf.tables_initializer())
    return sess.run(found)


@case()
def initializers(tf):
    made = table(tf)
    return [tf.tables_initializer(), made.initializer, made.default_value]


@case()
def no_tables(tf):
    return tf.tables_initializer()


@case()
def lines_of_a_file(tf, tmp):
    with open(f"{tmp}/words", "w") as file:
        file.write("a\nb\nc\n")
    index = tf.lookup.TextFileIndex
    lines = tf.lookup.TextFileInitializer(f"{tmp}/words", tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
    return tf.lookup.StaticHashTable(lines, -1).lookup(tf.constant(["a", "c", "q"]))


@case()
def columns_of_a_file(tf, tmp):
    with open(f"{tmp}/words", "w") as file:
        file.write("a 1\nb 2\n")
    columns = tf.lookup.TextFileInitializer(f"{tmp}/words", tf.int64, 1, tf.string, 0, delimiter=" ")
    return tf.lookup.StaticHashTable(columns, "?").lookup(tf.constant([2, 5], tf.int64))


@case()
def vocabulary(tf):
    words = tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1], value_dtype=tf.int64)
    return tf.lookup.StaticVocabularyTable(words, 3).lookup(tf.constant(["a", "x", "y"]))


@case()
def vocabulary_of_buckets(tf):
    return tf.lookup.StaticVocabularyTable(None, 3).lookup(tf.constant(["a", "x", "y"]))


@case()
def vocabulary_without_buckets(tf):
    words = tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1], value_dtype=tf.int64)
    return tf.lookup.StaticVocabularyTable(words, 0)


@case()
def vocabulary_of_int32(tf):
    return tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1]), 3)
