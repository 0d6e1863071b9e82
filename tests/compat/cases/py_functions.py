"""py_func, numpy_function and py_function."""

import numpy as np
from compat_cases import case, table


def arguments(tf):
    def show(x):
        kind = type(x).__name__.replace("bool_", "bool")  # NumPy 1 and 2 call it differently.
        return f"{kind} {getattr(x, 'dtype', '')} {getattr(x, 'shape', '')}"

    args = [1.0, 3, "x", ["x", "y"], [1, 2], True, tf.constant(1, tf.uint8)]
    return [tf.py_func(show, [arg], tf.string) for arg in args]


def shape_is_unknown(tf):
    got = tf.py_func(lambda x: x, [[1.0, 2.0]], tf.float32)
    got.set_shape([2])
    return got + 1.0


@case(graph=False)
def called_at_every_run(tf, sess):
    calls = []
    op = tf.py_func(lambda: calls.append(1) or len(calls), [], tf.int64)
    return [int(sess.run(op)) for _ in range(3)]


def raising(tf, error):
    def function(x):
        raise error

    return tf.py_func(function, [1.0], tf.float32)


table(
    results=lambda tf: [
        tf.py_func(lambda x: x + np.float32(1), [1.0], tf.float32),
        tf.py_func(lambda x, y: (x, y), [1.0, [1, 2]], [tf.float32, tf.int32]),
        tf.py_func(lambda x: x, [1.0], [tf.float32]),
        tf.py_func(lambda x: [x], [1.0], [tf.float32], name="n"),
        tf.py_func(lambda x: 3, [1.0], tf.int64),
        tf.py_func(lambda x: 1.5, [1.0], tf.float64),
        tf.py_func(lambda x: True, [1.0], tf.bool),
        tf.py_func(lambda: np.arange(3, dtype=np.int32), [], tf.int32),
        tf.py_func(lambda x: x, [tf.constant([[1, 2]])], tf.int32, stateful=False),
        tf.numpy_function(lambda x: (x, x), [1.0], (tf.float32, tf.float32)),
    ],
    strings=lambda tf: [
        tf.py_func(lambda x: "abc", [1.0], tf.string),
        tf.py_func(lambda x: b"abc" + x, ["x"], tf.string),
        tf.py_func(lambda x: np.array(["abc", "d"]), [1.0], tf.string),
        tf.py_func(lambda x: np.array([b"a", b"bcd"]), [1.0], tf.string),
        tf.py_func(lambda x: np.array([b"a", b"bb"], object), [1.0], tf.string),
        tf.py_func(lambda x: "\xe9", [1.0], tf.string),
    ],
    nothing=lambda tf: [tf.py_func(lambda x: None, [1.0], []), *tf.py_func(lambda x: None, [1.0], [], stateful=False)],
    another_dtype=(
        lambda tf: tf.py_func(lambda x: np.int64(3), [1.0], tf.float32),
        "0-th value returned by pyfunc_[0-9]+ is int64, but expects float",
    ),
    python_float_as_float32=(lambda tf: tf.py_func(lambda x: 1.5, [1.0], tf.float32), "is double, but expects float"),
    python_int_as_int32=(lambda tf: tf.py_func(lambda x: 3, [1.0], tf.int32), "is int64, but expects int32"),
    too_few=(
        lambda tf: tf.py_func(lambda x: (x,), [1.0], [tf.float32, tf.float32]),
        "pyfunc_[0-9]+ returns 1 values, but expects to see 2 values",
    ),
    a_list_is_several_values=(
        lambda tf: tf.py_func(lambda x: [1, 2], [1.0], tf.int64),
        "returns 2 values, but expects to see 1 values",
    ),
    none_for_a_value=(
        lambda tf: tf.py_func(lambda x: None, [1.0], tf.float32),
        "returns 0 values, but expects to see 1 values",
    ),
    number_as_string=(lambda tf: tf.py_func(lambda x: 3, [1.0], tf.string), "expects string"),
    an_object=lambda tf: tf.py_func(lambda x: object(), [1.0], tf.float32),
    text_array_beyond_ascii=lambda tf: tf.py_func(lambda x: np.array(["\xe9"]), [1.0], tf.string),
    value_error=(lambda tf: raising(tf, ValueError("boo")), "ValueError: boo"),
    type_error=(lambda tf: raising(tf, TypeError("boo")), "TypeError: boo"),
    stop_iteration=(lambda tf: raising(tf, StopIteration("boo")), "StopIteration: boo"),
    memory_error=(lambda tf: raising(tf, MemoryError("boo")), "MemoryError: boo"),
    not_implemented=(lambda tf: raising(tf, NotImplementedError("boo")), "NotImplementedError: boo"),
    runtime_error=(lambda tf: raising(tf, RuntimeError("boo")), "RuntimeError: boo"),
    key_error=(lambda tf: raising(tf, KeyError("boo")), "KeyError: 'boo'"),
    tensorflow_error=(lambda tf: raising(tf, tf.errors.NotFoundError(None, None, "nf")), "NotFoundError: nf"),
    unicode_error=(lambda tf: tf.py_func(lambda x: x.decode("utf-8"), [b"\xff"], tf.string), "UnicodeDecodeError"),
    not_callable=lambda tf: tf.py_func(3, [1.0], tf.float32),
    input_is_no_list=lambda tf: tf.py_func(lambda x: x, 1.0, tf.float32),
    no_dtype=lambda tf: tf.py_func(lambda x: x, [1.0], "foo"),
)
