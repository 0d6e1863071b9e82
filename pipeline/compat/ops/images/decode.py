"""Image files to tensors, and tensors to image files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.images.colour import convert_image_dtype
from pipeline.compat.ops.making.inputs import check_allowed, dtype_of, fixed_input
from pipeline.compat.ops.making.opdef import check_rank, check_rank_at_least, tensor_op
from pipeline.compat.ops.making.text import one_of, plain, text, with_rank
from pipeline.compat.ops.math.comparing import equal
from pipeline.compat.ops.strings.splitting import substr
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value
from pipeline.decode.image import decode as images
from pipeline.decode.image import encode as image_files
from pipeline.decode.image.pillow import damage, pillow
from pipeline.errors import invalid, show


def _contents(value: Any, op_type: str) -> Tensor:
    return with_rank(text(value, "contents", op_type), 0)


def _channels(channels: Any) -> int:
    count = 0 if channels is None else int(channels)
    if count < 0:
        raise ValueError(f"channels must be non-negative, got {count}")
    return count


def _one(contents: Any) -> bytes:
    """Return one file's bytes; InvalidArgumentError for an array."""
    if not isinstance(contents, bytes):
        raise invalid(f"`contents` must be scalar but got shape{show(contents.shape)}")
    return contents


def _decoder(
    op_type: str,
    contents: Any,
    kernel: Callable[[bytes], Any],
    shape: Any,
    attrs: dict[str, Any],
    name: str | None,
    dtype: Any = dtypes.uint8,
) -> Tensor:
    """Make the op that decodes one file with `kernel`."""
    with name_scope(name, op_type, [contents]) as scope:
        tensor = _contents(contents, op_type)
        return tensor_node(op_type, [tensor], lambda value: kernel(_one(value)), dtype, shape, scope, attrs=attrs)


def _jpeg_attrs(channels: int, ratio: Any, fancy: Any, recover: Any, fraction: Any, method: Any) -> dict[str, Any]:
    return {
        "channels": channels,
        "ratio": 1 if ratio is None else int(ratio),
        "fancy_upscaling": True if fancy is None else bool(fancy),
        "try_recover_truncated": bool(recover),
        "acceptable_fraction": 1.0 if fraction is None else float(fraction),
        "dct_method": plain("" if method is None else method, "dct_method"),
    }


def _jpeg_kernel(attrs: dict[str, Any]) -> Callable[..., Any]:
    channels, ratio, recover = attrs["channels"], attrs["ratio"], attrs["try_recover_truncated"]
    fancy, method = attrs["fancy_upscaling"], attrs["dct_method"]

    def kernel(contents: bytes, crop: Any = None) -> Any:
        return images.decode_jpeg(
            contents, channels, ratio, recover, fancy_upscaling=fancy, dct_method=method, crop=crop
        )

    return kernel


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decode a JPEG, PNG or GIF (not animated) file to uint8 [height, width, channels].

    Args:
        contents: A string scalar with the file's bytes.
        channels: 0 for the image's own, 1 for grayscale, 3 for RGB.
        ratio: 1, 2, 4 or 8: shrink a JPEG by this factor.
        fancy_upscaling: If False, repeat pixels for colours stored at half the resolution (with simplejpeg).
        try_recover_truncated: Accept a truncated JPEG.
        acceptable_fraction: Ignored.
        dct_method: "", "INTEGER_FAST" or "INTEGER_ACCURATE"; without simplejpeg all are the accurate one.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time, if the file is not such an image or is damaged, or an argument is invalid.
    """
    count = _channels(channels)
    attrs = _jpeg_attrs(count, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method)
    return _decoder("DecodeJpeg", contents, _jpeg_kernel(attrs), [None, None, count or None], attrs, name)


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decode a JPEG file inside `crop_window`, int32 [4]: first row, first column, height and width.

    See `decode_jpeg` for the other arguments.
    """
    count = _channels(channels)
    attrs = _jpeg_attrs(count, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method)
    decode = _jpeg_kernel(attrs)

    def kernel(contents: Any, window: Any) -> Any:
        if window.shape != (4,):
            raise invalid(f"crop_window must have four elements {show(window.shape)}")
        if not _one(contents).startswith(b"\xff\xd8\xff"):
            raise invalid("Trying to decode a format other than JPEG using DecodeAndCropJpeg op.")
        return decode(contents, window.tolist())

    with name_scope(name, "DecodeAndCropJpeg", [contents, crop_window]) as scope:
        tensor = text(contents, "contents", "DecodeAndCropJpeg")
        window = fixed_input("DecodeAndCropJpeg", "crop_window", crop_window, dtypes.int32)
        with_rank(tensor, 0)
        if with_rank(window, 1).shape.num_elements() not in (None, 4):
            raise ValueError(f"Dimension must be 4 but is {window.shape.num_elements()}")
        known = constant_value(window)
        height, width = (None, None) if known is None else (int(known[2]), int(known[3]))
        shape = [height, width, count or None]
        inputs = [tensor, window]
        return tensor_node("DecodeAndCropJpeg", inputs, kernel, dtypes.uint8, shape, scope, attrs=attrs)


