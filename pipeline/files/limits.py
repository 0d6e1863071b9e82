"""max_record_bytes: how many bytes one line, record or whole file may have."""

from __future__ import annotations

import sys

from pipeline.dtypes import integer
from pipeline.errors import ResourceExhaustedError, invalid

# The default. A file that is not what it should be, or that compresses too well, takes no more memory than a small
# multiple of this.
MAX_RECORD_BYTES = 1 << 30


def byte_limit(value: int | None) -> int:
    """Return a `max_record_bytes` as a number; InvalidArgumentError if it is negative, TypeError if not an integer."""
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
