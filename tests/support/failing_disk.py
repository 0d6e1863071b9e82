"""Failing files: test programs run with failing_disk.c, which makes the nth call on files in a folder fail."""

import contextlib
import ctypes
import errno
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from helpers import LIMIT

HERE = Path(__file__).parent

# System calls that fail together, and how: only this one, all from this one on, or this one does half its work.
KINDS = {
    **{"write": 1, "fsync": 2, "rename": 4, "truncate": 8, "create": 16, "close": 32, "mkdir": 64, "unlink": 128},
    **{"read": 256, "open": 512},
}
ONCE, FROM_NOW_ON, SHORT = range(3)

# Errors from a disk that is full, broken or over quota.
WRITING = {
    "full": ("write create mkdir", FROM_NOW_ON, errno.ENOSPC),
    "over quota": ("write create mkdir", FROM_NOW_ON, errno.EDQUOT),
    "full for a moment": ("write create mkdir", ONCE, errno.ENOSPC),
    "short writes": ("write", SHORT, 0),
    "broken": ("write fsync rename truncate create close mkdir unlink", ONCE, errno.EIO),
}
READING = {"broken": ("read open", ONCE, errno.EIO), "short reads": ("read", SHORT, 0)}


@functools.cache
def library():
    """Compile failing_disk.c; return its path. Skip the test where that does not work."""
    if sys.platform != "linux" or shutil.which("gcc") is None:
        pytest.skip("needs Linux and gcc")
    path = os.path.join(tempfile.mkdtemp(), "failing_disk.so")
    command = ["gcc", "-O1", "-shared", "-fPIC", "-o", path, str(HERE / "failing_disk.c"), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"failing_disk.c does not compile here: {done.stderr:.300}")
    return path


def run(module, function, *arguments):
    """Call a test module's function in a process whose files can fail; return its result, as JSON."""
    if os.environ.get("LD_PRELOAD"):
        pytest.skip("another library is preloaded")
    call = f"import json, {module}; print(json.dumps({module}.{function}(*{arguments!r})))"
    paths = os.pathsep.join([str(HERE), str(Path(sys.modules[module].__file__).parent), *filter(None, sys.path)])
    variables = {**os.environ, "LD_PRELOAD": library(), "PYTHONPATH": paths}
    command = [sys.executable, "-c", call]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, env=variables)
    assert done.returncode == 0, f"it ended with {done.returncode}: {done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


class Failure:
    """A system call that failed or was short.

    Attributes:
        happened: True if there was an nth call.
    """

    happened = False


@contextlib.contextmanager
def failing(folder, kinds, how, nth, number):
    """Make the nth call on files in a folder fail."""
    disk, failure = ctypes.CDLL(None), Failure()
    bits = sum(KINDS[each] for each in kinds.split())
    disk.fail_at(os.path.realpath(folder).encode(), bits, how, nth, number)
    try:
        yield failure
    finally:
        failure.happened = bool(disk.fail_end())


def moved_clock(seconds, each=0.0):
    """Set the system clock off by this much, and further at each reading."""
    move = ctypes.CDLL(None).move_clock
    move.argtypes = [ctypes.c_longlong, ctypes.c_longlong]
    move(int(seconds * 1e9), int(each * 1e9))
