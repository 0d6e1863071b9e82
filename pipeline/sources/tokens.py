"""tokens: rows, or documents, from memory-mapped token files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._rows import RunGatherer
from pipeline.dtypes import at_least, numpy_dtype, truth
from pipeline.errors import invalid
from pipeline.files.token_file import TokenFile
from pipeline.keywords import tells_keywords
from pipeline.nest import TupleParts
from pipeline.sources.extras import MANY
from pipeline.sources.file_table import FileTable
from pipeline.sources.nodes import Gathers
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded
from pipeline.sources.source import TableSource
from pipeline.stages.block import Examples


@tells_keywords
def tokens(
    paths: Any,
    length: int | None = None,
    *,
    dtype: Any = None,
    stride: int | None = None,
    drop_remainder: bool = True,
    labels: bool = False,
    documents: bool = False,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> TableSource:
    """Read rows of token ids from language models' token files.

    A file may be raw (nanoGPT's `.bin`, also named `.npy`), a one-dimensional `.npy` file, llm.c's format, or a `.bin`
    next to Megatron's `.idx`. Rows span documents, but not files. They are indexed: `shuffle(seed=1)`, `sample`,
    `shard` and `d[i]` need no buffer. Files are mapped into memory: truncating one while it is read ends the process.

    Args:
        paths: A path or pattern such as "train_*.bin", or a list; for Megatron's files also a path without .bin.
        length: Tokens per row.
        dtype: Dtype for raw files, such as "uint16"; other files store theirs. Rows keep the files' dtype.
        stride: Distance between the starts of two rows, in tokens; None for `length`.
        drop_remainder: Drop tokens at the end of each file if they do not fill a row; False returns one shorter
            row.
        labels: Return tuples (x, y) with `length` tokens each; y starts one token later.
        documents: Return whole documents, without `length`; this needs Megatron's index.
        num_epochs: Number of epochs; None repeats forever.
        shuffle, seed: Shuffle the rows, in a different order each epoch.
        shard: (index, count): read every count-th row.

    Raises:
        NotFoundError: A file is missing, or a pattern matches nothing.
        DataLossError: A file ends within a token, or an index is damaged or does not fit its file.
        ValueError, TypeError: A file has fewer tokens than a row, has no dtype, or another dtype than
            the others; or an option is wrong.
        FailedPreconditionError: When you iterate: a file changed after you made the dataset.

    Examples:
        >>> _ = pipeline.write_tokens("train.bin", [[1, 2, 3, 4], [5, 6, 7, 8, 9]])
        >>> data = pipeline.tokens("train.bin", 4, dtype="uint16", labels=True)
        >>> [(x.tolist(), y.tolist()) for x, y in data]
        [([1, 2, 3, 4], [2, 3, 4, 5]), ([5, 6, 7, 8], [6, 7, 8, 9])]
    """
    kind = None if dtype is None else numpy_dtype(dtype, "tokens: dtype")
    whole, shifted = truth(drop_remainder, "tokens: drop_remainder"), truth(labels, "tokens: labels")
    names = _names(paths)
    epochs = Epochs(num_epochs, shuffle, seed, shard)
    if truth(documents, "tokens: documents"):
        if length is not None or stride is not None or shifted or not whole:
            raise invalid("tokens: documents=True gives whole documents: leave out length=, stride= and labels=")
        return TableSource(_Documents(_opened(names, kind)), epochs)
    if length is None:
        raise TypeError("tokens: pass length=, the tokens in a row, or documents=True")
    size = at_least(1, length, "tokens: length")
    step = size if stride is None else at_least(1, stride, "tokens: stride")
    return TableSource(_Rows(_opened(names, kind), size, step, whole, shifted), epochs)


def _names(paths: Any) -> list[str]:
    """Return the filenames; for Megatron's files, a path without .bin works too."""
    given = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths
    if isinstance(given, (list, tuple)):
        given = [_with_ending(each) for each in given]
    return [name.removeprefix("file://") for name in expanded(given, "tokens")]


def _with_ending(path: Any) -> Any:
    if isinstance(path, (str, bytes, os.PathLike)):
        text = os.fsdecode(path)
        if not os.path.exists(text) and os.path.exists(f"{text}.bin"):
            return f"{text}.bin"
    return path


def _opened(names: Sequence[str], dtype: np.dtype[Any] | None) -> list[TokenFile]:
    files = [TokenFile(name, dtype) for name in names]
    first = files[0]
    odd = next((each for each in files if each.dtype != first.dtype), None)
    if odd is not None:
        text = f"tokens: '{first.name}' holds {first.dtype} and '{odd.name}' {odd.dtype}: read them as two datasets"
        raise invalid(f"{text} and join these with pipeline.mix or concatenate")
    return files


class _Tokens(FileTable):
    """The options for token files."""

    kind = "tokens"
    most = MANY
    ahead = True

    def __init__(self, files: Sequence[TokenFile], counts: Sequence[int]) -> None:
        self._files = files
        super().__init__([each.name for each in files], counts)

    def gatherer(self) -> tuple[Gathers, Any] | None:
        for each in self._files:
            each.check()
        return None

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "dtype": str(self._files[0].dtype)}


