"""Operations join their inputs' graph: in threads adding to a graph that is not their default graph."""

import threading

import numpy as np
import pytest
from helpers import LIMIT

import pipeline.compat.v1 as tf
from pipeline.compat.graph.graph import Graph

ops = {
    "add": lambda x: x + 1.0,
    "radd": lambda x: 2 / x,
    "pow": lambda x: x**2,
    "mod": lambda x: x % 2,
    "floordiv": lambda x: x // 2,
    "div_no_nan": lambda x: tf.div_no_nan(x, 2.0),
    "matmul": lambda x: tf.matmul([[1.0, 2.0, 3.0]], tf.expand_dims(x, 1)),
    "concat": lambda x: tf.concat([[1.0], x], 0),
    "stack": lambda x: tf.stack([[1.0, 2.0, 3.0], x]),
    "where": lambda x: tf.where(x > 1, [0.0] * 3, x),
    "clip": lambda x: tf.clip_by_value(x, 0.0, 1.0),
    "cast": lambda x: tf.cast(x, tf.int32),
    "transpose": lambda x: tf.transpose(tf.reshape(x, [3, 1]), [1, 0]),
    "pad": lambda x: tf.pad(x, [[1, 2]], "CONSTANT"),
    "slice": lambda x: x[1:],
    "gather": lambda x: tf.gather(x, [0, 2]),
    "gather_nd": lambda x: tf.gather_nd(x, [[0], [2]]),
    "boolean_mask": lambda x: tf.boolean_mask(x, [True, False, True]),
    "one_hot": lambda x: tf.one_hot(tf.to_int32(x), 4),
    "tile": lambda x: tf.tile(x, [2]),
    "top_k": lambda x: tf.nn.top_k(x, 2)[0],
    "reverse": lambda x: tf.reverse(x, [0]),
    "reduce": lambda x: tf.reduce_sum(x, 0),
    "moments": lambda x: tf.nn.moments(x, [0])[0],
    "softmax": lambda x: tf.nn.softmax(x),
    "l2_normalize": lambda x: tf.nn.l2_normalize(x, 0),
    "shape": lambda x: tf.shape(x)[0] + 1,
    "fill": lambda x: tf.fill(tf.shape(x), 1.0),
    "cond": lambda x: tf.cond(x[0] > 0, lambda: x + 1, lambda: x - 1),
    "map_fn": lambda x: tf.map_fn(lambda each: each + 1, x),
    "assert": lambda x: tf.identity(x) if tf.assert_less(x, 9.0) is not None else x,
    "print": lambda x: tf.Print(x, [x, "text"]),
    "py_func": lambda x: tf.py_func(lambda a, b: a + b, [x, np.float32(1)], tf.float32),
    "random_shuffle": lambda x: tf.shape(tf.random_shuffle(x)),
    "random_crop": lambda x: tf.shape(tf.random_crop(x, [2])),
    "as_string": lambda x: tf.as_string(x),
    "string_join": lambda x: tf.string_join(["a", tf.as_string(x)]),
    "substr": lambda x: tf.substr(tf.as_string(x), 0, 1),
    "regex_replace": lambda x: tf.regex_replace(tf.as_string(x), "[.]", ","),
    "string_split": lambda x: tf.string_split(tf.as_string(x), ".").values,
    "string_to_number": lambda x: tf.string_to_number(tf.as_string(x)),
    "decode_csv": lambda x: tf.decode_csv(tf.as_string(x), [[1.0]])[0],
    "decode_raw": lambda x: tf.decode_raw(tf.as_string(x), tf.uint8),
    "parse_example": lambda x: tf.parse_example(
        tf.substr(tf.as_string(x), 0, 0), {"a": tf.FixedLenFeature([], tf.float32, 3.0)}
    )["a"],
    "image": lambda x: tf.image.resize_images(tf.reshape(x, [1, 3, 1]), [2, 2]),
    "sparse_to_dense": lambda x: tf.sparse_to_dense([0, 1, 3], [4], x),
    "read_file": lambda x: tf.size(tf.matching_files(tf.as_string(x))),
    "summary": lambda x: tf.summary.scalar("a", x[0]),
}


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def in_thread(function):
    """Return a function's result in a thread without its own graph; its default graph must stay empty."""
    found = []

    def body():
        try:
            found.append(function())
            found.append(len(tf.get_default_graph().get_operations()))
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join(LIMIT)
    if isinstance(found[0], Exception):
        raise found[0]
    return found


@pytest.mark.parametrize("name", ops)
def test_an_operation_joins_the_graph_of_its_inputs(graph, name):
    if name == "regex_replace":
        pytest.importorskip("re2")
    x = tf.placeholder_with_default(np.array([1.0, 2.0, 3.0], np.float32), [3])
    expected = ops[name](x)
    made, _ = in_thread(lambda: ops[name](x))
    assert made.graph is graph
    with tf.Session() as sess:
        a, b = sess.run([expected, made])
    if name != "summary":
        np.testing.assert_array_equal(a, b)


def test_a_thread_that_builds_what_it_reads(graph, tmp_path):
    """A thread reads lines, decodes and enqueues them: it makes new ops for each block."""
    (tmp_path / "1.csv").write_text("1,2\n3,4\n5,6\n")
    names = tf.train.string_input_producer([str(tmp_path / "1.csv")], shuffle=False)
    reader, queue = tf.TextLineReader(), tf.PaddingFIFOQueue(10, ["float32"], shapes=[(None, 2)])
    wanted = queue.dequeue_many(2)

    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)

        def work():
            for _ in range(3):
                keys, lines = reader.read_up_to(names, 2)
                rows = tf.transpose(tf.decode_csv(lines, [[1.0], [1.0]]), [1, 0])
                sess.run(queue.enqueue(tf.pad(rows, [[1, 0], [0, 0]])))
            return sess.run(keys)

        keys, operations = in_thread(work)
        assert operations == 0
        assert keys.tolist() == [str(tmp_path / "1.csv:3").encode()]
        assert sess.run(wanted).tolist() == [[[0, 0], [1, 2], [3, 4]], [[0, 0], [5, 6], [0, 0]]]
        coord.request_stop()
        coord.join(threads)


def test_a_thread_without_inputs_has_a_graph_of_its_own(graph):
    made, operations = in_thread(lambda: tf.constant(1))
    assert isinstance(made.graph, Graph)
    assert made.graph is not graph
    assert operations == 1


def test_graphs_do_not_mix(graph):
    x = tf.constant([1.0])
    with tf.Graph().as_default():
        y = tf.constant([2.0])
        with pytest.raises(ValueError, match="must be from the same graph"):
            tf.concat([x, y], 0)
