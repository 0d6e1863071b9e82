"""AudioFile: samples from an open sound file, from any frame on."""

from __future__ import annotations

import functools
import io
import os
import re
import struct
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataLossError, OpError, invalid
from pipeline.files.limits import MAX_RECORD_BYTES
from pipeline.files.opening import read_whole
from pipeline.files.os_errors import translated
from pipeline.sources.extras import needs

_PIECE = 1 << 22  # frames read at once: a header may claim any number

# Frames decoded before the first wanted frame, after a seek: these formats' decoders need the preceding blocks.
# Without them up to 200 Vorbis samples are noise.
_BEFORE = {"OGG": 8192, "MP3": 8192}

# The MP3 decoder rounds depending on earlier input, so each window is read from a newly opened file.
_OPENED_ANEW = ("MP3",)

# libsndfile's log about a header claiming more bytes than the file has; libsndfile reads the rest as if complete.
_CUT = re.compile(r"^\s*(?:data|riff|Riff size|SSND|Data Size)\s*:\s*(\d+) \(should be (\d+)\)", re.MULTILINE)

# Programs writing to a pipe claim almost the largest integer, because they cannot return to the header.
_LARGEST = tuple(1 << bits for bits in (31, 32, 63, 64))
_ALMOST = 8192

_OGG_PAGE, _OGG_HEAD = 65_307, 27  # bytes in the longest page, and in a page's head without its table


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))

_CAF_HEAD, _CAF_CHUNK = 8, struct.Struct(">4sq")  # bytes in the file's head; a chunk's name and size


class Form(NamedTuple):
    """The requested sample format.

    Attributes:
        sample_rate, channels: Required of every file; None for any.
        dtype: Its name.
    """

    sample_rate: int | None
    channels: int | None
    dtype: str


