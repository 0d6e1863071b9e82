"""shape, size, rank, reshape, squeeze, broadcast_to: read shapes, and change them without moving elements."""

from __future__ import annotations

import math
from operator import getitem
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import as_shape, merged
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import once_a_shape
from pipeline.compat.ops.making.inputs import renamed
from pipeline.compat.ops.making.opdef import INDEX_32, check_rank, tensor_op
from pipeline.compat.values.casts import cast_node
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.compat.values.static import constant_value, constant_value_as_shape
from pipeline.decode.example.sparse_value import SparseTensorValue
from pipeline.errors import invalid

_SPARSE = (SparseTensor, SparseTensorValue)


def _reshaped(tensor: Tensor, shape: Tensor) -> Any:
    check_rank(shape, 1)
    target = constant_value_as_shape(shape)
    if target.sizes is None:
        return target
    count = 0 if 0 in (tensor.shape.sizes or ()) else tensor.shape.num_elements()
    unknown = [axis for axis, size in enumerate(target.sizes) if size is None]
    known = 1
    for size in target.sizes:
        known *= 1 if size is None else size
    if not unknown and count is not None and known != count:
        raise ValueError(
            f"Cannot reshape a tensor with {count} elements to shape "
            f"[{','.join(map(str, target.sizes))}] ({known} elements)"
        )
    if len(unknown) == 1 and count is not None:
        if known == 0:
            if count:
                raise ValueError(f"Cannot reshape a tensor with {count} elements to a shape without any")
            return target
        if count % known:
            raise ValueError(f"Dimension size must be evenly divisible by {known} but is {count}")
        sizes = list(target.sizes)
        sizes[unknown[0]] = count // known
        return sizes
    return target


def _reshape(tensor: Any, shape: Any) -> Any:
    sizes = tuple(np.asarray(shape).tolist())
    if any(size < -1 for size in sizes):
        raise invalid(f"Size {min(sizes)} must be non-negative, not {min(sizes)}")
    if sizes.count(-1) == 1 and 0 in sizes and not np.size(tensor):
        sizes = _inferred(np.shape(tensor), sizes)
    try:
        return np.reshape(tensor, sizes)
    except ValueError:
        count = np.size(tensor)
        if sizes.count(-1) > 1:
            text = "Only one input size may be -1, not both {} and {}".format(
                *[axis for axis, size in enumerate(sizes) if size == -1][:2]
            )
        elif -1 in sizes and 0 in sizes:
            text = f"Input to reshape is a tensor with {count} values, but the requested shape has 0"
        elif -1 in sizes:
            known = -int(np.prod(sizes, dtype=np.int64))
            text = (
                f"Input to reshape is a tensor with {count} values, "
                f"but the requested shape requires a multiple of {known}"
            )
        else:
            wanted = int(np.prod(sizes, dtype=np.int64))
            text = f"Input to reshape is a tensor with {count} values, but the requested shape has {wanted}"
        raise invalid(text) from None