class _Rows(_Tokens):
    """Rows with equal length, except a shorter one at each file's end if `whole` is False."""

    def __init__(self, files: Sequence[TokenFile], length: int, stride: int, whole: bool, labels: bool) -> None:
        self._length, self._stride, self._whole, self._labels = length, stride, whole, labels
        super().__init__(files, [self._count(each) for each in files])
        self.one_by_one = not whole
        self._rows: RunGatherer | None = None

    def _count(self, file: TokenFile) -> int:
        """Return a file's row count."""
        needed = self._length + self._labels
        full = max(0, (file.count - needed) // self._stride + 1)
        if self._whole and not full:
            text = f"tokens: '{file.name}' has {file.count:,} tokens, fewer than the {needed:,} of a row"
            raise invalid(f"{text}: leave it out, or pass a smaller length= or drop_remainder=False")
        begin, end = full * self._stride, (full - 1) * self._stride + needed if full else 0
        more = not self._whole and end < file.count and begin + self._labels < file.count
        if not full and not more:
            raise invalid(f"tokens: '{file.name}' has {file.count:,} tokens, too few for a row: leave it out")
        return full + more

    def gatherer(self) -> tuple[Gathers, Any] | None:
        super().gatherer()
        return (self._gathers(), 2 if self._labels else None) if self._whole else None

    def take(self, numbers: NDArray[np.int64]) -> Any:
        made = self._gathers().take(numbers)
        return TupleParts(made) if self._labels else made[0]

    def loose(self, numbers: NDArray[np.int64]) -> Examples:
        return Examples([self._row(number) for number in numbers.tolist()])

    def _gathers(self) -> RunGatherer:
        if self._rows is None:
            arrays = tuple(each.tokens() for each in self._files)
            counts = np.diff(self._ends, prepend=0)
            self._rows = RunGatherer(arrays, counts, self._length, self._stride, (0, 1) if self._labels else (0,))
        return self._rows

    def _row(self, number: int) -> Any:
        which, row = self.place(number)
        begin = row * self._stride
        found = self._files[which].tokens()[begin : begin + self._length + self._labels].copy()
        return (found[:-1].copy(), found[1:].copy()) if self._labels else found

    def named(self, number: int) -> str:
        """Return a row's file, and its first token's index there."""
        which, row = self.place(number)
        return f"{self.names[which]}:{row * self._stride}"

    def facts(self) -> dict[str, Any]:
        options = {"length": self._length, "stride": self._stride, "drop_remainder": self._whole}
        return {**super().facts(), **options, "labels": self._labels}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rows": None}


class _Documents(_Tokens):
    unit = "documents"
    one_by_one = True

    def __init__(self, files: Sequence[TokenFile]) -> None:
        self._bounds = [each.documents() for each in files]
        super().__init__(files, [len(each) - 1 for each in self._bounds])

    def take(self, numbers: NDArray[np.int64]) -> Examples:
        return Examples([self._document(number) for number in numbers.tolist()])

    loose = take

    def _document(self, number: int) -> NDArray[Any]:
        which, inside = self.place(number)
        begin, end = self._bounds[which][inside : inside + 2].tolist()
        return self._files[which].tokens()[begin:end].copy()

    def named(self, number: int) -> str:
        """Return a document's file, and its index there."""
        which, inside = self.place(number)
        return f"{self.names[which]}:{inside}"

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "documents": len(self)}