class AudioFile:
    """An open sound file.

    Args:
        name: Its path or URL.
        form: The requested format.

    Raises:
        DataLossError: It is not a sound file, or is damaged or cut short.
        InvalidArgumentError: It has another sample rate or channel count.
        NotFoundError, ...: It cannot be opened.

    Attributes:
        frames, sample_rate, channels: According to its header.
    """

    def __init__(self, name: str, form: Form) -> None:
        self._name, self._dtype = name, form.dtype
        self._file = self._opened()
        self.frames, self.sample_rate, self.channels = self._file.frames, self._file.samplerate, self._file.channels
        if form.sample_rate not in (None, self.sample_rate):
            text = f"audio: '{name}' has {self.sample_rate:,} Hz, and sample_rate={form.sample_rate}"
            raise invalid(f"{text}: leave sample_rate= out and resample by a library such as soxr in map()")
        if form.channels not in (None, self.channels):
            text = f"audio: '{name}' has {self.channels} channels, and channels={form.channels}"
            raise invalid(f"{text}: leave channels= out and mix them in map(), such as by samples.mean(1)")
        self._refuse_cut()

    def read(self, begin: int, out: NDArray[Any]) -> None:
        """Read samples into an array [frames, channels].

        Args:
            begin: The first frame.
            out: The array to fill.

        Raises:
            DataLossError: The file is damaged, or ends earlier.
        """
        if self._file.format in _OPENED_ANEW:
            self._file = self._opened()
        if self._told(self._file.tell) != begin:
            before = min(begin, _BEFORE.get(self._file.format, 0))
            self._told(lambda: self._file.seek(begin - before))
            if before:
                self._fill(begin - before, np.empty((before, self.channels), out.dtype))
        self._fill(begin, out)

    def all(self) -> NDArray[Any]:
        """Return all samples from a newly opened file, [frames, channels]; errors as for `read`."""
        pieces = []
        for begin in range(0, max(1, self.frames), _PIECE):
            pieces.append(np.empty((min(_PIECE, self.frames - begin), self.channels), self._dtype))
            self._fill(begin, pieces[-1])
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _fill(self, begin: int, out: NDArray[Any]) -> None:
        found = self._told(functools.partial(self._file.read, dtype=self._dtype, always_2d=True, out=out))
        if len(found) < len(out):
            have = begin + len(found)
            raise self._loss(f"it ends after {have:,} frames, and its header claims {self.frames:,}")

    def _opened(self) -> Any:
        name = self._name
        # A URL is read whole: callbacks fetching ranges could not raise errors through libsndfile.
        data = io.BytesIO(read_whole(os.fsencode(name), MAX_RECORD_BYTES)) if "://" in name else name
        return self._told(lambda: needs("soundfile", "audio").SoundFile(data))

    def _refuse_cut(self) -> None:
        """Raise DataLossError if the header claims more bytes than exist."""
        cut = _CUT.search(self._file.extra_info)
        if cut is not None:
            claimed, there = int(cut[1]), int(cut[2])
            if there < claimed and not any(0 < largest - claimed <= _ALMOST for largest in _LARGEST):
                raise self._loss(f"its header claims {claimed:,} bytes, and {there:,} are there")
        if (self._file.format, self._file.subtype) == ("RAW", "ULAW"):  # libsndfile's guess for any .au file
            raise self._loss("it has no header")
        if self._file.format == "CAF" and "://" not in self._name and _is_cut_caf(self._name):
            raise self._loss("its header claims more bytes than are there")
        if self._file.format == "OGG" and "://" not in self._name and _is_cut_ogg(self._name):
            raise self._loss("it ends before its last page, or that is damaged")

    def _told(self, call: Callable[[], Any]) -> Any:
        """Call a function that reads the file, and translate libsndfile's errors into ours, with the file's name."""
        try:
            return call()
        except OpError:
            raise
        except (needs("soundfile", "audio").SoundFileError, TypeError) as error:  # TypeError: raw samples, no header
            if "://" not in self._name:
                try:
                    os.close(os.open(self._name, os.O_RDONLY | os.O_CLOEXEC))
                except OSError as reason:
                    raise translated(os.fsencode(self._name), reason) from error
            raise self._loss(str(error)) from error

    def _loss(self, text: str) -> DataLossError:
        return DataLossError(None, None, f"audio: '{self._name}' cannot be read: {text}")


def _is_cut_caf(name: str) -> bool:
    """Return True for a CAF file cut short; libsndfile does not notice missing bytes at the end."""
    with open(name, "rb") as file:
        size, begin = os.fstat(file.fileno()).st_size, _CAF_HEAD
        while True:
            file.seek(begin)
            kind, length = _CAF_CHUNK.unpack(file.read(_CAF_CHUNK.size).ljust(_CAF_CHUNK.size, b"\0"))
            begin += _CAF_CHUNK.size + length
            if length < 0 or begin > size:  # below 0: up to the file's end
                return bool(length >= 0)
            if kind in (b"data", bytes(4)):
                return False


def _is_cut_ogg(name: str) -> bool:
    """Return True if an Ogg file's last page does not end its stream, is incomplete, or has a wrong checksum."""
    with open(name, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _OGG_PAGE))
        data = file.read()
    page = data[max(0, data.rfind(b"OggS")) :]
    if len(page) < _OGG_HEAD:
        return True
    ends_stream, table = page[5] & 4, page[_OGG_HEAD : _OGG_HEAD + page[26]]
    size = _OGG_HEAD + page[26] + sum(table)
    # Libraries skip damaged pages, and this would change the sound's length.
    return not ends_stream or len(page) < size or int.from_bytes(page[22:26], "little") != _ogg_crc(page[:size])


def _ogg_crc(page: bytes) -> int:
    """Return a page's checksum: zlib's CRC-32 with each byte's bits reversed, starting at 0."""
    data = page[:22] + bytes(4) + page[26:]
    found = ~zlib.crc32(data.translate(_REVERSED), 0xFFFFFFFF) & 0xFFFFFFFF
    return int(f"{found:032b}"[::-1], 2)
