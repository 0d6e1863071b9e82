"""Combine examples into one batch: stacked, padded, as values and row splits, or by the user's function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._batch import AgainMemory, concatenate, stack
from pipeline._block import finished
from pipeline._calls import alike_arrays, all_arrays, all_of
from pipeline._calls import as_tensors as listed_as_tensors
from pipeline.dtypes import native, object_vector, refuse_missing
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.foreign import array_of_texts, holds_text, numpy_of
from pipeline.nest import ListParts, ListValue, Nest, TupleParts, has_nested, is_nested, kept
from pipeline.stages.block import Block, Columns, Examples, size_of, text_of
from pipeline.stages.calls import called
from pipeline.stages.padding import TO_LONGEST, PadTo
from pipeline.stages.run import Measured

_NUMBERS = (bool, int, float, complex)
_LIST, _NUMBER_TYPES = frozenset({list}), frozenset(_NUMBERS)
_CONVERTED = _NUMBER_TYPES | _LIST
_WITHOUT_MASK = frozenset({*_NUMBERS, str, bytes, np.ndarray, *np.sctypeDict.values()})

# From this size on, malloc returns a batch's memory to the kernel, which clears the pages for the next batch. In
# batches with 64 images (float32[3, 224, 224]), clearing took 0.2 ms per image, compared with 1.6 ms in total.
_LARGE = 32 << 20

_EXACT = 1 << 53  # float64 holds all integers up to this one

# Column containers, and their types in a batch.
_KINDS: dict[type, Callable[[list[Any]], Any]] = {TupleParts: tuple, ListParts: list}

Leaf = Callable[[list[Any], str], Any]


class Collate:
    """How examples become a batch.

    Args:
        kind: The transformation's name, for errors.
        pad: Value used to pad rows to the longest; a dict maps components to values; None to stack.
        splits: Turn ragged rows into (values, row_splits).
        function: Called with a list of examples, returns the batch; None for this class's own way.
        tensors: True for TensorFlow's conventions: a list is a container of components, and a list or tuple with only
            one component is replaced by that component.
        pad_to: Target length of padded rows.

    Attributes:
        measured: Takes facts about the first example, for reports; None for nothing.
    """

    def __init__(
        self,
        kind: str = "batch",
        pad: Any = None,
        splits: bool = False,
        function: Callable[[list[Any]], Any] | None = None,
        tensors: bool = False,
        pad_to: PadTo = TO_LONGEST,
    ) -> None:
        self._kind, self._pad_to, self._widens = kind, pad_to, pad_to.widens
        self._pad, self._splits, self._function, self.tensors = pad, splits, function, tensors
        self.plain = pad is None and not splits and function is None
        self.measured: Measured | None = None
        self._memory: AgainMemory | None = None  # for large batches
        self._first = True

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array for a batch, in the memory of a dropped one if batches are large."""
        if self._memory is None:
            return np.empty(shape, dtype)
        with self._memory:
            return np.empty(shape, dtype)

    def batch(self, block: Block) -> Any:
        """Return the batch for a block's examples. Nothing else refers to its memory."""
        if self._function is not None:
            examples = list(block.values.examples())
            made = called(self._function, examples, lambda: _of_several(block))
            if isinstance(made, Mapping) and not isinstance(made, dict):  # keep methods, for example of a BatchEncoding
                return made
            return kept(made, converts=False)
        try:
            if self._memory is not None:
                with self._memory:
                    return self._batch(block.values)
            made = self._batch(block.values)
            if self._first:
                self._first = False
                self._note(block.values)
                self._memory = AgainMemory() if size_of(Examples([made])) > _LARGE else None
            return made
        except (InvalidArgumentError, TypeError) as error:
            odd = getattr(error, "odd", None)
            if odd is None:
                raise
            names = [block.named(i) for i in dict.fromkeys((odd if hasattr(error, "alone") else 0, odd))]
            raise _with_text(error, f"{error} ({' and '.join(names)})") from None

    def _note(self, values: Columns | Examples) -> None:
        """Note how many fields the first example has, and whether most must be converted to arrays."""
        if self.measured is None:
            return
        if isinstance(values, Columns):
            parts = [each[0] for each in values.arrays]
        else:
            first = values.items[0]
            parts = Nest(first, False).flatten(first) if is_nested(first, False) else [first]
        self.measured.fields = len(parts)
        self.measured.converts = sum([type(each) in _CONVERTED for each in parts]) > len(parts) / 2

    def _batch(self, values: Columns | Examples) -> Any:
        if self.tensors:
            listed = isinstance(values, Examples) and type(values.items[0]) is list
            made = bare(self._stacked(as_tensors(values)))
            return list(made) if listed and type(made) is tuple else made
        return self._stacked(values)

    def _stacked(self, values: Columns | Examples) -> Any:
        if type(values) is Columns and not self._widens:
            try:
                made = finished(values, self._splits, _stacked_list)
            except (InvalidArgumentError, TypeError):  # the code below names the component
                made = None
            if made is not None:
                return made
        return self._structured(list(values.examples()))

    def _structured(self, examples: list[Any]) -> Any:
        first = examples[0]
        kind = type(first)
        if kind is np.ndarray:
            return self._leaf(examples, None)
        if self._widens and not isinstance(self._pad, Mapping):
            self._check_one_row(first)
        if kind is dict and not has_nested(first, False):
            self._check_names(list(first))
            self._check_keys(examples, first)
            return {key: self._leaf([each[key] for each in examples], key) for key in first}
        if kind in (tuple, list) and not has_nested(first, False) and not (kind is list and is_array(first)):
            columns = self._columns(examples, len(first), kind)
            return kind([self._leaf(column, i) for i, column in enumerate(columns)])
        if is_nested(first, False) and not (kind is list and is_array(first)):
            nest = Nest(first, False)
            self._check_names(nest.names)
            rows = [self._flat(nest, example, i) for i, example in enumerate(examples)]
            flat = zip(*rows, strict=True)
            return nest.pack([self._leaf(list(each), name) for name, each in zip(nest.names, flat, strict=True)])
        return self._leaf(examples, None)

    def _flat(self, nest: Nest, example: Any, i: int) -> list[Any]:
        try:
            return nest.flatten(example)
        except ValueError as error:
            raise _odd(invalid(f"{self._kind}: examples differ in structure: {error}"), i) from None

    def _check_names(self, names: Sequence[Any]) -> None:
        """Reject a `pad` for an unknown component."""
        if isinstance(self._pad, Mapping):
            for name in self._pad:
                if name not in names:
                    raise invalid(f"{self._kind}: pad: there is no component {name!r}; there are {list(names)}")

    def _check_one_row(self, example: Any) -> None:
        """Require names if several components could be padded."""
        if not is_nested(example, False) or (type(example) is list and is_array(example)):
            return
        nest = Nest(example, False)
        rows = [name for name, value in zip(nest.names, nest.flatten(example), strict=True) if _is_row(value)]
        if len(rows) > 1:
            text = f"an example has several arrays, {rows}: name those to pad, such as pad={{{rows[0]!r}: 0}}"
            raise invalid(f"{self._kind}: pad_to= and pad_to_multiple_of=: {text}")

    def _check_keys(self, examples: list[Any], first: dict[Any, Any]) -> None:
        keys = first.keys()
        for i, example in enumerate(examples):
            if type(example) is not dict or example.keys() != keys:
                got = sorted(example, key=str) if isinstance(example, dict) else type(example).__name__
                text = f"{self._kind}: every example must have the keys of the first one, {list(first)}; got {got}"
                raise _odd(invalid(text), i)

    def _columns(self, examples: list[Any], count: int, kind: type) -> list[list[Any]]:
        for i, example in enumerate(examples):
            if not isinstance(example, (tuple, list)) or len(example) != count:
                got = f"{len(example)} of them" if isinstance(example, (tuple, list)) else type(example).__name__
                text = f"{self._kind}: every example must be a {kind.__name__} of {count} components; got {got}"
                raise _odd(invalid(text), i)
        return [list(column) for column in zip(*examples, strict=True)]

    def _leaf(self, values: list[Any], name: Any) -> Any:
        where = f"{self._kind}: {'the value' if name is None else f'component {name!r}'}"
        hint = _BY_TENSORS if self.tensors else _BY_BATCH
        if self.plain:
            return stacked(values, where, hint)
        fill = self._pad.get(name) if isinstance(self._pad, Mapping) else self._pad
        if (fill is not None or self._splits) and is_array(telling(values)):
            return self._ragged(values, fill, where)
        return stacked(values, where, hint)

    def _ragged(self, values: list[Any], fill: Any, where: str) -> Any:
        arrays = values
        if not alike_arrays(values):
            _refuse_mixed(values, where)
            arrays = _as_arrays(values, where)
            holds = next((each for each in arrays if each.size), None)
            dtype = _dtype_of_empty(values, arrays, fill) if holds is None else holds.dtype
            arrays = [each if each.size or each.dtype == dtype else each.astype(dtype) for each in arrays]
        if arrays[0].dtype.hasobject:
            kinds = [text_of(each) for each in arrays]
            _refuse_texts(kinds, where)
            _refuse_fill(kinds, fill, where)
        if fill is not None and not isinstance(fill, (bytes, str)):
            fill = empty_string(arrays, fill)
        try:
            if self._splits and fill is None:
                if arrays[0].ndim == 0:
                    return stacked(arrays, where)
                splits = np.zeros(len(arrays) + 1, np.int64)
                np.cumsum([len(each) for each in arrays], out=splits[1:])
                return native(concatenate(arrays)), splits
            return stacked(arrays, where) if arrays[0].ndim == 0 else native(self._pad_to.padded(arrays, fill))
        except (InvalidArgumentError, TypeError) as error:
            told = _with_text(error, f"{where}: {error}")
            if hasattr(error, "odd"):
                vars(told)["alone"] = True
                raise _odd(told, error.odd) from error
            first = arrays[0].dtype, arrays[0].ndim
            odd = next((i for i, each in enumerate(arrays) if (each.dtype, each.ndim) != first), None)
            raise told if odd is None else _odd(told, odd) from error