def decode_png(contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, name: str | None = None) -> Tensor:
    """Decode a PNG, JPEG or GIF (not animated) file to [height, width, channels].

    Args:
        contents: A string scalar with the file's bytes.
        channels: 0 for the image's own, 1 for grayscale, 3 for RGB, 4 for RGBA.
        dtype: uint8 or uint16.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time, if the file is not such an image or is damaged, or an argument is invalid.
    """
    count, kind = _channels(channels), dtype_of(dtype)
    check_allowed("dtype", kind, ("uint8", "uint16"))

    def kernel(contents: bytes) -> Any:
        return images.decode_png(contents, count, kind.np)

    attrs = {"channels": count, "dtype": kind}
    return _decoder("DecodePng", contents, kernel, [None, None, count or None], attrs, name, kind)


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """Decode all GIF frames, or a single JPEG or PNG image, to uint8 [frames, height, width, 3]."""
    return _decoder("DecodeGif", contents, images.decode_gif, [None, None, None, 3], {}, name)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """Decode a BMP file to uint8 [height, width, channels]; `channels` is 0 (the image's own), 3 or 4."""
    count = _channels(channels)

    def kernel(contents: bytes) -> Any:
        return images.decode_bmp(contents, count)

    return _decoder("DecodeBmp", contents, kernel, [None, None, count or None], {"channels": count}, name)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Decode a JPEG, PNG or BMP file to [height, width, channels], a GIF file to [frames, height, width, 3].

    Args:
        contents: A string scalar with the file's bytes.
        channels: 0 or None for the image's own, 1 for grayscale, 3 for RGB, 4 for RGBA.
        dtype: An integer or float dtype; values are scaled as in `convert_image_dtype`.
        name: Scope name.
        expand_animations: Decode all GIF frames; the static rank is then unknown. If False, only the first frame,
            [height, width, 3].

    Raises:
        InvalidArgumentError: At run time, if the file is not such an image or is damaged, or an argument is invalid.
    """
    with name_scope(name, "decode_image", [contents]):
        wanted = 0 if channels is None else channels
        count, kind = _channels(wanted), dtype_of(dtype)
        decoded = kind if kind in (dtypes.float32, dtypes.uint8, dtypes.uint16) else dtypes.uint16
        expand = bool(expand_animations)

        def kernel(contents: bytes) -> Any:
            return images.decode_image(contents, count, decoded.np, expand)

        attrs = {"channels": count, "dtype": decoded, "expand_animations": expand}
        image = _decoder("DecodeImage", contents, kernel, None, attrs, None, decoded)
        if decoded != kind:
            image = convert_image_dtype(image, kind)
        if not expand:
            image.set_shape([None, None, count or None])
        return image


def extract_jpeg_shape(contents: Any, output_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """Return a JPEG file's height, width and channels, as int32 or int64, without decoding it."""
    kind = dtype_of(output_type)
    check_allowed("output_type", kind, ("int32", "int64"))

    def kernel(contents: bytes) -> Any:
        import io

        import numpy as np

        with damage("Invalid JPEG data or crop window, data size " + str(len(contents))):
            image = pillow().JpegImagePlugin.JpegImageFile(io.BytesIO(contents))
        return np.array([image.height, image.width, image.layers], kind.np)

    return _decoder("ExtractJpegShape", contents, kernel, [3], {"output_type": kind}, name, kind)


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Return whether strings begin like JPEG files."""
    with name_scope(name, "is_jpeg", [contents]):
        return equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=name)  # type: ignore[no-any-return]


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """Encode images as PNG.

    Args:
        image: uint8 or uint16 [..., height, width, channels]: grayscale, grayscale and alpha, RGB or RGBA.
        compression: 0 (none) to 9 (best), or -1 for the default.
        name: Name of the op.

    Returns:
        The files' bytes: strings shaped like the image without its last three axes.

    Raises:
        InvalidArgumentError: At run time, if an argument is invalid.
    """
    level = -1 if compression is None else int(compression)

    def rule(image: Tensor) -> Any:
        check_rank_at_least(image, 3)
        return None if image.shape.sizes is None else image.shape.sizes[:-3]

    def kernel(image: Any) -> Any:
        if image.ndim < 3:
            raise invalid(f"images must be at least rank 3{show(image.shape)}")
        if not 1 <= image.shape[-1] <= 4:
            raise invalid(f"image must have 1, 2, 3, or 4 channels, got {image.shape[-1]}")
        if image.ndim == 3:
            return image_files.encode_png(image, level)
        files = np.empty(image.shape[:-3], object)
        flat, each = files.reshape(-1), image.reshape(-1, *image.shape[-3:])
        for i in range(len(flat)):
            flat[i] = image_files.encode_png(each[i], level)
        return files

    definition, attrs = "image:T(uint8,uint16)=uint8", {"compression": level}
    tensor = convert_to_tensor(image)
    return tensor_op("EncodePng", definition, [tensor], rule, kernel, name, attrs, dtype=dtypes.string)


def _is_image(image: Tensor, *_: Any) -> Any:
    check_rank(image, 3)
    return []


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """Encode an image as JPEG.

    Args:
        image: uint8 [height, width, channels]: grayscale or RGB.
        format: "grayscale" or "rgb" to require 1 or 3 channels, "" for the image's own.
        quality: 0 to 100.
        progressive: Write a progressive JPEG, which viewers show coarsely while it loads.
        optimize_size: Spend more time for a smaller file.
        chroma_downsampling: Store colour at half the resolution of brightness.
        density_unit: "in" or "cm", the density unit.
        x_density: Horizontal pixels per unit, stored in the file.
        y_density: Vertical pixels per unit.
        xmp_metadata: Ignored.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time, if an argument is invalid.
    """
    attrs = {
        "format": one_of("" if format is None else format, ("", "grayscale", "rgb"), "format", "EncodeJpeg"),
        "quality": 95 if quality is None else int(quality),
        "progressive": bool(progressive),
        "optimize_size": bool(optimize_size),
        "chroma_downsampling": True if chroma_downsampling is None else bool(chroma_downsampling),
        "density_unit": one_of(
            "in" if density_unit is None else density_unit, ("in", "cm"), "density_unit", "EncodeJpeg"
        ),
        "x_density": 300 if x_density is None else int(x_density),
        "y_density": 300 if y_density is None else int(y_density),
    }
    settings: dict[str, Any] = dict(attrs)

    def kernel(image: Any) -> Any:
        return image_files.encode_jpeg(image, **settings)

    shown_attrs = {**attrs, "xmp_metadata": "" if xmp_metadata is None else xmp_metadata}
    return tensor_op("EncodeJpeg", "image:uint8", [image], _is_image, kernel, name, shown_attrs, dtype=dtypes.string)
