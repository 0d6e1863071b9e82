"""audio: samples from sound files, whole or in windows of equal length."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import at_least, numpy_dtype, object_vector, seconds, truth
from pipeline.errors import invalid
from pipeline.files.offsets import identity_of
from pipeline.keywords import tells_keywords
from pipeline.logs import logger
from pipeline.sources.audio_file import AudioFile, Form
from pipeline.sources.extras import needs
from pipeline.sources.file_table import FileTable
from pipeline.sources.handles import Handles
from pipeline.sources.order import Epochs
from pipeline.sources.paths import expanded, local_files
from pipeline.sources.source import TableSource
from pipeline.stages.block import Examples

_log = logger("pipeline.sources")

_DTYPES = ("float32", "float64", "int16", "int32")

_OPEN = 64  # files that stay open


@tells_keywords
def audio(
    paths: Any,
    window: float | None = None,
    *,
    hop: float | None = None,
    sample_rate: int | None = None,
    channels: int | None = None,
    dtype: Any = "float32",
    drop_remainder: bool = True,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> TableSource:
    """Read samples from sound files: WAV, FLAC, OGG, MP3 and other libsndfile formats.

    Each example is a dict: `samples` [frames, channels], `sample_rate` in Hz, `path`, and `start` in seconds. Both
    files and windows are indexed.

    Args:
        paths: A path or pattern such as "speech/**/*.flac", or a list. Whole files may be URLs.
        window: Seconds per example; None gives whole files.
        hop: Seconds between the starts of consecutive windows; None for `window`.
        sample_rate, channels: Required of every file; None accepts any.
        dtype: "float32" and "float64" give samples from -1 to 1, "int16" and "int32" the full integer range.
        drop_remainder: Drop a file's end if it fills no window; False gives a shorter last example.
        num_epochs: Number of epochs; None repeats forever.
        shuffle, seed: Shuffle files or windows, in a different order each epoch.
        shard: (index, count): read every count-th file or window.

    Raises:
        NotFoundError: No such file, or your pattern matches nothing.
        DataLossError: A file is damaged, cut short or not a sound file. For whole files, when you iterate.
        InvalidArgumentError: A file has another sample rate or channel count, or is shorter than a window.
        ValueError, TypeError: An option is wrong.
        FailedPreconditionError: When you iterate: a file changed after you made the dataset.
        ImportError: soundfile is not installed.

    Examples:
        >>> import soundfile
        >>> soundfile.write("tone.wav", np.zeros(24_000, "int16"), 8_000)
        >>> for example in pipeline.audio("tone.wav", 1.0, dtype="int16"):
        ...     print(example["samples"].shape, example["start"])
        (8000, 1) 0.0
        (8000, 1) 1.0
        (8000, 1) 2.0
    """
    needs("soundfile", "audio")
    epochs = Epochs(num_epochs, shuffle, seed, shard)
    form = Form(
        None if sample_rate is None else at_least(1, sample_rate, "audio: sample_rate"),
        None if channels is None else at_least(1, channels, "audio: channels"),
        numpy_dtype(dtype, "audio: dtype").name,
    )
    if form.dtype not in _DTYPES:
        raise invalid(f"audio: dtype must be one of {', '.join(map(repr, _DTYPES))}, not {dtype!r:.80}")
    whole = truth(drop_remainder, "audio: drop_remainder")
    if window is None:
        if hop is not None or not whole:
            raise invalid("audio: hop= and drop_remainder= are for windows: pass window= too")
        return TableSource(_Files(expanded(paths, "audio"), form), epochs)
    length = above_zero(window, "audio: window")
    step = length if hop is None else above_zero(hop, "audio: hop")
    return TableSource(_Windows(local_files(paths, "audio"), form, length, step, whole), epochs)


def above_zero(given: Any, what: str) -> float:
    """Return a time in seconds; `what` names it in the InvalidArgumentError or TypeError for other values."""
    found = seconds(given, what)
    if not found > 0:
        raise invalid(f"{what} must be above 0 seconds, got {given!r:.80}")
    return found


class _Files(FileTable):
    """Whole files."""

    kind = "audio"
    unit = "files"
    one_by_one = ahead = True

    def __init__(self, names: Sequence[str], form: Form) -> None:
        super().__init__(names, [1] * len(names))
        self._form = form

    def take(self, numbers: NDArray[np.int64]) -> Examples:
        return Examples([self._example(self.names[number]) for number in numbers.tolist()])

    loose = take

    def _example(self, name: str) -> dict[str, Any]:
        file = AudioFile(name, self._form)
        return {
            "samples": file.all(),
            "sample_rate": np.int64(file.sample_rate),
            "path": name,
            "start": np.float64(0),
        }

    def named(self, number: int) -> str:
        """Return a file's path."""
        return self.names[number]

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), **self._form._asdict()}