def _is_row(value: Any) -> bool:
    """Return whether padding can change a component's length."""
    return bool(is_array(value) and np.ndim(value))


def _of_several(block: Block) -> str:
    first, last = block.named(0), block.named(len(block) - 1)
    return f"the batch of {first}" + (f" to {last}" if len(block) > 1 else "")


def telling(values: Sequence[Any]) -> Any:
    """Return the first value other than an empty list, because empty lists have no element type."""
    first = values[0]
    if type(first) is not list or first:
        return first
    return next((each for each in values if isinstance(each, list) and each), first)


def as_tensors(values: Columns | Examples) -> Columns | Examples:
    """Return examples with component lists as tuples, and single components unwrapped."""
    return values if isinstance(values, Columns) else Examples(listed_as_tensors(values.items))


def bare(value: Any) -> Any:
    """Return a tuple's only component. Other values are returned unchanged."""
    return value[0] if type(value) in (tuple, list, TupleParts, ListParts) and len(value) == 1 else value


# Ways to batch rows with different lengths, in the method and in TensorFlow's functions.
_BY_BATCH, _BY_TENSORS = "use batch(n, pad=0)", "pass dynamic_pad=True"


def stacked(values: list[Any], where: str, hint: str = _BY_BATCH) -> Any:
    """Stack one value per example into an array. Strings and other objects become an object array.

    `hint` completes the error for different shapes.

    Raises:
        InvalidArgumentError: The shapes differ.
        TypeError: The dtypes differ, or arrays are mixed with other objects.
    """
    first = telling(values)
    kind = type(first)
    if kind in _NUMBERS and all(isinstance(value, _NUMBERS) for value in values):
        array = exact(np.array(values), values, where)
        if array.dtype.kind in "biufc":
            return array
    if isinstance(first, np.generic) and first.dtype.kind in "biufc" and all(type(value) is kind for value in values):
        return np.array(values, first.dtype)
    if kind is list and (rows := _equal_rows(values)) is not None:
        return rows
    if isinstance(first, (bytes, str)) or not is_array(first):
        _refuse_mixed(values, where)
        return object_vector(values)
    arrays = values
    if not all_arrays(values):
        _refuse_mixed(values, where)
        arrays = _as_arrays(values, where)
    if arrays[0].dtype.hasobject:
        _refuse_texts([text_of(each) for each in arrays], where)
    try:
        return native(stack(arrays))
    except InvalidArgumentError:
        raise _shapes_differ(arrays, where, hint) from None
    except TypeError:
        if all(each.ndim == 0 and each.dtype.kind in "SU" for each in arrays):  # single strings, like other scalars
            return object_vector([each[()] for each in arrays])
        i, odd = next((i, each) for i, each in enumerate(arrays) if each.dtype != arrays[0].dtype)
        text = f"{where} has dtype {arrays[0].dtype} in one example and {odd.dtype} in another"
        raise _odd(TypeError(text), i) from None


