"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.lookup.tables import tables_initializer as tables_initializer
from pipeline.compat.ops.variables.collections import global_variables_initializer as _global_variables
from pipeline.compat.ops.variables.collections import local_variables_initializer as _local_variables
from pipeline.compat.ops.variables.collections import variables_initializer as _variables
from pipeline.compat.ops.variables.initializers import constant_initializer as _constant
from pipeline.compat.ops.variables.initializers import glorot_uniform_initializer as _glorot_uniform
from pipeline.compat.ops.variables.initializers import ones_initializer as _ones
from pipeline.compat.ops.variables.initializers import random_normal_initializer as _random_normal
from pipeline.compat.ops.variables.initializers import random_uniform_initializer as _random_uniform
from pipeline.compat.ops.variables.initializers import truncated_normal_initializer as _truncated_normal
from pipeline.compat.ops.variables.initializers import zeros_initializer as _zeros
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
