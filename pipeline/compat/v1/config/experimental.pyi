"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.graph.determinism import enable_op_determinism as enable_op_determinism
