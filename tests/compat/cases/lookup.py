"""Lookup tables."""

from compat_cases import case, table


def _hashed(tf, keys=("a", "b"), values=(1, 2), default=-1, **options):
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(list(keys), list(values), **options), default)


@case(graph=False)
def initialised_twice(tf, sess):
    found = _hashed(tf).lookup(tf.constant(["a"]))
    sess.run(tf.tables_initializer())
    sess.run(tf.tables_initializer())
    return sess.run(found)


def initializers(tf):
    made = _hashed(tf)
    return [tf.tables_initializer(), made.initializer, made.default_value]


def lines_of_a_file(tf, tmp):
    with open(f"{tmp}/words", "w") as file:
        file.write("a\nb\nc\n")
    index = tf.lookup.TextFileIndex
    lines = tf.lookup.TextFileInitializer(f"{tmp}/words", tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
    return tf.lookup.StaticHashTable(lines, -1).lookup(tf.constant(["a", "c", "q"]))


def columns_of_a_file(tf, tmp):
    with open(f"{tmp}/words", "w") as file:
        file.write("a 1\nb 2\n")
    columns = tf.lookup.TextFileInitializer(f"{tmp}/words", tf.int64, 1, tf.string, 0, delimiter=" ")
    return tf.lookup.StaticHashTable(columns, "?").lookup(tf.constant([2, 5], tf.int64))


def of_file(tf, tmp, content, **options):
    with open(f"{tmp}/words", "wb") as file:
        file.write(content)
    kind = {"key_dtype": tf.string, "key_index": -2, "value_dtype": tf.int64, "value_index": -1} | options
    return tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(f"{tmp}/words", **kind), -1)


def empty_line_after_the_vocabulary(tf, sess, tmp):
    words = of_file(tf, tmp, b"a\nb\n\n", vocab_size=2)
    sess.run(words.initializer)
    return sess.run([words.size(), words.lookup(tf.constant(["b", ""]))])


def ends_of_lines(tf, sess, tmp):
    words = of_file(tf, tmp, b"a\r\nb\rc\r\r\nd")
    sess.run(words.initializer)
    return sess.run(words.lookup(tf.constant(["a", "a\r", "b\rc", "b\rc\r", "d"])))


table(
    strings=lambda tf: _hashed(tf).lookup(tf.constant([["a", "z"], ["b", ""]])),
    scalar=lambda tf: _hashed(tf, value_dtype=tf.int64).lookup(tf.constant("b")),
    numbers=lambda tf: _hashed(tf, [1, 2], ["x", "y"], "?").lookup(tf.constant([2, 3]), name="look"),
    sparse=lambda tf: _hashed(tf).lookup(tf.SparseTensor([[0, 0]], ["b"], [1, 2])),
    unknown_shape=lambda tf: _hashed(tf).lookup(tf.placeholder_with_default(["a"], None)),
    size=lambda tf: _hashed(tf).size(),
    keys_of_another_type=lambda tf: _hashed(tf).lookup(tf.constant([1])),
    the_same_key_twice=lambda tf: _hashed(tf, ["a", "a"], [1, 1]).lookup(tf.constant(["a"])),
    two_values_of_a_key=lambda tf: _hashed(tf, ["a", "a"], [1, 2]).lookup(tf.constant(["a"])),
    fewer_values=lambda tf: _hashed(tf, ["a", "b"], [1]),
    default_of_another_type=lambda tf: _hashed(tf, default="x"),
    no_tables=lambda tf: tf.tables_initializer(),
    keys_of_rank_two=lambda tf: _hashed(tf, [["a"]], [[1]]),
    default_of_rank_one=lambda tf: _hashed(tf, default=[1]),
    empty_line_of_a_file=(
        lambda tf, sess, tmp: sess.run(of_file(tf, tmp, b"a\n\nb").initializer),
        "empty line found at position 3",
    ),
    empty_file=lambda tf, sess, tmp: sess.run(of_file(tf, tmp, b"").initializer),
    fewer_lines_than_said=(
        lambda tf, sess, tmp: sess.run(of_file(tf, tmp, b"a\nb\n", vocab_size=3).initializer),
        "expected 3 but got 2",
    ),
    delimiter_of_two_characters=(
        lambda tf, sess, tmp: sess.run(of_file(tf, tmp, b"a", delimiter=",,").initializer),
        "delimiter should be only 1 char",
    ),
    too_few_columns=(
        lambda tf, sess, tmp: sess.run(
            of_file(tf, tmp, b"a,1\nb\n", key_index=0, value_index=1, delimiter=",").initializer
        ),
        "expected at least 2 got 1",
    ),
    text_for_a_number=(
        lambda tf, sess, tmp: sess.run(
            of_file(tf, tmp, b"a,x\n", key_index=0, value_index=1, delimiter=",").initializer
        ),
        "Field x in line 0 is not a valid int64",
    ),
    line_number_of_strings=lambda tf, tmp: of_file(tf, tmp, b"a", value_dtype=tf.string),
    no_file_name=lambda tf: tf.lookup.TextFileInitializer("", tf.string, -2, tf.int64, -1),
)


table(
    "",
    {"graph": False},
    not_initialised=lambda tf, sess: sess.run(_hashed(tf).lookup(tf.constant(["a"]))),
)
