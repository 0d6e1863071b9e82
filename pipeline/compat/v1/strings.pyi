"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.strings.elements import as_string as as_string
from pipeline.compat.ops.strings.elements import length as length
from pipeline.compat.ops.strings.elements import lower as lower
from pipeline.compat.ops.strings.elements import strip as strip
from pipeline.compat.ops.strings.elements import to_hash_bucket as to_hash_bucket
from pipeline.compat.ops.strings.elements import to_hash_bucket_fast as to_hash_bucket_fast
from pipeline.compat.ops.strings.elements import to_hash_bucket_strong as to_hash_bucket_strong
from pipeline.compat.ops.strings.elements import to_number as to_number
from pipeline.compat.ops.strings.elements import upper as upper
from pipeline.compat.ops.strings.joining import join as join
from pipeline.compat.ops.strings.joining import reduce_join as reduce_join
from pipeline.compat.ops.strings.regex import regex_full_match as regex_full_match
from pipeline.compat.ops.strings.regex import regex_replace as regex_replace
from pipeline.compat.ops.strings.splitting import split as split
from pipeline.compat.ops.strings.splitting import substr as substr
