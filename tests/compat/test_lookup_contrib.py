"""Tables of ids: tf.contrib.lookup.index_table_from_tensor and index_table_from_file."""

import pytest
from graph_pipelines import graph_session  # noqa: F401  (a fixture)

import pipeline.compat.v1 as tf

lookup = tf.contrib.lookup
WORDS = ["x", "b", "zz"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "words"
    path.write_bytes(b"a\nb\nc\n")
    return str(path)


def found(sess, table, keys):
    made = table.lookup(keys)
    sess.run(tf.tables_initializer())
    return sess.run(made).tolist()


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, [0, -1, -1]), ({"default_value": 7}, [0, 7, 7]), ({"num_oov_buckets": 2}, [0, 2, 2])],
)
def test_numbers_of_words(sess, options, expected):
    table = lookup.index_table_from_tensor(["x", "y"], **options)
    assert found(sess, table, tf.constant(WORDS)) == expected
    assert table.name == "hash_table"


def test_numbers_of_integers(sess):
    table = lookup.index_table_from_tensor(mapping=[10, 20], num_oov_buckets=5, dtype=tf.int32)
    assert found(sess, table, tf.constant([20, 10])) == [1, 0]
    assert sess.run(table.size()) == 7


def test_numbers_of_lines(sess, file):
    table = lookup.index_table_from_file(file, num_oov_buckets=3)
    assert found(sess, table, tf.constant(WORDS)) == [5, 1, 4]
    assert found(sess, lookup.index_table_from_file(file, vocab_size=1), tf.constant(["a", "b"])) == [0, -1]


def test_sparse_keys(sess):
    made = lookup.index_table_from_tensor(["x", "y"], num_oov_buckets=2).lookup(tf.string_split(["x y", "q"]))
    sess.run(tf.tables_initializer())
    assert sess.run(made).values.tolist() == [0, 1, 3]


def test_table_by_its_older_name(sess):
    table = lookup.HashTable(lookup.KeyValueTensorInitializer(["a"], [1]), -1, name="words")
    sess.run(table.init)
    assert sess.run(table.lookup(tf.constant(["a", "b"]))).tolist() == [1, -1]
    assert table.name == "words"


def test_names(sess):
    table = lookup.index_table_from_tensor(["x"], num_oov_buckets=1)
    assert table.initializer.name == "string_to_index/hash_table/table_init/LookupTableImportV2"
    assert table.resource_handle.name == "string_to_index/hash_table/hash_table:0"
    assert table.size().name == "hash_table_Size/LookupTableSizeV2:0"


@pytest.mark.parametrize(
    ("error", "text", "make"),
    [
        (ValueError, "must be specified", lambda: lookup.index_table_from_tensor(None)),
        (ValueError, "greater or equal than 0, got -1", lambda: lookup.index_table_from_tensor(["a"], -1)),
        (ValueError, "Expected integer, got", lambda: lookup.index_table_from_tensor(["a"], dtype=tf.int64)),
        (TypeError, "integer or string", lambda: lookup.index_table_from_tensor(["a"], dtype=tf.float32)),
        (ValueError, "must not be empty", lambda: lookup.index_table_from_file("")),
        (ValueError, "must be greater than 0, got 0", lambda: lookup.index_table_from_file("a", vocab_size=0)),
        (TypeError, "integer or string", lambda: lookup.index_table_from_file("a", key_dtype=tf.float32)),
    ],
    ids=range(7),
)
def test_what_is_refused(sess, error, text, make):
    with pytest.raises(error, match=text):
        make()
