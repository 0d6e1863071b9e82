"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.arrays.ragged import constant as constant
from pipeline.compat.ops.arrays.ragged import constant_value as constant_value
from pipeline.compat.ops.arrays.ragged import map_flat_values as map_flat_values
from pipeline.compat.ops.arrays.ragged import placeholder as placeholder
from pipeline.compat.values.ragged_value import RaggedTensorValue as RaggedTensorValue
