"""video: clips from video files. `make test-sources` installs PyAV; elsewhere these are skipped."""

import logging
import os
import pickle
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from dataset_contract import check as check_elements
from source_contract import SourceContract

import pipeline
from pipeline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError

av = pytest.importorskip("av", reason="make test-sources installs it")

HEIGHT, WIDTH = 32, 48
COUNT, CLIP = 30, 4
ENDS = [(0, 7), (7, 19), (19, COUNT)]  # clips in each file


def raises(cls, *parts):
    """Expect an error with these texts in order."""
    return pytest.raises(cls, match="(?s)" + ".*".join(map(re.escape, parts)))


def picture(number):
    """A picture that identifies a frame by its bits, as light and dark fields, because every codec keeps these."""
    bits = [255 * (number >> i & 1) for i in range(12)]
    return np.kron(np.array(bits, np.uint8).reshape(3, 4), np.ones((HEIGHT // 4, WIDTH // 4), np.uint8))


def number_of(frame):
    fields = frame[..., 1].astype(int)
    bits = [
        fields[h * (HEIGHT // 4) + 3 : h * (HEIGHT // 4) + 5, w * (WIDTH // 4) + 4 : w * (WIDTH // 4) + 8].mean() > 128
        for h in range(3)
        for w in range(4)
    ]
    return sum(int(bit) << i for i, bit in enumerate(bits))


def write(
    path, numbers, fps=10, codec="mpeg4", times=None, options=None, container=None, gop=12, b_frames=0, pixels="yuv420p"
):
    """Write a video with numbered frames; `times` are frame times in ticks of 1 / (fps * 100) s."""
    with av.open(str(path), "w", options=container or {}) as file:
        stream = file.add_stream(codec, fps, options=options or {})
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = WIDTH, HEIGHT, pixels, 4_000_000
        stream.codec_context.gop_size, stream.codec_context.max_b_frames = gop, b_frames
        if times is not None:
            stream.codec_context.time_base = Fraction(1, fps * 100)
        for i, number in enumerate(numbers):
            image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
            image[: 3 * (HEIGHT // 4)] = picture(number)[..., None]
            frame = av.VideoFrame.from_ndarray(image, "rgb24")
            if times is not None:
                frame.pts, frame.time_base = times[i], Fraction(1, fps * 100)
            file.mux(stream.encode(frame))
        file.mux(stream.encode())
    return str(path)


def decoded(path):
    """Return all frames in a file, and their times, from a plain loop over the library."""
    with av.open(path) as file:
        stream = file.streams.video[0]
        frames = list(file.decode(stream))
        begin = stream.start_time or 0
        times = [float((frame.pts - begin) * stream.time_base) for frame in frames]
        return np.stack([frame.to_ndarray(format="rgb24") for frame in frames]), times


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """Files with the contract's clips, written once."""
    folder = tmp_path_factory.mktemp("films")
    numbers = [range(CLIP * first, CLIP * end + 2) for first, end in ENDS]  # two frames are too few for a clip
    return [write(folder / f"{i}.mp4", each) for i, each in enumerate(numbers)]


class TestClips(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True)
    def _files(self, films):
        self.paths = films

    def make(self, **options):
        return pipeline.video(self.paths, CLIP, **options)

    def numbers(self, batch):
        found = []
        for clip, path, start, times in zip(*(batch[k] for k in ("frames", "path", "start", "times")), strict=True):
            numbers = [number_of(frame) for frame in clip]
            assert numbers == list(range(numbers[0], numbers[0] + CLIP))
            number, rest = divmod(numbers[0], CLIP)
            assert rest == 0
            file = self.paths.index(path)
            assert start == pytest.approx((number - ENDS[file][0]) * CLIP / 10)
            assert times == pytest.approx([start + i / 10 for i in range(CLIP)])
            found.append(number)
        assert batch["frames"].dtype == np.uint8
        assert batch["frames"].shape[1:] == (CLIP, HEIGHT, WIDTH, 3)
        return found


FILMS = {
    "mpeg4.mp4": {},
    "mpeg4.avi": {},
    "mpeg4.mkv": {},
    "b_frames.mp4": {"b_frames": 2},
    "mpeg2.ts": {"codec": "mpeg2video", "fps": 25, "b_frames": 2},
    "mjpeg.mov": {"codec": "mjpeg", "pixels": "yuvj420p"},
    "h264.mp4": {"codec": "libx264", "b_frames": 3},
    "h264.mkv": {"codec": "libx264", "b_frames": 3},
    "open_gop.mp4": {"codec": "libx264", "b_frames": 3, "options": {"x264-params": "open-gop=1:scenecut=0"}},
    "one_keyframe.mp4": {"codec": "libx264", "gop": 1000},
    "vp9.webm": {"codec": "libvpx-vp9"},
    "ntsc.mp4": {"codec": "libx264", "fps": Fraction(30000, 1001)},
    "ntsc.mkv": {"codec": "libx264", "fps": Fraction(30000, 1001), "b_frames": 2},
}


@pytest.fixture(params=FILMS)
def film(request, tmp_path):
    options = FILMS[request.param]
    try:
        return write(tmp_path / request.param, range(80), **options)
    except (av.codec.codec.UnknownCodecError, av.FFmpegError) as error:
        pytest.skip(f"this build of PyAV does not write it: {error}")


def test_clips_have_the_frames_of_a_whole_decode(film):
    """For every frame, in order and in any other."""
    frames, times = decoded(film)
    assert [number_of(frame) for frame in frames] == list(range(80))
    data = pipeline.video(film, 5)
    assert len(data) == 16
    for order in (range(16), reversed(range(16)), np.random.default_rng(1).permutation(16).tolist()):
        for number in order:
            clip = data[number]
            np.testing.assert_array_equal(clip["frames"], frames[5 * number : 5 * number + 5])
            assert clip["times"] == pytest.approx(times[5 * number : 5 * number + 5])


@pytest.mark.parametrize("workers", [None, 2])
def test_every_element_resumes(tmp_path, workers):
    paths = [write(tmp_path / f"{i}.mp4", range(20 * i, 20 * i + 20), b_frames=2) for i in range(2)]
    data = pipeline.video(paths, 4, hop=0.2).map(lambda clip: number_of(clip["frames"][0]), workers=workers)
    check_elements(data, [*range(0, 18, 2), *range(20, 38, 2)])


@pytest.mark.parametrize(("fps", "hop"), [(5, None), (10, 0.3), (20, 0.5), (2.5, 0.1), (3, 1)])
def test_frames_are_those_on_screen(tmp_path, fps, hop):
    path = write(tmp_path / "a.mp4", range(40), b_frames=2)
    data = pipeline.video(path, 3, fps=fps, hop=hop)
    step = 3 / fps if hop is None else hop
    for number, clip in enumerate(data):
        wanted = [number * step + i / fps for i in range(3)]
        assert [number_of(frame) for frame in clip["frames"]] == [int(10 * each + 1e-6) for each in wanted]
        assert clip["start"] == pytest.approx(number * step)
    assert len(data) == number + 1
    assert (number + 1) * step + 2 / fps >= 4 - 1e-6


def test_frames_of_unequal_times(tmp_path):
    """In a screen recording a frame stays until the next one."""
    times = [0, 100, 150, 700, 720, 1500]
    path = write(tmp_path / "a.mkv", range(6), times=times)
    [clip] = pipeline.video(path, 15, fps=10)
    wanted = [max(i for i, each in enumerate(times) if each <= 100 * k) for k in range(15)]
    assert [number_of(frame) for frame in clip["frames"]] == wanted
    assert clip["times"] == pytest.approx([times[i] / 1000 for i in wanted])


def test_size_is_that_of_the_library(tmp_path):
    path = write(tmp_path / "a.mp4", range(8))
    [clip] = pipeline.video(path, 8, size=(16, 20))
    with av.open(path) as file:
        wanted = [frame.to_ndarray(format="rgb24", width=20, height=16) for frame in file.decode(video=0)]
    np.testing.assert_array_equal(clip["frames"], wanted)


def test_files_of_several_sizes(tmp_path):
    paths = [write(tmp_path / f"{i}.mp4", range(8)) for i in range(2)]
    with av.open(paths[1], "w") as file:
        stream = file.add_stream("mpeg4", 10)
        stream.width, stream.height = 64, 16
        for i in range(8):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((16, 64, 3), 20 * i, np.uint8))))
        file.mux(stream.encode())
    shapes = [clip["frames"].shape for clip in pipeline.video(paths, 4)]
    assert shapes == 2 * [(4, HEIGHT, WIDTH, 3)] + 2 * [(4, 16, 64, 3)]
    [batch] = pipeline.video(paths, 4, size=(8, 8)).batch(4)
    assert batch["frames"].shape == (4, 4, 8, 8, 3)


def test_threads_give_the_same_frames(tmp_path):
    path = write(tmp_path / "a.mp4", range(40), b_frames=2)
    for one, other in zip(pipeline.video(path, 4), pipeline.video(path, 4, threads=0), strict=True):
        np.testing.assert_array_equal(one["frames"], other["frames"])


def test_short_files(tmp_path, caplog):
    short, long = (write(tmp_path / f"{i}.mp4", range(i)) for i in (4, 20))
    with caplog.at_level(logging.WARNING, logger="pipeline"):
        assert len(pipeline.video([short, long], 10)) == 2
    assert any("video: 1 of 2 files were left out, as they are shorter" in each.getMessage() for each in caplog.records)
    with raises(InvalidArgumentError, "all 1 files are shorter than 10 frames", short):
        pipeline.video(short, 10)


class TestDamage:
    @pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
    @pytest.mark.parametrize("ending", ["mp4", "mkv", "avi"])
    def test_a_file_that_is_cut(self, tmp_path, ending, kept):
        """An mp4 file with its index in front opens, but its last frames are missing."""
        options = {"movflags": "faststart"} if ending == "mp4" else {}
        path = str(tmp_path / f"a.{ending}")
        with av.open(path, "w", options=options) as file:
            stream = file.add_stream("mpeg4", 10)
            stream.width, stream.height = WIDTH, HEIGHT
            for _ in range(60):
                pixels = np.random.default_rng(1).integers(0, 255, (HEIGHT, WIDTH, 3), np.uint8)
                file.mux(stream.encode(av.VideoFrame.from_ndarray(pixels)))
            file.mux(stream.encode())
        assert len(list(pipeline.video(path, 6))) == 10
        os.truncate(path, int(kept * os.path.getsize(path)))
        taken = []
        with raises(DataLossError, path):
            for clip in pipeline.video(path, 6):
                taken.append(clip)
        assert len(taken) < 10

    @pytest.mark.parametrize(
        "data", [b"", b"x" * 5000, b"\0\0\0\x18ftypmp42" + b"\0" * 100, b"#EXTM3U\nhttp://x/y.ts\n"]
    )
    def test_no_video(self, tmp_path, data):
        path = tmp_path / "a.mp4"
        path.write_bytes(data)
        with raises(DataLossError, str(path)):
            list(pipeline.video(path, 4))

    def test_a_file_of_sound(self, tmp_path):
        path = str(tmp_path / "a.wav")
        with av.open(path, "w") as file:
            stream = file.add_stream("pcm_s16le", 8000)
            sound = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), layout="mono")
            sound.sample_rate = 8000
            file.mux(stream.encode(sound))
        with raises(DataLossError, path, "it has no video stream"):
            pipeline.video(path, 4)

    def test_a_codec_that_is_not_known(self, tmp_path):
        path = Path(write(tmp_path / "a.mp4", range(10)))
        path.write_bytes(path.read_bytes().replace(b"mp4v", b"zzzz").replace(b"esds", b"zzzz"))
        with raises(DataLossError, str(path), "FFmpeg has no decoder for its video"):
            pipeline.video(path, 4)

    def test_errors_come_in_order(self, tmp_path):
        flags = {"movflags": "faststart"}
        paths = [write(tmp_path / f"{i}.mp4", range(10 * i, 10 * i + 10), container=flags) for i in range(3)]
        os.truncate(paths[1], int(0.8 * os.path.getsize(paths[1])))
        data = pipeline.video(paths, 10)
        taken = [number_of(clip["frames"][0]) for clip in data.take(1)]
        assert taken == [0]
        kept = data.map(lambda clip: number_of(clip["frames"][0]), on_error="skip")
        assert [int(each) for each in kept] == [0, 20]

    def test_a_changed_file(self, tmp_path):
        path = write(tmp_path / "a.mp4", range(20))
        data = pipeline.video(path, 4)
        assert len(list(data)) == 5
        write(path, range(30))
        with raises(FailedPreconditionError, path, "has changed since the dataset was made"):
            list(data)


def test_a_name_that_looks_like_a_protocol(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.mp4", range(8))
    for name in ("concat:a.mp4", "pipe:0.mp4", "%d.mp4"):
        os.rename("a.mp4", name)
        assert len(list(pipeline.video([name], 4))) == 2
        os.rename(name, "a.mp4")


@pytest.mark.parametrize(
    ("options", "cls", "text"),
    [
        ({"frames": 0}, ValueError, "video: frames"),
        ({"frames": 2.5}, TypeError, "video: frames"),
        ({"fps": 0}, ValueError, "video: fps must be above 0"),
        ({"fps": 1e-30}, ValueError, "video: fps must be at least 0.000001"),
        ({"hop": "x"}, TypeError, "video: hop must be a number"),
        ({"hop": 1e-9}, ValueError, "video: hop must be at least 0.000001"),
        ({"size": 32}, ValueError, "video: size: size must be (height, width)"),
        ({"threads": -1}, ValueError, "video: threads"),
    ],
)
def test_wrong_options(tmp_path, options, cls, text):
    path = write(tmp_path / "a.mp4", range(8))
    with raises(cls, text):
        pipeline.video(path, **{"frames": 4, **options})


def test_paths(tmp_path):
    with raises(NotFoundError, str(tmp_path / "none.mp4")):
        pipeline.video(tmp_path / "none.mp4", 4)
    with raises(InvalidArgumentError, "'https://x/a.mp4' is a URL"):
        pipeline.video("https://x/a.mp4", 4)


def test_a_pickled_source_reads_on(tmp_path):
    path = write(tmp_path / "a.mp4", range(20))
    data = pipeline.video(path, 4)
    assert number_of(data[2]["frames"][0]) == 8
    assert [number_of(clip["frames"][0]) for clip in pickle.loads(pickle.dumps(data))] == [0, 4, 8, 12, 16]
