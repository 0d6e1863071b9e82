"""tf.resource_loader: files beside the module that asks."""

from __future__ import annotations

import os
import sys


def _beside(depth: int) -> str:
    path: str = sys._getframe(depth + 1).f_globals.get("__file__", "")
    return os.path.dirname(path)


def get_data_files_path() -> str:
    """Return the directory of the caller's file."""
    return _beside(1)


def get_path_to_datafile(path: str) -> str:
    """Return the path of a file in the directory of the caller's file."""
    return os.path.join(_beside(1), path)


def get_root_dir_with_all_resources() -> str:
    """Return the directory of the caller's file."""
    return _beside(1)


def load_resource(path: str) -> bytes:
    """Return what is in a file; OSError if there is none."""
    with open(path, "rb") as file:
        return file.read()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Return the path as it is."""
    return path
