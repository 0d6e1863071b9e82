"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.math.segments import sparse_segment_mean as _segment_mean
from pipeline.compat.ops.math.segments import sparse_segment_sqrt_n as _segment_sqrt_n
from pipeline.compat.ops.math.segments import sparse_segment_sum as _segment_sum
from pipeline.compat.ops.sparse.building import eye as eye
from pipeline.compat.ops.sparse.building import from_dense as from_dense
from pipeline.compat.ops.sparse.building import sparse_expand_dims as _expand_dims
from pipeline.compat.ops.sparse.building import sparse_mask as _mask
from pipeline.compat.ops.sparse.building import sparse_merge as _merge
from pipeline.compat.ops.sparse.building import sparse_placeholder as _placeholder
from pipeline.compat.ops.sparse.building import sparse_reset_shape as _reset_shape
from pipeline.compat.ops.sparse.building import sparse_retain as _retain
from pipeline.compat.ops.sparse.building import sparse_to_indicator as _to_indicator
from pipeline.compat.ops.sparse.building import sparse_transpose as _transpose
from pipeline.compat.ops.sparse.form import sparse_concat as _concat
from pipeline.compat.ops.sparse.form import sparse_fill_empty_rows as _fill_empty_rows
from pipeline.compat.ops.sparse.form import sparse_reorder as _reorder
from pipeline.compat.ops.sparse.form import sparse_reshape as _reshape
from pipeline.compat.ops.sparse.form import sparse_slice as _slice
from pipeline.compat.ops.sparse.form import sparse_split as _split
from pipeline.compat.ops.sparse.form import sparse_tensor_to_dense as _to_dense
from pipeline.compat.ops.sparse.math import sparse_add as _add
from pipeline.compat.ops.sparse.math import sparse_maximum as _maximum
from pipeline.compat.ops.sparse.math import sparse_minimum as _minimum
from pipeline.compat.ops.sparse.math import sparse_reduce_max as _reduce_max
from pipeline.compat.ops.sparse.math import sparse_reduce_max_sparse as _reduce_max_sparse
from pipeline.compat.ops.sparse.math import sparse_reduce_sum as _reduce_sum
from pipeline.compat.ops.sparse.math import sparse_reduce_sum_sparse as _reduce_sum_sparse
from pipeline.compat.ops.sparse.math import sparse_softmax as _softmax
from pipeline.compat.ops.sparse.math import sparse_tensor_dense_matmul as _matmul
from pipeline.compat.ops.sparse.math import sparse_tensor_dense_matmul as _sparse_dense_matmul
from pipeline.compat.values.sparse_tensor import SparseTensor as SparseTensor
add = _add
concat = _concat
expand_dims = _expand_dims
fill_empty_rows = _fill_empty_rows
mask = _mask
matmul = _matmul
maximum = _maximum
merge = _merge
minimum = _minimum
placeholder = _placeholder
reduce_max = _reduce_max
reduce_max_sparse = _reduce_max_sparse
reduce_sum = _reduce_sum
reduce_sum_sparse = _reduce_sum_sparse
reorder = _reorder
reset_shape = _reset_shape
reshape = _reshape
retain = _retain
segment_mean = _segment_mean
segment_sqrt_n = _segment_sqrt_n
segment_sum = _segment_sum
slice = _slice
softmax = _softmax
sparse_dense_matmul = _sparse_dense_matmul
split = _split
to_dense = _to_dense
to_indicator = _to_indicator
transpose = _transpose
