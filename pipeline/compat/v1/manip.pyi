"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.arrays.arranging import reverse as reverse, tile as tile
from pipeline.compat.ops.arrays.gathering import gather_nd as gather_nd
from pipeline.compat.ops.arrays.shaping import reshape as reshape