def _inferred(given: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return an empty tensor's new sizes; TensorFlow computes -1 from the axes that are not empty."""
    count = math.prod(size for size in given if size)
    missing = count // math.prod(size for size in sizes if size > 0)
    return tuple(missing if size == -1 else size for size in sizes)


_quick_reshape = once_a_shape(_reshape, lambda _, shape: tuple(shape.tolist()), np.reshape)


def _reshape_rows(is_row: tuple[bool, ...], tensor: Any, shape: Any) -> Any:
    if is_row != (True, False):
        return None
    try:
        return tensor.reshape((tensor.shape[0], *np.asarray(shape).tolist()))
    except ValueError:
        return None


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return `tensor` with its elements in another shape.

    Args:
        tensor: Any dtype.
        shape: An int32 or int64 vector; one size may be -1 and is then computed.
        name: Name of the op.

    Raises:
        ValueError: The element counts are known to differ.
        InvalidArgumentError: They differ at run time.
    """
    definition = "tensor:T shape:Tshape" + INDEX_32
    return tensor_op("Reshape", definition, [tensor, shape], _reshaped, _quick_reshape, name, rows=_reshape_rows)


def shape(input: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """Return a tensor's or sparse tensor's shape: a vector with dtype `out_type`, int32 by default."""
    return shape_of(input, name, as_dtype(dtypes.int32 if out_type is None else out_type))


def shape_of(input: Any, name: str | None = None, out_type: DType | None = None, optimize: bool = True) -> Tensor:
    """Return the shape as `shape` does; without `out_type` a constant is named `shape_as_tensor`."""
    with name_scope(name, "Shape", [input]) as scope:
        if isinstance(input, _SPARSE):
            return cast_node(convert_to_tensor(input.dense_shape), out_type or dtypes.int32)
        tensor = convert_to_tensor(input)
        if optimize and tensor.shape.is_fully_defined():
            sizes = tensor.shape.as_list()
            if out_type is None:
                return shape_constant(sizes)
            return constant(sizes, out_type, name=scope)
        dtype = out_type or dtypes.int32

        def kernel(value: Any) -> Any:
            return np.array(np.shape(value), dtype.np)

        attrs = {"out_type": dtype}
        return tensor_op("Shape", "input:T", [tensor], _rank_vector, kernel, scope, attrs, dtype=dtype)


def shape_constant(sizes: Any) -> Tensor:
    """Return a known shape as a constant named `shape_as_tensor`; ValueError if a size is unknown."""
    known = as_shape(sizes)
    if not known.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape {known} to a Tensor.")
    wide = any(size > 2**31 - 1 for size in known.as_list())  # type: ignore[operator]
    return constant(known.as_list(), dtypes.int64 if wide else dtypes.int32, name="shape_as_tensor")


def _rank_vector(tensor: Tensor) -> Any:
    return (tensor.shape.ndims,)


def size(input: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """Return the element count: a scalar with dtype `out_type`, int32 by default."""
    dtype = as_dtype(dtypes.int32 if out_type is None else out_type)
    with name_scope(name, "Size", [input]) as scope:
        if isinstance(input, _SPARSE):
            return _product(cast_node(convert_to_tensor(input.dense_shape), dtype), scope)
        tensor = convert_to_tensor(input)
        count = tensor.shape.num_elements()
        if count is None and tensor.shape.sizes is not None and 0 in tensor.shape.sizes:
            count = 0
        if count is not None:
            return constant(count, dtype, name=scope)
        return _size_node(tensor, dtype, scope)


def _product(sizes: Tensor, scope: str) -> Tensor:
    """Multiply sizes. This makes the `reduce_prod` node, because that file imports this one."""

    def kernel(sizes: Any, axis: Any) -> Any:
        return np.prod(sizes, dtype=sizes.dtype)

    definition = "input:T reduction_indices:Tidx" + INDEX_32
    return tensor_op("Prod", definition, [sizes, 0], _scalar, kernel, scope)


def _size_node(tensor: Tensor, dtype: DType, scope: str) -> Tensor:
    def kernel(value: Any) -> Any:
        return np.asarray(np.size(value), dtype.np)

    return tensor_op("Size", "input:T", [tensor], _scalar, kernel, scope, {"out_type": dtype}, dtype=dtype)


def _scalar(*_: Any) -> Any:
    return ()


def rank(input: Any, name: str | None = None) -> Tensor:
    """Return the number of axes: an int32 scalar."""
    with name_scope(name, "Rank", [input]) as scope:
        if isinstance(input, _SPARSE):
            return _size_node(convert_to_tensor(input.dense_shape), dtypes.int32, scope)
        tensor = convert_to_tensor(input)
        if tensor.shape.ndims is not None:
            return constant(tensor.shape.ndims, dtypes.int32, name=scope)
        return tensor_op("Rank", "input:T", [tensor], _scalar, _ndim, scope, dtype=dtypes.int32)


def _ndim(value: Any) -> Any:
    return np.asarray(np.ndim(value), np.int32)


def _expanded(tensor: Tensor, dim: Tensor) -> Any:
    if dim.shape.num_elements() not in (None, 1):
        raise ValueError("'dim' input must be a tensor with a single value")
    axis = constant_value(dim)
    if axis is None or tensor.shape.sizes is None:
        return None
    axis, rank = int(np.ravel(axis)[0]), len(tensor.shape.sizes)
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"dim {axis} not in the interval [{-rank - 1}, {rank}].")
    axis += rank + 1 if axis < 0 else 0
    return (*tensor.shape.sizes[:axis], 1, *tensor.shape.sizes[axis:])


def _expand(value: Any, axis: Any) -> Any:
    if axis.size != 1:
        raise invalid("'dim' must be a tensor with a single value")
    place, shape = int(axis.item()), np.shape(value)
    if not -len(shape) - 1 <= place <= len(shape):
        raise invalid(f"Tried to expand dim index {place} for tensor with {len(shape)} dimensions.")
    place += len(shape) + 1 if place < 0 else 0
    return np.reshape(value, (*shape[:place], 1, *shape[place:]))


def _with_axis(shape: tuple[int, ...], axis: Any) -> tuple[Any, ...]:
    place = int(axis.item())
    return (slice(None),) * (place + len(shape) + 1 if place < 0 else place) + (None,)


_quick_expand = once_a_shape(_expand, _with_axis, getitem)


def _expand_rows(is_row: tuple[bool, ...], value: Any, axis: Any) -> Any:
    place = int(np.ravel(axis)[0])
    return np.expand_dims(value, place if place < 0 else place + 1) if is_row == (True, False) else None


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Return `input` with a size-1 axis added at `axis`; `dim` is the old name for `axis`."""
    axis = renamed("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    definition = "input:T dim:Tdim" + INDEX_32
    return tensor_op("ExpandDims", definition, [input, axis], _expanded, _quick_expand, name, rows=_expand_rows)


def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Tensor:
    """Return `input` without size-1 axes: only those in `axis` (an int or a list), or all by default.

    Raises:
        ValueError: An axis is out of range, or its size is known not to be 1.
        InvalidArgumentError: Its size is not 1 at run time.
    """
    axis = renamed("axis", axis, "squeeze_dims", squeeze_dims)
    if axis is not None and np.ndim(axis) == 0:
        axis = [axis]
    if isinstance(axis, Tensor) or any(isinstance(each, Tensor) for each in axis or ()):
        raise TypeError(f"Expected list of ints for 'squeeze_dims' argument to 'Squeeze' Op, not {axis!r}.")
    axes = [int(each) for each in axis or ()]

    def rule(tensor: Tensor) -> Any:
        sizes = tensor.shape.sizes
        return None if sizes is None or (not axes and None in sizes) else _squeezed(sizes, axes)

    def kernel(value: Any) -> Any:
        if not axes:
            return np.squeeze(value)
        shape = np.shape(value)
        wanted = axes if axes == [0] else sorted({each % max(len(shape), 1) for each in axes})
        for each in wanted:
            if each >= len(shape) or shape[each] != 1:
                got = shape[each] if each < len(shape) else "none"
                raise invalid(f"Can not squeeze dim[{each}], expected a dimension of 1, got {got}")
        return value[0] if axes == [0] else np.squeeze(value, tuple(wanted))

    def rows(is_row: tuple[bool, ...], value: Any) -> Any:
        places = tuple({each + 1 if each >= 0 else each for each in axes})
        good = places and all(-value.ndim < each < value.ndim and value.shape[each] == 1 for each in places)
        return np.squeeze(value, places) if good else None

    return tensor_op("Squeeze", "input:T", [input], rule, kernel, name, {"squeeze_dims": axes}, rows)


def _squeezed(sizes: tuple[int | None, ...], axes: list[int]) -> list[int | None]:
    """Return the shape without the named size-1 axes, or without any."""
    gone = set()
    for place, one in enumerate(axes):
        if not -len(sizes) <= one < len(sizes):
            raise ValueError(f"squeeze_dims[{place}] not in [{-len(sizes)},{len(sizes)}).")
        gone.add(one % len(sizes))
        if sizes[one] not in (1, None):
            raise ValueError(f"Can not squeeze dim[{one}], expected a dimension of 1, got {sizes[one]}")
    return [size for place, size in enumerate(sizes) if (place not in gone if axes else size != 1)]


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return `x`, and check at run time that its shape is compatible with `shape`."""
    wanted = as_shape(shape)

    def rule(tensor: Tensor) -> Any:
        return merged(wanted, tensor.shape)

    def kernel(value: Any) -> Any:
        if not wanted.is_compatible_with(np.shape(value)):
            sizes = ",".join("?" if one is None else str(one) for one in wanted.as_list())
            found = ",".join(map(str, np.shape(value)))
            raise invalid(f"Shape of tensor [{found}] is not compatible with expected shape [{sizes}].")
        return value

    return tensor_op("EnsureShape", "input:T", [x], rule, kernel, name, {"shape": wanted})
