"""assert_rank, assert_shapes, assert_type and the like: checks of ranks, shapes and dtypes, static where possible."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.dtypes import DType, as_dtype, float32, int32
from pipeline.compat.graph.scopes import control_dependencies, name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.kernels.errors import prefix
from pipeline.compat.ops.arrays.shaping import rank as rank_of
from pipeline.compat.ops.arrays.shaping import shape
from pipeline.compat.ops.control.asserting import Assert
from pipeline.compat.ops.control.flow import group, no_op, with_dependencies
from pipeline.compat.ops.math.comparing import equal, greater_equal
from pipeline.compat.ops.math.logic import logical_or
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.compat.values.static import constant_value


def is_numeric_tensor(tensor: Any) -> bool:
    """Return whether this is a tensor with a numeric dtype."""
    if not isinstance(tensor, Tensor):
        return False
    dtype = tensor.dtype.base_dtype
    return dtype.is_floating or dtype.is_integer or dtype.is_complex or dtype.is_quantized


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> Operation:
    """Raise TypeError unless the tensor has the dtype; return an op that does nothing."""
    dtype = as_dtype(tf_type)
    with name_scope(name, "assert_type"):
        if not isinstance(tensor, SparseTensor):
            tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype != dtype:
            raise TypeError(f"{prefix(message)}{tensor.name} must be of type {dtype!r}; got {tensor.dtype!r}")
        return no_op("statically_determined_correct_type")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """Raise TypeError unless x has an integer dtype; return an op that does nothing."""
    with name_scope(name, "assert_integer"):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(f'{prefix(message)}Expected "x" to be integer type.  Found: {x.name} of dtype {x.dtype}')
        return no_op("statically_determined_was_integer")


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """Return the tensor; raise ValueError unless it is statically known to be a scalar."""
    with name_scope(name, "assert_scalar") as scope:
        scalar = convert_to_tensor(tensor, name=scope)
        if scalar.shape.ndims != 0:
            raise ValueError(f"{prefix(message)}Expected scalar shape for {scalar.name}, saw shape: {scalar.shape}.")
        return scalar


def _ranks_hold(x: Any, ranks: tuple[Any, ...], text: str, found: Any, compare: Any, more: tuple[Any, Any]) -> Any:
    """Check the rank of x while building the graph if the ranks are known, else with an Assert op.

    Args:
        x: The tensor.
        ranks: The ranks to compare with, as tensors.
        text: How the ValueError's text begins, with placeholders for the ranks.
        found: `found(rank, ranks)`, called with ints: whether the check holds.
        compare: `compare(rank of x, ranks)`, called with tensors: the condition.
        more: The data that Assert shows, and how many elements of each.
    """
    for each in ranks:
        assert_type(each, int32)
    known = [constant_value(each) for each in ranks]
    if all(each is not None for each in known):
        if any(getattr(each, "ndim", 0) for each in known):
            raise ValueError("Rank must be a scalar.")
        have = x.shape.ndims
        if have is not None:
            wanted = [int(each) for each in known]
            if not found(have, wanted):
                raise ValueError(f"{text.format(*wanted, all=tuple(wanted))}.  Received rank {have}, shape {x.shape}")
            return no_op(name="static_checks_determined_all_ok")
    condition = compare(rank_of(x), ranks)
    for each, value in zip(ranks, known, strict=True):
        if value is None:
            scalar = assert_rank(each, 0, data=["Rank must be a scalar. Received rank: ", each])
            condition = with_dependencies([scalar], condition)
    return Assert(condition, more[0], summarize=more[1])


def _label(x: Any) -> str:
    return "" if isinstance(x, SparseTensor) else str(x.name)


def assert_rank(
    x: Any, rank: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: str | None = None
) -> Operation:
    """Return an op that checks that x has this rank.

    Args:
        x: A tensor or SparseTensor.
        rank: An int32 scalar.
        data: What the op's error shows.
        summarize: How many elements of each tensor it shows.
        message: How the error message begins.
        name: Name of the scope.

    Raises:
        ValueError: The static rank is a different one.
        InvalidArgumentError: At run time: the rank is a different one.
    """
    return _assert_rank(x, rank, data, (summarize, message, name), "assert_rank", "must have rank", False)


def assert_rank_at_least(
    x: Any, rank: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: str | None = None
) -> Operation:
    """Check that x has at least this rank; otherwise as `assert_rank`."""
    more = (summarize, message, name)
    return _assert_rank(x, rank, data, more, "assert_rank_at_least", "must have rank at least", True)


def _assert_rank(
    x: Any, rank: Any, data: Any, more: tuple[Any, Any, Any], default: str, verb: str, at_least: bool
) -> Operation:
    summarize, message, name = more
    with name_scope(name, default):
        if not isinstance(x, SparseTensor):
            x = convert_to_tensor(x, name="x")
        rank = convert_to_tensor(rank, name="rank")
        text = f"Tensor {_label(x)} {verb}"
        if data is None:
            data = [prefix(message), text, rank, "Received shape: ", shape(x)]
        compare = greater_equal if at_least else equal
        return _ranks_hold(  # type: ignore[no-any-return]
            x,
            (rank,),
            _braces(prefix(message) + text) + " {0}",
            lambda have, wanted: have >= wanted[0] if at_least else have == wanted[0],
            lambda have, wanted: compare(have, wanted[0]),
            (data, summarize),
        )


def _braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _one_of(have: Any, ranks: Any) -> Any:
    if not ranks:
        return convert_to_tensor(False)
    result = equal(ranks[0], have)
    for each in ranks[1:]:
        result = logical_or(result, equal(each, have))
    return result


def assert_rank_in(
    x: Any, ranks: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: str | None = None
) -> Operation:
    """Check that x has one of these ranks; otherwise as `assert_rank`."""
    with name_scope(name, "assert_rank_in"):
        if not isinstance(x, SparseTensor):
            x = convert_to_tensor(x, name="x")
        tensors = tuple(convert_to_tensor(each, name="rank") for each in ranks)
        text = f"Tensor {_label(x)} must have rank in"
        if data is None:
            data = [prefix(message), text, *tensors, "Received shape: ", shape(x)]
        start = _braces(prefix(message) + text) + " {all}"
        return _ranks_hold(  # type: ignore[no-any-return]
            x, tensors, start, lambda have, wanted: have in wanted, _one_of, (data, summarize)
        )


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> DType:
    """Return the common float dtype of the tensors, float32 if there are none; ValueError if there is no such dtype."""
    wanted: DType | None = None if dtype is None else as_dtype(dtype)
    for each in tensors or ():
        if each is None:
            continue
        found = each.dtype.base_dtype
        if wanted is not None and found != wanted:
            raise ValueError(f"{each.name}, type={found}, must be of the same type ({wanted}).")
        wanted = found
    if wanted is None:
        return float32
    if not wanted.is_floating:
        raise ValueError(f"Expected floating point type, got {wanted}.")
    return wanted


def _size(value: Any) -> int | None:
    """The size if it is a number; None if it is a symbol."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


