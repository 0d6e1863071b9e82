"""Names of tests: texts of their parameters, which are the same in every process."""

import re


def label(value):
    """The text of a parameter, without the addresses of objects."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
