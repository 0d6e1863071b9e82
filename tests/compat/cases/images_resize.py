"""Resizing images."""

import numpy as np
from compat_cases import case

_numbers = np.random.RandomState(7)
BYTES = _numbers.randint(0, 256, (2, 5, 4, 3)).astype(np.uint8)
FLOATS = _numbers.uniform(-1, 1, (2, 5, 4, 3)).astype(np.float32)
SIZES = {"up": [8, 7], "down": [2, 3], "one": [1, 1], "same": [5, 4], "mixed": [9, 2], "far_down": [1, 4]}
KINDS = ["bilinear", "nearest_neighbor", "bicubic", "area"]


def add(name, function, **options):
    """Make a case from a `tf` function and optional parameters."""

    def made(tf):
        return function(tf)

    made.__name__ = name
    case(**options)(made)


def unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


def _resize_cases():
    for kind in KINDS:
        for label, size in SIZES.items():
            for align in (False, True):
                add(
                    f"{kind}_{label}_{'aligned' if align else 'plain'}",
                    lambda tf, kind=kind, size=size, align=align: [
                        getattr(tf.image, f"resize_{kind}")(FLOATS[:1], size, align_corners=align),
                        getattr(tf.image, f"resize_{kind}")(BYTES[:1], size, align_corners=align),
                    ],
                )
            if kind != "area":
                add(
                    f"{kind}_{label}_half_pixel",
                    lambda tf, kind=kind, size=size: getattr(tf.image, f"resize_{kind}")(
                        FLOATS, size, half_pixel_centers=True
                    ),
                )
        for dtype in ["int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float64"]:
            add(
                f"{kind}_of_{dtype}",
                lambda tf, kind=kind, dtype=dtype: getattr(tf.image, f"resize_{kind}")(
                    (BYTES[:1] // 2).astype(dtype), [3, 6], name="n"
                ),
            )
        errors = {
            "both_centers": lambda tf, f: f(BYTES, [2, 2], align_corners=True, half_pixel_centers=True),
            "rank_3": lambda tf, f: f(BYTES[0], [2, 2]),
            "size_of_one": lambda tf, f: f(BYTES, [2]),
            "size_of_floats": lambda tf, f: f(BYTES, [2.0, 2.0]),
            "size_scalar": lambda tf, f: f(BYTES, 2),
            "bools": lambda tf, f: f(BYTES > 3, [2, 2]),
            "no_rows": lambda tf, f: f(BYTES, [0, 2]),
            "negative": lambda tf, f: f(BYTES, [2, -1]),
            "late_size_of_one": lambda tf, f: f(BYTES, unknown(tf, [2])),
            "late_rank_3": lambda tf, f: f(unknown(tf, BYTES[0]), [2, 2]),
            "late_empty": lambda tf, f: f(unknown(tf, BYTES[:, :0]), [2, 2]),
            "unknown": lambda tf, f: f(unknown(tf, BYTES), unknown(tf, [2, 3])),
            "partly_known": lambda tf, f: f(
                unknown(tf, BYTES, [None, None, 4, 3]), [tf.constant(2), unknown(tf, 3, [])]
            ),
            "no_images": lambda tf, f: f(BYTES[:0], [2, 3]),
        }
        for label, function in errors.items():
            if kind == "area" and label == "both_centers":
                continue
            add(
                f"{kind}_{label}",
                lambda tf, kind=kind, function=function: function(tf, getattr(tf.image, f"resize_{kind}")),
            )


_resize_cases()


def _resize_images_cases():
    for method in [0, 1, 2, 3, "bilinear", "nearest", "bicubic", "area"]:
        for align in (False, True):
            add(
                f"resize_images_{method}_{align}",
                lambda tf, method=method, align=align: [
                    tf.image.resize_images(BYTES[:1], [3, 6], method, align),
                    tf.image.resize_images(BYTES[0], [8, 2], method=method, align_corners=align, name="n"),
                    tf.image.resize(FLOATS[0], [5, 4], method=method),
                ],
            )
    cases = {
        "methods": lambda tf, f: f(FLOATS, [2, 2], tf.image.ResizeMethod.AREA),
        "lanczos": lambda tf, f: f(FLOATS, [2, 2], "lanczos3"),
        "method_7": lambda tf, f: f(FLOATS, [2, 2], 7),
        "rank_2": lambda tf, f: f(FLOATS[0, 0], [2, 2]),
        "unknown_rank": lambda tf, f: f(unknown(tf, FLOATS), [2, 2]),
        "size_of_three": lambda tf, f: f(FLOATS, [2, 2, 2]),
        "size_of_floats": lambda tf, f: f(FLOATS, [2.0, 2.0]),
        "size_text": lambda tf, f: f(FLOATS, "a"),
        "size_scalar": lambda tf, f: f(FLOATS, 3),
        "size_tensors": lambda tf, f: f(FLOATS, (tf.constant(3), 2)),
        "size_unknown": lambda tf, f: f(FLOATS, unknown(tf, [3, 2])),
        "size_partly_unknown": lambda tf, f: f(FLOATS, [3, unknown(tf, 2, [])]),
        "size_int64": lambda tf, f: f(FLOATS, tf.constant([3, 2], tf.int64)),
        "shape_as_size": lambda tf, f: f(FLOATS, tf.shape(FLOATS)[1:3]),
        "same_shape_as_size": lambda tf, f: f(FLOATS, tf.shape(FLOATS[:, 1:])[1:3]),
        "whole_shape_as_size": lambda tf, f: f(FLOATS, tf.shape(FLOATS)[1:3]),
        "sizes_of_shape": lambda tf, f: f(FLOATS, [tf.shape(FLOATS)[1], tf.shape(FLOATS)[2]]),
        "sum_as_size": lambda tf, f: f(FLOATS, [tf.constant(2) + 3, 4]),
        "size_identity": lambda tf, f: f(FLOATS, tf.identity([5, 4])),
        "unknown_shape_as_size": lambda tf, f: f(FLOATS, tf.shape(unknown(tf, FLOATS, [None, None, 4, 3]))[1:3]),
        "unknown_sizes": lambda tf, f: f(unknown(tf, FLOATS, [None] * 4), [5, 4]),
        "unknown_image": lambda tf, f: f(unknown(tf, FLOATS[0], [None, None, 3]), [5, 4]),
        "ratio_kept": lambda tf, f: f(FLOATS, [3, 9], preserve_aspect_ratio=True),
        "ratio_kept_same": lambda tf, f: f(FLOATS, [5, 9], preserve_aspect_ratio=True),
        "ratio_kept_up": lambda tf, f: f(BYTES[0], [20, 9], method=1, preserve_aspect_ratio=True),
        "ratio_kept_unknown": lambda tf, f: f(
            unknown(tf, FLOATS, [None] * 4), unknown(tf, [9, 3]), preserve_aspect_ratio=True
        ),
        "ratio_kept_image_unknown": lambda tf, f: f(
            unknown(tf, FLOATS[0], [None] * 3), [9, 3], preserve_aspect_ratio=True
        ),
    }
    for label, function in cases.items():
        add(f"resize_images_{label}", lambda tf, function=function: function(tf, tf.image.resize_images))


_resize_images_cases()
