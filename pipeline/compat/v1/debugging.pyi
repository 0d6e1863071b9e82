"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.control.asserting import Assert as Assert, check_numerics as check_numerics
from pipeline.compat.ops.control.checks import (
    assert_equal as assert_equal, assert_greater as assert_greater, assert_greater_equal as assert_greater_equal,
    assert_less as assert_less, assert_less_equal as assert_less_equal, assert_negative as assert_negative,
    assert_non_negative as assert_non_negative, assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal, assert_positive as assert_positive,
)
from pipeline.compat.ops.math.comparing import is_finite as is_finite, is_inf as is_inf, is_nan as is_nan
