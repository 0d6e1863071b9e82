"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.files.gfile import GFile as GFile
from pipeline.compat.ops.files.paths import (
    copy as copy, exists as exists, glob as glob, isdir as isdir, join as join, listdir as listdir,
    makedirs as makedirs, mkdir as mkdir, remove as remove, rename as rename, rmtree as rmtree, stat_ as _stat,
    walk as walk,
)
stat = _stat
