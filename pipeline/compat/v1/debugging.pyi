"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.control.asserting import Assert as Assert
from pipeline.compat.ops.control.asserting import check_numerics as check_numerics
from pipeline.compat.ops.control.asserting import verify_tensor_all_finite as _assert_all_finite
from pipeline.compat.ops.control.checks import assert_equal as assert_equal
from pipeline.compat.ops.control.checks import assert_greater as assert_greater
from pipeline.compat.ops.control.checks import assert_greater_equal as assert_greater_equal
from pipeline.compat.ops.control.checks import assert_less as assert_less
from pipeline.compat.ops.control.checks import assert_less_equal as assert_less_equal
from pipeline.compat.ops.control.checks import assert_near as assert_near
from pipeline.compat.ops.control.checks import assert_negative as assert_negative
from pipeline.compat.ops.control.checks import assert_non_negative as assert_non_negative
from pipeline.compat.ops.control.checks import assert_non_positive as assert_non_positive
from pipeline.compat.ops.control.checks import assert_none_equal as assert_none_equal
from pipeline.compat.ops.control.checks import assert_positive as assert_positive
from pipeline.compat.ops.control.checks import assert_proper_iterable as assert_proper_iterable
from pipeline.compat.ops.math.comparing import is_finite as is_finite
from pipeline.compat.ops.math.comparing import is_inf as is_inf
from pipeline.compat.ops.math.comparing import is_nan as is_nan
assert_all_finite = _assert_all_finite
