"""audio: sound files, whole and in windows. `make test-sources` installs soundfile; elsewhere these are skipped."""

import contextlib
import logging
import os
import pickle
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from dataset_contract import check as check_elements
from source_contract import SourceContract

import pipeline
from pipeline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError

soundfile = pytest.importorskip("soundfile", reason="make test-sources installs it")

COUNT, RATE, SIZE = 30, 8000, 800  # windows, frames per second, and frames in 0.1 s
ENDS = [(0, 7), (7, 19), (19, COUNT)]  # windows in each file


def raises(cls, *parts):
    """Expect an error with these texts in order."""
    return pytest.raises(cls, match="(?s)" + ".*".join(map(re.escape, parts)))


def write(path, samples, rate=RATE, **options):
    soundfile.write(path, np.asarray(samples), rate, **options)
    return str(path)


def window(number):
    """Return two-channel frames that identify a window."""
    return np.stack([np.full(SIZE, 100 * number), np.arange(SIZE) + number], 1).astype(np.int16)


def check(batch):
    numbers = (batch["samples"][:, 0, 0] // 100).tolist()
    assert batch["samples"].dtype == np.int16
    assert batch["samples"].tolist() == [window(i).tolist() for i in numbers]
    assert batch["sample_rate"].dtype == np.int64
    assert (batch["sample_rate"] == RATE).all()
    return numbers


class TestWindows(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True, params=["wav", "flac", "aiff"])
    def _files(self, request, tmp_path):
        self.paths = [str(tmp_path / f"{i}.{request.param}") for i in range(len(ENDS))]
        for path, (first, end) in zip(self.paths, ENDS, strict=True):
            rest = np.full((37, 2), 9999, np.int16)  # too few for a window
            write(path, np.concatenate([*(window(i) for i in range(first, end)), rest]))

    def make(self, **options):
        return pipeline.audio(self.paths, SIZE / RATE, dtype="int16", sample_rate=RATE, channels=2, **options)

    def numbers(self, batch):
        found = check(batch)
        for number, path, start in zip(found, batch["path"], batch["start"].tolist(), strict=True):
            file = self.paths.index(path)
            assert start == pytest.approx((number - ENDS[file][0]) * SIZE / RATE)
        return found


class TestFiles(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.pattern = tmp_path / "*.flac"
        for i in range(COUNT):
            write(tmp_path / f"{i:02}.flac", window(i))

    def make(self, **options):
        return pipeline.audio(self.pattern, dtype="int16", **options)

    def numbers(self, batch):
        assert batch["start"].tolist() == [0.0] * len(batch["start"])
        numbers = check(batch)
        assert [os.path.basename(path) for path in batch["path"]] == [f"{i:02}.flac" for i in numbers]
        return numbers


class TestShorterWindows(TestWindows):
    """A file's last window may be shorter; here none is."""

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.paths = [str(tmp_path / f"{i}.wav") for i in range(len(ENDS))]
        for path, (first, end) in zip(self.paths, ENDS, strict=True):
            write(path, np.concatenate([window(i) for i in range(first, end)]))

    def make(self, **options):
        return super().make(drop_remainder=False, **options)


@pytest.mark.parametrize("ending", ["wav", "ogg"])
def test_every_element_resumes(tmp_path, ending):
    """Vorbis windows need the frames before them."""
    noise = np.random.default_rng(1).normal(size=(12 * SIZE, 1)) / 8
    write(tmp_path / f"a.{ending}", noise)
    data = pipeline.audio(tmp_path / f"a.{ending}", SIZE / RATE).map(lambda each: each["samples"].tobytes())
    [whole] = pipeline.audio(tmp_path / f"a.{ending}")
    check_elements(data, [part.tobytes() for part in np.split(whole["samples"], 12)])


@pytest.fixture
def noise(tmp_path):
    """Two seconds in a file per format, and their samples as libsndfile reads them."""
    samples = np.random.default_rng(1).integers(-9000, 9000, (2 * RATE, 2)).astype(np.int16)
    paths = [write(tmp_path / f"noise.{ending}", samples) for ending in ("wav", "flac", "ogg", "mp3")]
    return {path: soundfile.read(path, dtype="int16", always_2d=True)[0] for path in paths}


@pytest.mark.parametrize(("length", "hop"), [(0.25, None), (0.3, 0.1), (0.1, 0.3), (2.0, 0.5)])
@pytest.mark.parametrize("whole", [True, False])
def test_windows_are_those_of_a_whole_read(noise, length, hop, whole):
    for path, samples in noise.items():
        data = pipeline.audio(path, length, hop=hop, dtype="int16", drop_remainder=whole)
        size, step = round(length * RATE), round((hop or length) * RATE)
        begins = list(range(0, len(samples) - size + 1, step))
        if not whole and begins[-1] + size < len(samples) and begins[-1] + step < len(samples):
            begins.append(begins[-1] + step)
        assert len(data) == len(begins)
        for number in [*range(len(begins)), *reversed(range(len(begins)))]:
            example, begin = data[number], begins[number]
            assert example["start"] == begin / RATE
            off = 1 if path.endswith("mp3") else 0  # its decoder's rounding depends on earlier samples
            np.testing.assert_allclose(example["samples"], samples[begin : begin + size], rtol=0, atol=off)
            np.testing.assert_array_equal(example["samples"], data[number]["samples"])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int32"])
def test_dtypes_are_those_of_the_library(noise, dtype):
    path = next(iter(noise))
    expected = soundfile.read(path, dtype=dtype, always_2d=True)[0]
    for data in (pipeline.audio(path, dtype=dtype), pipeline.audio(path, 2.0, dtype=dtype)):
        [example] = data
        assert example["samples"].dtype == expected.dtype
        np.testing.assert_array_equal(example["samples"], expected)


def test_files_of_several_lengths_and_rates(tmp_path):
    paths = [write(tmp_path / f"{i}.wav", np.zeros(400 * i, "int16"), 4000 * i) for i in (1, 2)]
    assert [(each["samples"].shape, each["sample_rate"]) for each in pipeline.audio(paths)] == [
        ((400, 1), 4000),
        ((800, 1), 8000),
    ]
    windows = list(pipeline.audio(paths, 0.05))
    assert [each["samples"].shape for each in windows] == [(200, 1), (200, 1), (400, 1), (400, 1)]
    assert [each["start"] for each in windows] == [0, 0.05, 0, 0.05]
    with raises(InvalidArgumentError, f"'{paths[1]}' has 8,000 Hz, and sample_rate=4000"):
        pipeline.audio(paths, 0.05, sample_rate=4000)
    with raises(InvalidArgumentError, f"'{paths[0]}' has 1 channels, and channels=2"):
        list(pipeline.audio(paths, channels=2))


def test_short_files(tmp_path, caplog):
    short, long = (write(tmp_path / f"{i}.wav", np.zeros(i, "int16")) for i in (400, 4000))
    with caplog.at_level(logging.WARNING, logger="pipeline"):
        assert len(pipeline.audio([short, long], 0.1)) == 5
    [record] = caplog.records
    assert record.getMessage().startswith("audio: 1 of 2 files were left out, as they are shorter than window=0.1 s")
    with raises(InvalidArgumentError, "all 1 files are shorter than window=0.1 s", short, "drop_remainder=False"):
        pipeline.audio(short, 0.1)
    [example] = pipeline.audio(short, 0.1, drop_remainder=False)
    assert example["samples"].shape == (400, 1)


def test_an_empty_file(tmp_path):
    path = write(tmp_path / "empty.wav", np.zeros((0, 2), "int16"))
    [example] = pipeline.audio(path)
    assert example["samples"].shape == (0, 2)
    assert len(pipeline.audio(path, 1.0, drop_remainder=False)) == 0


class TestDamage:
    @pytest.mark.parametrize("kept", [0.3, 0.7, 0.99])
    @pytest.mark.parametrize("ending", ["wav", "flac", "ogg", "aiff", "w64", "caf", "au", "rf64"])
    def test_a_file_that_is_cut(self, tmp_path, ending, kept):
        """It never reads as a shorter recording."""
        samples = np.random.default_rng(1).integers(-9000, 9000, (2 * RATE, 2)).astype(np.int16)
        options = {"format": "RF64"} if ending == "rf64" else {}
        path = write(tmp_path / f"a.{ending}", samples, **options)
        os.truncate(path, int(kept * os.path.getsize(path)))
        with raises(DataLossError, path):
            list(pipeline.audio(path))
        with raises(DataLossError, path):
            list(pipeline.audio(path, 0.25))

    @pytest.mark.parametrize("missing", range(1, 16))
    def test_a_caf_file_without_its_last_bytes(self, tmp_path, missing):
        path = write(tmp_path / "a.caf", np.zeros((RATE, 2), "int16"))
        os.truncate(path, os.path.getsize(path) - missing)
        with raises(DataLossError, path):
            list(pipeline.audio(path))

    @pytest.mark.parametrize("subtype", ["VORBIS", "OPUS"])
    def test_a_changed_byte_in_the_last_page_of_ogg(self, tmp_path, subtype):
        """Libraries leave the page out, and the recording would be shorter."""
        samples = np.random.default_rng(1).integers(-9000, 9000, (20 * RATE, 2)).astype(np.int16)
        path = Path(write(tmp_path / "a.ogg", samples, subtype=subtype))
        data = bytearray(path.read_bytes())
        data[-5] ^= 1
        path.write_bytes(data)
        with raises(DataLossError, str(path)):
            list(pipeline.audio(path))
        with raises(DataLossError, str(path)):
            pipeline.audio(path, 0.25)

    @pytest.mark.parametrize("data", [b"", b"no sound" * 100])
    @pytest.mark.parametrize("ending", ["au", "snd"])
    def test_other_files_are_no_au_files(self, tmp_path, ending, data):
        """Libsndfile reads them as noise without a header."""
        path = tmp_path / f"a.{ending}"
        path.write_bytes(data)
        with raises(DataLossError, str(path), "it has no header"):
            list(pipeline.audio(path))
        with raises(DataLossError, str(path), "it has no header"):
            pipeline.audio(path, 0.01)

    def test_windows_of_a_file_without_seeking(self, tmp_path):
        path = tmp_path / "a.vox"
        path.write_bytes(b"\x80" * 8000)
        assert len(list(pipeline.audio(path))) == 1
        with raises(DataLossError, str(path)):
            list(pipeline.audio(path, 0.25))

    @pytest.mark.parametrize("data", [b"", b"RIFF", b"RIFF\xff\xff\xff\xffWAVE", b"fLaC" + b"\0" * 50, b"x" * 1000])
    def test_no_sound_file(self, tmp_path, data):
        path = tmp_path / "a.wav"
        path.write_bytes(data)
        with raises(DataLossError, str(path)):
            list(pipeline.audio(path))
        with raises(DataLossError, str(path)):
            pipeline.audio(path, 1.0)

    @pytest.mark.parametrize("ending", ["wav", "flac", "ogg", "mp3"])
    def test_changed_bytes(self, tmp_path, ending):
        """A file is read, or the error names it."""
        path = tmp_path / f"a.{ending}"
        write(path, np.arange(RATE, dtype="int16"))
        data, random = path.read_bytes(), np.random.default_rng(1)
        for _ in range(20):
            changed = bytearray(data)
            for place in random.integers(0, random.choice([200, len(data)]), 5).tolist():
                changed[place] = random.integers(256)
            path.write_bytes(changed)
            for options in ({}, {"window": 0.1}):
                with contextlib.suppress(DataLossError, InvalidArgumentError):
                    list(pipeline.audio(path, **options))

    def test_a_header_that_claims_any_number_of_samples(self, tmp_path):
        path = tmp_path / "a.flac"
        write(path, np.zeros(RATE, "int16"))
        data = bytearray(path.read_bytes())
        data[21:26] = bytes([data[21] | 0x0F]) + b"\xff" * 4  # 2**36 - 1 samples
        path.write_bytes(data)
        with raises(DataLossError, str(path)):
            list(pipeline.audio(path, dtype="int16"))

    def test_a_stream_of_unknown_length(self, tmp_path):
        """Programs writing to a pipe cannot go back to the header."""
        path = tmp_path / "a.wav"
        write(path, np.arange(RATE, dtype="int16"))
        data = bytearray(path.read_bytes())
        at = data.index(b"data") + 4
        data[4:8] = data[at : at + 4] = struct.pack("<I", 0xFFFFFFFF)
        path.write_bytes(data)
        [example] = pipeline.audio(path, dtype="int16")
        assert example["samples"][:, 0].tolist() == list(range(RATE))

    def test_raw_samples_have_no_header(self, tmp_path):
        path = tmp_path / "a.raw"
        path.write_bytes(b"\0" * 100)
        with raises(DataLossError, str(path)):
            list(pipeline.audio(path))

    def test_errors_come_in_order_and_name_the_file(self, tmp_path):
        paths = [write(tmp_path / f"{i}.wav", window(i)) for i in range(6)]
        os.truncate(paths[3], 100)
        taken = []
        with raises(DataLossError, paths[3]):
            for example in pipeline.audio(paths, dtype="int16"):
                taken.append(example)
        assert len(taken) == 3
        data = pipeline.audio(paths, dtype="int16").map(lambda each: each["samples"][0, 0] // 100, on_error="skip")
        assert [int(each) for each in data] == [0, 1, 2, 4, 5]

    def test_a_changed_file(self, tmp_path):
        path = write(tmp_path / "a.wav", np.zeros(4 * RATE, "int16"))
        data = pipeline.audio(path, 1.0)
        assert len(list(data)) == 4
        write(path, np.zeros(2 * RATE, "int16"))
        with raises(FailedPreconditionError, path, "has changed since the dataset was made"):
            list(data)

    def test_a_file_that_went_away(self, tmp_path):
        path = write(tmp_path / "a.wav", np.zeros(RATE, "int16"))
        for data in (pipeline.audio(path), pipeline.audio(path, 1.0)):
            os.rename(path, f"{path}.gone")
            with raises(NotFoundError, path):
                list(data)
            os.rename(f"{path}.gone", path)


@pytest.mark.parametrize(
    ("options", "cls", "text"),
    [
        ({"window": 0}, ValueError, "audio: window must be above 0 seconds, got 0"),
        ({"window": "1"}, TypeError, "audio: window must be a number of seconds"),
        ({"window": 1, "hop": -1}, ValueError, "audio: hop must be above 0 seconds"),
        ({"hop": 1}, ValueError, "audio: hop= and drop_remainder= are for windows: pass window= too"),
        ({"drop_remainder": False}, ValueError, "audio: hop= and drop_remainder= are for windows"),
        ({"dtype": "uint8"}, ValueError, "audio: dtype must be one of 'float32', 'float64', 'int16', 'int32'"),
        ({"sample_rate": 0}, ValueError, "audio: sample_rate"),
        ({"channels": 1.5}, TypeError, "audio: channels"),
    ],
)
def test_wrong_options(tmp_path, options, cls, text):
    path = write(tmp_path / "a.wav", np.zeros(RATE, "int16"))
    with raises(cls, text):
        pipeline.audio(path, **options)


def test_paths(tmp_path):
    with raises(InvalidArgumentError, f"'{tmp_path}' is a folder", f"'{tmp_path}/*'"):
        pipeline.audio(tmp_path, 1.0)
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
    with raises(InvalidArgumentError, f"'{tmp_path / 'pipe'}' is a pipe or device"):
        pipeline.audio(tmp_path / "pipe", 1.0)
    with raises(InvalidArgumentError, "'s3://bucket/a.wav' is a URL"):
        pipeline.audio("s3://bucket/a.wav", 1.0)


def test_whole_files_behind_urls(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    path = write(tmp_path / "a.wav", window(3))
    with fsspec.open("memory://sounds/a.wav", "wb") as file:
        file.write((tmp_path / "a.wav").read_bytes())
    [local], [remote] = pipeline.audio(path, dtype="int16"), pipeline.audio("memory://sounds/*.wav", dtype="int16")
    np.testing.assert_array_equal(local["samples"], remote["samples"])
    assert remote["path"].endswith("sounds/a.wav")


def test_a_pickled_source_reads_on(tmp_path):
    path = write(tmp_path / "a.wav", np.concatenate([window(i) for i in range(5)]))
    data = pipeline.audio(path, SIZE / RATE, dtype="int16")
    assert data[3]["samples"][0, 0] == 300
    other = pickle.loads(pickle.dumps(data))
    assert [each["samples"][0, 0] // 100 for each in other] == list(range(5))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # about a fork with threads
@pytest.mark.filterwarnings("ignore:lance is not fork-safe")  # where other tests have imported it
def test_a_forked_process_has_files_of_its_own(tmp_path):
    """The parent's open file has one position for both."""
    path = write(tmp_path / "a.flac", np.concatenate([window(i) for i in range(COUNT)]))
    data = pipeline.audio(path, SIZE / RATE, dtype="int16")
    assert data[0]["samples"][0, 0] == 0
    child = os.fork()
    wrong = 0
    for _ in range(5):
        wrong += sum(example["samples"].tolist() != window(i).tolist() for i, example in enumerate(data))
    if child == 0:
        os._exit(min(wrong, 1))
    assert os.waitpid(child, 0)[1] == 0
    assert wrong == 0
