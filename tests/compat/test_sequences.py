"""batch_sequences_with_states: segments, the states between them, the input's end, rejected arguments."""

import numpy as np
import pytest
from graph_pipelines import drain, graph_session, running  # noqa: F401  (a fixture)

import pipeline.compat.v1 as tf

training = tf.contrib.training
STEPS = 3


def examples(lengths):
    """Example i has the key "i", a sequence i * 100, i * 100 + 1, ... and a sparse one, a number and a sparse row."""
    i, length = tf.train.slice_input_producer([np.arange(len(lengths)), lengths], num_epochs=1, shuffle=False)
    steps = tf.range(tf.to_int32(length))
    dense = tf.to_int32(i) * 100 + steps
    marks = tf.SparseTensor(tf.to_int64(tf.stack([steps, steps % 2], 1)), dense + 1, tf.stack([tf.to_int64(length), 2]))
    row = tf.SparseTensor([[0]], tf.expand_dims(i, 0), [4])
    return tf.as_string(i), {"dense": dense, "marks": marks}, {"number": i, "row": row}


def batches(lengths, batch_size=2, **options):
    key, sequences, context = examples(lengths)
    states = {"sum": np.float32(0), "trace": tf.constant([b"", b">"])}
    options = {"num_threads": 1, "capacity": batch_size, **options}
    return training.batch_sequences_with_states(key, sequences, context, None, states, STEPS, batch_size, **options)


def everything(batch):
    """Return the fetches for a step that continues each example: its states are a running sum and a trace of keys."""
    total = batch.state("sum") + tf.to_float(tf.reduce_sum(batch.sequences["dense"], 1))
    trace = tf.string_join([batch.state("trace"), tf.stack([batch.key, batch.key], 1)], "|")
    saved = [batch.save_state("sum", total), batch.save_state("trace", trace)]
    names = ["key", "next_key", "sequence", "sequence_count", "length", "total_length", "batch_size", "insertion_index"]
    plain = {name: getattr(batch, name) for name in names}
    return {
        **plain,
        **batch.sequences,
        **batch.context,
        "sum": batch.state("sum"),
        "trace": batch.state("trace"),
    }, saved


