"""Barrier: elements are complete when all components of their key came; the values are TensorFlow's."""

import numpy as np
import pytest
from helpers import run_in_thread, wait_until

import pipeline.compat.v1 as tf

SOON = tf.RunOptions(timeout_in_ms=50)
FIRST = -(1 << 63)


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def pair():
    return tf.Barrier((tf.float32, tf.float32), shapes=((), ()))


def test_components_meet_by_key(sess):
    barrier = tf.Barrier((tf.int64, tf.float32), shapes=((), (2,)), name="B")
    sizes, taken = [barrier.ready_size(), barrier.incomplete_size()], barrier.take_many(2)
    sess.run(barrier.insert_many(0, ["a", "b"], np.array([1, 2])))
    assert sess.run(sizes) == [0, 2]
    sess.run(barrier.insert_many(1, ["b", "a", "c"], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert sess.run(sizes) == [2, 1]
    indices, keys, (first, second) = sess.run(taken)
    assert indices.tolist() == [FIRST, FIRST]
    assert keys.tolist() == [b"b", b"a"]
    assert first.tolist() == [2, 1]
    assert second.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert [each.shape.as_list() for each in taken.values] == [[2], [2, 2]]
    assert barrier.name == "B"
    assert taken.keys.op.name == "B_BarrierTakeMany"


def test_older_keys_are_taken_first(sess):
    barrier = pair()
    for key in ("old", "new"):
        sess.run(barrier.insert_many(0, [key], [1.0]))
    for key in ("new", "old"):
        sess.run(barrier.insert_many(1, [key], [2.0]))
    taken = sess.run(barrier.take_many(2))
    assert taken.keys.tolist() == [b"old", b"new"]
    assert taken.indices.tolist() == [FIRST, FIRST + 1]


def test_take_waits(sess):
    barrier = pair()
    taken = barrier.take_many(1)
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(taken, options=SOON)
    call = run_in_thread(sess.run, taken)
    for component in (0, 1):
        sess.run(barrier.insert_many(component, ["k"], [float(component)]))
    assert call.result().keys.tolist() == [b"k"]


def test_what_is_begun_may_be_completed_after_close(sess):
    barrier = pair()
    sess.run(barrier.insert_many(0, ["a", "b"], [1.0, 5.0]))
    sess.run(barrier.close())
    sess.run(barrier.insert_many(1, ["a"], [1.0]))
    assert sess.run([barrier.ready_size(), barrier.incomplete_size()]) == [1, 1]
    with pytest.raises(tf.errors.CancelledError, match="attempted to insert a brand new key: z"):
        sess.run(barrier.insert_many(0, ["z"], [1.0]))
    assert sess.run(barrier.take_many(2, allow_small_batch=True)).keys.tolist() == [b"a"]
    with pytest.raises(tf.errors.OutOfRangeError, match=r"\(requested 2, total size 1\)"):
        sess.run(barrier.take_many(2))
    with pytest.raises(tf.errors.OutOfRangeError, match=r"\(requested 0, total size 0\)"):
        sess.run(barrier.take_many(2, allow_small_batch=True))
    with pytest.raises(tf.errors.CancelledError, match="is already closed"):
        sess.run(barrier.close())
    sess.run(barrier.insert_many(1, ["b"], [2.0]))
    assert sess.run(barrier.take_many(1)).keys.tolist() == [b"b"]


def test_cancel_forgets_what_is_begun(sess):
    barrier = pair()
    sess.run(barrier.insert_many(0, ["a"], [1.0]))
    sess.run(barrier.close(cancel_pending_enqueues=True))
    with pytest.raises(tf.errors.CancelledError, match="Pending enqueues cancelled: 1"):
        sess.run(barrier.insert_many(1, ["a"], [1.0]))
    assert sess.run(barrier.incomplete_size()) == 0


def test_close_ends_a_wait(sess):
    barrier = pair()
    call = run_in_thread(sess.run, barrier.take_many(1))
    sess.run(barrier.close())
    assert isinstance(call.exception(), tf.errors.OutOfRangeError)


@pytest.mark.parametrize(
    ("insert", "message"),
    [
        (lambda b: b.insert_many(3, ["a"], [1.0]), r"out of range 3 > num_components \(= 2\)"),
        (lambda b: b.insert_many(0, ["a"], [[1.0]]), r"Shape mismatch in tuple component 2. Expected \[\], got \[1\]"),
        (lambda b: b.insert_many(0, ["a", "a"], [1.0, 2.0]), "Key a already has a value for component 0"),
    ],
)
def test_inserts_that_do_not_fit(sess, insert, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        sess.run(insert(pair()))


def test_static_checks(sess):
    with pytest.raises(ValueError, match="Empty tensors are not supported"):
        tf.Barrier((tf.int64,), shapes=((0,),))
    with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal, but are 1 and 2"):
        pair().insert_many(0, ["a"], [1.0, 2.0])


def test_barriers_of_one_name_are_one(sess):
    sess.run(tf.Barrier((tf.float32,), shapes=((),), shared_name="one").insert_many(0, ["a"], [4.0]))
    assert sess.run(tf.Barrier((tf.float32,), shapes=((),), shared_name="one").take_many(1)).values[0] == [4.0]


def test_takes_have_their_turns(sess):
    barrier = tf.Barrier((tf.float32,), shapes=((),))
    two, one = barrier.take_many(2), barrier.take_many(1)
    insert = barrier.insert_many(0, tf.placeholder(tf.string, name="keys"), tf.placeholder(tf.float32, name="values"))
    first = run_in_thread(sess.run, two)
    turns = sess.run(barrier.barrier_ref)._takers
    wait_until(lambda: len(turns) == 1, "the first take waits")
    second = run_in_thread(sess.run, one)
    wait_until(lambda: len(turns) == 2, "the second take waits")
    sess.run(insert, {"keys:0": [b"a"], "values:0": [1.0]})
    sess.run(insert, {"keys:0": [b"b", b"c"], "values:0": [2.0, 3.0]})
    assert first.result().keys.tolist() == [b"a", b"b"]
    assert second.result().keys.tolist() == [b"c"]


def test_one_scalar_component(sess):
    barrier = tf.Barrier(tf.float32, shapes=())
    sess.run(barrier.insert_many(0, ["a", "b"], [1.0, 2.0]))
    assert sess.run(barrier.take_many(2)).values[0].tolist() == [1.0, 2.0]


def test_elements_without_elements_are_refused(sess):
    barrier = tf.Barrier((tf.float32,))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"no elements are not supported .* shape \[2,0\]"):
        sess.run(barrier.insert_many(0, ["a", "b"], np.zeros((2, 0), np.float32)))


def test_no_elements(sess):
    barrier = tf.Barrier((tf.float32, tf.string), shapes=((), ()))
    sess.run(barrier.insert_many(0, tf.constant([], tf.string), tf.constant([], tf.float32)))
    taken = sess.run(barrier.take_many(0))
    assert [each.dtype for each in taken.values] == [np.float32, object]
