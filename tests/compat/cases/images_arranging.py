"""Images flipped, rotated, cropped and padded."""

import numpy as np
from compat_cases import case, table

IMAGE = np.arange(2 * 3 * 4 * 2).reshape(2, 3, 4, 2).astype(np.uint8)
FLOATS = IMAGE.astype(np.float32)
# Each is one operation here; TensorFlow makes dozens.
ONE = {"graph": False, "names": False}


def unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


INPUTS = {
    "single": lambda tf: IMAGE[0],
    "batch": lambda tf: IMAGE,
    "floats": lambda tf: tf.constant(FLOATS[0]),
    "list": lambda tf: [[[1.0], [2.0]]],
    "partly_unknown": lambda tf: unknown(tf, IMAGE[0], [None, None, 2]),
    "batch_partly_unknown": lambda tf: unknown(tf, IMAGE, [None, 3, None, 2]),
    "batch_of_unknown_count": lambda tf: unknown(tf, IMAGE, [None, 3, 4, 2]),
    "unknown_single": lambda tf: unknown(tf, IMAGE[0]),
    "unknown_batch": lambda tf: unknown(tf, IMAGE),
    "rank_2": lambda tf: IMAGE[0, 0],
    "rank_5": lambda tf: IMAGE[None],
    "empty": lambda tf: IMAGE[:, :0],
    "late_empty": lambda tf: unknown(tf, IMAGE[0, :0], [None] * 3),
    "late_rank_2": lambda tf: unknown(tf, IMAGE[0, 0]),
    "strings": lambda tf: [[["a"], ["b"]]],
}

OPS = {
    "flip_left_right": lambda tf, x: tf.image.flip_left_right(x),
    "flip_up_down": lambda tf, x: tf.image.flip_up_down(x),
    "transpose_image": lambda tf, x: tf.image.transpose_image(x),
    "transpose_named": lambda tf, x: tf.image.transpose(x, name="n"),
    "rot90": lambda tf, x: tf.image.rot90(x),
    "crop": lambda tf, x: tf.image.crop_to_bounding_box(x, 1, 1, 2, 1),
    "pad": lambda tf, x: tf.image.pad_to_bounding_box(x, 1, 2, 4, 7),
    "crop_or_pad": lambda tf, x: tf.image.resize_image_with_crop_or_pad(x, 2, 7),
    "crop_or_pad_more": lambda tf, x: tf.image.resize_with_crop_or_pad(x, 6, 1),
    "central_crop": lambda tf, x: tf.image.central_crop(x, 0.5),
}

for op, operation in OPS.items():
    for label, give in INPUTS.items():
        if label == "unknown_single" and op in ("transpose_image", "transpose_named", "rot90"):
            continue  # TensorFlow checks both branches and fails
        if (op, label) == ("central_crop", "late_empty"):
            continue  # TensorFlow returns an image without pixels
        table("", ONE, **{f"{op}_{label}": lambda tf, operation=operation, give=give: operation(tf, give(tf))})

for op in ("random_flip_left_right", "random_flip_up_down"):
    for label, give in INPUTS.items():
        table(
            "",
            {"values": False, **ONE},
            **{f"{op}_{label}": lambda tf, op=op, give=give: getattr(tf.image, op)(give(tf))},
        )
    table(
        "",
        {"values": False, **ONE},
        **{f"{op}_seed": lambda tf, op=op: getattr(tf.image, op)(FLOATS[0], seed=3)},
    )

for k in (0, 1, 2, 3, 4, -1, 7):
    name = f"rot90_by_{k}".replace("-", "minus_")
    table("", ONE, **{name: lambda tf, k=k: tf.image.rot90(IMAGE, k, name="turn")})
table(
    "rot90_",
    ONE,
    tensor=lambda tf: tf.image.rot90(IMAGE[0], tf.constant(3)),
    unknown=lambda tf: tf.image.rot90(IMAGE[0], unknown(tf, 2)),
    vector=lambda tf: tf.image.rot90(IMAGE[0], [1]),
    text=lambda tf: tf.image.rot90(IMAGE[0], "a"),
    real=lambda tf: tf.image.rot90(IMAGE[0], 1.5),
)
table(
    "crop_",
    ONE,
    whole=lambda tf: tf.image.crop_to_bounding_box(IMAGE, 0, 0, 3, 4),
    too_wide=lambda tf: tf.image.crop_to_bounding_box(IMAGE, 0, 2, 3, 3),
    too_high=lambda tf: tf.image.crop_to_bounding_box(IMAGE, 2, 0, 2, 3),
    negative=lambda tf: tf.image.crop_to_bounding_box(IMAGE, -1, 0, 2, 3),
    negative_width=lambda tf: tf.image.crop_to_bounding_box(IMAGE, 0, -1, 2, 3),
    none_high=lambda tf: tf.image.crop_to_bounding_box(IMAGE, 0, 0, 0, 3),
    none_wide=lambda tf: tf.image.crop_to_bounding_box(IMAGE, 0, 0, 1, 0),
    tensors=lambda tf: tf.image.crop_to_bounding_box(
        IMAGE, tf.constant(1), tf.constant(0), tf.constant(2), tf.constant(3)
    ),
    late_too_wide=lambda tf: tf.image.crop_to_bounding_box(unknown(tf, IMAGE[0], [None] * 3), 0, 2, 3, 3),
    tensor_too_high=lambda tf: tf.image.crop_to_bounding_box(IMAGE, tf.constant(2), 0, 2, 3),
)
table(
    "pad_",
    ONE,
    whole=lambda tf: tf.image.pad_to_bounding_box(IMAGE, 0, 0, 3, 4),
    too_wide=lambda tf: tf.image.pad_to_bounding_box(IMAGE, 0, 2, 3, 5),
    too_high=lambda tf: tf.image.pad_to_bounding_box(IMAGE, 2, 0, 4, 5),
    negative=lambda tf: tf.image.pad_to_bounding_box(IMAGE, -1, 0, 9, 9),
    negative_width=lambda tf: tf.image.pad_to_bounding_box(IMAGE, 0, -1, 9, 9),
    tensors=lambda tf: tf.image.pad_to_bounding_box(
        FLOATS, tf.constant(1), tf.constant(0), tf.constant(5), tf.constant(6)
    ),
    late_too_wide=lambda tf: tf.image.pad_to_bounding_box(unknown(tf, IMAGE[0], [None] * 3), 0, 2, 3, 3),
    float_offset=lambda tf: tf.image.pad_to_bounding_box(IMAGE, 0.5, 0, 9, 9),
)
for height in (1, 2, 3, 4, 5, 8):
    for width in (1, 3, 4, 5, 6, 9):
        table(
            "",
            ONE,
            **{
                f"crop_or_pad_to_{height}_{width}": lambda tf, height=height, width=width: (
                    tf.image.resize_image_with_crop_or_pad(IMAGE[:1, :, :, :1], height, width)
                )
            },
        )
