"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.strings.elements import (
    as_string as as_string, length as length, lower as lower, strip as strip, to_hash_bucket as to_hash_bucket,
    to_hash_bucket_fast as to_hash_bucket_fast, to_number as to_number, upper as upper,
)
from pipeline.compat.ops.strings.regex import regex_full_match as regex_full_match, regex_replace as regex_replace
from pipeline.compat.ops.strings.splitting import join as join, split as split, substr as substr
