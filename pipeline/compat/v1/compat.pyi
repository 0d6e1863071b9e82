"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat import v1 as v1
from pipeline.compat.graph.dimensions import dimension_value as dimension_value
from pipeline.compat.platform.text import (
    as_bytes as as_bytes, as_str as as_str, as_str_any as as_str_any, as_text as as_text,
)
