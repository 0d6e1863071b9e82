"""Has UndefinedBehaviorSanitizer report to the file of `log_path` in UBSAN_OPTIONS.

Its runtime reads that option, but the function that it calls has a namesake in AddressSanitizer's runtime, which comes
first. Reports would go to standard error, which pytest captures, and loses if the process ends.
"""

import ctypes
import os

options = dict(each.partition("=")[::2] for each in os.environ.get("UBSAN_OPTIONS", "").split(":"))
if "log_path" in options:
    ctypes.CDLL("libubsan.so.1").__sanitizer_set_report_path(options["log_path"].encode())
