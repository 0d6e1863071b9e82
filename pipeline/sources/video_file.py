"""VideoFile: a video's frames by time, decoded from the preceding keyframe."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.image.decode import MAX_PIXELS
from pipeline.errors import DataLossError, OpError, ResourceExhaustedError, invalid
from pipeline.files.os_errors import translated
from pipeline.sources.extras import needs

# Frames up to this far ahead are reached by decoding on, others by seeking to their keyframe. With one keyframe per
# second, decoding on over 1.3 s takes twice as long as a seek.
_NEAR = 1  # seconds

# How much earlier to look for a keyframe if a file's index leads to a later one. Then from the start.
_EARLIER = (0, 2, 30)  # seconds


class Head(NamedTuple):
    """A video's properties known before decoding.

    Attributes:
        duration: In seconds.
        fps: Its frames per second; None if unknown.
        shape: Frame height and width.
    """

    duration: Fraction
    fps: Fraction | None
    shape: tuple[int, int]


class VideoFile:
    """An open video, decoded forwards from its current position.

    Args:
        name: Its path.
        size: Height and width to scale frames to; None keeps them.
        threads: Decoder threads; 0 for one per processor.

    Raises:
        DataLossError: It is not a video, or is damaged.
        NotFoundError, ...: It cannot be opened.
        ResourceExhaustedError: Its frames have too many pixels.
    """

    def __init__(self, name: str, size: tuple[int, int] | None, threads: int) -> None:
        self._name, self._threads = name, threads
        self._library = needs("av", "video")
        self._scaler = needs("av.video.reformatter", "video").VideoReformatter()
        self._open()
        self.head = self._head()
        self._height, self._width = self.head.shape if size is None else size

    def _open(self) -> None:
        """Open the file, at its start."""
        try:
            # As "file:...": FFmpeg treats other words before a colon as protocols. A playlist opens local files only.
            options = {"protocol_whitelist": "file,crypto,data"}
            file = self._library.open(f"file:{os.path.abspath(self._name)}", options=options, metadata_errors="ignore")
        except self._library.FFmpegError as error:
            raise self._told(error) from error
        if not file.streams.video:
            raise self._loss("it has no video stream")
        self._file, self._stream = file, file.streams.video[0]
        if self._stream.codec_context is None:
            raise self._loss("FFmpeg has no decoder for its video")
        self._stream.codec_context.thread_count = self._threads
        self._stream.codec_context.thread_type = "AUTO"
        self._begin = self._stream.start_time or 0
        self._frames = self._decoded()
        self._shown: Any = None  # the frame on screen, and the one after it
        self._next: Any = None

    def _head(self) -> Head:
        stream, context = self._stream, self._stream.codec_context
        width, height = context.width, context.height
        if width * height > MAX_PIXELS:
            text = f"video: '{self._name}' has frames of {width} x {height} pixels, more than the limit of"
            raise ResourceExhaustedError(None, None, f"{text} {MAX_PIXELS:,}")
        if not width or not height or not stream.time_base:
            raise self._loss("the size of its frames is not known")
        if stream.duration is not None:
            duration = stream.duration * stream.time_base
        elif self._file.duration is not None:  # over all streams, from the start of the first one
            late = self._begin * stream.time_base - Fraction(self._file.start_time or 0, self._library.time_base)
            duration = Fraction(self._file.duration, self._library.time_base) - late
        else:
            text = f"video: '{self._name}' does not state its duration"
            raise invalid(f"{text}: write it again, for example with ffmpeg -c copy")
        return Head(duration, stream.average_rate or stream.guessed_rate, (height, width))

    def read(self, times: Sequence[Fraction], frames: NDArray[np.uint8], found: NDArray[np.float64]) -> None:
        """Decode the frames on screen at some times.

        Args:
            times: The times from the start of the video, ascending.
            frames: The array to fill, uint8 [len(times), height, width, 3].
            found: The array to fill with the times at which they appear.

        Raises:
            DataLossError: The file is damaged, or ends earlier.
        """
        base, last = self._stream.time_base, None
        for i, time in enumerate(times):
            # Files round times to ticks of their clock, up or down.
            frame = self._at(self._begin + math.floor(time / base + Fraction(1, 2)))
            if frame is last:
                frames[i] = frames[i - 1]
            else:
                self._copy(frame, frames[i])
            found[i], last = float((frame.pts - self._begin) * base), frame

    def _at(self, tick: int) -> Any:
        """Return the frame on screen at a tick of the stream's clock."""
        near = _NEAR / self._stream.time_base
        if self._shown is None or not self._shown.pts <= tick <= self._shown.pts + near:
            self._seek(tick)
        while self._next is not None and self._next.pts <= tick:
            self._shown, self._next = self._next, next(self._frames, None)
        if self._next is None:
            self._refuse_end(tick)
        return self._shown

    def _seek(self, tick: int) -> None:
        """Go to a keyframe at or before a tick: to the first frame if the tick is before it."""
        for earlier in _EARLIER:
            place = tick - math.ceil(earlier / self._stream.time_base)
            if place <= self._begin:
                break
            try:
                self._file.seek(place, stream=self._stream)
            except self._library.FFmpegError:  # not every format supports this
                break
            self._frames = self._decoded()
            self._shown = next(self._frames, None)
            if self._shown is not None and self._shown.pts <= tick:
                self._next = next(self._frames, None)
                return
        self._file.close()
        self._open()
        self._shown = next(self._frames, None)
        self._next = next(self._frames, None)
        if self._shown is None:
            raise self._loss("it has no frames")

    def _decoded(self) -> Iterator[Any]:
        """Decode frames from the file's current position."""
        try:
            for packet in self._file.demux(self._stream):
                if packet.is_corrupt:
                    raise self._loss("it is damaged")
                for frame in packet.decode():
                    if frame.is_corrupt:
                        raise self._loss("it is damaged")
                    if frame.pts is None:
                        raise self._loss("it has a frame without a time")
                    yield frame
        except self._library.FFmpegError as error:
            raise self._told(error) from error

    def _refuse_end(self, tick: int) -> None:
        """Raise DataLossError if the last frame is no longer on screen at a tick: others are missing."""
        base, fps = self._stream.time_base, self.head.fps
        lasts = max(self._shown.duration or 0, 0 if fps is None else math.ceil(1 / fps / base))
        if tick > self._shown.pts + lasts:
            have = float((self._shown.pts + lasts - self._begin) * base)
            raise self._loss(f"it ends after {have:g} s, and its header claims {float(self.head.duration):g} s")

    def _copy(self, frame: Any, out: NDArray[np.uint8]) -> None:
        """Copy a frame's pixels into an array."""
        if (frame.height, frame.width) != self.head.shape:
            text = f"it has frames of {frame.width} x {frame.height} pixels after those of"
            raise self._loss(f"{text} {self.head.shape[1]} x {self.head.shape[0]}")
        plane = self._scaler.reformat(frame, self._width, self._height, "rgb24").planes[0]
        rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: self._height, : 3 * self._width]
        out[...] = rows.reshape(out.shape)

    def _told(self, error: Any) -> Exception:
        """Return the error to raise for an FFmpeg error."""
        if isinstance(error, OSError) and error.errno != errno.EIO:  # FFmpeg raises EIO for damaged Matroska files
            return translated(os.fsencode(self._name), error)
        return self._loss(error.strerror)

    def _loss(self, text: str) -> OpError:
        return DataLossError(None, None, f"video: '{self._name}' cannot be read: {text}")
