"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.lookup.tables import (
    KeyValueTensorInitializer as KeyValueTensorInitializer, StaticHashTable as StaticHashTable,
    TextFileIndex as TextFileIndex, TextFileInitializer as TextFileInitializer,
)
