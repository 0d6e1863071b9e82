"""max_record_bytes: the size limit for one line, record or whole file."""

from __future__ import annotations

import sys

from pipeline.dtypes import integer
from pipeline.errors import ResourceExhaustedError, invalid

# The default. Memory stays within a small multiple of this, even for a file in the wrong format or with extreme
# compression.
MAX_RECORD_BYTES = 1 << 30


def byte_limit(value: int | None) -> int:
    """Validate and return `max_record_bytes`; InvalidArgumentError if it is negative, TypeError if not an integer."""
    limit = sys.maxsize if value is None else integer(value, "max_record_bytes")
    if limit < 0:
        raise invalid(f"max_record_bytes must be >= 0 not {limit}")
    return limit


def too_long(what: str, limit: int, given: bool = True) -> ResourceExhaustedError:
    """Return the error for something longer than the limit.

    Args:
        what: Subject and verb of the message.
        limit: The limit.
        given: True if the caller can set another limit.
    """
    hint = "; max_record_bytes= sets another limit" if given else ""
    return ResourceExhaustedError(None, None, f"{what} more than the limit of {limit:,} bytes{hint}")
