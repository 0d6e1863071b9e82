"""Convert operation arguments: dtypes, shapes, names and attributes in every form programs use."""

from __future__ import annotations

from typing import Any

from numpy import ndarray

from pipeline.compat.graph.shapes import TensorShape, as_shape


def as_int(value: Any, what: str) -> int:
    """Return an integer attribute without its fraction; TypeError if it is not a number."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return int(value)
    except (TypeError, ValueError):
        raise TypeError(f"Expected int for argument '{what}' not {value!r}.") from None


def as_bool(value: Any, what: str) -> bool:
    """Return a flag as a bool; None counts as False."""
    if value is None:
        return False
    if not isinstance(value, bool):
        raise TypeError(f"Expected bool for argument '{what}' not {value!r}.")
    return value


def as_text(value: Any, what: str) -> str:
    """Return a string attribute; "" for None."""
    if value is None:
        return ""
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"Expected string for argument '{what}' not {value!r}.")
    return value.decode() if isinstance(value, bytes) else value


def as_list(dtypes: Any) -> list[Any]:
    """Return the component dtypes, given as a list or a single dtype."""
    if dtypes is None:
        raise AssertionError("dtypes must be given")
    return list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes]


def as_shapes(shapes: Any, partial: bool = False) -> list[TensorShape] | None:
    """Return the component shapes, given as None, a list or a single shape; partial shapes must be in a list."""
    if partial:
        # These values can only be a single shape.
        if shapes is None or isinstance(shapes, (TensorShape, int, ndarray)) or _is_one_shape(shapes):
            raise ValueError(f"When providing partial shapes, a list of shapes must be provided, got {shapes!r}.")
    elif shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, (list, tuple)):
        raise TypeError(f"shapes must be a TensorShape or a list or tuple of TensorShapes, got {type(shapes)} instead.")
    known = [as_shape(each) for each in ([shapes] if _is_one_shape(shapes) else shapes)]
    if any(each.sizes is None for each in known):
        raise ValueError(f"All shapes must {'have a defined rank' if partial else 'be fully defined'}: {known}")
    if not partial and not all(each.is_fully_defined() for each in known):
        raise ValueError(f"All shapes must be fully defined: {known}")
    return known


def as_names(names: Any, kinds: list[Any]) -> list[str] | None:
    """Return the component names, given as a list or a single name; None for no names."""
    if names is None:
        return None
    labels = list(names) if isinstance(names, (list, tuple)) else [names]
    if len(labels) != len(kinds):
        raise ValueError(
            "List of names must have the same length as the list of dtypes, "
            f"received len(names)={len(labels)},len(dtypes)={len(kinds)}"
        )
    return labels


def _is_one_shape(shapes: Any) -> bool:
    return isinstance(shapes, (list, tuple)) and all(each is None or isinstance(each, int) for each in shapes)