def _equal_rows(values: list[Any]) -> Any:
    """Return equally long lists of floats, or of integers, as rows; None for others. It is faster than one by one."""
    size, one = len(values[0]), type(values[0][0]) if values[0] else None
    if one not in (float, int) or not all_of(values, _LIST):
        return None
    kinds = frozenset({one})
    if not all([len(value) == size and all_of(value, kinds) for value in values]):
        return None
    array = np.array(values)
    return array if array.dtype == one else None  # a large integer has another type


def _stacked_list(column: list[Any]) -> Any:
    return stacked(column, "batch: the value")


def _refuse_mixed(values: list[Any], where: str) -> None:
    """Reject arrays mixed with objects, because the result would depend on which of them is first.

    None and texts are objects. Structures are objects too, but all examples have a structure in the same component.
    Text mixed with bytes is also rejected, because such a batch would fail much later.
    """
    if len(set(map(type, values))) == 1:
        return
    listed = _form(next((each for each in values if isinstance(each, list) and each), [0]))  # for empty lists
    forms = [listed if type(each) in (list, tuple) and not each else _form(each) for each in values]
    odd = next((i for i, form in enumerate(forms) if form != forms[0]), None)
    if odd is None:
        _refuse_texts([_text_in(each) for each in values], where)
        return
    one, other = (_called(values[i]) for i in (0, odd))
    if "None" in (one, other):
        missing, kind = (0, other) if one == "None" else (odd, one)
        error = TypeError(f"{where} is None, but {kind} in other examples: fill in missing values, or leave it out")
        vars(error)["alone"] = True
        raise _odd(error, missing)
    raise _odd(TypeError(f"{where} is {one} in one example and {other} in another"), odd)


