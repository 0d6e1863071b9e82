"""Colours and number ranges in images."""

import numpy as np
from compat_cases import table

_numbers = np.random.RandomState(3)
BYTES = np.concatenate(
    (_numbers.randint(0, 256, (1, 3, 4, 3)), [[[[0, 0, 0], [255] * 3, [9, 9, 2], [7, 7, 7]]]]), axis=1
)
BYTES = BYTES.astype(np.uint8)
FLOATS = (BYTES / np.float32(255)).astype(np.float32)
WIDE = _numbers.uniform(-2, 3, (2, 3, 2, 3)).astype(np.float32)


def unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64"]
for source in DTYPES:
    for target in DTYPES:
        values = np.array([0, 1, 2, 100, 127] if source[0] != "f" else [0.0, 0.25, 0.5, 1.0, 0.999]).astype(source)
        table(
            f"convert_{source}_to_",
            **{
                target: lambda tf, values=values, target=target: tf.image.convert_image_dtype(values, target),
                f"{target}_saturated": lambda tf, values=values, target=target: tf.image.convert_image_dtype(
                    values, getattr(tf, target), saturate=True, name="n"
                ),
            },
        )
table(
    "convert_",
    saturates=lambda tf: tf.image.convert_image_dtype([-1.0, 2.0, 0.5], tf.uint8, saturate=True),
    to_text=lambda tf: tf.image.convert_image_dtype([1.0], tf.string),
    to_bool=lambda tf: tf.image.convert_image_dtype([1.0], tf.bool),
    of_bool=lambda tf: tf.image.convert_image_dtype([True], tf.uint8),
    to_complex=lambda tf: tf.image.convert_image_dtype([1.0], tf.complex64),
    unknown=lambda tf: tf.image.convert_image_dtype(unknown(tf, BYTES), tf.float32),
)

INPUTS = {
    "bytes": lambda tf: BYTES,
    "single": lambda tf: BYTES[0],
    "floats": lambda tf: FLOATS,
    "wide": lambda tf: WIDE,
    "half": lambda tf: FLOATS.astype(np.float16),
    "double": lambda tf: FLOATS.astype(np.float64),
    "shorts": lambda tf: BYTES.astype(np.uint16) * 257,
    "ints": lambda tf: BYTES.astype(np.int32) * 8000000,
    "unknown": lambda tf: unknown(tf, BYTES),
    "unknown_floats": lambda tf: unknown(tf, FLOATS),
    "partly_unknown": lambda tf: unknown(tf, FLOATS[0], [None, None, 3]),
    "two_channels": lambda tf: FLOATS[..., :2],
    "late_two_channels": lambda tf: unknown(tf, FLOATS[..., :2]),
    "vector": lambda tf: FLOATS[0, 0, 0],
    "rank_2": lambda tf: FLOATS[0, 0],
    "late_rank_2": lambda tf: unknown(tf, FLOATS[0, 0]),
    "empty": lambda tf: FLOATS[:0],
    "no_rows": lambda tf: FLOATS[:, :0],
    "scalar": lambda tf: 1.0,
    "list": lambda tf: [[[1, 2, 3]]],
    "bools": lambda tf: FLOATS > 0,
    "strings": lambda tf: [[["a", "b", "c"]]],
}
OPS = {
    "standardized": lambda tf, x: tf.image.per_image_standardization(x),
    "gray": lambda tf, x: tf.image.rgb_to_grayscale(x),
    "gamma": lambda tf, x: tf.image.adjust_gamma(x, 2.2, 0.9),
    "hsv": lambda tf, x: tf.image.rgb_to_hsv(x),
    "of_hsv": lambda tf, x: tf.image.hsv_to_rgb(x, name="n"),
    "brightness": lambda tf, x: tf.image.adjust_brightness(x, 0.3),
    "contrast": lambda tf, x: tf.image.adjust_contrast(x, 1.7),
    "hue": lambda tf, x: tf.image.adjust_hue(x, 0.2),
    "saturation": lambda tf, x: tf.image.adjust_saturation(x, 0.4, name="n"),
}
RANDOM = {
    "random_brightness": lambda tf, x: tf.image.random_brightness(x, 0.3),
    "random_contrast": lambda tf, x: tf.image.random_contrast(x, 0.5, 1.5),
    "random_hue": lambda tf, x: tf.image.random_hue(x, 0.3, seed=2),
    "random_saturation": lambda tf, x: tf.image.random_saturation(x, 0.5, 1.5, 7),
}
for op, operation in {**OPS, **RANDOM}.items():
    for label, give in INPUTS.items():
        options = {"values": op not in RANDOM, "within": 1, "atol": 2e-6}
        if label == "half":
            if op.split("_")[-1] in ("contrast", "hue", "saturation"):
                continue  # TensorFlow has no kernel for it
            options["rtol"], options["atol"] = 2e-3, 2e-3
        if label == "ints":
            options["within"] = 256
        if (op, label) in (("gamma", "wide"), ("gray", "scalar")):  # TensorFlow raises IndexError for the scalar
            continue
        if label == "wide":
            options["atol"] = 1e-5
        if op in ("gray", "standardized"):
            options |= {"graph": False, "names": False}  # one operation, not a dozen
        table("", options, **{f"{op}_{label}": lambda tf, operation=operation, give=give: operation(tf, give(tf))})