class _Windows(FileTable):
    """Windows from files, with equal shapes unless `one_by_one`."""

    kind = "audio"
    unit = "windows"
    ahead = True

    def __init__(self, names: Sequence[str], form: Form, window: float, hop: float, whole: bool) -> None:
        self._form, self._window, self._hop, self._whole = form, window, hop, whole
        self._files = Handles(self.kind, functools.partial(AudioFile, form=form), _OPEN)
        self._identities = [identity_of(name) for name in names]
        heads = np.array([self._head(*each) for each in zip(names, self._identities, strict=True)], np.int64)
        self._frames, self._rates, self._channels = heads.T.copy()
        self._sizes, self._steps = (
            np.maximum(1, np.rint(each * self._rates).astype(np.int64)) for each in (window, hop)
        )
        super().__init__(names, self._counts(names))
        self._starts = self._ends - np.diff(self._ends, prepend=0)
        shapes = set(zip(self._sizes.tolist(), self._channels.tolist(), strict=True))
        self.one_by_one = not whole or len(shapes) > 1

    def _head(self, name: str, identity: tuple[int, int]) -> tuple[int, int, int]:
        with self._files.use(name, identity) as file:
            return file.frames, file.sample_rate, file.channels

    def _counts(self, names: Sequence[str]) -> list[int]:
        """Return the window count per file."""
        full = np.maximum(0, (self._frames - self._sizes) // self._steps + 1)
        if not self._whole:
            ends = np.where(full > 0, (full - 1) * self._steps + self._sizes, 0)
            rest = (ends < self._frames) & (full * self._steps < self._frames)
            return (full + rest).tolist()  # type: ignore[no-any-return]
        short = np.flatnonzero(full == 0)
        if len(short):
            such = f"such as '{names[short[0]]}' of {self._frames[short[0]] / self._rates[short[0]]:g} s"
            if len(short) == len(names):
                text = f"audio: all {len(names):,} files are shorter than window={self._window:g} s, {such}"
                raise invalid(f"{text}: pass a smaller window=, or drop_remainder=False")
            text = "audio: %s of %s files were left out, as they are shorter than window=%g s, %s"
            _log.warning(text, f"{len(short):,}", f"{len(names):,}", self._window, such)
        return full.tolist()  # type: ignore[no-any-return]

    def take(self, numbers: NDArray[np.int64]) -> dict[str, Any]:
        files, begins = self._places(numbers)
        samples = np.empty((len(numbers), self._sizes[files[0]], self._channels[files[0]]), self._form.dtype)
        for i in np.lexsort((begins, files)).tolist():  # neighbours consecutively, without a seek between them
            self._samples(int(files[i]), int(begins[i]), samples[i])
        paths = object_vector([self.names[file] for file in files.tolist()])
        rates = self._rates[files]
        return {"samples": samples, "sample_rate": rates, "path": paths, "start": begins / rates}

    def loose(self, numbers: NDArray[np.int64]) -> Examples:
        files, begins = self._places(numbers)
        rates = self._rates[files]
        examples = []
        for file, begin, rate, start in zip(files.tolist(), begins.tolist(), rates, begins / rates, strict=True):
            count = min(int(self._sizes[file]), int(self._frames[file]) - begin)
            samples = self._samples(file, begin, np.empty((count, int(self._channels[file])), self._form.dtype))
            examples.append({"samples": samples, "sample_rate": rate, "path": self.names[file], "start": start})
        return Examples(examples)

    def _places(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each window's file, and its first frame there."""
        files = np.searchsorted(self._ends, numbers, "right")
        return files, (numbers - self._starts[files]) * self._steps[files]

    def _samples(self, file: int, begin: int, out: NDArray[Any]) -> NDArray[Any]:
        name = self.names[file]
        with self._files.use(name, self._identities[file]) as opened:
            opened.read(begin, out)
        return out

    def named(self, number: int) -> str:
        """Return a window's path and its start there."""
        files, begins = self._places(np.array([number]))
        return f"{self.names[files[0]]}:{begins[0] / self._rates[files[0]]:g}s"

    def facts(self) -> dict[str, Any]:
        options = {"window": self._window, "hop": self._hop, "drop_remainder": self._whole}
        return {**super().facts(), **self._form._asdict(), **options, "windows": len(self)}
