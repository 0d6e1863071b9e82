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


@case()
def vocabulary_of_int64_and_int32_keys(tf):
    words = tf.lookup.KeyValueTensorInitializer(tf.constant([5, 7], tf.int64), tf.constant([0, 1], tf.int64))
    words = tf.lookup.StaticVocabularyTable(words, 3, lookup_key_dtype=tf.int32)
    return words.lookup(tf.constant([5, 9])), words.size()


@case()
def vocabulary_without_a_table_takes_strings(tf):
    return tf.lookup.StaticVocabularyTable(None, 3, lookup_key_dtype=tf.int32).lookup(tf.constant([1]))


@case()
def size_of_a_vocabulary(tf):
    words = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    return [tf.lookup.StaticVocabularyTable(words, 3).size(), tf.lookup.StaticVocabularyTable(None, 2).size(name="n")]


@case()
def keys_of_rank_two(tf):
    return table(tf, [["a"]], [[1]])


@case()
def default_of_rank_one(tf):
    return table(tf, default=[1])


@case()
def export_before_it_is_filled(tf, sess):
    sess.run(table(tf).export())


def of_file(tf, tmp, content, **options):
    with open(f"{tmp}/words", "wb") as file:
        file.write(content)
    kind = {"key_dtype": tf.string, "key_index": -2, "value_dtype": tf.int64, "value_index": -1} | options
    return tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(f"{tmp}/words", **kind), -1)


@case(message="empty line found at position 3")
def empty_line_of_a_file(tf, sess, tmp):
    sess.run(of_file(tf, tmp, b"a\n\nb").initializer)


@case()
def empty_line_after_the_vocabulary(tf, sess, tmp):
    words = of_file(tf, tmp, b"a\nb\n\n", vocab_size=2)
    sess.run(words.initializer)
    return sess.run([words.size(), words.lookup(tf.constant(["b", ""]))])


@case()
def empty_file(tf, sess, tmp):
    sess.run(of_file(tf, tmp, b"").initializer)


@case(message="expected 3 but got 2")
def fewer_lines_than_said(tf, sess, tmp):
    sess.run(of_file(tf, tmp, b"a\nb\n", vocab_size=3).initializer)


@case()
def ends_of_lines(tf, sess, tmp):
    words = of_file(tf, tmp, b"a\r\nb\rc\r\r\nd")
    sess.run(words.initializer)
    return sess.run(words.lookup(tf.constant(["a", "a\r", "b\rc", "b\rc\r", "d"])))


@case(message="delimiter should be only 1 char")
def delimiter_of_two_characters(tf, sess, tmp):
    sess.run(of_file(tf, tmp, b"a", delimiter=",,").initializer)


@case(message="expected at least 2 got 1")
def too_few_columns(tf, sess, tmp):
    sess.run(of_file(tf, tmp, b"a,1\nb\n", key_index=0, value_index=1, delimiter=",").initializer)


@case(message="Field x in line 0 is not a valid int64")
def text_for_a_number(tf, sess, tmp):
    sess.run(of_file(tf, tmp, b"a,x\n", key_index=0, value_index=1, delimiter=",").initializer)


@case()
def line_number_of_strings(tf, tmp):
    return of_file(tf, tmp, b"a", value_dtype=tf.string)


@case()
def no_file_name(tf):
    return tf.lookup.TextFileInitializer("", tf.string, -2, tf.int64, -1)
