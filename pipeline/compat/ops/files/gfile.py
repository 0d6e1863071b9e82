"""gfile.GFile, a file with TensorFlow's modes and errors, and the ops read_file, write_file and matching_files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Any

from pipeline.compat.graph.dtypes import string
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import scalar, vector
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.files.paths import Stat, plain_path
from pipeline.compat.ops.making.text import at_most_rank, objects, text, with_rank
from pipeline.errors import PermissionDeniedError, invalid, show
from pipeline.files.filenames import match_filenames_once
from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit
from pipeline.files.opening import create_file, read_whole
from pipeline.files.os_errors import os_error, translated
from pipeline.files.urls import remote_file

_MODES = ("r", "w", "a", "r+", "w+", "a+")


class GFile:
    """A file, local or behind a URL supported by fsspec. It opens on its first read or write.

    Args:
        name: The path or URL, as str, bytes or os.PathLike.
        mode: "r", "w", "a", "r+", "w+" or "a+"; with "b", reading returns bytes, else str.

    Raises:
        InvalidArgumentError: The mode is unknown.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name = name
        self._mode = mode
        plain = mode.replace("b", "")
        if plain not in _MODES:
            raise invalid("mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'")
        self._binary = "b" in mode
        self._readable = "r" in plain or "+" in plain
        self._writable = plain[0] in "wa" or "+" in plain
        self._append = plain[0] == "a"
        self._reader: IO[bytes] | None = None
        self._writer: IO[bytes] | None = None

    @property
    def name(self) -> Any:
        """The path as given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode as given."""
        return self._mode

    def size(self) -> int:
        """Return the file size in bytes."""
        return Stat(self._name).length

    def write(self, file_content: Any) -> None:
        """Append str (as UTF-8) or bytes to the text written before.

        Raises:
            TypeError: The content is neither str nor bytes.
            PermissionDeniedError: The mode does not allow writing.
            OpError: The file cannot be written.
        """
        if not isinstance(file_content, (str, bytes)):
            raise TypeError(f"Expected binary or unicode string, got {file_content!r}")
        data = file_content.encode() if isinstance(file_content, str) else file_content
        writer = self._for_writing()
        try:
            writer.write(data)
        except Exception as error:
            raise self._translated(error) from error

    def read(self, n: int = -1) -> Any:
        """Return up to `n` bytes, or the whole rest if `n` is -1; as str unless the mode has a "b"."""
        reader = self._for_reading()
        try:
            return self._text(reader.read(n))
        except OSError as error:
            raise self._translated(error) from error

    def readline(self) -> Any:
        r"""Return the next line with its "\n" but without "\r"; empty at the end of the file."""
        reader = self._for_reading()
        try:
            line = reader.readline()
        except OSError as error:
            raise self._translated(error) from error
        return self._text(line.replace(b"\r", b""))

    def readlines(self) -> list[Any]:
        """Return all remaining lines."""
        return list(self)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Set the read position.

        Args:
            offset: Bytes from the point chosen by `whence`.
            whence: 0 from the start, 1 from the current position, 2 from the end.
            position: Old name for `offset`.

        Raises:
            InvalidArgumentError: `whence` is something else, or the position would be negative.
        """
        reader = self._for_reading()
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        if offset is not None and position is not None:
            raise TypeError("seek(): offset and position may not be set simultaneously.")
        if whence not in (0, 1, 2):
            raise invalid(f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2.")
        target = position if offset is None else offset
        assert target is not None
        if whence == 1:
            target += reader.tell()
        elif whence == 2:
            target += self.size()
        if target < 0:
            raise invalid(f"Seeking to a negative position: {target}")
        reader.seek(target)

    def tell(self) -> int:
        """Return the read position; the write position if the mode does not allow reading."""
        if self._readable:
            return self._for_reading().tell()
        return self._for_writing().tell()

    def seekable(self) -> bool:
        """Return True."""
        return True

    def flush(self) -> None:
        """Pass all written data on to the operating system."""
        if self._writer is not None:
            try:
                self._writer.flush()
            except Exception as error:
                raise self._translated(error) from error

    def close(self) -> None:
        """Close the file; it reopens when you use it again."""
        reader, writer = self._reader, self._writer
        self._reader = self._writer = None
        if reader is not None:
            reader.close()
        if writer is not None:
            try:
                writer.close()
            except Exception as error:
                raise self._translated(error) from error

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def next(self) -> Any:
        """Return the next line; StopIteration at the end."""
        return next(self)

    def __del__(self) -> None:
        for file in (getattr(self, "_reader", None), getattr(self, "_writer", None)):
            if file is not None:
                file.close()

    def _text(self, data: bytes) -> Any:
        return data if self._binary else data.decode()

    def _translated(self, error: Exception) -> Exception:
        return translated(os.fsencode(self._name), error)

    def _for_reading(self) -> IO[bytes]:
        if not self._readable:
            raise PermissionDeniedError(None, None, "File isn't open for reading")
        if self._reader is None:
            self._reader = opened(self._name)
        return self._reader

    def _for_writing(self) -> IO[bytes]:
        if not self._writable:
            raise PermissionDeniedError(None, None, "File isn't open for writing")
        if self._writer is None:
            path = plain_path(self._name)
            if self._append and b"://" not in path:
                try:
                    self._writer = open(path, "ab")  # noqa: SIM115
                except OSError as error:
                    raise self._translated(error) from error
            else:
                self._writer = create_file(path)
        return self._writer


class FastGFile(GFile):
    """The same as GFile."""


def opened(name: Any) -> IO[bytes]:
    """Open a file for reading.

    Raises:
        OpError: It cannot be opened.
    """
    path = plain_path(name)
    try:
        if b"://" in path:
            remote: IO[bytes] = remote_file(path, "rb")
            return remote
        return open(path, "rb")
    except Exception as error:
        raise translated(path, error) from error


def read_file(filename: Any, name: str | None = None, *, max_record_bytes: int | None = MAX_RECORD_BYTES) -> Tensor:
    """Return a file's contents as one string.

    Args:
        filename: A string scalar.
        name: Name of the op.
        max_record_bytes: A larger file is an error; None for no limit.

    Raises:
        NotFoundError, FailedPreconditionError, PermissionDeniedError: At run time, if the file cannot be read.
        ResourceExhaustedError: At run time, if the file is larger than the limit.
    """
    most = byte_limit(max_record_bytes)
    with name_scope(name, "ReadFile", [filename]) as scope:
        tensor = with_rank(text(filename, "filename", "ReadFile"), 0)

        def kernel(_: Any, filename: Any) -> bytes:
            return read_whole(plain_path(_scalar(filename, "filename")), most)

        return tensor_node("ReadFile", [tensor], kernel, string, scalar(), name=scope, stateful=True)


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Return an operation that writes a string to a file, and makes missing directories.

    Raises:
        PermissionDeniedError, FailedPreconditionError: At run time, if the file cannot be written.
    """
    with name_scope(name, "WriteFile", [filename, contents]) as scope:
        tensors = [with_rank(text(filename, "filename", "WriteFile"), 0)]
        tensors.append(with_rank(text(contents, "contents", "WriteFile"), 0))

        def kernel(_: Any, filename: Any, contents: Any) -> None:
            path = plain_path(_scalar(filename, "filename"))
            data = _scalar(contents, "contents")
            directory = os.path.dirname(path)
            try:
                if directory and b"://" not in path:
                    os.makedirs(directory, exist_ok=True)
            except OSError as error:
                raise os_error(directory, error) from error
            try:
                with create_file(path) as file:
                    file.write(data)
            except Exception as error:
                raise translated(path, error) from error

        return node("WriteFile", tensors, [], kernel, scope, stateful=True)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """Return sorted names of files matching a pattern, or any pattern in a vector."""
    with name_scope(name, "MatchingFiles", [pattern]) as scope:
        tensor = at_most_rank(text(pattern, "pattern", "MatchingFiles"), 1)

        def kernel(_: Any, pattern: Any) -> Any:
            if not isinstance(pattern, bytes) and pattern.ndim > 1:
                text = "Input patterns tensor must be scalar or vector, but had shape:"
                raise invalid(f"{text} {show(pattern.shape)}")
            patterns = [pattern] if isinstance(pattern, bytes) else pattern.tolist()
            return objects([os.fsencode(one) for one in match_filenames_once([plain_path(one) for one in patterns])])

        return tensor_node("MatchingFiles", [tensor], kernel, string, vector(None), name=scope, stateful=True)


def _scalar(value: Any, name: str) -> bytes:
    if not isinstance(value, bytes):
        raise invalid(f"Input {name} tensor must be scalar, but had shape: {show(value.shape)}")
    return value
