"""Image shape checks."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.tensor import Tensor
from pipeline.errors import invalid


def checked_shape(image: Tensor, ranks: tuple[int, ...] = (3, 4)) -> tuple[int | None, ...]:
    """Return the static sizes of an image or batch; an unknown rank counts as a single image.

    Raises:
        ValueError: The rank is known to be different, or a size to be 0.
    """
    sizes = image.shape.sizes
    if sizes is None:
        return (None, None, None)
    if len(sizes) not in ranks:
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    if 0 in sizes[-3:]:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {image.shape}")
    return sizes


def check_image(image: Any) -> None:
    """Raise InvalidArgumentError, at run time, unless an array is a non-empty image or batch."""
    if image.ndim not in (3, 4) or 0 in image.shape[-3:]:
        raise invalid(f"'image' must have 3 or 4 dimensions, the last 3 of them > 0, got shape {list(image.shape)}")
