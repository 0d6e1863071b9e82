"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.v1.contrib import (
    framework as framework, lookup as lookup, staging as staging, training as training,
)
