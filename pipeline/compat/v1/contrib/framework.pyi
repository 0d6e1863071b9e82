"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.variables.collections import (
    assert_global_step as assert_global_step, create_global_step as create_global_step,
    get_global_step as get_global_step, get_or_create_global_step as get_or_create_global_step,
)
