"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.lookup.ids import (
    index_table_from_file as index_table_from_file, index_table_from_tensor as index_table_from_tensor,
)
from pipeline.compat.ops.lookup.tables import (
    KeyValueTensorInitializer as KeyValueTensorInitializer, StaticHashTable as _HashTable,
    StaticHashTable as StaticHashTable, TextFileIndex as TextFileIndex, TextFileInitializer as TextFileInitializer,
)
HashTable = _HashTable
