"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.arrays.arranging import matrix_transpose as _transpose
from pipeline.compat.ops.arrays.arranging import matrix_transpose as matrix_transpose
from pipeline.compat.ops.arrays.diagonals import diag as _tensor_diag
from pipeline.compat.ops.arrays.diagonals import eye as eye
from pipeline.compat.ops.arrays.diagonals import matrix_band_part as _band_part
from pipeline.compat.ops.arrays.diagonals import matrix_diag as _diag
from pipeline.compat.ops.arrays.diagonals import matrix_set_diag as _set_diag
from pipeline.compat.ops.math.nn import l2_normalize as l2_normalize
from pipeline.compat.ops.math.products import matmul as matmul
from pipeline.compat.ops.math.products import norm as norm
from pipeline.compat.ops.math.products import tensordot as tensordot
band_part = _band_part
diag = _diag
set_diag = _set_diag
tensor_diag = _tensor_diag
transpose = _transpose
