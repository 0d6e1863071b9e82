"""rejection_sample and stratified_sample: the kept examples, and rejected arguments."""

import numpy as np
import pytest
from graph_pipelines import drain, graph_session, running  # noqa: F401  (a fixture)

import pipeline.compat.v1 as tf

training = tf.contrib.training


def numbers(count):
    """0, 1, ... as a scalar."""
    return tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()


@pytest.mark.parametrize(
    ("chance", "kept"),
    [
        (lambda row: 1.0, [[0, 1], [2, 3], [4, 5]]),
        (lambda row: tf.to_float(row[0] % 3 > 0), [[1, 2], [4, 5]]),
        (lambda row: tf.to_float(tf.equal(row[1], 9)), [[3, -1]]),
    ],
)
@pytest.mark.parametrize("many", [False, True])
def test_examples_are_kept_by_their_chance(sess, chance, kept, many):
    i = numbers(6)
    square = i * i
    if kept[-1][-1] < 0:  # only one example is kept: less than a batch
        kept = []
    tensors = [tf.expand_dims(each, 0) for each in (i, square)] if many else [i, square]
    made = training.rejection_sample(tensors, chance, 2, enqueue_many=many, runtime_checks=True)
    assert isinstance(made, list)
    with running(sess):
        found = drain(sess, made)
    assert [first.tolist() for first, _ in found] == kept
    assert all((second == first * first).all() for first, second in found)


def test_about_the_share_that_was_asked_for_is_kept(sess):
    tf.set_random_seed(7)
    (made,) = training.rejection_sample([numbers(2000)], lambda row: 0.25, 20)
    with running(sess):
        kept = np.concatenate(drain(sess, made))
    assert 400 <= len(kept) <= 600
    assert (np.diff(kept) > 0).all()


@pytest.mark.parametrize("chance", [-0.5, 1.5])
def test_chances_are_checked_on_demand(sess, chance):
    made = training.rejection_sample(
        [numbers(6)], lambda row: tf.placeholder_with_default(chance, []), 2, runtime_checks=True
    )
    with pytest.raises(tf.errors.InvalidArgumentError), running(sess):
        drain(sess, made)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("many", [False, True])
def test_classes_have_their_shares(sess, known, many):
    tf.set_random_seed(3)
    classes = np.random.default_rng(5).choice(3, 1000, p=[0.625, 0.25, 0.125])
    # Class frequencies are estimated from separate examples, as in TensorFlow.
    i, label = tf.train.slice_input_producer([np.arange(len(classes)), classes], num_epochs=1, shuffle=False)
    data = [i, tf.stack([i, label])]
    if many:
        data, label = [tf.expand_dims(each, 0) for each in data], tf.expand_dims(label, 0)
    shares = [0.625, 0.25, 0.125] if known else None
    (plain, both), labels = training.stratified_sample(data, label, [0.25, 0.5, 0.25], 10, shares, enqueue_many=many)
    assert plain.shape.as_list() == [10]
    assert both.shape.as_list() == [10, 2]
    with running(sess):
        found = drain(sess, [plain, both, labels])
    assert all((both == np.stack([plain, labels], 1)).all() for plain, both, labels in found)
    classes = np.concatenate([labels for _, _, labels in found])
    shares = np.bincount(classes, minlength=3) / len(classes)
    # Far from the data's 0.625, 0.25 and 0.125; the bounds are four standard deviations wide.
    assert shares[0] < 0.42
    assert shares[1] > 0.33
    assert shares[2] > 0.1


def test_a_class_with_no_share_is_dropped(sess):
    i = numbers(20)
    (made,), labels = training.stratified_sample([i], i % 2, [0.0, 1.0], 5, [0.5, 0.5])
    with running(sess):
        found = drain(sess, [made, labels])
    assert [made.tolist() for made, _ in found] == [[1, 3, 5, 7, 9], [11, 13, 15, 17, 19]]
    assert all(labels.all() for _, labels in found)


UNKNOWN = object()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"labels": [1]}, ValueError, "rank 1"),
        ({"labels": 1.0}, TypeError, "labels must be integers.*float32"),
        ({"tensors": 1}, TypeError, "iterable"),
        ({"target_probs": [[0.5, 0.5]]}, ValueError, "rank 1"),
        ({"target_probs": UNKNOWN}, ValueError, "not fully defined"),
        ({"target_probs": [0.5, 0.25, 0.25]}, ValueError, "same length"),
        ({"enqueue_many": True}, ValueError, "rank"),
        ({"enqueue_many": True, "tensors": [[1, 2]], "labels": [1, 0, 1]}, ValueError, "not compatible"),
    ],
)
def test_what_does_not_fit_is_an_error_at_once(sess, arguments, error, text):
    given = {"tensors": [1], "labels": 1, "target_probs": [0.5, 0.5], "batch_size": 2, "init_probs": [0.5, 0.5]}
    given |= {
        key: tf.placeholder(tf.float32, [None]) if value is UNKNOWN else value for key, value in arguments.items()
    }
    with pytest.raises(error, match=text):
        training.stratified_sample(**given)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"labels": 2}, "x >= |less|assertion failed"),
        ({"labels": -1}, "assertion failed"),
        ({"target_probs": [0.5, 0.6]}, "assertion failed"),
        ({"target_probs": [1.5, -0.5]}, "assertion failed"),
        ({"init_probs": [0.0, 1.0]}, "zero initial probability must also have zero target"),
    ],
)
def test_numbers_that_do_not_fit_end_the_runner(sess, arguments, text):
    given = {"tensors": [1], "labels": 1, "target_probs": [0.5, 0.5], "batch_size": 2, "init_probs": [0.5, 0.5]}
    given = {
        key: value if key in ("tensors", "batch_size") else fed(value) for key, value in (given | arguments).items()
    }
    made = training.stratified_sample(**given)
    with pytest.raises(tf.errors.InvalidArgumentError, match=text), running(sess):
        drain(sess, made)


def fed(value):
    """Return a tensor with a value unknown before it runs."""
    return tf.placeholder_with_default(value, np.shape(value))


def test_rows_that_differ_in_number(sess):
    with pytest.raises(ValueError, match="not compatible"):
        training.rejection_sample([[1, 2], [1, 2, 3]], lambda row: 1.0, 2, enqueue_many=True)
