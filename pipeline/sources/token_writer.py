"""write_tokens: documents of token ids as a raw file, optionally with Megatron's index next to it."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import integer, local_path, numpy_dtype, refuse_missing, truth
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.files.os_errors import translated
from pipeline.files.replacing import replacing
from pipeline.files.token_file import CODES, HEADER, MEGATRON
from pipeline.keywords import tells_keywords


@tells_keywords
def write_tokens(
    path: Any, documents: Iterable[Any], *, dtype: Any = "uint16", end: int | None = None, index: bool = False
) -> int:
    """Write documents of token ids into a `.bin` file, one after another.

    `pipeline.tokens` reads it; so do nanoGPT and, with `index=True`, Megatron. The file is replaced only once it is
    completely written, so an error leaves the old one.

    Args:
        path: The file; with `index=True` its name ends in .bin, and the index is written next to it as .idx.
        documents: An iterable over lists or one-dimensional arrays of token ids. One document at a time is in memory.
        dtype: Integer dtype for the ids in the file.
        end: A token to write after each document, such as 50256 for GPT-2; None for none.
        index: Also write Megatron's index with document boundaries.

    Returns:
        The number of tokens in the file.

    Raises:
        InvalidArgumentError: A token does not fit `dtype`, the index does not support `dtype`, or the path does not end
            in .bin. The error names the document. Or there is an index next to the file, and `index` is False.
        TypeError: A document is not a sequence of integers, or an option has a wrong type.
        OpError: The file cannot be written, such as a NotFoundError or PermissionDeniedError.

    Examples:
        >>> pipeline.write_tokens("corpus.bin", [[5, 6, 7], [8, 9]], end=0, index=True)
        7
        >>> [row.tolist() for row in pipeline.tokens("corpus.bin", 3)]
        [[5, 6, 7], [0, 8, 9]]
    """
    if not isinstance(documents, Iterable):
        raise TypeError(f"write_tokens: documents must be an iterable of sequences of token ids, got {documents!r:.80}")
    name, kind = local_path(path, "write_tokens: path"), numpy_dtype(dtype, "write_tokens: dtype")
    if kind.kind not in "iu" or not kind.isnative:
        raise invalid(f"write_tokens: dtype must be an integer dtype in this machine's byte order, got {kind}")
    indexed = truth(index, "write_tokens: index")
    code = next((number for number, text in CODES.items() if np.dtype(text) == kind), None)
    if indexed and code is None:
        raise invalid(f"write_tokens: Megatron's index has no dtype {kind}: use int32 or int64")
    if indexed and not name.endswith(".bin"):
        raise invalid(f"write_tokens: with index=True the path must end in .bin, got '{name}'")
    ended = None if end is None else _ids([integer(end, "write_tokens: end")], kind, "end")
    target = os.fsencode(name)
    beside_it = target[:-4] + b".idx"
    if not indexed and name.endswith(".bin") and _is_index(beside_it):
        text = (
            f"write_tokens: '{os.fsdecode(beside_it)}' has the documents of another file: pass index=True, or remove it"
        )
        raise invalid(text)
    try:
        if not indexed:
            with replacing(target) as file:
                lengths = _written(file, documents, kind, ended)
        else:
            with replacing(beside_it) as beside, _OldIndex(beside_it, target) as old, replacing(target) as file:
                lengths = _written(file, documents, kind, ended)
                _write_index(beside, lengths, kind, code or 0)
                old.take_away()
    except OSError as error:
        raise translated(target, error) from error
    return int(sum(lengths))


class _OldIndex:
    """The index of the old file. A kill must not leave it next to the new file, and an error brings it back.

    Args:
        name: Its path; it need not exist.
        target: The path of the file that is replaced.
    """

    def __init__(self, name: bytes, target: bytes) -> None:
        self._name, self._target, self._away = name, target, b""
        self._file: Any = None

    def take_away(self) -> None:
        away = self._name + f".{secrets.token_hex(4)}.partial".encode()
        with contextlib.suppress(FileNotFoundError):
            self._file = os.stat(self._target)
        with contextlib.suppress(FileNotFoundError):
            os.rename(self._name, away)
            self._away = away

    def _is_replaced(self) -> bool:
        """Return True if the file is another one, as it may be after an error too."""
        return self._file is None or not os.path.samestat(os.stat(self._target), self._file)

    def __enter__(self) -> _OldIndex:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._away:
            with contextlib.suppress(OSError):
                os.unlink(self._away) if self._is_replaced() else os.rename(self._away, self._name)


def _is_index(name: bytes) -> bool:
    """Return True if a file is a Megatron index."""
    try:
        with open(name, "rb") as file:
            return file.read(len(MEGATRON)) == MEGATRON
    except OSError:
        return False


def _written(file: BinaryIO, documents: Iterable[Any], kind: np.dtype[Any], end: NDArray[Any] | None) -> list[int]:
    """Write documents; return each one's token count."""
    lengths = []
    for number, document in enumerate(documents):
        ids = _ids(document, kind, f"document {number:,}")
        file.write(ids.tobytes() if end is None else ids.tobytes() + end.tobytes())
        lengths.append(len(ids) + (end is not None))
    return lengths


def _ids(document: Any, kind: np.dtype[Any], what: str) -> NDArray[Any]:
    """Return token ids as an array with a dtype."""
    refuse_missing(document, f"write_tokens: {what}")
    try:
        given = np.asarray(document)
    except (ValueError, OverflowError) as error:
        raise TypeError(f"write_tokens: {what} must be a sequence of token ids: {error}") from error
    if given.ndim == 1 and not given.size:
        return np.empty(0, kind)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise TypeError(f"write_tokens: {what} must be a sequence of token ids, got {document!r:.80}")
    limits = np.iinfo(kind)
    for found in (int(given.max()), int(given.min())):
        if not limits.min <= found <= limits.max:
            at = int(np.flatnonzero(given == found)[0])
            place = "" if what == "end" else f", at place {at:,},"
            text = f"write_tokens: {what} has the token {found:,}{place} and {kind} holds {limits.min} to {limits.max}"
            raise InvalidArgumentError(None, None, f"{text}: pass a wider dtype=")
    return given.astype(kind)


def _write_index(file: BinaryIO, lengths: list[int], kind: np.dtype[Any], code: int) -> None:
    """Write Megatron's index for documents with one sequence each."""
    sizes = np.asarray(lengths, np.int64)
    if sizes.size and sizes.max() > np.iinfo(np.int32).max:
        raise invalid("write_tokens: Megatron's index has no documents of 2 ** 31 tokens and more")
    file.write(HEADER.pack(MEGATRON, 1, code, len(sizes), len(sizes) + 1))
    file.write(sizes.astype("<i4").tobytes())
    file.write(((np.cumsum(sizes) - sizes) * kind.itemsize).astype("<i8").tobytes())
    file.write(np.arange(len(sizes) + 1, dtype="<i8").tobytes())
