"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.ops.files.gfile import GFile as GFile
from pipeline.compat.ops.files.paths import copy as copy
from pipeline.compat.ops.files.paths import exists as exists
from pipeline.compat.ops.files.paths import get_registered_schemes as get_registered_schemes
from pipeline.compat.ops.files.paths import glob as glob
from pipeline.compat.ops.files.paths import isdir as isdir
from pipeline.compat.ops.files.paths import join as join
from pipeline.compat.ops.files.paths import listdir as listdir
from pipeline.compat.ops.files.paths import makedirs as makedirs
from pipeline.compat.ops.files.paths import mkdir as mkdir
from pipeline.compat.ops.files.paths import remove as remove
from pipeline.compat.ops.files.paths import rename as rename
from pipeline.compat.ops.files.paths import rmtree as rmtree
from pipeline.compat.ops.files.paths import stat_ as _stat
from pipeline.compat.ops.files.paths import walk as walk
stat = _stat
