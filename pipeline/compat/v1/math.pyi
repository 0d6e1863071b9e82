"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.arrays.sorting import top_k as top_k
from pipeline.compat.ops.math.arithmetic import (
    add as add, div_no_nan as _divide_no_nan, divide as divide, floordiv as floordiv, floormod as floormod,
    floormod as _mod, maximum as maximum, minimum as minimum, multiply as multiply, pow as pow,
    squared_difference as squared_difference, subtract as subtract, truediv as truediv,
)
from pipeline.compat.ops.math.comparing import (
    equal as equal, greater as greater, greater_equal as greater_equal, is_finite as is_finite, is_inf as is_inf,
    is_nan as is_nan, less as less, less_equal as less_equal, logical_and as logical_and, logical_not as logical_not,
    logical_or as logical_or, logical_xor as logical_xor, not_equal as not_equal,
)
from pipeline.compat.ops.math.nn import l2_normalize as l2_normalize, softmax as softmax
from pipeline.compat.ops.math.reducing import (
    argmax as argmax, argmin as argmin, count_nonzero as count_nonzero, reduce_all as reduce_all,
    reduce_any as reduce_any, reduce_max as reduce_max, reduce_mean as reduce_mean, reduce_min as reduce_min,
    reduce_prod as reduce_prod, reduce_std as reduce_std, reduce_sum as reduce_sum, reduce_variance as reduce_variance,
)
from pipeline.compat.ops.math.unary import (
    abs as abs, acos as acos, acosh as acosh, asin as asin, asinh as asinh, atan as atan, atanh as atanh,
    ceil as ceil, cos as cos, cosh as cosh, exp as exp, expm1 as expm1, floor as floor, log as log, log1p as log1p,
    negative as negative, reciprocal as reciprocal, rint as rint, round as round, rsqrt as rsqrt, sigmoid as sigmoid,
    sign as sign, sin as sin, sinh as sinh, sqrt as sqrt, square as square, tan as tan, tanh as tanh,
)
divide_no_nan = _divide_no_nan
mod = _mod
