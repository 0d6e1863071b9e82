"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.lookup.mutable import DenseHashTable as DenseHashTable
from pipeline.compat.ops.lookup.mutable import MutableHashTable as MutableHashTable
