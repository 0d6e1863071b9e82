"""map_fn and scan: a function applied to each row of tensors, in a while_loop."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import as_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.shaping import shape
from pipeline.compat.ops.control.flow import variables_as_tensors
from pipeline.compat.ops.control.tensor_array import TensorArray
from pipeline.compat.ops.control.while_loop import while_loop
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.nesting import assert_same_structure, flatten, is_nested, pack_as

_SCALARS = "Elements in elems must be 1+ dimensional Tensors, not scalars"


def _check_callable(fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"{fn!r} is not callable. Please provide a callable function.")


def _count(tensor: Tensor) -> Any:
    """The number of rows: an int, or a tensor if it is not static."""
    sizes = tensor.get_shape().sizes
    if sizes is not None and not sizes:
        raise ValueError(_SCALARS)
    if sizes and sizes[0]:
        return sizes[0]
    dynamic: Any = shape(tensor)
    return dynamic[0]


def _as_arrays(tensors: list[Tensor], count: Any, shaped: bool = False) -> list[TensorArray]:
    """For each tensor a TensorArray of its rows; `shaped` tells it the shape of a row."""
    arrays = []
    for each in tensors:
        shape = each.get_shape()[1:] if shaped else None
        arrays.append(TensorArray(each.dtype, size=count, element_shape=shape))
    return [array.unstack(each) for array, each in zip(arrays, tensors, strict=True)]


def _static_count(tensors: list[Tensor]) -> Any:
    """The number of rows as a Dimension; ValueError if tensors are known to differ."""
    sizes = [each.get_shape().with_rank_at_least(1)[0] for each in tensors]
    for each in sizes[1:]:
        sizes[0].assert_is_compatible_with(each)
    return sizes[0]


def _stacked(arrays: list[TensorArray], count: Any) -> list[Tensor]:
    """The arrays as tensors of `count` rows."""
    results = [array.stack() for array in arrays]
    for each in results:
        each.set_shape(as_shape([count]).concatenate(each.get_shape()[1:]))
    return results


def _write_all(arrays: list[TensorArray], index: Any, values: Any) -> list[TensorArray]:
    return [array.write(index, each) for array, each in zip(arrays, values, strict=True)]


def map_fn(
    fn: Any,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: Any = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Return the results of `fn` for each row, stacked.

    Args:
        fn: Called with a row, nested as `elems`; returns tensors.
        elems: A tensor, or nested tensors with the same number of rows.
        dtype: The dtypes of what `fn` returns, in its structure; those of `elems` by default.
        parallel_iterations: Without effect.
        back_prop: Without effect.
        swap_memory: Without effect.
        infer_shape: Check that all results have the same shape.
        name: Name of the scope.
        fn_output_signature: New name of `dtype`.

    Raises:
        TypeError: `fn` is not callable.
        ValueError: `elems` holds no tensor, or a scalar; the numbers of rows differ, or `fn` returns another structure.
    """
    _check_callable(fn)
    signature = dtype if fn_output_signature is None else fn_output_signature
    elems = variables_as_tensors(elems)
    flat = flatten(elems)
    if not flat:
        text = "elems must be a Tensor or (possibly nested) sequence of Tensors."
        raise ValueError(f"{text} Got {elems}, which does not contain any Tensors.")
    with name_scope(name, "map", flat):
        tensors = [convert_to_tensor(each, name="elem") for each in flat]
        if tensors[0].get_shape().ndims == 0:
            raise ValueError(_SCALARS)
        static_count = _static_count(tensors)
        count = _count(tensors[0])
        rows = _as_arrays(tensors, count)
        start = constant(0)
        like = elems if signature is None else signature
        kinds = [each.dtype for each in tensors] if signature is None else map(dtypes.as_dtype, flatten(signature))
        results = [TensorArray(each, count, infer_shape=infer_shape) for each in kinds]

        def compute(i: Any, written: Any) -> Any:
            value = fn(pack_as(elems, [each.read(i) for each in rows]))
            assert_same_structure(like, value)
            written = _write_all(written, i, flatten(value))
            return i + 1, written

        _, written = while_loop(lambda i, _: i < count, compute, (start, results), maximum_iterations=count)
        return pack_as(like, _stacked(written, static_count))


def scan(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Return all the values of `accumulated = fn(accumulated, row)`, one for each row, stacked.

    Args:
        fn: Called with what has accumulated and a row.
        elems: A tensor, or nested tensors with the same number of rows.
        initializer: The first value of `accumulated`, not part of the result; by default the first row, which is.
        infer_shape: Check that all results have the same shape.
        reverse: Go from the last row back.
        parallel_iterations, back_prop, swap_memory: Without effect.
        name: Name of the scope.

    Raises:
        TypeError: `fn` is not callable.
        ValueError: The numbers of rows differ, or `fn` returns another structure than it is given.
    """
    _check_callable(fn)
    like = elems if initializer is None else initializer
    flat = flatten(elems) if is_nested(elems) else [elems]
    with name_scope(name, "scan", flat):
        tensors = [convert_to_tensor(each, name="elem") for each in flat]
        rows = _as_arrays(tensors, count := _scan_count(tensors[0]), shaped=True)
        begin = (count - 1) if reverse else 0
        if initializer is None:
            accumulated = [array.read(begin) for array in rows]
            results = _write_all(_arrays_for(accumulated, count, infer_shape), begin, accumulated)
            done = 1
        else:
            accumulated = [convert_to_tensor(each) for each in flatten(initializer)]
            results = _arrays_for(accumulated, count, infer_shape)
            done = 0

        def compute(i: Any, accumulated: Any, written: Any) -> Any:
            row = pack_as(elems, [array.read(i) for array in rows])
            value = fn(pack_as(like, accumulated), row)
            assert_same_structure(like, value)
            written = _write_all(written, i, flatten(value))
            return (i - 1 if reverse else i + 1), flatten(value), written

        def goes_on(i: Any, *_: Any) -> Any:
            return i >= 0 if reverse else i < count

        start = count - 1 - done if reverse else done
        *_, written = while_loop(goes_on, compute, (start, accumulated, results), maximum_iterations=count)
        return pack_as(like, _stacked(written, _static_count(tensors)))


def _scan_count(tensor: Tensor) -> Any:
    """The number of rows: an int, or a tensor if it is not static; unlike `_count`, 0 is an int."""
    sizes = tensor.get_shape().with_rank_at_least(1).sizes
    if sizes and sizes[0] is not None:
        return sizes[0]
    dynamic: Any = shape(tensor)
    return dynamic[0]


def _arrays_for(values: list[Tensor], count: Any, infer_shape: bool) -> list[TensorArray]:
    """Empty TensorArrays for `count` values such as these."""
    shapes = [each.get_shape() if infer_shape else None for each in values]
    return [
        TensorArray(each.dtype, count, infer_shape=infer_shape, element_shape=shape)
        for each, shape in zip(values, shapes, strict=True)
    ]
