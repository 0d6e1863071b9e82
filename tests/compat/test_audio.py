"""tf.audio.decode_wav returns TensorFlow's values."""

import io
import wave

import numpy as np
import pytest

import pipeline.compat.v1 as tf


def _wav(rows, width=2):
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(2)
        writer.setsampwidth(width)
        writer.setframerate(8000)
        writer.writeframes(np.array(rows, f"<i{width}").tobytes())
    return file.getvalue()


ROWS = _wav([[0, 32767], [-32768, 1], [100, -100]])
SMALL = 3.0517578125e-05
ALL = [[0.0, 0.999969482421875], [-1.0, SMALL], [100 * SMALL, -100 * SMALL]]


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({}, ALL),
        ({"desired_channels": 1}, [row[:1] for row in ALL]),
        ({"desired_channels": 3}, [[*row, row[1]] for row in ALL]),
        ({"desired_samples": 2}, ALL[:2]),
        ({"desired_samples": 5}, [*ALL, [0.0, 0.0], [0.0, 0.0]]),
    ],
)
def test_samples(options, want):
    with tf.Graph().as_default(), tf.Session() as sess:
        wav = tf.audio.decode_wav(ROWS, **options)
        shape = [options.get("desired_samples"), options.get("desired_channels")]
        assert wav.audio.shape.as_list() == shape
        audio, rate = sess.run(wav)
    assert audio.dtype == np.float32
    assert audio.tolist() == want
    assert (rate, rate.dtype) == (8000, np.int32)


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"RIFF", "ends too early"), (b"junk" * 12, "not a WAV file"), (_wav([[1, 2]], 4), "16 bits, got 32")],
    ids=["short", "junk", "wide"],
)
def test_other_files(data, text):
    with tf.Graph().as_default(), tf.Session() as sess:
        wav = tf.audio.decode_wav(data)
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            sess.run(wav)


def test_counts_that_cannot_be():
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"desired_channels must be positive.*got 0"):
        tf.audio.decode_wav(ROWS, desired_channels=0)
