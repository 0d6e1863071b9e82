"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.platform.app import run as run
from pipeline.compat.v1.app import flags as flags
