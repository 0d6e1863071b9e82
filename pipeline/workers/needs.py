"""The imports needed by a worker process for a function: the user's modules, and the libraries they import."""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

# Imported by every worker.
OWN = "pipeline.workers.worker"

_PLACES = tuple(
    os.path.join(path, "")
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_PACKAGES = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_OURS = __name__.partition(".")[0]


def of(modules: Iterable[str]) -> tuple[dict[str, int], set[str]]:
    """Return the imports for processes that need these modules and the program.

    Returns:
        The user's modules, with each file's modification time; and the libraries they have imported so far. Each
        process imports the user's modules itself, because their open files and random draws are its own;
        libraries are the same in all processes.
    """
    mine: dict[str, int] = {}
    libraries: set[str] = set()
    waiting = list(modules)
    if has_program():
        waiting.append("__main__")
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        if name in mine or name in libraries or not isinstance(module, ModuleType):
            continue
        file = getattr(module, "__file__", None)
        if name != "__main__" and _is_library(name, file):
            libraries.add(name)
            continue
        mine[name] = _changed(file)
        waiting.extend(_imported(module))
    return mine, libraries


def has_program() -> bool:
    """Return whether processes can import the program: not an interactive session, nor one from standard input."""
    main = sys.modules.get("__main__")
    if getattr(main, "__spec__", None):
        return True
    file = getattr(main, "__file__", None)
    if not file or file == "<stdin>":
        return False
    return os.path.isfile(file) or not os.path.exists(file)  # a pipe can be read only once


def program_has_names() -> bool:
    """Return whether processes find the program's definitions by name.

    `multiprocessing` does not run the `__main__.py` of a package, folder or zip file in a worker.
    """
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return has_program() and (spec is None or spec.name.rpartition(".")[2] != "__main__")


def _imported(module: ModuleType) -> set[str]:
    """Return the modules a module imports its names from."""
    return {
        name
        for value in list(vars(module).values())
        if isinstance(name := value.__name__ if isinstance(value, ModuleType) else _origin(value), str)
    }


def _origin(value: Any) -> Any:
    if not isinstance(value, (type, FunctionType)):  # other objects may run code on attribute access
        value = type(value)
    return type.__getattribute__(value, "__module__") if isinstance(value, type) else value.__module__


def _is_library(name: str, file: Any) -> bool:
    if name.partition(".")[0] == _OURS or not isinstance(file, str):
        return True
    return file.startswith(_PLACES) or any(each in file for each in _PACKAGES)


def _changed(file: Any) -> int:
    with contextlib.suppress(OSError, TypeError, ValueError):
        return os.stat(file).st_mtime_ns
    return 0
