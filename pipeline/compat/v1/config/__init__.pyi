"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.v1.config import experimental as experimental
