"""map_fn, foldl, foldr and scan: a function of every element along the first axis."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import as_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.shaping import shape
from pipeline.compat.ops.control.tensor_array import TensorArray
from pipeline.compat.ops.control.while_loop import while_loop
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.nesting import assert_same_structure, flatten, is_nested, map_structure, pack_as


def _callable(fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"{fn!r} is not callable. Please provide a callable function.")


def _count(tensor: Tensor) -> Any:
    """The number of elements along the first axis: an int, or a tensor if it is not known yet."""
    sizes = tensor.get_shape().sizes
    if sizes is not None and not sizes:
        raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
    if sizes and sizes[0]:
        return sizes[0]
    dynamic: Any = shape(tensor)
    return dynamic[0]


def _elements(tensors: list[Tensor], count: Any, shaped: bool = False) -> list[TensorArray]:
    arrays = []
    for each in tensors:
        shape = each.get_shape()[1:] if shaped else None
        arrays.append(TensorArray(each.dtype, size=count, dynamic_size=False, element_shape=shape))
    return [array.unstack(each) for array, each in zip(arrays, tensors, strict=True)]


def _first_size(tensors: list[Tensor]) -> Any:
    sizes = [each.get_shape().with_rank_at_least(1)[0] for each in tensors]
    for each in sizes[1:]:
        sizes[0].assert_is_compatible_with(each)
    return sizes[0]


def _stacked(arrays: list[TensorArray], first: Any) -> list[Tensor]:
    results = [array.stack() for array in arrays]
    for each in results:
        each.set_shape(as_shape([first]).concatenate(each.get_shape()[1:]))
    return results


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
    """`fn` of each element of `elems` (a tensor or nested tensors of one length), stacked.

    Args:
        dtype: DType of what `fn` returns, nested like it; that of `elems` by default. Also `fn_output_signature`.

    Raises:
        TypeError: `fn` cannot be called.
        ValueError: Scalars, lengths that differ, or results nested in another way.
    """
    _callable(fn)
    signature = dtype if fn_output_signature is None else fn_output_signature
    elems = map_structure(lambda each: each.value() if hasattr(each, "_variable") else each, elems)
    flat = flatten(elems)
    if not flat:
        raise ValueError(
            "elems must be a Tensor or (possibly nested) sequence of Tensors. "
            f"Got {elems}, which does not contain any Tensors."
        )
    with name_scope(name, "map", flat):
        tensors = [convert_to_tensor(each, name="elem") for each in flat]
        if tensors[0].get_shape().ndims == 0:
            raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
        first = _first_size(tensors)
        count = _count(tensors[0])
        arrays = _elements(tensors, count)
        start = constant(0)
        like = elems if signature is None else signature
        kinds = [each.dtype for each in tensors] if signature is None else flatten(signature)
        results = [
            TensorArray(dtypes.as_dtype(each), size=count, dynamic_size=False, infer_shape=infer_shape)
            for each in kinds
        ]

        def compute(i: Any, written: Any) -> Any:
            value = fn(pack_as(elems, [each.read(i) for each in arrays]))
            assert_same_structure(like, value)
            written = [array.write(i, each) for array, each in zip(written, flatten(value), strict=True)]
            return i + 1, written

        _, written = while_loop(
            lambda i, _: i < count, compute, (start, results), maximum_iterations=count, back_prop=back_prop
        )
        return pack_as(like, _stacked(written, first))


def foldl(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """`fn(accumulated, element)` for each element from the first on; what is accumulated last.

    Args:
        initializer: What is accumulated at first; the first element by default.

    Raises:
        TypeError: `fn` cannot be called.
    """
    return _fold(fn, elems, initializer, name or None, "foldl", False)


def foldr(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """As `foldl`, from the last element on."""
    return _fold(fn, elems, initializer, name or None, "foldr", True)


def _fold(fn: Any, elems: Any, initializer: Any, name: str | None, default_name: str, backwards: bool) -> Any:
    _callable(fn)
    with name_scope(name, default_name, [elems]):
        tensors = [convert_to_tensor(each, name="elem") for each in flatten(elems)]
        count = _count(tensors[0])
        arrays = []
        for each in tensors:
            arrays.append(TensorArray(each.dtype, size=count, dynamic_size=False).unstack(each))

        def element(i: Any) -> Any:
            return pack_as(elems, [array.read(i) for array in arrays])

        if backwards:
            position = count - 1 if initializer is None else count
            accumulated = element(position) if initializer is None else initializer
        else:
            accumulated = element(0) if initializer is None else initializer
            position = constant(1 if initializer is None else 0)

        def compute(i: Any, accumulated: Any) -> Any:
            if backwards:
                i = i - 1
                return [i, fn(accumulated, element(i))]
            accumulated = fn(accumulated, element(i))
            return [i + 1, accumulated]

        def goes_on(i: Any, _: Any) -> Any:
            return i > 0 if backwards else i < count

        _, result = while_loop(goes_on, compute, [position, accumulated], maximum_iterations=count)
        return result


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
    """As `foldl` (or from the last element on, if `reverse`), with everything that is accumulated on the way, stacked.

    Raises:
        TypeError: `fn` cannot be called.
        ValueError: Lengths that differ, or results nested in another way than what they are accumulated to.
    """
    _callable(fn)
    like = elems if initializer is None else initializer
    flat = flatten(elems) if is_nested(elems) else [elems]
    with name_scope(name, "scan", flat):
        tensors = [convert_to_tensor(each, name="elem") for each in flat]
        sizes = tensors[0].get_shape().with_rank_at_least(1).sizes
        count: Any = sizes[0] if sizes else None
        if count is None:
            dynamic: Any = shape(tensors[0])
            count = dynamic[0]
        arrays = _elements(tensors, count, shaped=True)
        begin = (count - 1) if reverse else 0
        if initializer is None:
            accumulated = [array.read(begin) for array in arrays]
            done = 1
        else:
            accumulated = [convert_to_tensor(each) for each in flatten(initializer)]
            done = 0
        results = [
            TensorArray(
                each.dtype,
                size=count,
                element_shape=each.get_shape() if infer_shape else None,
                dynamic_size=False,
                infer_shape=infer_shape,
            )
            for each in accumulated
        ]
        if initializer is None:
            results = [array.write(begin, each) for array, each in zip(results, accumulated, strict=True)]

        def compute(i: Any, accumulated: Any, written: Any) -> Any:
            element = pack_as(elems, [array.read(i) for array in arrays])
            value = fn(pack_as(like, accumulated), element)
            assert_same_structure(like, value)
            flat_value = flatten(value)
            written = [array.write(i, each) for array, each in zip(written, flat_value, strict=True)]
            return (i - 1 if reverse else i + 1), flat_value, written

        start = count - 1 - done if reverse else done
        _, _, written = while_loop(
            lambda i, *_: i >= 0 if reverse else i < count,
            compute,
            (start, accumulated, results),
            maximum_iterations=count,
        )
        return pack_as(like, _stacked(written, _first_size(tensors)))
