"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.math.nn import l2_normalize as l2_normalize
from pipeline.compat.ops.math.products import matmul as matmul
