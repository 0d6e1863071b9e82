"""Images as arrays: decode, encode, resize, crop and flip, as in `tf.image`; decoding needs the extra `image`."""

from pipeline.decode.image.decode import decode_bmp, decode_gif, decode_image, decode_jpeg, decode_png
from pipeline.decode.image.encode import encode_jpeg, encode_png
from pipeline.images.parts import central_crop, crop, flip_left_right, flip_up_down, random_crop
from pipeline.images.resize import resize

__all__ = [
    "central_crop",
    "crop",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "flip_left_right",
    "flip_up_down",
    "random_crop",
    "resize",
]


def __dir__() -> list[str]:
    return __all__
