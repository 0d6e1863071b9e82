"""Activities: what a thread does, judged by the functions on its stack."""

from __future__ import annotations

import os
from types import CodeType, FrameType
from typing import NamedTuple

import pipeline
from pipeline.tracebacks import is_ours, is_standard


class Activity(NamedTuple):
    """A thread's activity: a function by the user or another library, or a part of this library.

    Attributes:
        name: Its name.
        kind: "function", or "library" for a part of this one.
        place: The function's file and line; "" for the library.
    """

    name: str
    kind: str
    place: str = ""


_PACKAGE = os.path.join(os.path.dirname(str(pipeline.__file__)), "")
# By the longest matching path prefix in the package. None has no name.
_PARTS: dict[str, str | None] = {
    "": None,
    "readers/": "read",
    "files/": "read",
    "sources/": "read",
    "decode/": "decode",
    "proto/": "decode",
    "producers/": "produce",
    "stages/": "move examples",
    "stages/collate.py": "make a batch",
    "stages/crew.py": "wait for workers",
    "datasets/": "move examples",
    "queues/": "store",
    "batches/": "store",
    "workers/chunks.py": "stack a chunk",
    "compat/": "run the graph",
    "compat/kernels/": "compute",
    "compat/ops/": "compute",
    "compat/areas/": "staging area",
}
_NEXT = os.path.join(_PACKAGE, "datasets", "iterator.py")  # what is further out is the loop
_known: dict[str, Activity | None] = {}  # by file name


def activities_of(frame: FrameType) -> tuple[tuple[Activity, ...], bool]:
    """Return a thread's activities, outermost first: at most two functions, then a part of the library.

    Args:
        frame: The innermost frame of the thread.

    Returns:
        The activities, and whether the library is on the stack at all.
    """
    functions: list[CodeType] = []
    inner: Activity | None = None
    ours = False
    each: FrameType | None = frame
    while each is not None:
        code = each.f_code
        if is_ours(each):
            ours = True
            if code.co_filename == _NEXT:
                break
            if not functions and inner is None and code.co_name != "<module>":  # not where it is imported
                inner = _part(code.co_filename)
        elif not is_standard(each):
            functions.append(code)
        each = each.f_back
    outer = [functions[-1], functions[0]] if len(functions) > 1 and functions[0] is not functions[-1] else functions[:1]
    return (*map(_function, outer), *([] if inner is None else [inner])), ours


def _function(code: CodeType) -> Activity:
    name = getattr(code, "co_qualname", code.co_name)  # from Python 3.11 on
    return Activity(name, "function", f"{code.co_filename}:{code.co_firstlineno}")


def _part(file: str) -> Activity | None:
    if file not in _known:
        path = file.removeprefix(_PACKAGE)
        name = _PARTS[max((part for part in _PARTS if path.startswith(part)), key=len)]
        _known[file] = None if name is None else Activity(name, "library")
    return _known[file]
