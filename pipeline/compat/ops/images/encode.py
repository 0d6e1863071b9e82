"""encode_jpeg and encode_png: tensors to image files."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import check_rank, check_rank_at_least, tensor_op
from pipeline.compat.ops.making.text import one_of
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.decode.image import encode as image_files
from pipeline.errors import invalid, show


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """Encode images as PNG.

    Args:
        image: uint8 or uint16 [..., height, width, channels]: grayscale, grayscale and alpha, RGB or RGBA.
        compression: 0 (none) to 9 (best), or -1 for the default.
        name: Name of the op.

    Returns:
        The bytes of the files, strings of the shape in front of the last three axes.

    Raises:
        InvalidArgumentError: At run time: an argument is invalid.
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
        format: "grayscale" or "rgb" to require 1 or 3 channels, "" for those of the image.
        quality: 0 to 100.
        progressive: Write a progressive JPEG, which viewers show coarsely while it loads.
        optimize_size: Spend more time for a smaller file.
        chroma_downsampling: Store colour at half the resolution of brightness.
        density_unit: "in" or "cm", the unit of the densities.
        x_density: Horizontal pixels per unit, stored in the file.
        y_density: Vertical pixels per unit.
        xmp_metadata: Ignored.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time: an argument is invalid.
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
