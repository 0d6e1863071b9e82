"""Ragged tensors: the errors of ops that do not take them, values in several fetches, random rows."""

import random

import numpy as np
import pytest

import pipeline.compat.v1 as tf
from pipeline.compat.kernels import unicode

USES = {
    "add": lambda rt: rt + 1,
    "radd": lambda rt: 1 + rt,
    "tensor_add": lambda rt: tf.constant(1) + rt,
    "array_add": lambda rt: np.ones(2, np.int32) * rt,
    "empty_array_add": lambda rt: np.ones(0, np.int32) * rt,
    "negative": lambda rt: -rt,
    "less": lambda rt: rt < 1,
    "identity": tf.identity,
    "cast": lambda rt: tf.cast(rt, tf.int64),
    "stack": lambda rt: tf.stack([rt, rt]),
    "reduce_sum": tf.reduce_sum,
    "batch": lambda rt: tf.train.batch([rt], 2),
}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_ops_on_tensors_refuse_ragged_tensors(use):
    with pytest.raises(TypeError, match=r"RaggedTensor.*map_flat_values"):
        use(tf.ragged.constant([[1, 2], [3]]))


def test_values_of_ragged_tensors_are_refused_as_well():
    with pytest.raises(TypeError, match=r"RaggedTensorValue.*map_flat_values"):
        tf.identity(tf.ragged.constant_value([[1, 2], [3]]))


@pytest.mark.parametrize("use", [iter, len, bool], ids=["iter", "len", "bool"])
def test_what_needs_a_value_is_refused(use):
    with pytest.raises(TypeError, match="RaggedTensor"):
        use(tf.ragged.constant([[1, 2], [3]]))


@pytest.mark.parametrize(("key", "error"), [("a", TypeError), (1.5, TypeError), (np.array([0, 1]), ValueError)])
def test_positions_are_single_integers(key, error):
    with pytest.raises(error):
        tf.ragged.constant([[1, 2], [3]])[key]


def test_rows_are_checked_without_validate_too():
    ragged = tf.RaggedTensor.from_row_splits([1, 2], [0, 3], validate=False)
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="3 values, but there are 2"):
        sess.run(ragged)


@pytest.mark.parametrize("value", [[[1], [2]], np.array([[1], [2]]), tf.ragged.constant_value([[[1]]])])
def test_only_ragged_values_of_the_same_rank_are_fed(value):
    ragged = tf.ragged.placeholder(tf.int32, 1)
    with tf.Session() as sess, pytest.raises(TypeError, match="RaggedTensorValue of ragged rank 1"):
        sess.run(ragged, {ragged: value})


def test_a_callable_gives_ragged_values():
    given = tf.placeholder(tf.string, [None])
    with tf.Session() as sess:
        run = sess.make_callable(tf.strings.unicode_split(given, "UTF-8"), [given])
        assert run(np.array(["a\u00e9", ""], object)).to_list() == [[b"a", "\u00e9".encode()], []]
        assert run(np.array([b"\xff"], object)).to_list() == [["\ufffd".encode()]]


def test_random_rows_slice_as_lists_do():
    draw = random.Random(3)
    some = [None, -5, -2, -1, 0, 1, 2, 5]
    with tf.Session() as sess:
        for _ in range(60):
            lists = [
                [[draw.randrange(9) for _ in range(draw.randrange(4))] for _ in range(draw.randrange(4))] for _ in "abc"
            ]
            ragged = tf.ragged.constant(lists, tf.int32, ragged_rank=2, inner_shape=())
            outer, middle, inner = (
                slice(draw.choice(some), draw.choice(some), draw.choice([None, -2, 1, 2])) for _ in "abc"
            )
            expected = [[row[inner] for row in rows[middle]] for rows in lists[outer]]
            assert sess.run(ragged[outer, middle, inner]).to_list() == expected


def test_characters_of_every_python_string_come_back():
    text = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    codes = [ord(each) for each in text]
    for encoding in unicode.OUTPUT_ENCODINGS:
        data = text.encode(encoding)
        splits, found, starts = unicode.decode([data], encoding, unicode.Errors("strict", 0))
        assert found.tolist() == codes
        assert starts[-1] == len(data) - 4
        assert unicode.encode(splits, found, encoding, unicode.Errors("strict", 0)) == [data]


def test_a_byte_order_mark_counts_for_its_own_string():
    strings = [b"\xfe\xff\x00a\x00b", b"\xff\xfea\x00b\x00", b"\x00a\x00b", b"\xff\xfe", b""]
    codes, offsets = tf.strings.unicode_decode_with_offsets(strings, "UTF-16")
    with tf.Session() as sess:
        codes, offsets = sess.run([codes, offsets])
    assert codes.to_list() == [[97, 98], [97, 98], [97, 98], [], []]
    assert offsets.to_list() == [[0, 4], [0, 4], [0, 2], [], []]


def test_unknown_encodings_are_named():
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="input encoding: latin-99"):
        sess.run(tf.strings.unicode_transcode("a", "latin-99", "UTF-8"))
