"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.files.gfile import FastGFile as FastGFile, GFile as GFile, GFile as _Open
from pipeline.compat.ops.files.paths import (
    Copy as Copy, DeleteRecursively as DeleteRecursively, Exists as Exists, Glob as Glob, IsDirectory as IsDirectory,
    ListDirectory as ListDirectory, MakeDirs as MakeDirs, MkDir as MkDir, Remove as Remove, Rename as Rename,
    Stat as Stat, Walk as Walk,
)
Open = _Open
