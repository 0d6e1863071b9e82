"""SparseTensorValue: a sparse matrix, made from lists with different lengths."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class SparseTensorValue(NamedTuple):
    """A matrix with values in some places only.

    Attributes:
        indices: int64[n, 2]: row and column per value.
        values: The n values.
        dense_shape: int64[2]: row count and column count.

    Examples:
        >>> example = pipeline.proto.Example()
        >>> example.features.feature["words"].int64_list.value.extend([5, 6])
        >>> found = pipeline.parse_example([example.SerializeToString()], {"words": pipeline.VarLenFeature("int64")})
        >>> found["words"].values.tolist(), found["words"].dense_shape.tolist()
        ([5, 6], [1, 2])
    """

    indices: NDArray[np.int64]
    values: NDArray[Any]
    dense_shape: NDArray[np.int64]
