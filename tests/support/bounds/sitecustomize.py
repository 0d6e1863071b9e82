"""End the process at the first index out of bounds; `make bounds` puts this folder on the path.

Compiled functions declared `noexcept` cannot raise: Cython prints the error and returns, so a test would pass.
"""

import os
import sys

_stderr = os.dup(2)  # pytest replaces it with a file
_usual = sys.unraisablehook
STATUS = 66


def _hook(unraisable):
    error = unraisable.exc_value
    if isinstance(error, (IndexError, AttributeError, UnboundLocalError)) and isinstance(unraisable.object, str):
        os.write(_stderr, f"{error} in {unraisable.object}\n".encode())
        os._exit(STATUS)
    _usual(unraisable)


sys.unraisablehook = _hook
