"""tf.nest: functions of nested lists, tuples, named tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.compat.values import nesting


def is_nested(seq: Any) -> bool:
    """Return whether it is a list, a tuple or a mapping."""
    return nesting.is_nested(seq)


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Return the leaves; dicts in the order of their keys. With `expand_composites` sparse tensors are taken apart."""
    return nesting.flatten(structure, expand_composites)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Return a structure like the given one, of other leaves.

    Raises:
        TypeError: `flat_sequence` is no sequence.
        ValueError: It has more or less leaves than the structure.
    """
    if not nesting.is_nested(flat_sequence):
        raise TypeError(
            f"Attempted to pack value:\n  {flat_sequence}\ninto a structure, but found incompatible type "
            f"`{type(flat_sequence)}` instead."
        )
    leaves = list(flat_sequence)
    if not nesting.is_nested(structure):
        if len(leaves) != 1:
            raise ValueError(
                "The target structure is of type `"
                f"{type(structure)}`, a leaf, but the input structure is a sequence of length {len(leaves)}."
            )
        return leaves[0]
    count = len(nesting.flatten(structure, expand_composites))
    if count != len(leaves):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} atoms, but flat_sequence had {len(leaves)} items. "
            f"Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return nesting.pack_as(structure, leaves, expand_composites)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Check that two structures nest alike.

    Raises:
        ValueError: They do not have the same number of elements somewhere, or other keys.
        TypeError: The same place holds sequences of different types, and `check_types` is true.
    """
    nesting.assert_same_structure(nest1, nest2, check_types)


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Return the structure of what a function gives for the leaves of one or more structures that nest alike.

    Args:
        func: Called with a leaf of each structure.
        structure: The structures.
        kwargs: check_types, expand_composites.

    Raises:
        TypeError: `func` is no function.
        ValueError: No structure, other arguments, or the structures differ.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check, composites = kwargs.pop("check_types", True), kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(
            f"Only valid keyword arguments are `check_types` and `expand_composites`, not: `{'`, `'.join(kwargs)}`"
        )
    for other in structure[1:]:
        nesting.assert_same_structure(structure[0], other, check)
    return nesting.map_structure(func, *structure, composites=composites)
