"""Spec: an element's dtypes and shapes, as `batch` sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.errors import InvalidArgumentError
from pipeline.foreign import numpy_of
from pipeline.nest import Nest, is_nested
from pipeline.stages.collate import is_array, stacked

_OBJECT = np.dtype(object), ()


def spec_of(element: Any) -> Any:
    """Return (dtype, shape) for each component in an element, in its structure."""
    if not is_nested(element, False) or (type(element) is list and is_array(element)):
        return _of_one(element)
    nest = Nest(element, False)
    return nest.pack([_of_one(each) for each in nest.flatten(element)])


def _of_one(value: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    if not is_array(value):
        return _OBJECT
    if not isinstance(value, (list, tuple)):
        array = numpy_of(value)
        return array.dtype, array.shape
    try:
        batch = stacked([value], "spec: the value")
    except (InvalidArgumentError, TypeError):  # for example lists with different lengths
        return _OBJECT
    return batch.dtype, batch.shape[1:]
