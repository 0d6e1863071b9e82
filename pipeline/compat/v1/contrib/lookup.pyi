"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.lookup.contrib import HashTable as HashTable
from pipeline.compat.ops.lookup.contrib import TextFileIdTableInitializer as TextFileIdTableInitializer
from pipeline.compat.ops.lookup.contrib import TextFileStringTableInitializer as TextFileStringTableInitializer
from pipeline.compat.ops.lookup.contrib import index_table_from_file as index_table_from_file
from pipeline.compat.ops.lookup.contrib import index_table_from_tensor as index_table_from_tensor
from pipeline.compat.ops.lookup.contrib import index_to_string_table_from_file as index_to_string_table_from_file
from pipeline.compat.ops.lookup.contrib import index_to_string_table_from_tensor as index_to_string_table_from_tensor
from pipeline.compat.ops.lookup.ids import FastHashSpec as FastHashSpec
from pipeline.compat.ops.lookup.ids import HasherSpec as HasherSpec
from pipeline.compat.ops.lookup.ids import IdTableWithHashBuckets as IdTableWithHashBuckets
from pipeline.compat.ops.lookup.ids import StaticVocabularyTable as StaticVocabularyTable
from pipeline.compat.ops.lookup.ids import StrongHashSpec as StrongHashSpec
from pipeline.compat.ops.lookup.mutable import DenseHashTable as _MutableDenseHashTable
from pipeline.compat.ops.lookup.mutable import MutableHashTable as MutableHashTable
from pipeline.compat.ops.lookup.tables import KeyValueTensorInitializer as KeyValueTensorInitializer
from pipeline.compat.ops.lookup.tables import StaticHashTable as StaticHashTable
from pipeline.compat.ops.lookup.tables import TextFileIndex as TextFileIndex
from pipeline.compat.ops.lookup.tables import TextFileInitializer as TextFileInitializer
MutableDenseHashTable = _MutableDenseHashTable
