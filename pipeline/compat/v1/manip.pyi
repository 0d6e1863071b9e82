"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.arrays.arranging import reverse as reverse, roll as roll, tile as tile
from pipeline.compat.ops.arrays.gathering import gather_nd as gather_nd
from pipeline.compat.ops.arrays.scattering import scatter_nd as scatter_nd
from pipeline.compat.ops.arrays.shaping import reshape as reshape
