"""random_resized_crop and center_crop_resize: from image bytes to a model's input in one pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.augment.picture import Picture
from pipeline.decode.image.decode import MAX_PIXELS
from pipeline.dtypes import integer, numpy_dtype, one_of, refuse_missing, truth
from pipeline.errors import invalid
from pipeline.foreign import numpy_of
from pipeline.images.boxes import Form, as_it_is
from pipeline.images.resize import pair_of
from pipeline.stages.draws import example_rng

_TRIES = 10
_MOST_SIDE = 65_535  # pixels, as in JPEG
_PLAIN = (float, int, NoneType)


def random_resized_crop(  # noqa: PLR0913
    data: Any,
    size: int | Sequence[int],
    *,
    scale: tuple[float, float] = (0.08, 1.0),
    ratio: tuple[float, float] = (3 / 4, 4 / 3),
    flip: float = 0.5,
    mean: Any = None,
    std: Any = None,
    dtype: Any = None,
    layout: str = "HWC",
    shrink: bool = True,
    exif: bool = False,
    rng: np.random.Generator | None = None,
    out: NDArray[Any] | None = None,
    max_pixels: int = MAX_PIXELS,
) -> NDArray[Any]:
    """Cut a random box out of an image, resize it, and flip it at random.

    Boxes are drawn as by torchvision's RandomResizedCrop, and resized as by Pillow with antialiasing, within one uint8
    unit. Only the part of a JPEG file that the box needs is decoded. Threads work in parallel.

    Args:
        data: Bytes of a JPEG, PNG, GIF, BMP, WebP, TIFF or PPM file, or an array [height, width, channels] with uint8,
            uint16, or floats from 0 to 1.
        size: Height and width of the result; a single number is used for both.
        scale: Smallest and largest fraction of the image's area.
        ratio: Smallest and largest width of a box divided by its height.
        flip: Probability of mirroring left and right.
        mean: Number to subtract from values between 0 and 1, or one per channel.
        std: Number to divide by afterwards, or one per channel.
        dtype: uint8 or float32, 0 to 1. By default float32 if `mean` or `std` is given, else uint8.
        layout: "HWC" for [height, width, channels] or "CHW" for [channels, height, width].
        shrink: True if a JPEG may be shrunk to 1/2, 1/4 or 1/8 during decoding, if the box keeps at least `size`
            pixels. This is much faster for large photos. Values of photo-like images differ by 1 of 255 on average and
            by up to 12; noise differs by more.
        exif: Rotate the image by its EXIF orientation first.
        rng: Draws the box. By default `pipeline.example_rng()`, inside a dataset's functions.
        out: An array to write to and return.
        max_pixels: Files with more pixels are refused before any memory is allocated for them.

    Returns:
        `out`, or a new array. Files have 3 channels, grey ones too.

    Raises:
        InvalidArgumentError: The file is damaged, unknown or too large; the array has other axes or no pixels; or an
            argument is out of range.
        FailedPreconditionError: `rng` is missing outside of a dataset's function.
        TypeError: An argument has a wrong type, such as an int64 array, whose maximum brightness is undefined.
        ImportError: Pillow is needed and not installed.

    Examples:
        >>> data = pipeline.image.encode_jpeg(np.zeros((40, 60, 3), np.uint8))
        >>> image = pipeline.image.random_resized_crop(
        ...     data, 24, mean=(0.5, 0.5, 0.5), std=0.25, layout="CHW", rng=np.random.default_rng(0)
        ... )
        >>> image.shape, image.dtype
        ((3, 24, 24), dtype('float32'))

    See Also:
        center_crop_resize, resize, normalize, example_rng
    """
    who = "random_resized_crop"
    height, width = size_of(size, who)
    low, high = _range(scale, f"{who}: scale")
    if high > 1:
        raise invalid(f"{who}: scale must be parts of the area, at most 1, not {scale!r:.80}")
    narrow, wide = _range(ratio, f"{who}: ratio")
    if not isinstance(flip, (int, float, np.number)) or not 0 <= flip <= 1:
        raise invalid(f"{who}: flip must be a probability from 0 to 1, not {flip!r:.80}")
    small = truth(shrink, f"{who}: shrink")
    draws = example_rng() if rng is None else rng
    if not isinstance(draws, np.random.Generator):
        raise TypeError(f"{who}: rng must be a numpy.random.Generator, not {rng!r:.80}")
    picture = Picture(data, who, integer(max_pixels, f"{who}: max_pixels"), truth(exif, f"{who}: exif"))
    made, form = _result(who, picture, (height, width), Wanted(mean, std, dtype, layout, out))
    box = _drawn(picture.height, picture.width, low, high, narrow, wide, draws)
    picture.cut(box, True, small, bool(draws.random() < flip), made, form)
    return made


def center_crop_resize(  # noqa: PLR0913
    data: Any,
    size: int | Sequence[int],
    *,
    resize: int | None = None,
    mean: Any = None,
    std: Any = None,
    dtype: Any = None,
    layout: str = "HWC",
    shrink: bool = True,
    exif: bool = False,
    out: NDArray[Any] | None = None,
    max_pixels: int = MAX_PIXELS,
) -> NDArray[Any]:
    """Resize an image and cut out its centre for evaluation: torchvision's Resize and CenterCrop in one pass.

    Only what the result needs is decoded and resized. Threads work in parallel.

    Args:
        resize: Length of the image's shorter side before the centre is cut out, at least both sides of `size`. By
            default 8/7 of the longer side, such as 256 for 224.
        data, size, mean, std, dtype, layout, shrink, exif, out, max_pixels: As for `random_resized_crop`.

    Returns:
        `out`, or a new array.

    Raises:
        InvalidArgumentError: As for `random_resized_crop`; or `resize` is smaller than `size`.
        TypeError: An argument is of a wrong type.
        ImportError: Pillow is needed and not installed.

    Examples:
        >>> data = pipeline.image.encode_jpeg(np.zeros((40, 60, 3), np.uint8))
        >>> pipeline.image.center_crop_resize(data, 28, dtype="float32").shape
        (28, 28, 3)

    See Also:
        random_resized_crop, central_crop, resize
    """
    who = "center_crop_resize"
    height, width = size_of(size, who)
    longer = max(height, width)
    short = round(longer * 8 / 7) if resize is None else integer(resize, f"{who}: resize")
    if short < longer:
        raise invalid(f"{who}: resize={short} leaves less than size={(height, width)}")
    _check_side(short, f"{who}: resize")
    small = truth(shrink, f"{who}: shrink")
    picture = Picture(data, who, integer(max_pixels, f"{who}: max_pixels"), truth(exif, f"{who}: exif"))
    made, form = _result(who, picture, (height, width), Wanted(mean, std, dtype, layout, out))
    least = min(picture.height, picture.width)
    box = []
    for have, wanted in ((picture.height, height), (picture.width, width)):
        became = short if have == least else int(short * have / least)
        start = round((became - wanted) / 2)
        box.append((start * have / became, (start + wanted) * have / became))
    (top, bottom), (left, right) = box
    picture.cut((top, left, bottom, right), False, small, False, made, form)
    return made


def size_of(size: Any, who: str) -> tuple[int, int]:
    """Return height and width for a size; a single number is used for both."""
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
        size = (size, size)
    height, width = pair_of(size, who)
    _check_side(max(height, width), f"{who}: size")
    return height, width


def _check_side(side: int, what: str) -> None:
    if side > _MOST_SIDE:
        raise invalid(f"{what} must be at most {_MOST_SIDE:,}, not {side}")


def scaled(channels: int, mean: Any, std: Any, largest: float, who: str) -> tuple[NDArray[np.float32], ...]:
    """Return factor and offset per channel for values from 0 to `largest`."""
    middle = _per_channel(0 if mean is None else mean, channels, f"{who}: mean")
    spread = _per_channel(1 if std is None else std, channels, f"{who}: std")
    if not (spread > 0).all():
        raise invalid(f"{who}: std must be positive, not {std!r:.80}")
    return (1 / (largest * spread)).astype(np.float32), (-middle / spread).astype(np.float32)


def _float_scale(channels: int, mean: Any, std: Any, largest: float, who: str) -> tuple[NDArray[np.float32], ...]:
    """Return `scaled`. Results for numbers are cached, because it takes 20 us."""
    for given in (mean, std):
        for each in given if isinstance(given, tuple) else (given,):
            if type(each) not in _PLAIN:
                return scaled(channels, mean, std, largest, who)
    return _kept_scale(channels, mean, std, largest, who)


_kept_scale = lru_cache(32)(scaled)


def channels_first(layout: Any, who: str) -> bool:
    """Return whether a layout is "CHW"; InvalidArgumentError unless it is that or "HWC"."""
    return one_of(("HWC", "CHW"), layout, f"{who}: layout") == "CHW"


def _per_channel(values: Any, channels: int, what: str) -> NDArray[np.float64]:
    refuse_missing(values, what)
    array = numpy_of(values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{what} must be a number, or one for each channel, not {values!r:.80}")
    if array.shape not in ((), (1,), (channels,)):
        raise invalid(f"{what} must be a number or {channels}, one for each channel, not {values!r:.80}")
    if not np.isfinite(array).all():
        raise invalid(f"{what} must be finite, not {values!r:.80}")
    return np.broadcast_to(array.astype(np.float64), (channels,))


class Wanted(NamedTuple):
    """Requested form of a result: the arguments of both functions, as given."""

    mean: Any
    std: Any
    dtype: Any
    layout: Any
    out: Any


def _result(who: str, picture: Picture, size: tuple[int, int], wanted: Wanted) -> tuple[NDArray[Any], Form]:
    """Return the array to write to, and its form."""
    mean, std, dtype, layout, out = wanted
    channels, largest = picture.channels, picture.largest
    plain = mean is None and std is None
    if dtype is None:
        dtype = out.dtype if isinstance(out, np.ndarray) and plain else np.uint8 if plain else np.float32
    kind = numpy_dtype(dtype, f"{who}: dtype")
    if kind not in (np.uint8, np.float32):
        raise invalid(f"{who}: dtype must be uint8 or float32, not {kind}")
    if kind == np.uint8 and not plain:
        raise invalid(f"{who}: mean and std give float32, not uint8")
    first = channels_first(layout, who)
    shape = (channels, *size) if first else (*size, channels)
    if kind == np.uint8 and largest == 255:
        form = as_it_is(channels, first)
    else:
        form = Form(first, *_float_scale(channels, mean, 1 / 255 if kind == np.uint8 else std, largest, who))
    if out is None:
        return np.empty(shape, kind), form
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{who}: out must be an array, not {type(out).__name__}")
    if out.shape != shape or out.dtype != kind:
        raise invalid(f"{who}: out must be {kind}{list(shape)}, not {out.dtype}{list(out.shape)}")
    refuse_missing(out, f"{who}: out")
    if not out.flags.writeable:
        raise invalid(f"{who}: out cannot be written to")
    return out, form


def _range(given: Any, what: str) -> tuple[float, float]:
    """Return two positive numbers, the smaller one first."""
    if not isinstance(given, (Sequence, np.ndarray)) or isinstance(given, (str, bytes)) or len(given) != 2:
        raise invalid(f"{what} must be (smallest, largest), not {given!r:.80}")
    low, high = given
    if not all(isinstance(each, (int, float, np.number)) for each in (low, high)):
        raise TypeError(f"{what} must be two numbers, not {given!r:.80}")
    if not 0 < low <= high < math.inf:
        raise invalid(f"{what} must be two positive numbers, the smaller one first, not {given!r:.80}")
    return float(low), float(high)


def _drawn(
    height: int, width: int, low: float, high: float, narrow: float, wide: float, rng: np.random.Generator
) -> tuple[int, int, int, int]:
    """Return a box with a random area and a random ratio, uniform in its logarithm.

    After ten boxes that do not fit, return the largest centred one, as torchvision does.
    """
    area = height * width
    start, span = math.log(narrow), math.log(wide) - math.log(narrow)
    for _ in range(_TRIES):
        part, turn, down, across = rng.random(4).tolist()
        wanted, sides = area * (low + (high - low) * part), math.exp(start + span * turn)
        tall, broad = round(math.sqrt(wanted / sides)), round(math.sqrt(wanted * sides))
        if 0 < tall <= height and 0 < broad <= width:
            top, left = int(down * (height - tall + 1)), int(across * (width - broad + 1))
            return top, left, top + tall, left + broad
    sides = width / height
    tall = min(height, max(1, round(width / narrow))) if sides < narrow else height
    broad = min(width, max(1, round(height * wide))) if sides > wide else width
    top, left = (height - tall) // 2, (width - broad) // 2
    return top, left, top + tall, left + broad