class _Checked:
    """A tensor and the sizes that it must have.

    Attributes:
        innermost: Whether `symbols` are the last axes only: the given shape began with "..." or "*".
        symbols: A number, symbol, None or "." for each axis.
        sizes: The actual sizes, ints where they are static.
    """

    def __init__(self, x: Any, symbols: Any, message: str) -> None:
        self.x, self.name = x, _label(x)
        if not hasattr(symbols, "__iter__"):
            raise ValueError(
                f"{message}Tensor {self.name}.  Specified shape must be an iterable.  Received specified shape: "
                f"{symbols}"
            )
        given = tuple(symbols)
        self.innermost = bool(given) and given[0] in (Ellipsis, "*")
        for at, each in enumerate(given[1:], 1):
            if each in (Ellipsis, "*"):
                raise ValueError(
                    f"{message}Tensor {self.name} specified shape index {at}.  Symbol `...` or `*` for a variable "
                    "number of unspecified dimensions is only allowed as the first entry"
                )
        self.symbols = (given[1:] if self.innermost else given) or (1,)
        dynamic: Any = shape(x)
        sizes = x.shape.sizes
        if sizes is None:
            self.sizes: Any = dynamic
        else:
            self.sizes = [dynamic[at] if size is None else size for at, size in enumerate(sizes)] or (1,)


def assert_shapes(
    shapes: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: str | None = None
) -> Operation:
    """Return an op that checks shapes against each other: a symbol stands for the same size everywhere.

    Args:
        shapes: A dict, or a list of pairs, from tensors to shapes. A shape is a sequence of numbers and symbols; None
            or "." is any size; "..." or "*" in front is any number of axes. A shape of None is not checked.
        data: What the op's error shows.
        summarize: How many elements of each tensor it shows.
        message: How the error message begins.
        name: Name of the scope.

    Raises:
        ValueError: A static shape does not fit.
        InvalidArgumentError: At run time: a shape does not fit.
    """
    start = prefix(message)
    pairs = shapes.items() if isinstance(shapes, dict) else shapes
    with name_scope(name, "assert_shapes"):
        kept = [
            (x if isinstance(x, SparseTensor) else convert_to_tensor(x), wanted)
            for x, wanted in pairs
            if wanted is not None
        ]
        checked = [_Checked(x, wanted, start) for x, wanted in kept]
        more = {"data": data, "summarize": summarize, "message": message, "name": name}
        ranks = []
        for each in checked:
            rank = len(each.symbols)
            if each.innermost:
                if rank > 1:
                    ranks.append(assert_rank_at_least(each.x, rank, **more))
            elif rank <= 1:
                ranks.append(assert_rank_in(each.x, [0, 1], **more))
            else:
                ranks.append(assert_rank(each.x, rank, **more))
        checks = _size_checks(checked, ranks, data, summarize, start)
    with control_dependencies(ranks):
        return group(checks)


def _size_checks(checked: list[_Checked], ranks: list[Any], data: Any, summarize: Any, start: str) -> list[Any]:
    checks: list[Any] = []
    symbols: dict[Any, tuple[Any, str]] = {}
    for each in checked:
        for at, symbol in enumerate(each.symbols):
            if symbol in (None, "."):
                continue
            axis = at - len(each.symbols) if each.innermost else at
            with control_dependencies(ranks):
                actual = each.sizes[axis]
            if _size(symbol) is not None:
                wanted, by = symbol, "Specified explicitly"
            elif symbol in symbols:
                wanted, by = symbols[symbol]
            else:
                symbols[symbol] = (actual, f"Specified by tensor {each.name} dimension {axis}")
                continue
            if _size(actual) is not None and _size(wanted) is not None:
                if int(actual) != int(wanted):
                    raise ValueError(
                        f"{start}{by}.  Tensor {each.name} dimension {axis} must have size {int(wanted)}.  "
                        f"Received size {int(actual)}, shape {each.x.shape}"
                    )
                continue
            condition = equal(convert_to_tensor(actual), convert_to_tensor(wanted))
            shown = data
            if data is None:
                shown = [start, by, f"Tensor {each.name} dimension", axis, "must have size", wanted]
                shown += ["Received shape: ", shape(each.x)]
            checks.append(Assert(condition, shown, summarize=summarize))
    return checks