for amount in (-0.5, 0.0, 0.5, 1.0, 2.0):
    word = str(amount).replace("-", "minus_").replace(".", "_")
    table(
        "",
        {"within": 1},
        **{
            f"brightness_by_{word}": lambda tf, amount=amount: [
                tf.image.adjust_brightness(BYTES, amount),
                tf.image.adjust_brightness(FLOATS, tf.constant(amount)),
            ],
            f"contrast_by_{word}": lambda tf, amount=amount: [
                tf.image.adjust_contrast(BYTES, amount),
                tf.image.adjust_contrast(FLOATS, tf.constant(amount)),
            ],
            f"hue_by_{word}": lambda tf, amount=amount: [
                tf.image.adjust_hue(BYTES, amount),
                tf.image.adjust_hue(FLOATS, tf.constant(amount)),
            ],
            f"saturation_by_{word}": lambda tf, amount=amount: [
                tf.image.adjust_saturation(BYTES, amount),
                tf.image.adjust_saturation(FLOATS, tf.constant(amount)),
            ],
        },
    )
table(
    "standardized_",
    {"graph": False, "names": False},
    one_colour=lambda tf: tf.image.per_image_standardization(np.full((3, 3, 3), 7, np.uint8)),
    small_numbers=lambda tf: tf.image.per_image_standardization(FLOATS[0] * 0.001),
    batch=lambda tf: tf.image.per_image_standardization(np.concatenate((BYTES, BYTES // 3))),
    unknown_rank=lambda tf: tf.image.per_image_standardization(unknown(tf, BYTES[0])),
    rank_5=lambda tf: tf.image.per_image_standardization(BYTES[None]),
)
table(
    "gray_to_rgb_",
    {"graph": False, "names": False},
    single=lambda tf: tf.image.grayscale_to_rgb(tf.constant(BYTES[0, :, :, :1])),
    batch=lambda tf: tf.image.grayscale_to_rgb(tf.constant(FLOATS[..., :1]), name="n"),
    three=lambda tf: tf.image.grayscale_to_rgb(tf.constant(FLOATS)),
    unknown=lambda tf: tf.image.grayscale_to_rgb(unknown(tf, BYTES[..., :1])),
    partly_unknown=lambda tf: tf.image.grayscale_to_rgb(unknown(tf, BYTES[..., :1], [None, None, None, 1])),
    late_three=lambda tf: tf.image.grayscale_to_rgb(unknown(tf, BYTES)),
    vector=lambda tf: tf.image.grayscale_to_rgb(tf.constant([1])),
    rank_2=lambda tf: tf.image.grayscale_to_rgb(tf.constant([[1], [2]])),
)
table(
    "factor_",
    {"within": 1},
    contrast_vector=lambda tf: tf.image.adjust_contrast(FLOATS, [1.0]),
    contrast_late_vector=lambda tf: tf.image.adjust_contrast(FLOATS, unknown(tf, [1.0])),
    contrast_int=lambda tf: tf.image.adjust_contrast(FLOATS, 2),
    contrast_text=lambda tf: tf.image.adjust_contrast(FLOATS, "a"),
    hue_vector=lambda tf: tf.image.adjust_hue(FLOATS, [0.1]),
    saturation_int_tensor=lambda tf: tf.image.adjust_saturation(FLOATS, tf.constant(2)),
    brightness_int=lambda tf: tf.image.adjust_brightness(BYTES, 1),
    gamma_default=lambda tf: tf.image.adjust_gamma(BYTES),
    gamma_negative=lambda tf: tf.image.adjust_gamma(BYTES, -1),
    gamma_tensor=lambda tf: tf.image.adjust_gamma(FLOATS, tf.constant(0.5), gain=2.0),
    gamma_negative_tensor=lambda tf: tf.image.adjust_gamma(FLOATS, tf.constant(-0.5)),
)
table(
    "limits_",
    {"values": False},
    brightness=lambda tf: tf.image.random_brightness(FLOATS, -0.1),
    contrast=lambda tf: tf.image.random_contrast(FLOATS, 0.5, 0.5),
    contrast_negative=lambda tf: tf.image.random_contrast(FLOATS, -0.5, 0.5),
    hue=lambda tf: tf.image.random_hue(FLOATS, 0.6),
    hue_negative=lambda tf: tf.image.random_hue(FLOATS, -0.1),
    saturation=lambda tf: tf.image.random_saturation(FLOATS, 0.5, 0.4),
    saturation_negative=lambda tf: tf.image.random_saturation(FLOATS, -0.5, 0.4),
    seeds=lambda tf: (tf.set_random_seed(3), [tf.image.random_brightness(FLOATS, 0.5) for _ in range(2)])[1],
)


def random_amounts_are_within_their_limits(tf, sess):
    gray = np.full((1, 1, 3), 0.5, np.float32)
    spread = np.array([[[0.25] * 3, [0.75] * 3]], np.float32)
    brightness = [float(sess.run(tf.image.random_brightness(gray, 0.25, seed=each)).mean()) for each in range(1, 60)]
    contrast = [float(sess.run(tf.image.random_contrast(spread, 0.5, 1.5, seed=each)).max()) for each in range(1, 60)]
    return [
        min(brightness) >= 0.25,
        min(brightness) < 0.35,
        max(brightness) <= 0.75,
        max(brightness) > 0.65,
        min(contrast) >= 0.625,
        min(contrast) < 0.7,
        max(contrast) <= 0.875,
        max(contrast) > 0.8,
    ]
