"""Stands in for pyarrow under ThreadSanitizer: its allocator takes more locks before a fork than the deadlock detector
of the sanitizer can follow, and that ends the process (sanitizer_deadlock_detector.h, a limit of 64 locks a thread)."""

raise ModuleNotFoundError("pyarrow is left out under ThreadSanitizer", name="pyarrow")
