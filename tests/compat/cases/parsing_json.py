"""decode_json_example: Examples in JSON."""

import json

from compat_cases import case


def feature(**lists):
    return json.dumps({"features": {"feature": {"a": {kind: {"value": values} for kind, values in lists.items()}}}})


def parsed(tf, text, dtype):
    return tf.parse_single_example(tf.decode_json_example(text), {"a": tf.VarLenFeature(dtype)})["a"].values


@case()
def names(tf):
    return parsed(tf, feature(int64List=[1, 2]), tf.int64)


@case(graph=False)
def integers(tf):
    return parsed(tf, feature(int64List=[1, "-2", 3.0, "9007199254740993"]), tf.int64)


@case(graph=False)
def numbers(tf):
    return parsed(tf, feature(float_list=[1, 2.5, "NaN", "Infinity", "-Infinity", "1e3"]), tf.float32)


@case(graph=False)
def strings(tf):
    return parsed(tf, feature(bytesList=["YWJj", "YQ==", "YQ", "-_-_", ""]), tf.string)


@case(graph=False)
def several_in_a_vector(tf):
    rows = tf.decode_json_example([feature(int64_list=[1]), feature(int64_list=[2])])
    return tf.io.parse_example(rows, {"a": tf.FixedLenFeature([], tf.int64), "b": tf.FixedLenFeature([], tf.int64, 7)})


@case(graph=False)
def empty_ones(tf):
    texts = ["{}", '{"features": {}}', '{"features": null}', '{"features": {"feature": {"a": {}}}}']
    return [tf.shape(parsed(tf, each, tf.int64)) for each in texts]


@case(graph=False)
def no_json(tf):
    return tf.decode_json_example("{")


@case(graph=False)
def an_unknown_field(tf):
    return tf.decode_json_example('{"feature": {}}')


@case(graph=False)
def two_lists(tf):
    return tf.decode_json_example(feature(int64List=[1], floatList=[1]))


@case(graph=False)
def a_number_that_is_no_integer(tf):
    return tf.decode_json_example(feature(int64List=[1.5]))


@case(graph=False)
def an_integer_out_of_range(tf):
    return tf.decode_json_example(feature(int64List=["9223372036854775808"]))


@case(graph=False)
def bytes_that_are_not_base64(tf):
    return tf.decode_json_example(feature(bytesList=["?"]))


@case(graph=False)
def a_list(tf):
    return tf.decode_json_example("[1]")
