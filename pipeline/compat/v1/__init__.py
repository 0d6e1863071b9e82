"""The drop-in for TensorFlow 1 input programs: `import pipeline.compat.v1 as tf`.

Contains the `tensorflow.compat.v1` names used by input pipelines. Modules are imported when one of their names is first
used.
"""

from pipeline.compat import VERSION
from pipeline.compat.namespace import attach as _attach

__version__ = VERSION

_attach(globals())
