"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.lookup.tables import tables_initializer as tables_initializer
from pipeline.compat.ops.variables.collections import (
    global_variables_initializer as _global_variables, local_variables_initializer as _local_variables,
    variables_initializer as _variables,
)
from pipeline.compat.ops.variables.initializers import (
    constant_initializer as _constant, glorot_uniform_initializer as _glorot_uniform, ones_initializer as _ones,
    random_normal_initializer as _random_normal, random_uniform_initializer as _random_uniform,
    truncated_normal_initializer as _truncated_normal, zeros_initializer as _zeros,
)
constant = _constant
global_variables = _global_variables
glorot_uniform = _glorot_uniform
local_variables = _local_variables
ones = _ones
random_normal = _random_normal
random_uniform = _random_uniform
truncated_normal = _truncated_normal
variables = _variables
zeros = _zeros
