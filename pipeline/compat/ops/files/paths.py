"""Functions for tf.gfile and tf.io.gfile: list, make, copy, rename and remove files and directories."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from pipeline.errors import AlreadyExistsError, FailedPreconditionError, NotFoundError, OpError
from pipeline.files.filenames import match_filenames_once
from pipeline.files.os_errors import os_error


class FileStatistics(NamedTuple):
    """Size in bytes, last modification in nanoseconds, and a directory flag."""

    length: int
    mtime_nsec: int
    is_directory: bool


def Exists(filename: Any) -> bool:
    """Return whether a file or directory with this name exists."""
    return os.path.exists(plain_path(filename))


def IsDirectory(dirname: Any) -> bool:
    """Return whether it is a directory."""
    return os.path.isdir(plain_path(dirname))


def Stat(filename: Any) -> FileStatistics:
    """Return a file's or directory's FileStatistics; NotFoundError if it does not exist."""
    path = plain_path(filename)
    try:
        status = os.stat(path)
    except OSError as error:
        raise os_error(path, error) from error
    return FileStatistics(status.st_size, status.st_mtime_ns, stat.S_ISDIR(status.st_mode))


def Glob(filename: Any) -> list[str]:
    """Return the names of files matching a pattern, or any pattern in a list, as str."""
    patterns = [filename] if isinstance(filename, (str, bytes, os.PathLike)) else list(filename)
    return [name for one in patterns for name in match_filenames_once(plain_path(one))]


def ListDirectory(dirname: Any) -> list[str]:
    """Return the names in a directory, in no particular order; NotFoundError if it does not exist."""
    path = plain_path(dirname)
    if not os.path.isdir(path):
        raise NotFoundError(None, None, f"Could not find directory {os.fsdecode(path)}")
    try:
        return [os.fsdecode(name) for name in os.listdir(path)]
    except OSError as error:
        raise os_error(path, error) from error


def MakeDirs(dirname: Any) -> None:
    """Make a directory and its missing parents; an existing directory is fine."""
    path = plain_path(dirname)
    above = path
    while above and not os.path.lexists(above):
        above = os.path.dirname(above)
    if above and not os.path.isdir(above):
        raise FailedPreconditionError(None, None, f"{os.fsdecode(above)} is not a directory")
    _do(path, os.makedirs, path, exist_ok=True)


def MkDir(dirname: Any) -> None:
    """Make a directory; an existing one is fine, a missing parent is an error."""
    path = plain_path(dirname)
    if not os.path.isdir(path):
        _do(path, os.mkdir, path)


def Remove(filename: Any) -> None:
    """Remove a file; FailedPreconditionError for a directory, NotFoundError if it does not exist."""
    path = plain_path(filename)
    if os.path.isdir(path):
        raise FailedPreconditionError(None, None, f"{os.fsdecode(path)}; Is a directory")
    _do(path, os.remove, path)


def DeleteRecursively(dirname: Any) -> None:
    """Remove a directory and everything in it; NotFoundError if it does not exist."""
    path = plain_path(dirname)
    if not os.path.lexists(path):
        raise NotFoundError(None, None, f"{os.fsdecode(path)} not found")
    if os.path.isdir(path) and not os.path.islink(path):
        _do(path, shutil.rmtree, path)
    else:
        _do(path, os.remove, path)


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copy a file; AlreadyExistsError if the new one exists, unless `overwrite`."""
    old, new = plain_path(oldpath), plain_path(newpath)
    _must_not_exist(new, overwrite)
    _do(old, shutil.copyfile, old, new)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Rename a file or directory; AlreadyExistsError if the new one exists, unless `overwrite`."""
    old, new = plain_path(oldname), plain_path(newname)
    _must_not_exist(new, overwrite)
    _do(old, os.replace, old, new)


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (directory, names of its subdirectories, names of its files) for a directory tree.

    Args:
        top: First directory; one that does not exist yields nothing.
        in_order: Yield a directory before its subdirectories instead of after them.
    """
    return walk(top, in_order)


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[OpError], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk as `Walk` does; `onerror` is called with the error if a directory cannot be read."""
    here = os.fsdecode(top)
    try:
        listing = ListDirectory(here)
    except OpError as error:
        if onerror is not None:
            onerror(error)
        return
    directories = [name for name in listing if IsDirectory(os.path.join(here, name))]
    found = here, directories, [name for name in listing if name not in set(directories)]
    if topdown:
        yield found
    for name in directories:
        yield from walk(os.path.join(here, name), topdown, onerror)
    if not topdown:
        yield found


def join(path: Any, *paths: Any) -> Any:
    """Join path components."""
    return os.path.join(path, *paths)


def _must_not_exist(path: bytes, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise AlreadyExistsError(None, None, "file already exists")


def _do(path: bytes, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Call the function; an OSError becomes TensorFlow's error about `path`."""
    try:
        function(*arguments, **options)
    except FileExistsError as error:
        raise AlreadyExistsError(None, None, f"{os.fsdecode(path)}; File exists") from error
    except OSError as error:
        raise os_error(path, error) from error


def _renamed(function: Callable[..., Any], name: str, arguments: Iterable[str]) -> Callable[..., Any]:
    """Return the function under its tf.io.gfile name, with the argument names used there."""
    names = tuple(arguments)

    def renamed(*values: Any, **options: Any) -> Any:
        return function(*values, *(options.pop(key) for key in names[len(values) :] if key in options), **options)

    renamed.__name__ = renamed.__qualname__ = name
    renamed.__doc__ = function.__doc__
    return renamed


exists = _renamed(Exists, "exists", ("path",))
isdir = _renamed(IsDirectory, "isdir", ("path",))
glob = _renamed(Glob, "glob", ("pattern",))
listdir = _renamed(ListDirectory, "listdir", ("path",))
makedirs = _renamed(MakeDirs, "makedirs", ("path",))
mkdir = _renamed(MkDir, "mkdir", ("path",))
remove = _renamed(Remove, "remove", ("path",))
rmtree = _renamed(DeleteRecursively, "rmtree", ("path",))
copy = _renamed(Copy, "copy", ("src", "dst", "overwrite"))
rename = _renamed(Rename, "rename", ("src", "dst", "overwrite"))
stat_ = _renamed(Stat, "stat", ("path",))


def plain_path(name: Any) -> bytes:
    """Return a path as bytes, without the scheme file://."""
    path = os.fsencode(name)
    return path[len(b"file://") :] if path.startswith(b"file://") else path
