"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.arrays.sorting import top_k as top_k
from pipeline.compat.ops.math.nn import (
    l2_normalize as l2_normalize, moments as moments, relu as relu, softmax as softmax,
)
from pipeline.compat.ops.math.unary import sigmoid as sigmoid, tanh as tanh
