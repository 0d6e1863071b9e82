"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.files.gfile import FastGFile as FastGFile
from pipeline.compat.ops.files.gfile import GFile as GFile
from pipeline.compat.ops.files.gfile import GFile as _Open
from pipeline.compat.ops.files.paths import Copy as Copy
from pipeline.compat.ops.files.paths import DeleteRecursively as DeleteRecursively
from pipeline.compat.ops.files.paths import Exists as Exists
from pipeline.compat.ops.files.paths import Glob as Glob
from pipeline.compat.ops.files.paths import IsDirectory as IsDirectory
from pipeline.compat.ops.files.paths import ListDirectory as ListDirectory
from pipeline.compat.ops.files.paths import MakeDirs as MakeDirs
from pipeline.compat.ops.files.paths import MkDir as MkDir
from pipeline.compat.ops.files.paths import Remove as Remove
from pipeline.compat.ops.files.paths import Rename as Rename
from pipeline.compat.ops.files.paths import Stat as Stat
from pipeline.compat.ops.files.paths import Walk as Walk
Open = _Open
