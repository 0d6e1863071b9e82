"""Boxes in images."""

import numpy as np
from compat_cases import table

_numbers = np.random.RandomState(11)
FLOATS = _numbers.uniform(0, 1, (2, 6, 5, 3)).astype(np.float32)
BYTES = _numbers.randint(0, 256, (2, 6, 5, 3)).astype(np.uint8)
BOXES = np.array([[0, 0, 1, 1], [0.1, 0.3, 0.7, 0.9], [-0.5, -0.2, 1.4, 1.2], [0.9, 0.8, 0.2, 0.1]], np.float32)
IN_IMAGES = np.array(
    [[[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.0, 1.0], [0.3, -0.5, 0.6, 0.5]], [[0.5, 0.5, 0.5, 0.5]] * 2 + [[2, 2, 3, 3]]],
    np.float32,
)


def unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


table(
    "draw_",
    boxes=lambda tf: tf.image.draw_bounding_boxes(FLOATS, IN_IMAGES),
    gray=lambda tf: tf.image.draw_bounding_boxes(FLOATS[..., :1], IN_IMAGES),
    four=lambda tf: tf.image.draw_bounding_boxes(np.zeros((2, 6, 5, 4), np.float32), IN_IMAGES, name="n"),
    half=lambda tf: tf.image.draw_bounding_boxes(FLOATS.astype(np.float16), IN_IMAGES),
    colours=lambda tf: tf.image.draw_bounding_boxes(FLOATS, IN_IMAGES, "n", [[0.2, 0.3, 0.4], [1, 0, 0.5]]),
    more_channels=lambda tf: tf.image.draw_bounding_boxes(FLOATS, IN_IMAGES, colors=[[0.2, 0.3, 0.4, 1.0]]),
    fewer_channels=lambda tf: tf.image.draw_bounding_boxes(FLOATS, IN_IMAGES, colors=[[0.2, 0.3]]),
    two_channels=lambda tf: tf.image.draw_bounding_boxes(FLOATS[..., :2], IN_IMAGES),
    rank_3=lambda tf: tf.image.draw_bounding_boxes(FLOATS[0], IN_IMAGES),
    boxes_rank_2=lambda tf: tf.image.draw_bounding_boxes(FLOATS, IN_IMAGES[0]),
    three_numbers=lambda tf: tf.image.draw_bounding_boxes(FLOATS, IN_IMAGES[..., :3]),
    other_batch=lambda tf: tf.image.draw_bounding_boxes(FLOATS, IN_IMAGES[:1]),
    bytes_array=lambda tf: tf.image.draw_bounding_boxes(BYTES, IN_IMAGES),
    bytes_tensor=lambda tf: tf.image.draw_bounding_boxes(tf.constant(BYTES), IN_IMAGES),
    unknown=lambda tf: tf.image.draw_bounding_boxes(unknown(tf, FLOATS), unknown(tf, IN_IMAGES)),
)


def sample(tf, *args, **kwargs):
    return list(tf.image.sample_distorted_bounding_box(*args, **kwargs))


ONE = [[[0.1, 0.1, 0.9, 0.8]]]
table(
    "sample_",
    {"values": False},
    plain=lambda tf: sample(tf, [20, 30, 3], ONE),
    int64=lambda tf: sample(tf, np.array([20, 30, 3]), ONE, seed=3, seed2=4, name="n"),
    no_boxes=lambda tf: sample(tf, [20, 30, 3], np.zeros((1, 0, 4))),
    no_boxes_used=lambda tf: sample(tf, [20, 30, 3], np.zeros((1, 0, 4)), use_image_if_no_bounding_boxes=True),
    two_sizes=lambda tf: sample(tf, [20, 30], ONE),
    boxes_rank_2=lambda tf: sample(tf, [20, 30, 3], ONE[0]),
    beyond=lambda tf: sample(tf, [20, 30, 3], [[[0.0, 0.0, 1.1, 1.0]]]),
    areas=lambda tf: sample(tf, [20, 30, 3], ONE, area_range=[0.5, 1.1]),
    no_area=lambda tf: sample(tf, [20, 30, 3], ONE, area_range=[0.0, 1.0]),
    aspects=lambda tf: sample(tf, [20, 30, 3], ONE, aspect_ratio_range=[-1.0, 1.0]),
    attempts=lambda tf: sample(tf, [20, 30, 3], ONE, max_attempts=0),
    covered=lambda tf: sample(tf, [20, 30, 3], ONE, min_object_covered=-0.1),
    unknown=lambda tf: sample(tf, unknown(tf, [20, 30, 3]), unknown(tf, np.array(ONE, np.float32))),
    floats=lambda tf: sample(tf, [20.0, 30.0, 3.0], ONE),
)


def samples_are_within_their_ranges(tf, sess):
    ranges = {"aspect_ratio_range": [0.5, 2.0], "area_range": [0.2, 0.6], "min_object_covered": 0.3}
    begin, size, box = tf.image.sample_distorted_bounding_box([40, 50, 3], ONE, seed=1, **ranges)
    seen = [sess.run([begin, size, box]) for _ in range(100)]
    starts, sizes, boxes = (np.array(each, float) for each in zip(*seen, strict=True))
    areas = sizes[:, 0] * sizes[:, 1] / 2000
    aspects = sizes[:, 1] / sizes[:, 0]
    low, high = boxes[:, 0, 0, :2], boxes[:, 0, 0, 2:]
    inner = (np.minimum(high, [0.9, 0.8]) - np.maximum(low, [0.1, 0.1])).clip(0).prod(axis=1) / 0.56
    return [
        bool(areas.min() >= 0.19 and areas.max() <= 0.61 and np.ptp(areas) > 0.3),
        bool(aspects.min() >= 0.45 and aspects.max() <= 2.1 and np.ptp(aspects) > 0.8),
        bool(inner.min() >= 0.27),
        bool(np.allclose(low * [40, 50], starts[:, :2], atol=1e-3)),
        bool(np.allclose((high - low) * [40, 50], sizes[:, :2], atol=1e-3)),
        sorted(set(starts[:, 2])) + sorted(set(sizes[:, 2])),
        len({tuple(each) for each in starts}) > 30,
    ]


table(
    sample_that_covers_too_much_is_the_whole=lambda tf: sample(tf, [20, 30, 3], ONE, min_object_covered=1.5),
)
