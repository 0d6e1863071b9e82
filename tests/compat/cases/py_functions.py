"""py_func, numpy_function and py_function."""

import numpy as np
from compat_cases import case


@case()
def results(tf):
    return [
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
    ]


@case()
def strings(tf):
    return [
        tf.py_func(lambda x: "abc", [1.0], tf.string),
        tf.py_func(lambda x: b"abc" + x, ["x"], tf.string),
        tf.py_func(lambda x: np.array(["abc", "d"]), [1.0], tf.string),
        tf.py_func(lambda x: np.array([b"a", b"bcd"]), [1.0], tf.string),
        tf.py_func(lambda x: np.array([b"a", b"bb"], object), [1.0], tf.string),
        tf.py_func(lambda x: "\xe9", [1.0], tf.string),
    ]


@case()
def arguments(tf):
    def show(x):
        kind = type(x).__name__.replace("bool_", "bool")  # NumPy 1 and 2 call it differently.
        return f"{kind} {getattr(x, 'dtype', '')} {getattr(x, 'shape', '')}"

    args = [1.0, 3, "x", ["x", "y"], [1, 2], True, tf.constant(1, tf.uint8)]
    return [tf.py_func(show, [arg], tf.string) for arg in args]


@case()
def nothing(tf):
    return [tf.py_func(lambda x: None, [1.0], []), *tf.py_func(lambda x: None, [1.0], [], stateful=False)]


@case()
def shape_is_unknown(tf):
    got = tf.py_func(lambda x: x, [[1.0, 2.0]], tf.float32)
    got.set_shape([2])
    return got + 1.0


@case(graph=False)
def called_at_every_run(tf, sess):
    calls = []
    op = tf.py_func(lambda: calls.append(1) or len(calls), [], tf.int64)
    return [int(sess.run(op)) for _ in range(3)]


@case(message="0-th value returned by pyfunc_[0-9]+ is int64, but expects float")
def another_dtype(tf):
    return tf.py_func(lambda x: np.int64(3), [1.0], tf.float32)


@case(message="is double, but expects float")
def python_float_as_float32(tf):
    return tf.py_func(lambda x: 1.5, [1.0], tf.float32)


@case(message="is int64, but expects int32")
def python_int_as_int32(tf):
    return tf.py_func(lambda x: 3, [1.0], tf.int32)


@case(message="pyfunc_[0-9]+ returns 1 values, but expects to see 2 values")
def too_few(tf):
    return tf.py_func(lambda x: (x,), [1.0], [tf.float32, tf.float32])


@case(message="returns 2 values, but expects to see 1 values")
def a_list_is_several_values(tf):
    return tf.py_func(lambda x: [1, 2], [1.0], tf.int64)


@case(message="returns 0 values, but expects to see 1 values")
def none_for_a_value(tf):
    return tf.py_func(lambda x: None, [1.0], tf.float32)


@case(message="expects string")
def number_as_string(tf):
    return tf.py_func(lambda x: 3, [1.0], tf.string)


@case()
def an_object(tf):
    return tf.py_func(lambda x: object(), [1.0], tf.float32)


@case()
def text_array_beyond_ascii(tf):
    return tf.py_func(lambda x: np.array(["\xe9"]), [1.0], tf.string)


def raising(tf, error):
    def function(x):
        raise error

    return tf.py_func(function, [1.0], tf.float32)


@case(message="ValueError: boo")
def value_error(tf):
    return raising(tf, ValueError("boo"))


@case(message="TypeError: boo")
def type_error(tf):
    return raising(tf, TypeError("boo"))


@case(message="StopIteration: boo")
def stop_iteration(tf):
    return raising(tf, StopIteration("boo"))


@case(message="MemoryError: boo")
def memory_error(tf):
    return raising(tf, MemoryError("boo"))


@case(message="NotImplementedError: boo")
def not_implemented(tf):
    return raising(tf, NotImplementedError("boo"))


@case(message="RuntimeError: boo")
def runtime_error(tf):
    return raising(tf, RuntimeError("boo"))


@case(message="KeyError: 'boo'")
def key_error(tf):
    return raising(tf, KeyError("boo"))


@case(message="NotFoundError: nf")
def tensorflow_error(tf):
    return raising(tf, tf.errors.NotFoundError(None, None, "nf"))


@case(message="UnicodeDecodeError")
def unicode_error(tf):
    return tf.py_func(lambda x: x.decode("utf-8"), [b"\xff"], tf.string)


@case()
def not_callable(tf):
    return tf.py_func(3, [1.0], tf.float32)


@case()
def input_is_no_list(tf):
    return tf.py_func(lambda x: x, 1.0, tf.float32)


@case()
def no_dtype(tf):
    return tf.py_func(lambda x: x, [1.0], "foo")
