"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.math.logic import bitwise_and as bitwise_and
from pipeline.compat.ops.math.logic import bitwise_or as bitwise_or
from pipeline.compat.ops.math.logic import bitwise_xor as bitwise_xor
from pipeline.compat.ops.math.logic import invert as invert
from pipeline.compat.ops.math.logic import left_shift as left_shift
from pipeline.compat.ops.math.logic import right_shift as right_shift
