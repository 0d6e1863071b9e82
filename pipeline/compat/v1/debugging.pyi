"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.control.asserting import (
    Assert as Assert, check_numerics as check_numerics, verify_tensor_all_finite as _assert_all_finite,
)
from pipeline.compat.ops.control.checks import (
    assert_equal as assert_equal, assert_greater as assert_greater, assert_greater_equal as assert_greater_equal,
    assert_less as assert_less, assert_less_equal as assert_less_equal, assert_near as assert_near,
    assert_negative as assert_negative, assert_non_negative as assert_non_negative,
    assert_non_positive as assert_non_positive, assert_none_equal as assert_none_equal,
    assert_positive as assert_positive, assert_proper_iterable as assert_proper_iterable,
)
from pipeline.compat.ops.math.comparing import is_finite as is_finite, is_inf as is_inf, is_nan as is_nan
assert_all_finite = _assert_all_finite
