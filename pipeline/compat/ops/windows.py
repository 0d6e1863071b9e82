"""What looks at windows of images: convolution, also depthwise, and pooling. For NHWC, which input programs have."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import check_allowed, renamed
from pipeline.compat.ops.making.opdef import check_rank, tensor_op

_FLOATS = ("float16", "bfloat16", "float32", "float64")


def _quad(values: Any, what: str) -> list[int]:
    """Sizes for the four axes, from one, two (height, width) or four numbers."""
    given = list(values) if isinstance(values, (list, tuple)) else [values]
    if len(given) == 1:
        given *= 2
    if len(given) == 2:
        given = [1, *given, 1]
    if len(given) != 4:
        raise ValueError(f"{what} should be of length 1, 2 or 4, but was {len(given)}")
    return [int(each) for each in given]


def _check_padding(op_type: str, padding: Any) -> bytes | str:
    if padding not in ("SAME", "VALID", b"SAME", b"VALID"):
        raise ValueError(
            f"Attr 'padding' of '{op_type}' Op passed string '{padding}' not in: \"SAME\", \"VALID\", \"EXPLICIT\"."
        )
    return padding.decode() if isinstance(padding, bytes) else padding


def _length(size: int | None, window: int | None, stride: int, padding: Any) -> int | None:
    if size is None or window is None:
        return None
    if padding == "SAME":
        return -(-size // stride)
    if size < window:
        raise ValueError(f"Computed output size would be negative: {size - window + stride}")
    return -(-(size - window + 1) // stride)


def _windows(
    images: Any, window: tuple[int, int], strides: list[int], dilations: list[int], padding: Any, fill: Any
) -> Any:
    """The windows of a batch: [n, rows, columns, channels, height, width]."""
    pads = []
    reach = [(size - 1) * dilation + 1 for size, dilation in zip(window, dilations[1:3], strict=True)]
    for size, covered, stride in zip(images.shape[1:3], reach, strides[1:3], strict=True):
        short = max((-(-size // stride) - 1) * stride + covered - size, 0) if padding == "SAME" else 0
        pads.append((short // 2, short - short // 2))
        if size + short < covered:
            raise errors.InvalidArgumentError(None, None, f"A window of {covered} does not fit into {size}")
    padded = np.pad(images, ((0, 0), *pads, (0, 0)), constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(padded, reach, (1, 2))
    return views[:, :: strides[1], :: strides[2], :, :: dilations[1], :: dilations[2]]


def _only_nhwc(op_type: str, data_format: Any) -> None:
    if data_format not in (None, "NHWC"):
        raise errors.UnimplementedError(None, None, f"{op_type} takes images as NHWC only, not {data_format}")


def _convolve(
    op_type: str, depthwise: bool, inputs: Any, strides: Any, padding: Any, dilations: Any, name: Any
) -> Tensor:
    strides, dilations = _quad(strides, "strides"), _quad(1 if dilations is None else dilations, "dilations")
    padding = _check_padding(op_type, padding)

    def rule(images: Tensor, kernel: Tensor) -> Any:
        check_allowed("input", images.dtype.base_dtype, (*_FLOATS, *(() if depthwise else ("int32",))))
        check_rank(images, 4)
        check_rank(kernel, 4)
        sizes = images.shape.sizes or (None,) * 4
        window = kernel.shape.sizes or (None,) * 4
        have, want = sizes[3], window[2]
        if have is not None and want is not None and have != want:
            if depthwise:
                raise ValueError(f"Dimensions must be equal, but are {have} and {want}")
            if not want or have % want:
                raise ValueError(f"Depth of input ({have}) is not a multiple of input depth of filter ({want})")
        spatial = []
        for axis in (0, 1):
            tall = window[axis]
            covered = None if tall is None else (tall - 1) * dilations[axis + 1] + 1
            spatial.append(_length(sizes[axis + 1], covered, strides[axis + 1], padding))
        channels = window[3]
        if depthwise and channels is not None:
            depth = window[2] if window[2] is not None else sizes[3]
            channels = None if depth is None else depth * channels
        return [sizes[0], *spatial, channels]

    def kernel(images: Any, window: Any) -> Any:
        seen = _windows(images, window.shape[:2], strides, dilations, padding, 0)
        if depthwise:
            found = np.einsum("nrcdhw,hwdm->nrcdm", seen, window, optimize=True)
            return found.reshape((*found.shape[:3], -1)).astype(images.dtype, copy=False)
        groups = images.shape[3] // window.shape[2]
        parts = zip(np.split(seen, groups, 3), np.split(window, groups, 3), strict=True)
        made = [np.tensordot(part, one, ((3, 4, 5), (2, 0, 1))) for part, one in parts]
        return np.concatenate(made, -1).astype(images.dtype, copy=False)

    attrs = {"strides": strides, "padding": padding, "data_format": "NHWC", "dilations": dilations}
    return tensor_op(op_type, "input:T filter:T", inputs, rule, kernel, name, attrs)


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Return the correlation of images [n, height, width, channels] with filters [height, width, channels, out].

    Args:
        input: float16, bfloat16, float32, float64 or int32.
        filter: Of the same dtype; `filters` is its newer name.
        strides: One, two or four numbers.
        padding: "SAME" or "VALID".
        use_cudnn_on_gpu: Not used.
        data_format: "NHWC".
        dilations: As the strides.
        name: Name of the op.

    Raises:
        ValueError: The shapes do not fit, or another padding.
    """
    _only_nhwc("Conv2D", data_format)
    filters = renamed("filter", filter, "filters", filters)
    return _convolve("Conv2D", False, [input, filters], 1 if strides is None else strides, padding, dilations, name)


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the correlation of each channel with filters [height, width, channels, multiplier] of its own."""
    _only_nhwc("DepthwiseConv2dNative", data_format)
    return _convolve("DepthwiseConv2dNative", True, [input, filter], strides, padding, dilations, name)


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """As `depthwise_conv2d_native`; `rate`, or `dilations`, is (height, width)."""
    from pipeline.compat.graph.scopes import name_scope
    from pipeline.compat.ops.arrays.shaping import shape
    from pipeline.compat.values.convert import convert_to_tensor

    _only_nhwc("DepthwiseConv2dNative", data_format)
    rate = renamed("rate", rate, "dilations", dilations)
    with name_scope(name, "depthwise", [input, filter]) as scope:
        input = convert_to_tensor(input, name="tensor_in")
        filter = convert_to_tensor(filter, name="filter_in")
        shape(input)
        convert_to_tensor([1, 1] if rate is None else rate, name="dilation_rate")
        return _convolve("DepthwiseConv2dNative", True, [input, filter], strides, padding, rate, scope)


def _pool(op_type: str, argument: str, value: Any, ksize: Any, strides: Any, padding: Any, name: Any) -> Tensor:
    ksize, strides = _quad(ksize, "ksize"), _quad(strides, "strides")
    padding = _check_padding(op_type, padding)
    largest = op_type == "MaxPool"
    allowed = (*_FLOATS, "int32", "int64", "uint8", "int16", "int8", "uint16") if largest else _FLOATS
    window = (ksize[1], ksize[2])
    ones = [1, 1, 1, 1]

    def rule(images: Tensor) -> Any:
        check_allowed(argument, images.dtype.base_dtype, allowed)
        check_rank(images, 4)
        sizes = images.shape.sizes or (None,) * 4
        spatial = [_length(sizes[axis], ksize[axis], strides[axis], padding) for axis in (1, 2)]
        return [sizes[0], *spatial, sizes[3]]

    def kernel(images: Any) -> Any:
        if largest:
            low = np.iinfo(images.dtype).min if images.dtype.kind in "iu" else -np.inf
            return np.max(_windows(images, window, strides, ones, padding, low), axis=(4, 5))
        # What is padded does not count.
        total = np.sum(_windows(images, window, strides, ones, padding, 0), axis=(4, 5), dtype=np.float64)
        there = np.ones((1, *images.shape[1:3], 1))
        count = np.sum(_windows(there, window, strides, ones, padding, 0), axis=(4, 5))
        return (total / count).astype(images.dtype)

    attrs = {"ksize": ksize, "strides": strides, "padding": padding, "data_format": "NHWC"}
    return tensor_op(op_type, f"{argument}:T", [value], rule, kernel, name, attrs)


def max_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """Return the largest element of each window, for each channel.

    Args:
        value: Images [n, height, width, channels] of any real dtype; `input` is its newer name.
        ksize: One, two or four numbers: the window.
        strides: As the window.
        padding: "SAME" or "VALID".
        data_format: "NHWC".
        name: Name of the op.

    Raises:
        ValueError: The shapes do not fit, or another padding.
    """
    _only_nhwc("MaxPool", data_format)
    return _pool("MaxPool", "input", renamed("value", value, "input", input), ksize, strides, padding, name)


def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """Return the mean of each window, for each channel of floats; arguments as `max_pool`."""
    _only_nhwc("AvgPool", data_format)
    return _pool("AvgPool", "value", renamed("value", value, "input", input), ksize, strides, padding, name)
