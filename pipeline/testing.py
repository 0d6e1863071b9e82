"""Checks for your own project's tests: does a dataset or source resume exactly, and is every run the same?

They need no test framework: a failed check raises `CheckFailed`, an AssertionError.
"""

from pipeline.checks.outcome import Checked, CheckFailed
from pipeline.checks.resume import check_resume
from pipeline.checks.source import check_source

__all__ = ["CheckFailed", "Checked", "check_resume", "check_source"]


def __dir__() -> list[str]:
    return __all__
