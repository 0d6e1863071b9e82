"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat import v1 as v1
from pipeline.compat.graph.dimensions import dimension_value as dimension_value
from pipeline.compat.platform.text import as_bytes as as_bytes
from pipeline.compat.platform.text import as_str as as_str
from pipeline.compat.platform.text import as_str_any as as_str_any
from pipeline.compat.platform.text import as_text as as_text
