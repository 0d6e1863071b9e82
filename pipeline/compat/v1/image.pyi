"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.images.adjust import (
    adjust_brightness as adjust_brightness, adjust_contrast as adjust_contrast, adjust_gamma as adjust_gamma,
    adjust_hue as adjust_hue, adjust_saturation as adjust_saturation,
    per_image_standardization as per_image_standardization, random_brightness as random_brightness,
    random_contrast as random_contrast, random_hue as random_hue, random_saturation as random_saturation,
)
from pipeline.compat.ops.images.boxes import (
    draw_bounding_boxes as draw_bounding_boxes, sample_distorted_bounding_box as sample_distorted_bounding_box,
)
from pipeline.compat.ops.images.colour import (
    convert_image_dtype as convert_image_dtype, grayscale_to_rgb as grayscale_to_rgb, hsv_to_rgb as hsv_to_rgb,
    rgb_to_grayscale as rgb_to_grayscale, rgb_to_hsv as rgb_to_hsv,
)
from pipeline.compat.ops.images.crop import (
    central_crop as central_crop, crop_to_bounding_box as crop_to_bounding_box,
    pad_to_bounding_box as pad_to_bounding_box, random_crop as random_crop,
    resize_image_with_crop_or_pad as resize_image_with_crop_or_pad,
    resize_image_with_crop_or_pad as _resize_with_crop_or_pad,
)
from pipeline.compat.ops.images.decode import (
    decode_and_crop_jpeg as decode_and_crop_jpeg, decode_bmp as decode_bmp, decode_gif as decode_gif,
    decode_image as decode_image, decode_jpeg as decode_jpeg, decode_png as decode_png, encode_jpeg as encode_jpeg,
    encode_png as encode_png, extract_jpeg_shape as extract_jpeg_shape, is_jpeg as is_jpeg,
)
from pipeline.compat.ops.images.flip import (
    flip_left_right as flip_left_right, flip_up_down as flip_up_down,
    random_flip_left_right as random_flip_left_right, random_flip_up_down as random_flip_up_down, rot90 as rot90,
    transpose as transpose, transpose as _transpose_image,
)
from pipeline.compat.ops.images.resize import (
    ResizeMethod as ResizeMethod, resize_area as resize_area, resize_bicubic as resize_bicubic,
    resize_bilinear as resize_bilinear, resize_images as _resize, resize_images as resize_images,
    resize_nearest_neighbor as resize_nearest_neighbor,
)
resize = _resize
resize_with_crop_or_pad = _resize_with_crop_or_pad
transpose_image = _transpose_image
