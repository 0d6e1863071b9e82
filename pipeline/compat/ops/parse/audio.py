"""decode_wav: WAV file bytes to samples."""

from __future__ import annotations

import io
import operator
import wave
from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph.dtypes import float32, int32
from pipeline.compat.graph.node import node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.text import text
from pipeline.errors import invalid


class DecodeWav(NamedTuple):
    """Samples as float32 [samples, channels] from -1 to 1, and samples per second."""

    audio: Tensor
    sample_rate: Tensor


def decode_wav(
    contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> DecodeWav:
    """Decode a WAV file with 16-bit PCM samples.

    Args:
        contents: The file's bytes, a scalar string.
        desired_channels: Channel count; the last one is repeated for missing channels. -1 takes all.
        desired_samples: Sample count; zeros follow if the file has fewer. -1 takes all.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time, if this is not a WAV file with 16-bit PCM samples.
    """
    channels, samples = operator.index(desired_channels), operator.index(desired_samples)
    for what, count in (("desired_channels", channels), ("desired_samples", samples)):
        if count < 1 and count != -1:
            raise ValueError(f"decode_wav: {what} must be positive, or -1 for all, got {count}")
    with name_scope(name, "DecodeWav", [contents]) as scope:
        value = text(contents, "contents", "DecodeWav")
        shape = [None if each == -1 else each for each in (samples, channels)]

        def kernel(data: Any) -> Any:
            if not isinstance(data, bytes):
                raise invalid(f"decode_wav: contents must be a scalar string, got shape {np.shape(data)}")
            return _decoded(data, channels, samples)

        outputs = node("DecodeWav", [value], [(float32, shape), (int32, ())], kernel, scope).outputs
    return DecodeWav(*outputs)


def _decoded(data: bytes, channels: int, samples: int) -> tuple[Any, Any]:
    try:
        with wave.open(io.BytesIO(data)) as file:
            width, count, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
            raw = file.readframes(file.getnframes()) if width == 2 else b""
    except (wave.Error, EOFError) as error:
        raise invalid(f"decode_wav: not a WAV file of PCM samples: {str(error) or 'it ends too early'}") from None
    if width != 2:
        raise invalid(f"decode_wav: expected samples of 16 bits, got {8 * width}")
    values = np.frombuffer(raw, "<i2", len(raw) // (2 * count) * count).reshape(-1, count)
    audio = values[: None if samples == -1 else samples].astype(np.float32) / np.float32(32768)
    if channels != -1:
        audio = audio[:, np.minimum(np.arange(channels), count - 1)]
    if samples > len(audio):
        audio = np.concatenate([audio, np.zeros((samples - len(audio), audio.shape[1]), np.float32)])
    return audio, np.int32(rate)
