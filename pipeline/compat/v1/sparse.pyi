"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.sparse.building import (
    sparse_merge as _merge, sparse_placeholder as _placeholder, sparse_to_indicator as _to_indicator,
)
from pipeline.compat.ops.sparse.form import (
    sparse_concat as _concat, sparse_reorder as _reorder, sparse_reshape as _reshape,
    sparse_tensor_to_dense as _to_dense,
)
from pipeline.compat.values.sparse_tensor import SparseTensor as SparseTensor
concat = _concat
merge = _merge
placeholder = _placeholder
reorder = _reorder
reshape = _reshape
to_dense = _to_dense
to_indicator = _to_indicator
