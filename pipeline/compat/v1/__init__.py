"""The drop-in for TensorFlow 1 input programs: `import pipeline.compat.v1 as tf`.

The names of `tensorflow.compat.v1` that input pipelines use; each module behind them is imported when one of its names
is first asked for.
"""

from pipeline.compat.namespace import attach as _attach
from pipeline.compat.platform.behaviour import VERSION

__version__ = VERSION

_attach(globals())
