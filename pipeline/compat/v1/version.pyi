"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.platform.behaviour import VERSION as VERSION
