"""A stand-in for pyarrow under ThreadSanitizer.

Before a fork, pyarrow's allocator takes more locks than the sanitizer's deadlock detector can follow
(sanitizer_deadlock_detector.h allows 64 locks per thread), and the process would end.
"""

raise ModuleNotFoundError("pyarrow is left out under ThreadSanitizer", name="pyarrow")
