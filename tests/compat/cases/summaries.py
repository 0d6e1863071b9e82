"""Summaries: their bytes, names and errors."""

import numpy as np
from compat_cases import case, table


def scopes_are_part_of_the_tag(tf):
    with tf.name_scope("outer"):
        return tf.summary.scalar("x", 1.0)


def family(tf):
    with tf.name_scope("outer"):
        return tf.summary.scalar("x", 1.0, family="fam")


def collections(tf):
    tf.summary.scalar("a", 1.0, collections=["mine"])
    tf.summary.scalar("b", 2.0)
    return [tf.summary.merge_all("mine"), tf.summary.merge_all()]


def _images(tf, sess, **arguments):
    """Return an image summary's tags and pixels; its PNG compression may differ."""
    summary = tf.Summary.FromString(sess.run(tf.summary.image("i", **arguments)))
    encoded = tf.placeholder(tf.string, [])
    pixels = tf.image.decode_png(encoded)
    return [
        [
            each.tag,
            [each.image.height, each.image.width, each.image.colorspace],
            sess.run(pixels, {encoded: each.image.encoded_image_string}),
        ]
        for each in summary.value
    ]


@case(message="Duplicate tag a found in summary inputs")
def merge_the_same_twice(tf):
    one = tf.summary.scalar("a", 1.0)
    return tf.summary.merge([one, one])


def merge_all_of_a_scope(tf):
    with tf.name_scope("one"):
        tf.summary.scalar("a", 1.0)
    tf.summary.scalar("b", 1.0)
    return tf.summary.merge_all(scope="one")


def how_full_a_queue_is(tf):
    tf.train.input_producer([1, 2, 3], summary_name="fullness")
    return tf.summary.merge_all()


def the_protocol_buffer(tf, sess):
    summary = tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=0.5)])
    summary.value.add(tag="b", image=tf.Summary.Image(height=1, width=2, colorspace=3))
    summary.value.add().tag = "c"
    other = tf.Summary.FromString(summary.SerializeToString())
    return [
        summary.SerializeToString(),
        other == summary,
        len(other.value),
        other.value[0].simple_value,
        other.value[1].image.width,
        other.value[1].HasField("image"),
        other.value[2].WhichOneof("value"),
        str(other),
        tf.Event(wall_time=1.0, step=3, summary=summary).SerializeToString(),
        tf.SessionLog(status=tf.SessionLog.START).SerializeToString(),
    ]


@case(graph=False)
def an_event_file(tf, sess, tmp):
    import os

    first = tf.summary.scalar("a", 0.25)
    # Return a text summary: its metadata is written once per tag.
    second = b"\n\x16\n\x01tB\x07\x08\x07\x12\x00B\x01xJ\x08\n\x06\n\x04text"
    writer = tf.summary.FileWriter(tmp)
    writer.add_summary(sess.run(first), 1)
    writer.add_summary(second, 2)
    writer.add_summary(second, 3)
    writer.add_session_log(tf.SessionLog(status=tf.SessionLog.STOP), 4)
    writer.close()
    (name,) = os.listdir(tmp)
    events = list(tf.train.summary_iterator(os.path.join(tmp, name)))
    seen = [events[0].file_version]
    for event in events[1:]:
        seen.append([event.step, event.summary.SerializeToString(), event.session_log.SerializeToString()])
    return seen


table(
    scalar=lambda tf: tf.summary.scalar("loss", 1.5),
    scalar_of_an_int_tensor=lambda tf: tf.summary.scalar("n", tf.constant(7, tf.int64)),
    scalar_zero_is_written=lambda tf: tf.summary.scalar("zero", 0.0),
    names_are_cleaned=lambda tf: tf.summary.scalar("a b:c", 1.0),
    names_are_unique=lambda tf: [tf.summary.scalar("x", 1.0), tf.summary.scalar("x", 2.0)],
    scalar_must_be_one=lambda tf: tf.summary.scalar("v", [1.0, 2.0]),
    scalar_is_no_string=lambda tf: tf.summary.scalar("v", "text"),
    histogram=lambda tf: tf.summary.histogram("h", [1.0, 2.0, -3.0, 0.0, 5.0, 5.0]),
    histogram_of_ints=lambda tf: tf.summary.histogram("h", np.arange(20).reshape(4, 5)),
    histogram_of_nothing=lambda tf: tf.summary.histogram("h", np.zeros([0], np.float32)),
    histogram_of_one=lambda tf: tf.summary.histogram("h", 1e30),
    histogram_of_nan=(lambda tf: tf.summary.histogram("h", [1.0, np.nan]), "Nan in summary histogram for: h"),
    histogram_of_infinity=lambda tf: tf.summary.histogram("h", [1.0, np.inf]),
    image=lambda tf, sess: _images(tf, sess, tensor=np.arange(48, dtype=np.uint8).reshape(4, 2, 2, 3)),
    image_of_one_output=lambda tf, sess: _images(
        tf, sess, tensor=np.arange(8, dtype=np.uint8).reshape(2, 2, 2, 1), max_outputs=1
    ),
    image_of_zeros=lambda tf, sess: _images(tf, sess, tensor=np.zeros([1, 2, 2, 1], np.float32)),
    image_of_nan=lambda tf, sess: _images(tf, sess, tensor=np.array([[[[0, 1, np.nan], [2, 2, 4]]]], np.float32)),
    image_of_ints=lambda tf, sess: _images(tf, sess, tensor=np.ones([1, 2, 2, 3], np.int32)),
    image_of_two_channels=lambda tf: tf.summary.image("i", np.zeros([1, 2, 2, 2], np.float32)),
    image_of_no_outputs=lambda tf: tf.summary.image("i", np.zeros([1, 2, 2, 3], np.float32), max_outputs=0),
    merge=lambda tf: tf.summary.merge([tf.summary.scalar("a", 1.0), tf.summary.histogram("b", [1.0])]),
    merge_with_a_name=lambda tf: tf.summary.merge([tf.summary.scalar("a", 1.0)], name="all"),
    merge_nothing=lambda tf: tf.summary.merge([]),
    merge_what_is_no_summary=lambda tf: tf.summary.merge([tf.constant(b"\xff\xff")]),
    merge_all_of_nothing=lambda tf, sess: tf.summary.merge_all(),
    the_protocol_buffer_has_no_other_fields=lambda tf, sess: tf.Summary(values=[]),
)


table(
    "",
    {"within": 1},
    image_of_floats=lambda tf, sess: _images(
        tf, sess, tensor=np.linspace(0, 3, 12, dtype=np.float32).reshape(1, 2, 2, 3)
    ),
    image_of_negative_floats=lambda tf, sess: _images(
        tf, sess, tensor=np.linspace(-2, 1, 16, dtype=np.float32).reshape(1, 2, 2, 4)
    ),
)
