"""show_config: the installed versions, for bug reports."""

from __future__ import annotations

import os
import platform
import re
import sys
import sysconfig
from importlib import metadata
from typing import Any, Literal, overload

import numpy as np

import pipeline
from pipeline._random import built_with
from pipeline.libjpeg import libjpeg

_EXTRA = re.compile(r"""([\w.-]+).*;.*\bextra\s*==\s*["']([\w.-]+)["']""")  # a requirement of an extra


@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, dict[str, Any]]: ...
def show_config(mode: str = "stdout") -> dict[str, dict[str, Any]] | None:
    """Show what is installed: put it into your bug reports.

    It shows versions, the compiler, and the libraries your extras brought. It has no file names and nothing about your
    data.

    Args:
        mode: "stdout" prints a text, "dicts" returns dicts for `json.dumps`.

    Returns:
        None, or the dict. A library you lack is None.

    Raises:
        ValueError: `mode` is neither.

    Thread safety: you may call it from any thread.

    Examples:
        >>> config = pipeline.show_config("dicts")
        >>> sorted(config)
        ['NumPy', 'Python', 'compiled with', 'extras', 'images', 'queue-runner', 'system']
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"show_config: mode must be 'stdout' or 'dicts', got {mode!r}")
    parts = {
        "queue-runner": {"version": pipeline.__version__, "path": os.path.dirname(str(pipeline.__file__))},
        "Python": _python(),
        "system": _system(),
        "NumPy": {"version": np.__version__},
        "compiled with": built_with(),
        "images": {"parts of JPEG are decoded by": libjpeg() or None},
        "extras": _extras(),
    }
    if mode == "dicts":
        return parts
    print("\n".join(line for title, part in parts.items() for line in (f"{title}:", *_lines(part, "  "))))
    return None


def _python() -> dict[str, Any]:
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "free-threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "GIL": getattr(sys, "_is_gil_enabled", lambda: True)(),
    }


def _system() -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "machine": platform.machine(),
        "C library": " ".join(platform.libc_ver()).strip() or None,
        "processors": os.cpu_count(),
    }


def _extras() -> dict[str, dict[str, str | None]]:
    """Return each extra's packages with their versions, by the package's metadata."""
    try:
        required = metadata.requires("queue-runner") or []
    except metadata.PackageNotFoundError:
        return {}  # a source folder on the path, not installed
    extras: dict[str, dict[str, str | None]] = {}
    for each in filter(None, map(_EXTRA.fullmatch, required)):
        package, extra = each.groups()
        if package != "queue-runner":
            extras.setdefault(extra, {})[package] = _version(package)
    return extras


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _lines(part: dict[str, Any], indent: str) -> list[str]:
    lines = []
    for name, value in part.items():
        if isinstance(value, dict):
            lines += [f"{indent}{name}:", *_lines(value, indent + "  ")]
        else:
            text = ", ".join(value) or "none" if isinstance(value, list) else "not found" if value is None else value
            lines.append(f"{indent}{name}: {text}")
    return lines
