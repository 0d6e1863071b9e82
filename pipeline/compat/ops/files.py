"""read_file, write_file and matching_files: whole files as strings, and the names of files."""

from __future__ import annotations

import os
from typing import Any

from pipeline.compat.core.dtypes import string
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.node import node, tensor_node
from pipeline.compat.core.shapes import scalar, vector
from pipeline.compat.core.tensor import Operation, Tensor
from pipeline.compat.ops.text import at_most_rank, bad, objects, shown, text, with_rank
from pipeline.filenames import match_filenames_once
from pipeline.opening import MAX_RECORD_BYTES, byte_limit, open_sink, os_error, read_whole, translated


def local(name: bytes) -> bytes:
    """The name of a file without the scheme that stands for files of this machine."""
    return name[len(b"file://") :] if name.startswith(b"file://") else name


def read_file(filename: Any, name: str | None = None, *, max_record_bytes: int | None = MAX_RECORD_BYTES) -> Tensor:
    """What a file holds, as one string.

    Args:
        max_record_bytes: A larger file is an error; None is without limit.

    Raises:
        NotFoundError, FailedPreconditionError, PermissionDeniedError: When run: it cannot be read.
        ResourceExhaustedError: When run: it is larger than the limit.
    """
    most = byte_limit(max_record_bytes)
    with name_scope(name, "ReadFile") as scope:
        tensor = with_rank(text(filename, "filename", "ReadFile"), 0)

        def kernel(_: Any, filename: Any) -> bytes:
            return read_whole(local(_scalar(filename, "filename")), most)

        return tensor_node("ReadFile", [tensor], kernel, string, scalar(), name=scope, stateful=True)


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """An operation that writes a string to a file; directories that do not exist are made.

    Raises:
        PermissionDeniedError, FailedPreconditionError: When run: it cannot be written.
    """
    with name_scope(name, "WriteFile") as scope:
        tensors = [with_rank(text(filename, "filename", "WriteFile"), 0)]
        tensors.append(with_rank(text(contents, "contents", "WriteFile"), 0))

        def kernel(_: Any, filename: Any, contents: Any) -> None:
            path = local(_scalar(filename, "filename"))
            data = _scalar(contents, "contents")
            directory = os.path.dirname(path)
            try:
                if directory and b"://" not in path:
                    os.makedirs(directory, exist_ok=True)
            except OSError as error:
                raise os_error(directory, error) from error
            try:
                with open_sink(path) as file:
                    file.write(data)
            except Exception as error:
                raise translated(path, error) from error

        return node("WriteFile", tensors, [], kernel, scope, stateful=True)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The names of the files that match a pattern or a vector of patterns, sorted."""
    with name_scope(name, "MatchingFiles") as scope:
        tensor = at_most_rank(text(pattern, "pattern", "MatchingFiles"), 1)

        def kernel(_: Any, pattern: Any) -> Any:
            if not isinstance(pattern, bytes) and pattern.ndim > 1:
                text = "Input patterns tensor must be scalar or vector, but had shape:"
                raise bad(f"{text} {shown(pattern.shape)}")
            patterns = [pattern] if isinstance(pattern, bytes) else pattern.tolist()
            return objects([os.fsencode(one) for one in match_filenames_once([local(one) for one in patterns])])

        return tensor_node("MatchingFiles", [tensor], kernel, string, vector(None), name=scope, stateful=True)


def _scalar(value: Any, name: str) -> bytes:
    if not isinstance(value, bytes):
        raise bad(f"Input {name} tensor must be scalar, but had shape: {shown(value.shape)}")
    return value