def _refuse_texts(kinds: list[type | None], where: str) -> None:
    """Reject values that are text in some examples and bytes in others."""
    if str in kinds and bytes in kinds:
        first, other = (str, bytes) if kinds.index(str) < kinds.index(bytes) else (bytes, str)
        text = (
            f"{where} is {first.__name__} in one example and {other.__name__} in another; decode or encode one of them"
        )
        raise _odd(TypeError(text), kinds.index(other))


def _refuse_fill(kinds: list[type | None], fill: Any, where: str) -> None:
    """Reject bytes that pad text, and text that pads bytes."""
    kind = _text_in(fill)
    other = bytes if kind is str else str
    if kind is not None and other in kinds:
        fits = fill.encode() if kind is str else fill.decode(errors="replace")
        raise TypeError(f"{where} is {other.__name__}, and pad={fill!r:.80} is {kind.__name__}: write pad={fits!r:.80}")


def _text_in(value: Any) -> type | None:
    return str if isinstance(value, str) else bytes if isinstance(value, bytes) else None


def _form(value: Any) -> str:
    if isinstance(value, np.ndarray) and not value.ndim and value.dtype.kind in "SU":
        return "object"  # a single string
    return "array" if is_array(value) else "structure" if is_nested(value, False) else "object"


def _called(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def _as_arrays(values: list[Any], where: str) -> list[Any]:
    """Return values as arrays; an error notes the failing example."""
    arrays: list[Any] = []
    try:
        arrays.extend(full_array(value, where) for value in values)
    except (InvalidArgumentError, TypeError) as error:
        vars(error)["alone"] = True
        raise _odd(error, len(arrays)) from None
    return arrays


def full_array(value: Any, where: str) -> Any:
    """Return a value as an array; TypeError for a list with numbers and None."""
    array = as_array(value, where)
    refuse_none(array, value, where)
    return array


def refuse_none(array: Any, value: Any, where: str) -> None:
    """Raise TypeError for an array from a list with numbers and None."""
    if array.dtype == object and isinstance(value, (list, tuple)):
        kinds = set(map(type, array.flat))
        if type(None) in kinds and not kinds <= {type(None), str, bytes}:
            raise TypeError(
                f"{where} is a list of numbers with None: {value!r:.60}; fill in missing values, or wrap the list in "
                "pipeline.ListValue, which keeps it as an object"
            )


def as_array(value: Any, where: str) -> Any:
    """Return a value as an array."""
    if type(value) is np.ndarray:
        return value
    refuse_missing(value, where)
    if isinstance(value, (list, tuple)) and not all_of(value, _NUMBER_TYPES):
        if holds_text(value):
            return _texts(value, where)
        refuse_masks(value, where)
    try:
        array = numpy_of(value)
    except ValueError as error:
        raise _differ_in_shape(value, where) from error
    if array.dtype.kind not in "SU" or hasattr(type(value), "__array__"):
        return exact(array, value, where)
    return _texts(value, where)


def _texts(value: Any, where: str) -> Any:
    """Return texts as an object array."""
    try:
        return array_of_texts(value, where)
    except ValueError as error:
        raise _differ_in_shape(value, where) from error


def refuse_masks(value: Any, where: str) -> None:
    """Raise InvalidArgumentError for masked arrays in a list at any depth, because NumPy would drop the masks."""
    if not isinstance(value, (list, tuple)):
        refuse_missing(value, where)
    elif not all_of(value, _WITHOUT_MASK):
        for each in value:
            refuse_masks(each, where)


def _differ_in_shape(value: Any, where: str) -> InvalidArgumentError:
    text = f"{where} is a list whose items differ in shape, so it cannot become an array: {value!r:.60}"
    return invalid(f"{text}. Use a tuple for the components of an example")


def exact(array: Any, given: Any, where: str) -> Any:
    """Return NumPy's number array; large integers as uint64 instead of floats, if none is negative.

    Raises:
        InvalidArgumentError: NumPy rounded integers, and some values are negative or floats.
    """
    if array.dtype.kind != "f" or not array.size or not isinstance(given, (list, tuple)):
        return array
    if not (np.abs(array) >= _EXACT).any():
        return array
    numbers = np.array(given, object)
    whole = [isinstance(each, (int, np.integer)) for each in numbers.flat]
    if all(whole) and min(numbers.flat) >= 0:  # even if none is rounded, as the dtype must not vary between batches
        return numbers.astype(np.uint64)
    lost = next((each for each, kept in zip(numbers.flat, whole, strict=True) if kept and float(each) != each), None)
    if lost is None:
        return array
    raise invalid(f"{where}: float64 cannot represent the integer {lost} exactly, and no other dtype holds all numbers")


def _shapes_differ(arrays: list[Any], where: str, hint: str) -> Exception:
    i, odd = next((i, each) for i, each in enumerate(arrays) if each.shape != arrays[0].shape)
    one, other = list(arrays[0].shape), list(odd.shape)
    what = f"{where} has shape {one} in one example and {other} in another"
    return _odd(invalid(f"{what}; make them equal, or {hint}"), i)


def _odd(error: Exception, i: int) -> Exception:
    """Note the failing example on an error."""
    vars(error)["odd"] = i
    return error


def _dtype_of_empty(values: list[Any], arrays: list[Any], fill: Any) -> np.dtype[Any]:
    """Return the dtype for a batch without values: an array's dtype, or the pad value's if all rows are lists.

    NumPy makes float64 from an empty list, even in an integer column.
    """
    untold = [isinstance(value, (list, tuple)) for value in values]
    dtype: np.dtype[Any] = arrays[0 if all(untold) else untold.index(False)].dtype
    if fill is None or not all(untold):
        return dtype
    dtype = np.asarray(fill).dtype
    return dtype if dtype.kind in "biufc" else np.dtype(object)


def empty_string(arrays: list[Any], fill: Any) -> Any:
    """Return the value used to pad rows: an empty string for strings, `fill` for others."""
    if arrays[0].dtype.kind in "biufc":
        return fill
    first = next((each.flat[0] for each in arrays if each.size), None)
    return type(first)() if isinstance(first, (bytes, str)) else fill


def _with_text(error: Exception, text: str) -> Exception:
    """Return an error of the same class with another text."""
    return invalid(text) if isinstance(error, InvalidArgumentError) else type(error)(text)


def is_array(value: Any) -> bool:
    """Return whether a value becomes an array: an array, a number, or a list with numbers or strings."""
    if isinstance(value, (list, tuple)):
        if isinstance(value, ListValue):
            return False
        first = next((each for each in value if each is not None), "")  # regardless of the example order
        return isinstance(first, (bytes, str)) or is_array(first)
    if isinstance(value, (bytes, str)):  # also NumPy's
        return False
    return isinstance(value, (*_NUMBERS, np.ndarray)) or hasattr(value, "__array__")
