"""parse_example and parse_single_example: features in serialized Examples."""

import numpy as np
from compat_cases import case, table


def _example(tf, **values):
    features = {key: feature(tf, value) for key, value in values.items()}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString(deterministic=True)


def feature(tf, values):
    if values and isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if values and isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def _first(tf):
    return _example(tf, i=[1, 2], s=[b"x"], f=[1.5], z=[5])


def _both(tf):
    return [_first(tf), _example(tf, i=[3, 4], s=[b"y", b"w"], f=[2.5])]


@case(message="Name: one, Feature: q .data type: int64. is required but could not be found.")
def block_name_in_message(tf):
    features = {"q": tf.FixedLenFeature([], tf.int64)}
    return tf.parse_example(_both(tf), features, example_names=["one", "two"])


# Each is parsed from one example and from two.
FEATURES = {
    "ok": lambda tf: {
        "i": tf.FixedLenFeature([2], tf.int64),
        "s": tf.VarLenFeature(tf.string),
        "f": tf.FixedLenFeature([], tf.float32),
    },
    "missing": lambda tf: {"q": tf.FixedLenFeature([], tf.int64)},
    "default": lambda tf: {"q": tf.FixedLenFeature([], tf.int64, 5)},
    "default_vector": lambda tf: {"q": tf.FixedLenFeature([2], tf.float32, [5, 6])},
    "default_string": lambda tf: {"q": tf.FixedLenFeature([], tf.string, default_value="d")},
    "default_wrong": lambda tf: {"q": tf.FixedLenFeature([2], tf.float32, [5])},
    "default_type": lambda tf: {"q": tf.FixedLenFeature([], tf.float32, "a")},
    "wrong_type": lambda tf: {"i": tf.FixedLenFeature([2], tf.float32)},
    "wrong_type_sparse": lambda tf: {"i": tf.VarLenFeature(tf.float32)},
    "wrong_size": lambda tf: {"i": tf.FixedLenFeature([], tf.int64)},
    "int32": lambda tf: {"i": tf.FixedLenFeature([2], tf.int32)},
    "int32_sparse": lambda tf: {"i": tf.VarLenFeature(tf.int32)},
    "rows": lambda tf: {
        "i": tf.FixedLenSequenceFeature([], tf.int64, True),
        "s": tf.FixedLenSequenceFeature([], tf.string, True),
    },
    "rows_of_shape": lambda tf: {
        "i": tf.FixedLenSequenceFeature([2], tf.int64, True),
        "f": tf.FixedLenSequenceFeature([1], tf.float32, True),
    },
    "rows_not_whole": lambda tf: {"i": tf.FixedLenSequenceFeature([3], tf.int64, True)},
    "rows_default": lambda tf: {"s": tf.FixedLenSequenceFeature([], tf.string, True, "P")},
    "rows_not_allowed": lambda tf: {"q": tf.FixedLenSequenceFeature([], tf.int64)},
    "rows_missing": lambda tf: {"q": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True)},
    "rows_type": lambda tf: {"i": tf.FixedLenSequenceFeature([], tf.float32, True)},
    "sparse_missing": lambda tf: {"q": tf.VarLenFeature(tf.int64)},
    "unknown_size": lambda tf: {"i": tf.FixedLenFeature([None], tf.int64)},
    "unknown_inner": lambda tf: {"i": tf.FixedLenFeature([2, None], tf.int64)},
    "no_shape": lambda tf: {"i": tf.FixedLenFeature(None, tf.int64)},
    "no_dtype": lambda tf: {"i": tf.FixedLenFeature([], None)},
    "no_dtype_sparse": lambda tf: {"i": tf.VarLenFeature(None)},
    "shape_number": lambda tf: {"i": tf.FixedLenFeature(2, tf.int64)},
    "shape_tuple": lambda tf: {"f": tf.FixedLenFeature((), tf.float32)},
    "shape_matrix": lambda tf: {"i": tf.FixedLenFeature([1, 2], tf.int64)},
    "nothing": lambda tf: {},
    "none": lambda tf: None,
    "no_feature": lambda tf: {"i": 5},
    "default_tensor": lambda tf: {"q": tf.FixedLenFeature([], tf.int64, tf.constant(9, tf.int64))},
    "default_tensor_type": lambda tf: {"q": tf.FixedLenFeature([], tf.int64, tf.constant(9))},
    "default_fed": lambda tf: {
        "q": tf.FixedLenFeature([2], tf.int64, tf.placeholder_with_default(np.array([1, 2]), None))
    },
    "default_fed_wrong": lambda tf: {
        "q": tf.FixedLenFeature([3], tf.int64, tf.placeholder_with_default(np.array([1, 2]), None))
    },
    "key_with_signs": lambda tf: {"a b/c": tf.FixedLenFeature([], tf.int64, 1)},
    "bytes": lambda tf: {
        "s": tf.FixedLenSequenceFeature([], tf.string, True),
        "z": tf.FixedLenFeature([1], tf.int64, 7),
    },
}


