"""Image files decoded and encoded."""

import base64
import importlib.util
import zlib

import numpy as np
from compat_cases import table

# Small files in every format, compressed.
_PACKED = {
    "JPEG_RGB": (
        "eNr7f+P/AwYBLzdPNwZGRgYGRiBk+H+bwZmBl5OLm4uDl5uLm4+Pl19YQVRYSEhYXUZOXEFP09BAT1NXx9jKy87YzM1cR9ch3NHN"
        "xy8oOMjILioxKiDBKzDIH2QIIx8fn7CgsJqoqJq/qa6pP8ng/wEGQQ4GLgZBZkYlBiZBRmZBxv9HGOSB7mRlBAMGKGBkYmZhZWPn"
        "ADoaqGCrAAMTIzMzEwszKysLC1C2FijPwCLIKqRo6MgmHJjIrlQoYtQ4cSGHstPGg6JBFz+oGCcVNXFyiYlLSEqpqqlraGqZmJqZ"
        "W1haObu4url7eHoFh4SGhUdERiWnpKalZ2RmFZeUlpVXVFY1t7S2tXd0dk2aPGXqtOkzZs5atHjJ0mXLV6xctWnzlq3btu/YuevQ"
        "4SNHjx0/cfLUpctXrl67fuPmrYePHj95+uz5i5evPn76/OXrt+8/fv4C+YuRgZkRBrD6SxDoLyYWFmYWdpC/GJnKQQoEWVgVDdmE"
        "HAPZEwuFlYwaOUScJi7ceJBT2Tjog2hS0UUuMRWTh6ofQV4D+4w4jzWR5TO4xxD+usXAw8wIjDxmQQZ7hudrTfTmq+beyoi187q5"
        "JfTxU/mpube0Pn7qP7VpaZS7WfTM0AvP9m/Yf+OvxrrLWf8ZSupCwsO3Tfwif8vU//9NAK/v9f4="
    ),
    "JPEG_RGB_444": (
        "eNr7f+P/AwYBLzdPNwZGRgYGRiBk+H+bwZmBl5OLm4uDl5uLm4+Pl19YQVRYSEhYXUZOXEFP09BAT1NXx9jKy87YzM1cR9ch3NHN"
        "xy8oOMjILioxKiDBKzDIH2QIIx8fn7CgsJqoqJq/qa6pP8ng/wEGQQ4GLgZBZkZBBiZBRmZBxv9HGOSB7mRlBAMGKGBkYmZhZWPn"
        "ADoaqGCrAAMTIzMzEwszKysLC1C2FijPwCLIKqRo6MgmHJjIrlQoYtQ4cSGHstPGg6JBFz+oGCcVNXFyiYlLSEqpqqlraGqZmJqZ"
        "W1haObu4url7eHoFh4SGhUdERiWnpKalZ2RmFZeUlpVXVFY1t7S2tXd0dk2aPGXqtOkzZs5atHjJ0mXLV6xctWnzlq3btu/YuevQ"
        "4SNHjx0/cfLUpctXrl67fuPmrYePHj95+uz5i5evPn76/OXrt+8/fv4C+YuRgZkRBrD6CxgIjEwsLMws7CB/MTKVgxQIsrAqGrIJ"
        "OQayJxYKKxk1cog4TVy48SCnsnHQB9GkootcYiomD1U/grwG9hlxHmsiy2dwjyH8dYuBh5kRGHnMggz2DM/XmujNV03nWm4mLf8s"
        "91ZGrJ3Xy9bg+4eT/5z+z3Aj/k3d1O1bbeXX/5y2VrTip/vTOB3+0wVnZ5d17alZ/GndDLl/kpv+Xf334s/q4Iu77f/fBADdtwBM"
    ),
    "JPEG_GRAY": (
        "eNr7f+P/AwYBLzdPNwZGRgYGRiBk+H+bwZmBl5OLm4uDl5uLm4+Pl19YQVRYSEhYXUZOXEFP09BAT1NXx9jKy87YzM1cR9ch3NHN"
        "xy8oOMjILioxKiDBKzDI//8BBm4OBi4GQUZGQYb/RxjkgYazMoIBAxQwMjGzsLKxcwBtAirYKsDAxMjMzMTCzMrKwgKUrQXKM7AI"
        "sgopGjqyCQcmsisVihg1TlzIoey08aBo0MUPKsZJRU2cXGLiEpJSqmrqGppaJqZm5haWVs4urm7uHp5ewSGhYeERkVHJKalp6RmZ"
        "WcUlpWXlFZVVzS2tbe0dnV2TJk+ZOm36jJmzFi1esnTZ8hUrV23avGXrtu07du46dPjI0WPHT5w8denylavXrt+4eevho8dPnj57"
        "/uLlq4+fPn/5+u37j5+//t9i4AD5x57hSYn8w/WeF+rbdq36cJb9R/YlIH/dqv3/bwIAxzN7UA=="
    ),
    "JPEG_PROGRESSIVE": (
        "eNr7f+P/AwYBLzdPNwZGRgYGRiBk+H+bwZlBhI9fiJ9XREhASFxURELOSFFORkbOVkdPxcjTwcfb3cHNNSCqOCkgNDfM1S2lIzW3"
        "vLqxqdEvoXd6T+204rrGGpAhjKLi4nJSctaKitY1wW7BNSSD/4cYBDkYuBgEmRmVGJgEGZkFGf8fYRADOhXoTCTAwsAKFBdFF2Zg"
        "Yvl/i4GHmZGBSYBZAOg7pYBJ7Bnn9gPVSggwMKOpZmQWEAYq5wAKM7IyBYucSxKrB6oUFwSqZEBTCVEINMGecWrkanuwMkYGZjRl"
        "TEJgZUwgZd0mQEUiAmgmMShAbWSzZ4oHmSKAYZlCYiHMVfaKM401/zPA/AS2T4BDH2SwILrBAnAXCoCcJyaIETiMgnDXCWz2B6qR"
        "ArqOCcV6RgZFAUHDQLj9As9lPnSGOIUKu7f8vwkA/k903g=="
    ),
    "JPEG_CMYK": (
        "eNoBqgFV/v/Y/+4ADkFkb2JlAGQAAAAAAP/bAEMAFA4PEg8NFBIQEhcVFBgeMiEeHBwePSwuJDJJQExLR0BGRVBac2JQVW1WRUZk"
        "iGVtd3uBgoFOYI2XjH2Wc36BfP/AABQIAAoAEQRDEQBNEQBZEQBLEQD/xAAfAAABBQEBAQEBAQAAAAAAAAAAAQIDBAUGBwgJCgv/"
        "xAC1EAACAQMDAgQDBQUEBAAAAX0BAgMABBEFEiExQQYTUWEHInEUMoGRoQgjQrHBFVLR8CQzYnKCCQoWFxgZGiUmJygpKjQ1Njc4"
        "OTpDREVGR0hJSlNUVVZXWFlaY2RlZmdoaWpzdHV2d3h5eoOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbH"
        "yMnK0tPU1dbX2Nna4eLj5OXm5+jp6vHy8/T19vf4+fr/2gAOBEMATQBZAEsAAD8AwdL7Vn/2D/sVi2dp04rs67DS+1H9g/7Fbtna"
        "dOKK26P7B/2K0PsntRXmml9q7bav90flWLZgccUV2Gl9qNq/3R+VbtmBxxRW3RtX+6PyrQwPSiv/2dkYqZE="
    ),
    "PNG_RGB": (
        "eNrrDPBz5+WS4mJgYOD19HAJAtIsQMzMwQQkradZTgRSUp4ujiEVc5JTEhIepD9oURBj8/RjY9NwesjAIFDPcObP96/CQFUMnq5+"
        "LuucEpoAtnAUfg=="
    ),
    "PNG_GRAY": (
        "eNrrDPBz5+WS4mJgYOD19HAJAtIsQMzMASQYJs7/KAWkxD1dHEMq5iSnPHj+PD0pAQhABAMDUwSDcWZY72OQUk9XP5d1TglNALXYFGM="
    ),
    "PNG_RGBA": (
        "eNrrDPBz5+WS4mJgYOD19HAJAtIsQMzMwQYkt3xZdwxIWXq6OIZUzGE9aCjaoMDgevH4xae+9cd8mQO6LhpdWdjCOePkw72sLw6a"
        "V7Dvdypld//AdW7yK2a9Dwy3+Rc+YtO+Y3LlAtAQBk9XP5d1TglNAHasJ08="
    ),
    "PNG_GRAY_ALPHA": (
        "eNrrDPBz5+WS4mJgYOD19HAJAtIsQMzMASLl/qb5AikVTxfHkIo5yQkez+zVv8eV6ysfNv7H+Sfoj3WkxBSJdwYGxi8YGXJ42B7x"
        "b2t8BlTP4Onq57LOKaEJAPYkGhU="
    ),
    "PNG_PALETTE": (
        "eNrrDPBz5+WS4mJgYOD19HAJAtIsQMzMxAwkT85yCwVSPAE+Ia7iRgrikuJyDEJAgR2XZr4HUnyeLo4hFXOSK45+mdXIyMCeyHij"
        "48iyLKAMg6ern8s6p4QmAFo1Fp4="
    ),
    "PNG_1_BIT": ("eNrrDPBz5+WS4mJgYOD19HAJAtIsQMzMCCQY5vRPzgZSfJ4ujiEVc5ITQADIZ2NgLGqa+QqkwtPVz2WdU0ITAMFyDwY="),
    "PNG_GRAY_16": (
        "eNrrDPBz5+WS4mJgYOD19HAJAtIsQMwsACQYDvLrRgIpFU8Xx5CKOclv5rytuOp4/mhHYJ/tC43/iffceZZG37c/z/lDkZehtZvr"
        "7QLnM8YgfZ6ufi7rnBKaAFt9HNs="
    ),
    "GIF_TWO": (
        "eNpz93SzME9kYWBmaGJgUDPS5DeSZjASUpNU4JcUYpDklGMQYmBg0AFiBpAaBg5+Bn4JiYiGAw2MTEwMDAICDIo/WRiB4gg1TT/+"
        "/374/+2l/09+PPv08NmTS89ufzj75NLZS0C9jAwcCgkHGJhYeTRsgHqtAdPIIKQ="
    ),
    "GIF_ONE": ("eNpz93SzME9kYWBmaGJgUDPS5DeSZjASUpNU4JcUYpDklGMQYmBg0AFiBpAaBg5+Bn4JiYiGAw2MTEwMDAICDNYABp8HPQ=="),
    "BMP_RGB": ("eNpz8o1igAAzINYAYhYgZgZiRgYJsLgKEB/hg2AYEDJikDbiVzGS0zXS5ZRkEJLkl5aUU5HUBUpxMvALMchJM+gCABUWBng="),
    "BMP_GRAY": (
        "eNo1yAcwEAwYh/EnK8quyAwhKtKiZEQSQiXSVFHRlHYyMyqiktJCRooSTVpaUtoU2iWromSEkD7Vfe/d7557/5YOlkL8PcPu6nT3"
        "zyvYrQeif3fxbvmS/3SP//xJjx4ICAggKCiIkJAQwsLCiIiI0LNnT0RFRRETE6NXr1707t0bcXFxJCQkkJSUREpKCmlpaWRkZJCV"
        "laVPnz707duXfv36IScnh7y8PP3790dBQQFFRUWUlJRQVlZGRUUFVVVVBgwYgJqaGurq6mhoaDBw4EA0NTXR0tJCW1ubQYMGoaOj"
        "g66uLoMHD2bIkCEMHToUPT099PX1GTZsGAYGBgwfPpwRI0YwcuRIRo0axejRozE0NMTIyIgxY8YwduxYjI2NGTduHCYmJpiammJm"
        "Zoa5uTnjx4/HwsICS0tLJkyYgJWVFRMnTsTa2ppJkyZhY2ODra0tdnZ2TJ48GXt7exwcHHB0dGTKlClMnTqVadOm4eTkxPTp03F2"
        "dsbFxYUZM2bg6urKzJkzmTVrFrNnz2bOnDnMnTuXefPm4ebmxvz581mwYAELFy7E3d0dDw8PFi1axOLFi1myZAmenp54eXmxdOlS"
        "li1bxvLly1mxYgUrV65k1apVeHt7s3r1anx8fFizZg1r165l3bp1rF+/ng0bNrBx40Y2bdrE5s2b8fX1ZcuWLfj5+eHv709AQACB"
        "gYEEBQURHBzM1q1bCQkJITQ0lLCwMMLDw9m2bRvbt29nx44dREREEBkZyc6dO4mKiiI6Oppdu3axe/du9uzZQ0xMDHv37iU2NpZ9"
        "+/axf/9+4uLiOHDgAAcPHuTQoUMcPnyYI0eOEB8fT0JCAomJiRw9epSkpCSSk5NJSUkhNTWVY8eOkZaWxvHjxzlx4gTp6elkZGRw"
        "8uRJTp06RWZmJqdPnyYrK4vs7GzOnDnD2bNnOXfuHOfPn+fChQtcvHiRnJwccnNzuXTpEpcvX+bKlStcvXqVa9eukZeXx/Xr17lx"
        "4wY3b97k1q1b3L59m/z8fO7cuUNBQQF3797l3r17FBYWcv/+fR48eMDDhw959OgRjx8/5smTJzx9+pSioiKKi4t59uwZz58/p6Sk"
        "hNLSUsrKynjx4gUvX77k1atXvH79mjdv3vD27VvevXvH+/fv+fDhA+Xl5Xz8+JGKigoqKyupqqqiurqampoaPn36xOfPn/ny5Qu1"
        "tbXU1dXx9etXvn37Rn19Pd+/f6ehoYHGxkaamppobm7mx48ftLS00NraSltbGz9//qS9vZ2Ojg46Ozv59esXXV1d/P79G6RU9f73"
        "H/UDgpc="
    ),
    "BMP_RGBA": (
        "eNpz8k1jgAAzINYAYhYgZgZiRgYFsLgBEB/hg2AYEDJi4JA24n+iYiT3XNdIdx+nJMMzIUn+MmlJuQkqkrqeQCXJnAz854QY5N5L"
        "M+juBQAFeA47"
    ),
}
FILES = {name: zlib.decompress(base64.b64decode(text)) for name, text in _PACKED.items()}
FILES["TEXT"], FILES["EMPTY"], FILES["MAGIC"] = b"no image", b"", b"\xff\xd8\xff"
FILES["JPEG_CUT"], FILES["PNG_CUT"] = FILES["JPEG_RGB"][:-40], FILES["PNG_RGB"][:-20]
FILES["GIF_CUT"], FILES["BMP_CUT"] = FILES["GIF_TWO"][:-30], FILES["BMP_RGB"][:-20]
IMAGE = np.random.RandomState(1).randint(0, 256, (3, 4, 3)).astype(np.uint8)
SMOOTH = (np.arange(9 * 8 * 3).reshape(9, 8, 3) % 200).astype(np.uint8)


def unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


def same(tf, floats, decoded):
    """Return whether floats equal convert_image_dtype's result for integers, bit for bit."""
    return tf.reduce_all(tf.equal(floats, tf.image.convert_image_dtype(decoded, tf.float32)))


OPS = {
    "jpeg": lambda tf, x: tf.image.decode_jpeg(x),
    "jpeg_1": lambda tf, x: tf.image.decode_jpeg(x, channels=1),
    "jpeg_3": lambda tf, x: tf.io.decode_jpeg(x, 3, name="n"),
    "png": lambda tf, x: tf.image.decode_png(x),
    "png_1": lambda tf, x: tf.image.decode_png(x, channels=1),
    "png_3": lambda tf, x: tf.io.decode_png(x, 3),
    "png_4": lambda tf, x: tf.image.decode_png(x, channels=4),
    "png_16": lambda tf, x: tf.image.decode_png(x, dtype=tf.uint16),
    "gif": lambda tf, x: tf.image.decode_gif(x),
    "bmp": lambda tf, x: tf.image.decode_bmp(x),
    "image": lambda tf, x: tf.image.decode_image(x),
    "image_1": lambda tf, x: tf.image.decode_image(x, channels=1),
    "image_3": lambda tf, x: tf.io.decode_image(x, channels=3, expand_animations=False),
    "image_4": lambda tf, x: tf.io.decode_image(x, channels=4, name="n"),
    "image_16": lambda tf, x: tf.image.decode_image(x, dtype=tf.uint16),
    "image_float": lambda tf, x: tf.image.decode_image(x, 3, tf.float32),
    "image_int": lambda tf, x: tf.image.decode_image(x, dtype=tf.int32),
    "shape": lambda tf, x: tf.image.extract_jpeg_shape(x),
    "is_jpeg": lambda tf, x: tf.image.is_jpeg(x),
}
# By default TensorFlow computes a JPEG image's cosine transform in a faster, less exact way. So does simplejpeg; Pillow
# cannot. FAST is the permitted difference between pixels.
FAST = 0 if importlib.util.find_spec("simplejpeg") else 8
WITHIN = {"image_16": FAST * 256, "png_16": FAST * 256, "image_int": FAST << 23}
# A truncated GIF returns its complete frames; colours without alpha get the largest number their few bits can hold.
OTHERWISE = {"JPEG_CMYK": ("jpeg_1", "png_1", "image_1"), "PNG_PALETTE": ("png_4", "image_4")}
OTHERWISE |= {"PNG_1_BIT": ("png_4", "image_4"), "GIF_CUT": tuple(OPS)}