table(
    "crop_or_pad_",
    ONE,
    none_high=lambda tf: tf.image.resize_image_with_crop_or_pad(IMAGE, 0, 3),
    none_wide=lambda tf: tf.image.resize_image_with_crop_or_pad(IMAGE, 3, -3),
    tensors=lambda tf: tf.image.resize_image_with_crop_or_pad(IMAGE, tf.constant(5), tf.constant(2)),
    tensor_height=lambda tf: tf.image.resize_image_with_crop_or_pad(IMAGE[0], tf.constant(2), 6),
    tensors_unknown=lambda tf: tf.image.resize_image_with_crop_or_pad(
        unknown(tf, IMAGE[0], [None] * 3), unknown(tf, 5, []), unknown(tf, 2, [])
    ),
    named_arguments=lambda tf: tf.image.resize_image_with_crop_or_pad(image=IMAGE, target_height=2, target_width=2),
)
for fraction in (0.1, 0.25, 0.34, 0.5, 0.7, 0.9, 1.0, 1):
    table(
        "",
        ONE,
        **{
            f"central_crop_{fraction}".replace(".", "_of_"): lambda tf, fraction=fraction: tf.image.central_crop(
                np.zeros((1, 9, 10, 1)) + np.arange(10)[:, None], fraction
            )
        },
    )
table(
    "central_crop_",
    ONE,
    zero=lambda tf: tf.image.central_crop(IMAGE, 0.0),
    more=lambda tf: tf.image.central_crop(IMAGE, 1.1),
    constant=lambda tf: tf.image.central_crop(IMAGE, tf.constant(0.5)),
    tensor=lambda tf: tf.image.central_crop(IMAGE, unknown(tf, 0.5, [])),
    tensor_single=lambda tf: tf.image.central_crop(unknown(tf, IMAGE[0], [None] * 3), unknown(tf, 0.7, [])),
    tensor_too_small=lambda tf: tf.image.central_crop(IMAGE, unknown(tf, -0.5, [])),
)
table(
    "random_crop_",
    {"values": False},
    image=lambda tf: tf.random_crop(IMAGE[0], [2, 2, 2]),
    in_image=lambda tf: tf.image.random_crop(IMAGE[0], [2, 2, 2], seed=4, name="n"),
    vector=lambda tf: tf.random_crop(tf.constant(["a", "b", "c"]), [2]),
    unknown=lambda tf: tf.random_crop(unknown(tf, IMAGE[0]), [2, 2, 2]),
    unknown_size=lambda tf: tf.random_crop(IMAGE[0], unknown(tf, [2, 2, 2])),
    too_large=lambda tf: tf.random_crop(IMAGE[0], [2, 5, 2]),
    other_rank=lambda tf: tf.random_crop(IMAGE[0], [2, 2]),
    floats=lambda tf: tf.random_crop(IMAGE[0], [2.0, 2.0, 2.0]),
    with_graph_seed=lambda tf: (tf.set_random_seed(5), tf.random_crop(FLOATS, [1, 2, 2, 2]))[1],
)


def random_crops_are_parts(tf, sess):
    value = tf.constant(np.arange(5))
    crop = tf.random_crop(value, [2], seed=1)
    seen = sorted({tuple(sess.run(crop).tolist()) for _ in range(200)})
    return [list(each) for each in seen]


@case(**ONE)
def random_flips_of_a_batch_are_independent(tf, sess):
    flipped = tf.image.random_flip_left_right(np.array([[[[0.0], [1.0]]], [[[0.0], [1.0]]]], np.float32), seed=1)
    seen = sorted({tuple(sess.run(flipped).ravel().tolist()) for _ in range(200)})
    return [list(each) for each in seen]


table(
    random_crop_of_whole_is_the_whole=lambda tf: tf.random_crop(IMAGE, [2, 3, 4, 2]),
)
