"""AudioFile: the samples of an open sound file, from any frame on."""

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

_PIECE = 1 << 22  # frames that are read at once: a header may claim any number

# Frames that are decoded before the first one that is wanted, after a seek: decoders of these formats need the blocks
# before it. Without them up to 200 samples of Vorbis are noise.
_BEFORE = {"OGG": 8192, "MP3": 8192}

# The decoder of MP3 rounds by what it has decoded before, so each window is read from a file opened anew.
_OPENED_ANEW = ("MP3",)

# What libsndfile logs about a header that claims more bytes than the file has; it reads the rest as if that were all.
_CUT = re.compile(r"^\s*(?:data|riff|Riff size|SSND|Data Size)\s*:\s*(\d+) \(should be (\d+)\)", re.MULTILINE)

# Programs that write to a pipe claim almost the largest number of their integers, as they cannot go back to the header.
_LARGEST = tuple(1 << bits for bits in (31, 32, 63, 64))
_ALMOST = 8192

_OGG_PAGE, _OGG_HEAD = 65_307, 27  # bytes of the longest page, and of a page's head without its table


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))

_CAF_HEAD, _CAF_CHUNK = 8, struct.Struct(">4sq")  # bytes of the file's head; of a chunk, its name and size


class Form(NamedTuple):
    """The samples that were asked for.

    Attributes:
        sample_rate, channels: Of every file; None for any.
        dtype: Its name.
    """

    sample_rate: int | None
    channels: int | None
    dtype: str


class AudioFile:
    """An open sound file.

    Args:
        name: Its path or URL.
        form: What was asked for.

    Raises:
        DataLossError: It is no sound file, or is damaged or cut short.
        InvalidArgumentError: It has another sample rate or number of channels.
        NotFoundError, ...: It cannot be opened.

    Attributes:
        frames, sample_rate, channels: What its header says.
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
            out: Where to put the samples.

        Raises:
            DataLossError: The file is damaged, or ends before.
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
        """Return the samples of a file that was just opened, [frames, channels]; errors as for `read`."""
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
        # Of a URL all bytes are needed, as callbacks that fetch ranges could not raise errors through libsndfile.
        data = io.BytesIO(read_whole(os.fsencode(name), MAX_RECORD_BYTES)) if "://" in name else name
        return self._told(lambda: needs("soundfile", "audio").SoundFile(data))

    def _refuse_cut(self) -> None:
        """Raise DataLossError if the header claims more than there is."""
        cut = _CUT.search(self._file.extra_info)
        if cut is not None:
            claimed, there = int(cut[1]), int(cut[2])
            if there < claimed and not any(0 < largest - claimed <= _ALMOST for largest in _LARGEST):
                raise self._loss(f"its header claims {claimed:,} bytes, and {there:,} are there")
        if (self._file.format, self._file.subtype) == ("RAW", "ULAW"):  # which libsndfile supposes of any .au file
            raise self._loss("it has no header")
        if self._file.format == "CAF" and "://" not in self._name and _is_cut_caf(self._name):
            raise self._loss("its header claims more bytes than are there")
        if self._file.format == "OGG" and "://" not in self._name and _is_cut_ogg(self._name):
            raise self._loss("it ends before its last page, or that is damaged")

    def _told(self, call: Callable[[], Any]) -> Any:
        """Call what reads the file; errors of libsndfile become the library's, with the name of the file."""
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
    """Return whether a CAF file is cut short; libsndfile does not see that its last bytes are missing."""
    with open(name, "rb") as file:
        size, begin = os.fstat(file.fileno()).st_size, _CAF_HEAD
        while True:
            file.seek(begin)
            kind, length = _CAF_CHUNK.unpack(file.read(_CAF_CHUNK.size).ljust(_CAF_CHUNK.size, b"\0"))
            begin += _CAF_CHUNK.size + length
            if length < 0 or begin > size:  # below 0: as far as the file goes
                return bool(length >= 0)
            if kind in (b"data", bytes(4)):
                return False


def _is_cut_ogg(name: str) -> bool:
    """Return whether the last page of an Ogg file does not end its stream, is not whole, or has a wrong checksum."""
    with open(name, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _OGG_PAGE))
        data = file.read()
    page = data[max(0, data.rfind(b"OggS")) :]
    if len(page) < _OGG_HEAD:
        return True
    ends_stream, table = page[5] & 4, page[_OGG_HEAD : _OGG_HEAD + page[26]]
    size = _OGG_HEAD + page[26] + sum(table)
    # Libraries leave out damaged pages, and so the length of the sound would be another one.
    return not ends_stream or len(page) < size or int.from_bytes(page[22:26], "little") != _ogg_crc(page[:size])


def _ogg_crc(page: bytes) -> int:
    """Return the checksum of a page: the CRC-32 of zlib with the bits of all bytes reversed, begun at 0."""
    data = page[:22] + bytes(4) + page[26:]
    found = ~zlib.crc32(data.translate(_REVERSED), 0xFFFFFFFF) & 0xFFFFFFFF
    return int(f"{found:032b}"[::-1], 2)