WIDE = ("image_16", "image_int", "image_float", "png_16")

for op, operation in OPS.items():
    for kind, contents in FILES.items():
        if op in OTHERWISE.get(kind, ()) or (op in WIDE and kind.startswith("JPEG_")):
            continue
        options = {}
        if kind.startswith("JPEG") and op not in ("shape", "is_jpeg"):
            options = {"within": WITHIN.get(op, FAST), "atol": FAST / 255}
        table(
            f"{op}_of_",
            options,
            **{kind: lambda tf, operation=operation, contents=contents: operation(tf, contents)},
        )
J, P = FILES["JPEG_RGB"], FILES["PNG_RGB"]
table(
    "decode_",
    {"within": FAST},
    ratio_2=lambda tf: tf.image.decode_jpeg(J, ratio=2),
    ratio_4=lambda tf: tf.image.decode_jpeg(J, ratio=4),
    ratio_8=lambda tf: tf.image.decode_jpeg(J, ratio=8),
    ratio_3=lambda tf: tf.image.decode_jpeg(J, ratio=3),
    two_channels=lambda tf: tf.image.decode_jpeg(J, channels=2),
    four_channels=lambda tf: tf.image.decode_jpeg(J, channels=4),
    negative_channels=lambda tf: tf.image.decode_jpeg(J, channels=-1),
    other_dct_method=lambda tf: tf.image.decode_jpeg(J, dct_method="X"),
    vector=lambda tf: tf.image.decode_jpeg([J]),
    number=lambda tf: tf.image.decode_jpeg(3),
    unknown=lambda tf: tf.image.decode_jpeg(unknown(tf, J)),
    late_vector=lambda tf: tf.image.decode_jpeg(unknown(tf, [J])),
    png_vector=lambda tf: tf.image.decode_png([P]),
    png_floats=lambda tf: tf.image.decode_png(P, dtype=tf.float32),
    png_two_channels=lambda tf: tf.image.decode_png(P, channels=2),
    bmp_one_channel=lambda tf: tf.image.decode_bmp(FILES["BMP_RGB"], channels=1),
    bmp_four_channels=lambda tf: tf.image.decode_bmp(FILES["BMP_RGBA"], channels=4),
    bmp_three_channels=lambda tf: tf.image.decode_bmp(FILES["BMP_RGB"], channels=3),
    image_two_channels=lambda tf: tf.image.decode_image(P, channels=2),
    image_double=lambda tf: tf.image.decode_image(P, dtype=tf.float64),
    image_bool=lambda tf: tf.image.decode_image(P, dtype=tf.bool),
    image_first_frame=lambda tf: tf.image.decode_image(FILES["GIF_TWO"], expand_animations=False),
    image_late_vector=lambda tf: tf.image.decode_image(unknown(tf, [P])),
    crop=lambda tf: tf.image.decode_and_crop_jpeg(FILES["JPEG_RGB_444"], [2, 3, 4, 5]),
    crop_gray=lambda tf: tf.io.decode_and_crop_jpeg(FILES["JPEG_GRAY"], [0, 0, 10, 17], channels=1, name="n"),
    crop_too_high=lambda tf: tf.image.decode_and_crop_jpeg(J, [2, 3, 9, 5]),
    crop_empty=lambda tf: tf.image.decode_and_crop_jpeg(J, [2, 3, 0, 5]),
    crop_negative=lambda tf: tf.image.decode_and_crop_jpeg(J, [-2, 3, 2, 5]),
    crop_of_three=lambda tf: tf.image.decode_and_crop_jpeg(J, [2, 3, 9]),
    crop_png=lambda tf: tf.image.decode_and_crop_jpeg(P, [0, 0, 1, 1]),
    crop_unknown=lambda tf: tf.image.decode_and_crop_jpeg(FILES["JPEG_RGB_444"], unknown(tf, [0, 0, 2, 2])),
    shape_int64=lambda tf: tf.image.extract_jpeg_shape(J, tf.int64),
    shape_bytes=lambda tf: tf.image.extract_jpeg_shape(J, tf.uint8),
    shape_of_vector=lambda tf: tf.image.extract_jpeg_shape([J]),
    is_jpeg_vector=lambda tf: tf.io.is_jpeg([J, P, "a"]),
    is_jpeg_number=lambda tf: tf.image.is_jpeg(3),
    recovered=lambda tf: tf.shape(tf.image.decode_jpeg(FILES["JPEG_CUT"], try_recover_truncated=True)),
)
table(
    "floats_",
    of_jpeg=lambda tf: same(tf, tf.image.decode_image(J, dtype=tf.float32), tf.image.decode_jpeg(J)),
    of_png=lambda tf: same(tf, tf.image.decode_image(P, dtype=tf.float32), tf.image.decode_png(P, dtype=tf.uint16)),
    of_bmp=lambda tf: same(
        tf, tf.image.decode_image(FILES["BMP_RGB"], dtype=tf.float32), tf.image.decode_bmp(FILES["BMP_RGB"])
    ),
)
table(
    "encoded_",
    png=lambda tf: tf.image.decode_png(tf.image.encode_png(IMAGE)),
    png_16=lambda tf: tf.image.decode_png(tf.image.encode_png(IMAGE.astype(np.uint16) * 250), dtype=tf.uint16),
    png_gray=lambda tf: tf.image.decode_png(tf.image.encode_png(IMAGE[..., :1])),
    png_gray_alpha=lambda tf: tf.image.decode_png(tf.image.encode_png(IMAGE[..., :2])),
    png_of_batch=lambda tf: tf.shape(tf.image.encode_png(IMAGE[None].repeat(2, 0), 9, "n")),
)
for quality in (5, 50, 95, 100):
    table(
        "",
        {"within": 2 * FAST},
        **{
            f"encoded_jpeg_{quality}": lambda tf, quality=quality: tf.image.decode_jpeg(
                tf.image.encode_jpeg(SMOOTH, quality=quality)
            )
        },
    )
    table(
        "",
        {"within": 2 * FAST, "atol": 2 * FAST / 255},
        **{},
    )
