"""parse_single_sequence_example."""

from compat_cases import table


def feature(tf, values):
    if values and isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if values and isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def sequence(tf, context, lists):
    train = tf.train
    lists = {key: train.FeatureList(feature=[feature(tf, one) for one in value]) for key, value in lists.items()}
    made = train.SequenceExample(
        context=train.Features(feature={key: feature(tf, value) for key, value in context.items()}),
        feature_lists=train.FeatureLists(feature_list=lists),
    )
    return made.SerializeToString(deterministic=True)


def _steps(tf):
    lists = {"x": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "y": [[1], [2, 3]], "e": []}
    return sequence(tf, {"c": [1], "s": [b"x", b"y"]}, lists)


# Features in the context and in the lists; each pair is parsed from one example.
FEATURES = {
    "ok": lambda tf: (
        {"c": tf.FixedLenFeature([], tf.int64), "s": tf.VarLenFeature(tf.string)},
        {"x": tf.FixedLenSequenceFeature([2], tf.float32), "y": tf.VarLenFeature(tf.int64)},
    ),
    "context_missing": lambda tf: ({"q": tf.FixedLenFeature([], tf.int64)}, None),
    "context_default": lambda tf: ({"q": tf.FixedLenFeature([], tf.int64, 4)}, None),
    "context_type": lambda tf: ({"c": tf.FixedLenFeature([], tf.float32)}, None),
    "context_size": lambda tf: ({"c": tf.FixedLenFeature([2], tf.int64)}, None),
    "context_sparse_type": lambda tf: ({"c": tf.VarLenFeature(tf.float32)}, None),
    "context_sparse_missing": lambda tf: ({"c": tf.VarLenFeature(tf.int64), "q": tf.VarLenFeature(tf.int64)}, None),
    "list_missing": lambda tf: (None, {"q": tf.FixedLenSequenceFeature([], tf.int64)}),
    "list_missing_allowed": lambda tf: (None, {"q": tf.FixedLenSequenceFeature([], tf.int64, True)}),
    "list_type": lambda tf: (None, {"x": tf.FixedLenSequenceFeature([2], tf.int64)}),
    "list_size": lambda tf: (None, {"x": tf.FixedLenSequenceFeature([3], tf.float32)}),
    "list_various": lambda tf: (None, {"y": tf.FixedLenSequenceFeature([], tf.int64)}),
    "list_sparse_type": lambda tf: (None, {"y": tf.VarLenFeature(tf.float32)}),
    "list_sparse_missing": lambda tf: (None, {"q": tf.VarLenFeature(tf.float32)}),
    "list_default": lambda tf: (None, {"x": tf.FixedLenSequenceFeature([2], tf.float32, default_value=1.0)}),
    "list_empty": lambda tf: (None, {"e": tf.FixedLenSequenceFeature([2], tf.float32, True)}),
    "list_int32": lambda tf: (None, {"x": tf.FixedLenSequenceFeature([], tf.int32)}),
    "list_unknown_shape": lambda tf: (None, {"x": tf.FixedLenSequenceFeature([None], tf.float32)}),
    "list_no_feature": lambda tf: (None, {"c": tf.FixedLenFeature([], tf.int64)}),
    "list_sparse": lambda tf: (None, {"x": tf.VarLenFeature(tf.float32)}),
    "nothing": lambda tf: (None, None),
    "context_no_feature": lambda tf: ({"c": tf.FixedLenSequenceFeature([], tf.int64)}, None),
    "context_int32": lambda tf: ({"c": tf.FixedLenFeature([], tf.int32)}, None),
}


def asked(features):
    return lambda tf: list(tf.parse_single_sequence_example(_steps(tf), *features(tf)))


table("sequence_", **{name: asked(features) for name, features in FEATURES.items()})
table(
    sequence_vector=lambda tf: list(
        tf.parse_single_sequence_example(
            [_steps(tf)],
            {"c": tf.FixedLenFeature([], tf.int64), "s": tf.VarLenFeature(tf.string)},
            {"x": tf.FixedLenSequenceFeature([2], tf.float32), "y": tf.VarLenFeature(tf.int64)},
        )
    ),
    sequence_unknown=lambda tf: list(
        tf.parse_single_sequence_example(
            tf.placeholder_with_default(_steps(tf), None),
            {"c": tf.FixedLenFeature([], tf.int64), "s": tf.VarLenFeature(tf.string)},
            {"x": tf.FixedLenSequenceFeature([2], tf.float32), "y": tf.VarLenFeature(tf.int64)},
        )
    ),
    sequence_damaged=lambda tf: list(
        tf.parse_single_sequence_example(
            b"abc",
            {"c": tf.FixedLenFeature([], tf.int64), "s": tf.VarLenFeature(tf.string)},
            {"x": tf.FixedLenSequenceFeature([2], tf.float32), "y": tf.VarLenFeature(tf.int64)},
        )
    ),
    sequence_name=lambda tf: list(
        tf.io.parse_single_sequence_example(
            _steps(tf),
            {"c": tf.FixedLenFeature([], tf.int64), "s": tf.VarLenFeature(tf.string)},
            {"x": tf.FixedLenSequenceFeature([2], tf.float32), "y": tf.VarLenFeature(tf.int64)},
            "example",
            "scope",
        )
    ),
)
