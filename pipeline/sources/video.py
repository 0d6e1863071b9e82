"""video: clips from video files, with frames at equal intervals."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import at_least, object_vector
from pipeline.errors import invalid
from pipeline.files.offsets import identity_of
from pipeline.images.resize import pair_of
from pipeline.keywords import tells_keywords
from pipeline.logs import logger
from pipeline.sources.audio import above_zero
from pipeline.sources.extras import needs
from pipeline.sources.file_table import FileTable
from pipeline.sources.handles import Handles
from pipeline.sources.order import Epochs
from pipeline.sources.paths import local_files
from pipeline.sources.source import TableSource
from pipeline.sources.video_file import Head, VideoFile
from pipeline.stages.block import Examples

_log = logger("pipeline.sources")

_OPEN = 8  # files kept open: a decoder holds some frames


@tells_keywords
def video(
    paths: Any,
    frames: int,
    *,
    fps: float | None = None,
    hop: float | None = None,
    size: Sequence[int] | None = None,
    threads: int = 1,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> TableSource:
    """Read clips from video files: MP4, MKV, WebM, AVI and other FFmpeg formats.

    Each example is a dict: `frames` uint8 [frames, height, width, 3], `times` of these frames in seconds, `path`, and
    `start` in seconds. A frame is the one on screen at its time. Clips are indexed: decoding starts at the keyframe
    before the clip.

    Args:
        paths: A path or pattern such as "films/**/*.mp4", or a list, on this machine.
        frames: Frames per clip.
        fps: Frames per second in a clip; None for each file's own rate, so clips have all frames.
        hop: Seconds between the starts of consecutive clips; None for `frames / fps`.
        size: (height, width) for FFmpeg to scale the frames to; None keeps their size.
        threads: Threads of the decoder; 0 for one per processor.
        num_epochs: Number of epochs; None repeats forever.
        shuffle, seed: Shuffle the clips, in a different order each epoch.
        shard: (index, count): read every count-th clip.

    Raises:
        NotFoundError: No such file, or your pattern matches nothing.
        DataLossError: A file is not a video or is damaged; when you iterate, also: it is cut short.
        InvalidArgumentError: A file lacks its duration or rate, or all files are shorter than a clip.
        ValueError, TypeError: An option is wrong.
        FailedPreconditionError: When you iterate: a file changed after you made the dataset.
        ImportError: PyAV is not installed.

    Examples:
        >>> import av
        >>> with av.open("film.mp4", "w") as file:
        ...     stream = file.add_stream("mpeg4", 10)
        ...     stream.width, stream.height = 64, 48
        ...     for i in range(20):
        ...         image = np.full((48, 64, 3), 10 * i, "uint8")
        ...         file.mux(stream.encode(av.VideoFrame.from_ndarray(image)))
        ...     file.mux(stream.encode())
        >>> for clip in pipeline.video("film.mp4", 8):
        ...     print(clip["frames"].shape, clip["start"])
        (8, 48, 64, 3) 0.0
        (8, 48, 64, 3) 0.8
    """
    needs("av", "video")
    count, workers = at_least(1, frames, "video: frames"), at_least(0, threads, "video: threads")
    rate = None if fps is None else _fraction(fps, "video: fps")
    step = None if hop is None else _fraction(hop, "video: hop")
    shape = None if size is None else pair_of(size, "video: size")
    clips = _Clips(local_files(paths, "video"), count, rate, step, shape, workers)
    return TableSource(clips, Epochs(num_epochs, shuffle, seed, shard))


def _fraction(given: Any, what: str) -> Fraction:
    """Return a rate or time as people mean it: 29.97 and 0.1, not the floats next to them."""
    made = Fraction(above_zero(given, what)).limit_denominator(1_000_000)
    if not made:
        raise invalid(f"{what} must be at least 0.000001, not {given!r:.80}")
    return made


class _Clips(FileTable):
    """Clips from files, with equal shapes unless `one_by_one`."""

    kind = "video"
    unit = "clips"

    def __init__(
        self,
        names: Sequence[str],
        count: int,
        fps: Fraction | None,
        hop: Fraction | None,
        size: tuple[int, int] | None,
        threads: int,
    ) -> None:
        self._count, self._fps, self._hop, self._size = count, fps, hop, size
        self._files = Handles(self.kind, functools.partial(VideoFile, size=size, threads=threads), _OPEN)
        self._identities = [identity_of(name) for name in names]
        self._heads = [self._head(*each) for each in zip(names, self._identities, strict=True)]
        self._shapes = [head.shape if size is None else size for head in self._heads]
        self._rates = [self._rate(*each) for each in zip(names, self._heads, strict=True)]
        self._steps = [count / rate if hop is None else hop for rate in self._rates]
        super().__init__(names, self._counts(names))
        self.one_by_one = len(set(self._shapes)) > 1

    def _head(self, name: str, identity: tuple[int, int]) -> Head:
        with self._files.use(name, identity) as file:
            head: Head = file.head
            return head

    def _rate(self, name: str, head: Head) -> Fraction:
        rate = head.fps if self._fps is None else self._fps
        if rate is None:
            raise invalid(f"video: '{name}' does not state its frame rate: pass fps=")
        return rate

    def _counts(self, names: Sequence[str]) -> list[int]:
        """Return each file's clip count: a clip's last frame is on screen before the file ends."""
        counts = []
        for head, rate, step in zip(self._heads, self._rates, self._steps, strict=True):
            room = head.duration - (self._count - 1) / rate
            counts.append(max(0, math.ceil(room / step)))
        short = [i for i, each in enumerate(counts) if not each]
        if short:
            such = f"such as '{names[short[0]]}' of {float(self._heads[short[0]].duration):g} s"
            if len(short) == len(names):
                text = f"video: all {len(names):,} files are shorter than {self._count} frames, {such}"
                raise invalid(f"{text}: pass fewer frames= or a larger fps=")
            text = "video: %s of %s files were left out, as they are shorter than %s frames, %s"
            _log.warning(text, f"{len(short):,}", f"{len(names):,}", self._count, such)
        return counts

    def take(self, numbers: NDArray[np.int64]) -> dict[str, Any]:
        places = [self.place(number) for number in numbers.tolist()]
        height, width = self._shapes[places[0][0]]
        frames = np.empty((len(places), self._count, height, width, 3), np.uint8)
        times = np.empty((len(places), self._count))
        for i in sorted(range(len(places)), key=places.__getitem__):  # forwards through each file
            self._clip(*places[i], frames[i], times[i])
        paths = object_vector([self.names[file] for file, _ in places])
        starts = np.array([float(clip * self._steps[file]) for file, clip in places])
        return {"frames": frames, "times": times, "path": paths, "start": starts}

    def loose(self, numbers: NDArray[np.int64]) -> Examples:
        rows = [self.take(numbers[i : i + 1]) for i in range(len(numbers))]
        return Examples([{name: column[0] for name, column in row.items()} for row in rows])

    def _clip(self, file: int, clip: int, frames: NDArray[np.uint8], times: NDArray[np.float64]) -> None:
        """Decode a clip into arrays."""
        start, rate = clip * self._steps[file], self._rates[file]
        with self._files.use(self.names[file], self._identities[file]) as opened:
            opened.read([start + i / rate for i in range(self._count)], frames, times)

    def named(self, number: int) -> str:
        """Return a clip's path, and its start there."""
        file, clip = self.place(number)
        return f"{self.names[file]}:{float(clip * self._steps[file]):g}s"

    def facts(self) -> dict[str, Any]:
        options = {"frames": self._count, "size": None if self._size is None else list(self._size)}
        rates = {name: None if each is None else str(each) for name, each in (("fps", self._fps), ("hop", self._hop))}
        return {**super().facts(), **options, **rates, "clips": len(self)}
