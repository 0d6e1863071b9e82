"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.arrays.arranging import matrix_transpose as matrix_transpose, matrix_transpose as _transpose
from pipeline.compat.ops.arrays.diagonals import diag as _tensor_diag, eye as eye
from pipeline.compat.ops.math.nn import l2_normalize as l2_normalize
from pipeline.compat.ops.math.products import matmul as matmul, tensordot as tensordot
tensor_diag = _tensor_diag
transpose = _transpose
