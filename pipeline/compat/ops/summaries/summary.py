"""tf.summary: scalar, histogram, image and merge, ops that return serialised summaries."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import add_to_collection, get_collection, name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import REALS, first_input, fixed_input
from pipeline.compat.ops.summaries import values as values_of
from pipeline.compat.values.convert import convert_to_tensor


def scalar(name: Any, tensor: Any, collections: Any = None, family: Any = None) -> Tensor:
    """Return a summary of a number.

    Args:
        name: Name of the op; with its scope it is the tag. Invalid characters become "_".
        tensor: A scalar with a real dtype.
        collections: Collections to add the summary to; by default GraphKeys.SUMMARIES.
        family: Tag prefix.

    Returns:
        A string scalar, a serialised Summary.
    """
    with _scope(name, family, [tensor]) as (tag, scope):
        tags = convert_to_tensor(tag, dtypes.string, name="tags")
        values = first_input("values", tensor, REALS)
        attrs = {"T": values.dtype.base_dtype}
        return _collected("ScalarSummary", [tags, values], values_of.scalars, scope, attrs, collections)


def histogram(name: Any, values: Any, collections: Any = None, family: Any = None) -> Tensor:
    """Return a summary of a value distribution.

    Args:
        name: As in `scalar`.
        values: A tensor with a real dtype and any shape.
        collections: As in `scalar`.
        family: As in `scalar`.

    Raises:
        InvalidArgumentError: At run time, if a value is infinite or NaN.
    """
    with _scope(name, family, [values], "HistogramSummary") as (tag, scope):
        tags = convert_to_tensor(tag, dtypes.string, name="tag")
        given = first_input("values", values, REALS, dtypes.float32)
        attrs = {"T": given.dtype.base_dtype}
        return _collected("HistogramSummary", [tags, given], values_of.histogram, scope, attrs, collections)


def image(name: Any, tensor: Any, max_outputs: int = 3, collections: Any = None, family: Any = None) -> Tensor:
    """Return a summary with images, stored as PNG.

    Args:
        name: As in `scalar`; the image's index is added to the tag.
        tensor: uint8 or float [batch, height, width, 1, 3 or 4].
        max_outputs: Maximum number of images from the batch.
        collections: As in `scalar`.
        family: As in `scalar`.
    """
    with _scope(name, family, [tensor]) as (tag, scope):
        tags = convert_to_tensor(tag, dtypes.string, name="tag")
        given = first_input("tensor", tensor, ("uint8", "float32", "float16", "float64"), dtypes.float32)
        _at_least_one("max_images", max_outputs, "ImageSummary")
        attrs = {
            "T": given.dtype.base_dtype,
            "max_images": max_outputs,
            "bad_color": np.array([255, 0, 0, 255], np.uint8),
        }
        most = max_outputs
        kernel = lambda tag, value: values_of.images(tag, np.asarray(value), most)  # noqa: E731
        return _collected("ImageSummary", [tags, given], kernel, scope, attrs, collections)


def merge(inputs: Sequence[Any], collections: Any = None, name: str | None = None) -> Tensor:
    """Merge several summaries into one.

    Args:
        inputs: A list of tensors with serialised summaries.
        collections: Collections to add the result to; none by default.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time, if two values have the same tag.
    """
    name = _clean(name)
    with name_scope(name, "Merge", inputs):
        if not isinstance(inputs, (list, tuple)):
            raise TypeError(f"Expected list for 'inputs' argument to 'merge_summary' Op, not {inputs!r}.")
        if not inputs:
            raise ValueError(
                "List argument 'inputs' to 'merge_summary' Op with length 0 shorter than minimum length 1."
            )
        with name_scope(name, "MergeSummary", [inputs]) as scope:
            tensors = [fixed_input("MergeSummary", f"inputs_{i}", each, dtypes.string) for i, each in enumerate(inputs)]
            attrs = {"N": len(tensors)}
            return _collected("MergeSummary", tensors, values_of.merged, scope, attrs, collections or [])


def merge_all(key: Any = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """Merge all summaries in a collection; return None if there are none."""
    found = get_collection(key, scope=scope)
    return merge(found, name=name) if found else None


@contextlib.contextmanager
def _scope(name: Any, family: Any, values: list[Any], default_name: str | None = None) -> Iterator[tuple[str, str]]:
    """Enter a summary's scope; yield its tag and the scope."""
    name, family = _clean(name), _clean(family)
    with name_scope(name if family is None else f"{family}/{name}", default_name, values) as scope:
        path = scope.rstrip("/")
        yield (path if family is None else f"{family}/{path}"), scope


def _clean(name: Any) -> Any:
    """Return the name with invalid characters replaced."""
    return None if name is None else re.sub(r"[^-/\w.]", "_", name).lstrip("/")


def _at_least_one(attr: str, value: int, op_type: str) -> None:
    if value < 1:
        raise ValueError(f"Value for attr '{attr}' of {value} must be at least minimum 1 for '{op_type}'")


def _collected(
    op_type: str,
    inputs: list[Tensor],
    kernel: Any,
    scope: str,
    attrs: dict[str, Any],
    collections: Any,
) -> Tensor:
    made = tensor_node(op_type, inputs, kernel, dtypes.string, (), scope, attrs=attrs)
    for key in [GraphKeys.SUMMARIES] if collections is None else collections:
        add_to_collection(key, made)
    return made
