"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.sparse.form import (
    sparse_reorder as _reorder, sparse_tensor_to_dense as _to_dense, sparse_to_indicator as _to_indicator,
)
from pipeline.compat.values.sparse_tensor import SparseTensor as SparseTensor
reorder = _reorder
to_dense = _to_dense
to_indicator = _to_indicator