def one_example(i, length):
    """Return the expected segments of an example, in plain Python."""
    count = -(-length // STEPS)
    values = [i * 100 + j for j in range(length)]
    trace = [b"", b">"]
    for at in range(count):
        part = values[at * STEPS : (at + 1) * STEPS]
        key = f"{at:05}_of_{count:05}:{i}".encode()
        marks = np.zeros((STEPS, 2), int)
        for j, value in enumerate(part):
            marks[j, (at * STEPS + j) % 2] = value + 1
        yield {
            "key": key,
            "next_key": f"{at + 1:05}_of_{count:05}:{i}".encode() if at + 1 < count else b"STOP:%d" % i,
            "sequence": at,
            "sequence_count": count,
            "length": len(part),
            "total_length": length,
            "dense": part + [0] * (STEPS - len(part)),
            "marks": marks.tolist(),
            "number": i,
            "row": [i, 0, 0, 0],
            "sum": sum(values[: at * STEPS]),
            "trace": list(trace),
            "insertion_index": -(2**63) + i,
        }
        trace = [b"%b|%b" % (each, key) for each in trace]


def as_dense(value):
    if not isinstance(value, tf.SparseTensorValue):
        return value
    result = np.zeros(value.dense_shape, int)
    result[tuple(value.indices.T)] = value.values
    return result


def rows(found):
    """Yield the segments in batches, one at a time."""
    for batch, _ in found:
        size = batch.pop("batch_size")
        columns = {name: as_dense(value).tolist() for name, value in batch.items()}
        assert {len(each) for each in columns.values()} == {size}
        yield from ({name: column[at] for name, column in columns.items()} for at in range(size))


@pytest.mark.parametrize(
    ("lengths", "batch_size", "capacity", "order"),
    [
        ([3, 3, 3], 1, 1, [(0, 0), (1, 0), (2, 0)]),
        ([7, 2, 4], 1, 1, [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (2, 1)]),
        ([7, 2, 4], 2, 2, [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (2, 1)]),
        ([4, 4, 4, 1], 3, 3, [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (3, 0)]),
        ([9], 4, 4, [(0, 0), (0, 1), (0, 2)]),
    ],
)
def test_segments_and_their_states(sess, lengths, batch_size, capacity, order):
    fetches = everything(batches(lengths, batch_size, capacity=capacity))
    with running(sess):
        seen = list(rows(drain(sess, fetches)))
    expected = [list(one_example(i, length)) for i, length in enumerate(lengths)]
    assert seen == [expected[i][at] for i, at in order]


@pytest.mark.parametrize("threads", [1, 3])
def test_many_examples(sess, threads):
    lengths = np.random.default_rng(1).integers(1, 14, 40).tolist()
    fetches = everything(batches(lengths, 4, capacity=10, num_threads=threads))
    with running(sess):
        seen = list(rows(drain(sess, fetches)))
    expected = [row for i, length in enumerate(lengths) for row in one_example(i, length)]
    for row in [*seen, *expected]:
        if threads > 1:
            del row["insertion_index"]
    by_key = lambda row: (row["number"], row["sequence"])  # noqa: E731
    assert sorted(seen, key=by_key) == expected


def test_whole_batches_only(sess):
    batch = batches([3, 3, 3, 4, 1], allow_small_batch=False, capacity=10)
    assert batch.key.shape.as_list() == [2]
    assert batch.sequences["dense"].shape.as_list() == [2, STEPS]
    with running(sess):
        found = drain(sess, everything(batch))
    assert [each["number"].tolist() for each, _ in found] == [[0, 1], [2, 3], [3, 4]]


def test_states_that_are_not_saved_end_the_example(sess):
    batch = batches([9, 9, 2], capacity=3)
    with running(sess):
        found = drain(sess, batch.key)
    assert [keys.tolist() for keys in found] == [[b"00000_of_00003:0", b"00000_of_00003:1"], [b"00000_of_00001:2"]]


def test_a_given_length_and_whole_segments(sess):
    states = {"s": tf.zeros([2])}
    batch = training.batch_sequences_with_states(
        "k", {"x": np.arange(6.0)}, {}, 4, states, STEPS, 1, pad=False, make_keys_unique=True, make_keys_unique_seed=1
    )
    again = batch.save_state("s", batch.state("s") + 1)
    with running(sess):
        found = [sess.run([batch.length, batch.total_length, batch.next_key, again]) for _ in range(4)]
    assert [(length.tolist(), total.tolist()) for length, total, _, _ in found] == [([3], [4]), ([1], [4])] * 2
    assert len({following[0] for _, _, following, _ in found}) == 4


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"input_sequences": []}, TypeError, "sequences must be a dict"),
        ({"input_sequences": {}}, ValueError, "sequences may not be empty"),
        ({"input_sequences": {1: [1]}}, TypeError, "sequences key must be string: 1"),
        ({"input_sequences": {"a:b": [1]}}, ValueError, "sequences key may not have a colon: 'a:b'"),
        ({"input_sequences": {"a": 1}}, ValueError, "Shape for sequence a is not fully defined"),
        ({"input_context": None}, TypeError, "context must be a dict"),
        ({"initial_states": {}}, ValueError, "initial_states may not be empty"),
        ({"initial_states": {"s": None}}, ValueError, "None"),
        ({"num_unroll": 2.5}, ValueError, "num_unroll expected int, got: 2.5"),
        ({"capacity": 1}, ValueError, "capacity 1 needs to be >= batch_size 2"),
        ({"pad": False}, ValueError, "input_length is needed"),
        ({"input_key": 5}, TypeError, "string"),
        ({"input_length": [1]}, ValueError, "rank 0"),
    ],
)
def test_what_does_not_fit_is_an_error_at_once(sess, changed, error, text):
    given = {
        "input_key": "k",
        "input_sequences": {"x": [1, 2, 3]},
        "input_context": {},
        "input_length": None,
        "initial_states": {"s": 0},
        "num_unroll": 3,
        "batch_size": 2,
    }
    with pytest.raises(error, match=text):
        training.batch_sequences_with_states(**given | changed)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"input_sequences": {"x": [1, 2, 3], "y": [1, 2]}}, "lengths must match, but received lengths: 3, 2"),
        ({"input_length": 4}, "length should be <= than length from sequences: 4 vs. 3"),
        ({"input_length": -1}, "length should be <= than length from sequences: -1 vs. 3"),
        ({"input_sequences": {"x": []}}, "should be a multiple of: 3, but saw value: 0"),
        ({"input_sequences": {"x": [1, 2]}, "pad": False, "input_length": 1}, "multiple of: 3, but saw value: 2"),
        ({}, "The key b'k' is that of another example.*make_keys_unique=True"),
    ],
)
def test_examples_that_do_not_fit_end_the_runner(sess, changed, text):
    given = {"input_sequences": {"x": [1, 2, 3]}, "input_length": None, "pad": True} | changed
    given["input_sequences"] = {
        name: tf.placeholder_with_default(np.array(value, np.int32), [None])
        for name, value in given["input_sequences"].items()
    }
    batch = training.batch_sequences_with_states(
        "k", input_context={}, initial_states={"s": 0}, num_unroll=3, batch_size=2, **given
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=text), running(sess):
        drain(sess, batch.key)


def test_states(sess):
    batch = batches([6] * 4, capacity=4)
    with pytest.raises(KeyError):
        batch.state("no")
    with pytest.raises(KeyError, match="state was not declared: no"):
        batch.save_state("no", 1)
    with pytest.raises(ValueError, match="incompatible"):
        batch.save_state("sum", tf.zeros([2, 2]))
    too_many = batch.save_state("sum", tf.placeholder_with_default(np.zeros(3, np.float32), [None]))
    twice = [batch.save_state("sum", batch.state("sum")), batch.save_state("sum", batch.state("sum"))]
    with running(sess):
        with pytest.raises(tf.errors.InvalidArgumentError, match="each of the 2 examples of the batch, got 3"):
            sess.run(too_many)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"00001_of_00002:[23]' was saved before"):
            sess.run(twice)
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(batch.key)


def test_a_full_store_waits_and_stops(sess):
    batches([3] * 20, capacity=2)
    with running(sess) as coord:
        coord.request_stop()
