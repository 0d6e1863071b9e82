"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.lookup.ids import StaticVocabularyTable as StaticVocabularyTable
from pipeline.compat.ops.lookup.tables import KeyValueTensorInitializer as KeyValueTensorInitializer
from pipeline.compat.ops.lookup.tables import StaticHashTable as StaticHashTable
from pipeline.compat.ops.lookup.tables import TextFileIndex as TextFileIndex
from pipeline.compat.ops.lookup.tables import TextFileInitializer as TextFileInitializer
