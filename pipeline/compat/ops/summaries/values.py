"""Make a serialised Summary from scalars, a histogram or images, for TensorBoard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.decode.image.png import png_bytes
from pipeline.decode.wire import WireError, fields
from pipeline.errors import invalid, show

if TYPE_CHECKING:
    from pipeline.proto.summary import Summary

_LARGEST = float(np.finfo(np.float64).max)
_limits: list[Any] = []


def scalars(tags: Any, values: Any) -> bytes:
    """Return a Summary with one number per tag."""
    if np.shape(tags) != np.shape(values):
        name = f" (tag '{tags.decode(errors='replace')}')" if isinstance(tags, bytes) else ""
        raise invalid(
            f"tags and values are not the same shape: {show(np.shape(tags))} != {show(np.shape(values))}{name}"
        )
    summary = _summary()
    with np.errstate(over="ignore"):
        for tag, value in zip(np.ravel(_object(tags)), np.ravel(values).astype(np.float32), strict=True):
            summary.value.add(tag=tag.decode(errors="replace"), simple_value=float(value))
    return summary.SerializeToString()


def histogram(tag: bytes, values: Any) -> bytes:
    """Return a Summary that counts values in ranges, each a tenth wider than the one before."""
    name = tag.decode(errors="replace")
    flat = np.ravel(values).astype(np.float64)
    if not np.isfinite(flat).all():
        nan = np.isnan(flat[~np.isfinite(flat)][0])
        raise invalid(f"Nan in summary histogram for: {name}" if nan else f"Infinity in Histogram for: {name}")
    summary = _summary()
    histo = summary.value.add(tag=name).histo
    if not flat.size:
        for field, value in (("min", _LARGEST), ("max", -_LARGEST)):
            setattr(histo, field, value)
        histo.bucket_limit.append(_LARGEST)
        histo.bucket.append(0.0)
        return summary.SerializeToString()
    histo.min, histo.max, histo.num = float(flat.min()), float(flat.max()), float(flat.size)
    # Summed one after the other, because float sums depend on the order.
    histo.sum, histo.sum_squares = float(np.cumsum(flat)[-1]), float(np.cumsum(flat * flat)[-1])
    limits = _bucket_limits()
    counts = np.bincount(np.searchsorted(limits, flat, "right").clip(max=len(limits) - 1), minlength=len(limits))
    # In a run of empty ranges only the last is written.
    kept = (counts > 0) | np.append(counts[1:] > 0, True)
    histo.bucket_limit.extend(limits[kept].tolist())
    histo.bucket.extend(counts[kept].astype(np.float64).tolist())
    return summary.SerializeToString()


def _summary() -> Summary:
    # Imported here since queues of the drop-in have summaries of their sizes, and work without protobuf.
    from pipeline.proto.summary import Summary

    return Summary()


def _bucket_limits() -> Any:
    if not _limits:
        positive, value = [], 1e-12
        while value < 1e20:
            positive.append(value)
            value *= 1.1
        positive.append(_LARGEST)
        _limits.append(np.array([*(-each for each in reversed(positive)), 0.0, *positive]))
    return _limits[0]


def images(tag: bytes, values: Any, most: int) -> bytes:
    """Return a Summary with a batch's first `most` images as PNG; floats are scaled to 0 to 255."""
    if values.ndim != 4 or values.shape[3] not in (1, 3, 4):
        raise invalid(f"Tensor must be 4-D with last dim 1, 3, or 4, not {show(np.shape(values))}")
    summary, name = _summary(), tag.decode(errors="replace")
    count, height, width, depth = values.shape
    for i in range(min(most, count)):
        pixels = values[i] if values.dtype == np.uint8 else _normalised(values[i].astype(np.float32))
        value = summary.value.add(tag=f"{name}/image" if most == 1 else f"{name}/image/{i}")
        image = value.image
        image.height, image.width, image.colorspace = height, width, depth
        image.encoded_image_string = png_bytes(np.ascontiguousarray(pixels), -1)
    return summary.SerializeToString()


def _normalised(pixels: Any) -> Any:
    """Return floats as bytes: the largest becomes 255; if some are negative, 0 becomes 128."""
    finite = np.isfinite(pixels).all(axis=-1)
    good = pixels[finite]
    low, high = (float(good.min()), float(good.max())) if good.size else (0.0, 0.0)
    if low < 0:
        largest = max(abs(low), abs(high))
        scale, offset = np.float32(0.0 if largest < 1e-6 else 127 / largest), np.float32(128)
    else:
        scale, offset = np.float32(0.0 if high < 1e-6 else 255 / high), np.float32(0)
    bad = np.array([255, 0, 0, 255], np.uint8)[: pixels.shape[-1]]
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = (np.where(finite[..., None], pixels, 0) * scale + offset).astype(np.uint8)
    return np.where(finite[..., None], scaled, bad)


def merged(*summaries: Any) -> bytes:
    """Return one Summary with the values from several; InvalidArgumentError if two have the same tag."""
    seen: set[bytes] = set()
    flat = [one for each in summaries for one in np.ravel(_object(each))]
    for one in flat:
        try:
            for _, _, at, end in fields(one, 0, len(one)):
                _new_tag(one, at, end, seen)
        except WireError as error:
            raise invalid("Could not parse one of the summary inputs") from error
    return b"".join(flat)


def _new_tag(data: bytes, at: int, end: int, seen: set[bytes]) -> None:
    for number, _, begin, after in fields(data, at, end):
        if number == 1:
            tag = data[begin:after]
            if tag in seen:
                raise invalid(f"Duplicate tag {tag.decode(errors='replace')} found in summary inputs")
            seen.add(tag)


def _object(value: Any) -> Any:
    if isinstance(value, bytes):
        array = np.empty((), object)
        array[()] = value
        return array
    return value
