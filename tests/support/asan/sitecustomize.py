"""Make UndefinedBehaviorSanitizer report to the file in UBSAN_OPTIONS' `log_path`.

Its runtime reads that option, but calls a function with a namesake in AddressSanitizer's runtime, and the namesake is
found first. Reports would go to standard error, where pytest captures them and loses them if the process ends.
"""

import ctypes
import os

options = dict(each.partition("=")[::2] for each in os.environ.get("UBSAN_OPTIONS", "").split(":"))
if "log_path" in options:
    ctypes.CDLL("libubsan.so.1").__sanitizer_set_report_path(options["log_path"].encode())