def asked(name, features):
    table(
        **{
            f"single_{name}": lambda tf: tf.parse_single_example(_first(tf), features(tf)),
            f"block_{name}": lambda tf: tf.parse_example(_both(tf), features(tf)),
        }
    )


for name, features in FEATURES.items():
    asked(name, features)

table(
    single_vector=lambda tf: tf.parse_single_example(
        [_first(tf)],
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    block_scalar=lambda tf: tf.parse_example(
        _first(tf),
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    block_matrix=lambda tf: tf.parse_example(
        [[_first(tf)]],
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    block_unknown=lambda tf: tf.parse_example(
        tf.placeholder_with_default([_first(tf)], None),
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    block_unknown_matrix=lambda tf: tf.parse_example(
        tf.placeholder_with_default([[_first(tf)]], None),
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    block_unknown_scalar=lambda tf: tf.parse_example(
        tf.placeholder_with_default(_first(tf), None),
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    block_unknown_length=lambda tf: tf.parse_example(
        tf.placeholder_with_default([_first(tf)], [None]),
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    single_unknown=lambda tf: tf.parse_single_example(
        tf.placeholder_with_default(_first(tf), None),
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    single_unknown_vector=lambda tf: tf.parse_single_example(
        tf.placeholder_with_default([_first(tf)], None),
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    single_damaged=lambda tf: tf.parse_single_example(
        b"abc",
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    block_damaged=lambda tf: tf.parse_example(
        [_first(tf), b"abc"],
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    single_empty=lambda tf: tf.parse_single_example(
        b"",
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    single_number=lambda tf: tf.parse_single_example(
        5,
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    block_empty=lambda tf: tf.parse_example(
        np.zeros([0], object),
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
    ),
    single_name=lambda tf: tf.io.parse_single_example(
        _first(tf),
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
        "scope",
        "example",
    ),
    block_names=lambda tf: tf.io.parse_example(
        _both(tf),
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
        name="scope",
        example_names=["one", "two"],
    ),
    block_names_wrong=lambda tf: tf.parse_example(
        _both(tf),
        {
            "i": tf.FixedLenFeature([2], tf.int64),
            "v": tf.VarLenFeature(tf.string),
            "r": tf.FixedLenSequenceFeature([], tf.string, True),
        },
        example_names=["one"],
    ),
    block_large=lambda tf: tf.parse_example(
        [_example(tf, a=[k, -k], b=[float(k)], c=[b"%d" % k]) for k in range(20)],
        {
            "a": tf.FixedLenFeature([2], tf.int64),
            "b": tf.FixedLenFeature([], tf.float32),
            "c": tf.FixedLenFeature([], tf.string),
        },
    ),
)


def repeated(tf, *parts):
    """Return an Example that repeats the key "a" for each part, in this order."""
    return b"".join(
        tf.train.Example(features=tf.train.Features(feature={"a": part})).SerializeToString() for part in parts
    )


REPEATED = {
    "value": lambda tf: [feature(tf, [1]), feature(tf, [2, 3])],
    "no_list": lambda tf: [feature(tf, [1]), tf.train.Feature()],
    "empty_list": lambda tf: [feature(tf, [1]), tf.train.Feature(int64_list=tf.train.Int64List())],
    "other_type_then_no_list": lambda tf: [feature(tf, [1.5]), tf.train.Feature()],
    "no_list_then_value": lambda tf: [feature(tf, [1]), tf.train.Feature(), feature(tf, [4])],
    "no_list_only": lambda tf: [tf.train.Feature()],
}
ASKED = {
    "fixed": lambda tf: tf.FixedLenFeature([1], tf.int64),
    "default": lambda tf: tf.FixedLenFeature([1], tf.int64, 9),
    "any": lambda tf: tf.VarLenFeature(tf.int64),
    "rows": lambda tf: tf.FixedLenSequenceFeature([], tf.int64, True),
}


def add_repeated(name, parts, form, asked):
    made = {
        "block": lambda tf: tf.parse_example([repeated(tf, *parts(tf))] * 2, {"a": asked(tf)}),
        "single": lambda tf: tf.parse_single_example(repeated(tf, *parts(tf)), {"a": asked(tf)}),
    }
    if form != "rows":
        made["context"] = lambda tf: tf.io.parse_single_sequence_example(repeated(tf, *parts(tf)), {"a": asked(tf)})[0]
    table(**{f"repeated_{name}_{form}_{which}": function for which, function in made.items()})


for its_name, its_parts in REPEATED.items():
    for its_form, its_feature in ASKED.items():
        add_repeated(its_name, its_parts, its_form, its_feature)
