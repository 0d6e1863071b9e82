"""Activities: what a thread is at, judged by the functions on its stack."""

from __future__ import annotations

import os
from types import CodeType, FrameType
from typing import NamedTuple

import pipeline
from pipeline.tracebacks import is_ours, is_standard


class Activity(NamedTuple):
    """What a thread is at: a function of the user's or of another library, or a part of this one.

    Attributes:
        name: For people.
        kind: "function" for those of others, "wait" for a wait that had begun before the trace, else "library".
        place: Where the function begins, as file and line; "" for the library.
        queue: Which the thread waits for; "" if for none.
    """

    name: str
    kind: str
    place: str = ""
    queue: str = ""


_PACKAGE = os.path.join(os.path.dirname(pipeline.__file__), "")
# By the beginning of the file's path in the package; the longest that fits counts. None is not worth a name.
_PARTS: dict[str, Activity | None] = {
    "": None,
    "readers/": Activity("read", "library"),
    "files/": Activity("read", "library"),
    "decode/": Activity("decode", "library"),
    "proto/": Activity("decode", "library"),
    "producers/": Activity("produce", "library"),
    "flow/": Activity("move examples", "library"),
    "flow/collate.py": Activity("make a batch", "library"),
    "flow/parallel.py": Activity("wait for workers", "library"),
    "datasets/": Activity("move examples", "library"),
    "datasets/origins/": Activity("take from the source", "library"),
    "queues/": Activity("store", "library"),
    "batches/": Activity("store", "library"),
    "workers/chunks.py": Activity("stack a chunk", "library"),
    "compat/": Activity("run the graph", "library"),
    "compat/kernels/": Activity("compute", "library"),
    "compat/ops/": Activity("compute", "library"),
    "compat/areas/": Activity("staging area", "library"),
}
# What is further out has a span of its own.
_NEXT = {os.path.join(_PACKAGE, "datasets", "iterator.py")}
_known: dict[str, Activity | None] = {}  # by file name


def activities_of(frame: FrameType) -> tuple[tuple[Activity, ...], bool]:
    """What a thread is at, from the outside in: at most two functions of others, then a part of the library.

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
            if code.co_filename in _NEXT:
                inner = inner if functions else None
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
        path = file[len(_PACKAGE) :]
        _known[file] = _PARTS[max((part for part in _PARTS if path.startswith(part)), key=len)]
    return _known[file]
