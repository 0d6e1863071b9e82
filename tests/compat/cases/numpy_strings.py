"""NumPy's strings wherever string tensors are made."""

import numpy as np
from compat_cases import table

NAMES = [np.str_("a.jpg"), np.str_("bc.jpg")]


def constants(tf):
    lists = [NAMES, tuple(NAMES), [NAMES, NAMES], [np.bytes_(b"x")], [np.str_("é"), "é", b"x"]]
    return [tf.constant(each) for each in [*lists, np.array(NAMES), np.str_("é")]]


def rows_of_a_transposed_table(tf):
    table = np.array([["a.jpg", "bc.jpg"], [1, 0]]).transpose()
    names, labels = list(table[:, 0]), [int(each) for each in table[:, 1]]
    return [tf.gather(tf.cast(names, tf.string), tf.placeholder_with_default(1, [])), tf.cast(labels, tf.int32)]


def feeds(tf, sess):
    fed = tf.placeholder(tf.string)
    return sess.run(tf.identity(fed), {fed: NAMES})


table(
    conversions=lambda tf: [
        tf.convert_to_tensor(NAMES),
        tf.cast(NAMES, tf.string),
        tf.identity(NAMES),
        tf.stack([NAMES, NAMES]),
    ],
    arrays_of_strings_in_a_list=lambda tf: tf.constant([np.array("x")]),
    a_string_for_a_number=(lambda tf: tf.constant(["a"], tf.int32), "Expected int32, but got a of type 'str'"),
)
