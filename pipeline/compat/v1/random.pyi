"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.graph.scopes import seeds_or_none as _get_seed, set_random_seed as set_random_seed
from pipeline.compat.ops.random.numbers import (
    categorical as categorical, multinomial as multinomial, random_normal as _normal, random_uniform as _uniform,
    truncated_normal as truncated_normal,
)
from pipeline.compat.ops.random.shuffle import random_shuffle as _shuffle
get_seed = _get_seed
normal = _normal
shuffle = _shuffle
uniform = _uniform
