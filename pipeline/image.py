"""Images as arrays: decode, encode, resize, crop and flip, as in `tf.image`; decoding needs the extra `image`."""

from pipeline.augment.crops import center_crop_resize, random_resized_crop
from pipeline.augment.values import normalize, to_chw
from pipeline.decode.image.decode import decode_bmp, decode_gif, decode_image, decode_jpeg, decode_png
from pipeline.decode.image.encode import encode_jpeg, encode_png
from pipeline.images.parts import central_crop, crop, flip_left_right, flip_up_down, random_crop
from pipeline.images.resize import resize

__all__ = [
    "center_crop_resize",
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
    "normalize",
    "random_crop",
    "random_resized_crop",
    "resize",
    "to_chw",
]


def __dir__() -> list[str]:
    return __all__