table(
    "encode_",
    rank_4=lambda tf: tf.image.encode_jpeg(IMAGE[None]),
    two_channels=lambda tf: tf.image.encode_jpeg(IMAGE[..., :2]),
    ints=lambda tf: tf.image.is_jpeg(tf.image.encode_jpeg(IMAGE.astype(np.int32))),
    int_tensor=lambda tf: tf.image.encode_jpeg(tf.constant(IMAGE.astype(np.int32))),
    format=lambda tf: tf.image.encode_jpeg(IMAGE, format="x"),
    gray_format=lambda tf: tf.image.encode_jpeg(IMAGE, "grayscale"),
    rgb_format=lambda tf: tf.image.is_jpeg(
        tf.image.encode_jpeg(IMAGE, "rgb", 80, True, True, False, "cm", 10, 20, name="n")
    ),
    quality=lambda tf: tf.image.encode_jpeg(IMAGE, quality=101),
    unit=lambda tf: tf.image.encode_jpeg(IMAGE, density_unit="m"),
    unknown=lambda tf: tf.image.is_jpeg(tf.image.encode_jpeg(unknown(tf, IMAGE))),
    late_rank_4=lambda tf: tf.image.encode_jpeg(unknown(tf, IMAGE[None])),
    png_rank_2=lambda tf: tf.image.encode_png(IMAGE[0]),
    png_floats=lambda tf: tf.image.encode_png(IMAGE / 2.0),
    png_ints=lambda tf: tf.image.encode_png([[[1]]]),
    png_five_channels=lambda tf: tf.image.encode_png(np.zeros((2, 2, 5), np.uint8)),
    png_compression=lambda tf: tf.image.encode_png(IMAGE, compression=10),
    png_unknown=lambda tf: tf.image.decode_png(tf.reshape(tf.image.encode_png(unknown(tf, IMAGE)), [])),
)
table(
    "accurate_",
    rgb=lambda tf: tf.image.decode_jpeg(J, dct_method="INTEGER_ACCURATE"),
    rgb_444=lambda tf: tf.image.decode_jpeg(FILES["JPEG_RGB_444"], dct_method="INTEGER_ACCURATE"),
    gray=lambda tf: tf.image.decode_jpeg(FILES["JPEG_GRAY"], dct_method="INTEGER_ACCURATE"),
    gray_of_rgb=lambda tf: tf.image.decode_jpeg(J, 1, dct_method="INTEGER_ACCURATE"),
    progressive=lambda tf: tf.image.decode_jpeg(FILES["JPEG_PROGRESSIVE"], dct_method="INTEGER_ACCURATE"),
    half=lambda tf: tf.image.decode_jpeg(J, ratio=2, dct_method="INTEGER_ACCURATE"),
    half_of_gray=lambda tf: tf.image.decode_jpeg(FILES["JPEG_GRAY"], ratio=2, dct_method="INTEGER_ACCURATE"),
    not_fancy=lambda tf: tf.image.decode_jpeg(
        FILES["JPEG_RGB_444"], fancy_upscaling=False, dct_method="INTEGER_ACCURATE"
    ),
)
