"""image_folder: images in folders named after their classes."""

import concurrent.futures
import contextlib
import errno
import io
import os
import struct
import warnings

import fsspec
import numpy as np
import pytest
from helpers import raises, run_script
from PIL import Image, ImageOps
from source_contract import SourceContract

import pipeline

CLASSES = ["cat", "dog", "eel"]
LABELS = [0] * 5 + [1] * 9 + [2] * 2


def image(number):
    """Return an image determined by its number."""
    return np.full((4, 5, 3), number * 3, np.uint8)


def write(folder):
    """Write the images, with other files between them."""
    for number, label in enumerate(LABELS):
        place = folder / CLASSES[label] / ("inner" if number % 4 == 3 else "")
        place.mkdir(parents=True, exist_ok=True)
        # The files in `inner` come after the other files in their class.
        name = place / f"{'z' if place.name == 'inner' else 'a'}{number:02}.PNG"
        name.write_bytes(pipeline.encode_png(image(number)))
    (folder / "cat" / "notes.txt").write_text("no image")
    (folder / "cat" / ".hidden.png").write_bytes(b"none")
    (folder / ".thumbnails").mkdir()
    (folder / "list.csv").write_text("no class")


class TestImageFolder(SourceContract):
    count = len(LABELS)

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.root = tmp_path / "images"
        write(self.root)
        source = pipeline.image_folder(self.root)
        self.order = [int(example[0][0, 0, 0]) // 3 for example in source]  # in sorted name order
        assert sorted(self.order) == list(range(self.count))

    def make(self, **options):
        return pipeline.image_folder(self.root, **options)

    def numbers(self, batch):
        assert type(batch) is tuple
        images, labels = batch
        assert images.dtype == np.uint8
        assert labels.dtype == np.int64
        numbers = (images[:, 0, 0, 0] // 3).tolist()
        assert np.array_equal(images, np.array([image(number) for number in numbers]))
        assert labels.tolist() == [LABELS[number] for number in numbers]
        return [self.order.index(number) for number in numbers]

    def test_classes(self):
        source = self.make(shuffle=True)
        assert source.classes == CLASSES
        assert source.labels.tolist() == LABELS
        assert [path.split("images/")[1].split("/")[0] for path in source.paths] == [CLASSES[i] for i in LABELS]
        assert source.paths[0].endswith("cat/a00.PNG")

    def test_images_of_different_sizes_come_one_by_one(self):
        place = self.root / "cat" / "large.png"
        place.write_bytes(pipeline.encode_png(np.zeros((9, 7, 3), np.uint8)))
        source = self.make()
        shapes = [(9, 7, 3) if path == str(place) else (4, 5, 3) for path in source.paths]
        assert [image.shape for image, _ in source] == shapes
        assert [source[i][0].shape for i in range(len(source))] == shapes

    @pytest.mark.parametrize("workers", [None, 2, pipeline.threads(2)], ids=str)
    def test_a_function_gets_images_of_different_sizes(self, workers):
        (self.root / "cat" / "large.png").write_bytes(pipeline.encode_png(np.zeros((9, 7, 3), np.uint8)))
        [heights] = self.make().map(lambda example: len(example[0]), workers=workers).batch(self.count + 1)
        assert sorted(heights.tolist()) == [4] * self.count + [9]

    def test_a_function_decodes(self):
        source = pipeline.image_folder(self.root, lambda data: {"mean": pipeline.decode_image(data).mean()})
        [(images, labels)] = pipeline.batch(source, self.count)
        assert images["mean"].tolist() == [3.0 * number for number in self.order]
        assert labels.tolist() == LABELS

    def test_workers_decode_the_bytes(self):
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            data = pipeline.image_folder(self.root, None, shuffle=True, seed=1).map(decoded_pair, workers=executor)
            got = [self.numbers(each) for each in data.batch(4)]
        assert [i for numbers in got for i in numbers] == self.in_order(self.make(shuffle=True, seed=1))

    def test_images_of_different_sizes(self):
        name = self.root / "cat" / "a00.PNG"
        name.write_bytes(pipeline.encode_png(np.full((2, 7, 3), 9, np.uint8)))
        text = "batch: component 0 has shape [2, 7, 3] in one example and [4, 5, 3] in another; make them equal, or"
        with raises(ValueError, text) as caught:
            list(pipeline.batch(self.make(), 4))
        assert f"({name} and {name.with_name('a01.PNG')})" in str(caught.value)
        for options in ({}, {"deterministic": True}):
            images, _ = next(pipeline.batch(self.make(), 4, dynamic_pad=True, **options))
            assert images.shape == (4, 4, 7, 3)
            assert images[0].sum() == 2 * 7 * 3 * 9

    @pytest.mark.parametrize("deterministic", [False, True])
    def test_a_bad_image(self, deterministic):
        """It alone is left out, and named."""
        bad = self.root / "dog" / "bad.png"
        bad.write_bytes(b"no image")
        with raises(ValueError, f"image_folder: '{bad}' cannot be decoded: "):
            list(pipeline.batch(self.make(), 4, deterministic=deterministic))
        batches = pipeline.batch(self.make(), 4, on_error="skip", deterministic=deterministic)
        assert [i for numbers in self.taken(batches) for i in numbers] == list(range(self.count))
        assert [str(error).split("'")[1] for error in batches.errors] == [str(bad)]

    def test_a_file_that_went_away(self):
        source = self.make()
        (self.root / "cat" / "a01.PNG").unlink()
        with raises(pipeline.NotFoundError, f"{self.root}/cat/a01.PNG"):
            list(pipeline.batch(source, 4))

    def test_other_files_do_not_take_the_state(self):
        def loop():
            return pipeline.shuffle_batch(self.make(), 2, 9, 3, seed=1, deterministic=True)

        with loop() as batches:
            next(batches)
            state = batches.state_dict()
        (self.root / "cat" / "a00.PNG").rename(self.root / "cat" / "b00.PNG")
        resumed = loop()
        with pytest.raises(pipeline.StateMismatchError, match="image_folder: its values have changed"):
            resumed.load_state_dict(state)


def decoded_pair(example):
    data, label = example
    return pipeline.decode_image(data), label


def saved(form, mode="RGB", **options):
    """An image file made by Pillow."""
    file = io.BytesIO()
    Image.fromarray(PIXELS).convert(mode).save(file, form, **options)
    return file.getvalue()


PIXELS = np.arange(60, dtype=np.uint8).reshape(4, 5, 3) * 4
FORMATS = {
    "a.webp": saved("WEBP", lossless=True),
    "b.TIF": saved("TIFF"),
    "c.tiff": saved("TIFF", compression="tiff_deflate"),
    "d.ppm": saved("PPM"),
    "e.pnm": b"P3 5 4 255\n" + b" ".join(b"%d" % value for value in PIXELS.flat),
    "f.bmp": saved("BMP"),
    "g.png": saved("WEBP", "RGBA", lossless=True),  # whatever its name
}


def test_images_of_many_formats(tmp_path):
    for name, data in FORMATS.items():
        (tmp_path / "class").mkdir(exist_ok=True)
        (tmp_path / "class" / name).write_bytes(data)
    [(images, _)] = pipeline.batch(pipeline.image_folder(tmp_path), len(FORMATS))
    assert np.array_equal(images, [PIXELS] * len(FORMATS))


def oriented(form, number, **options):
    """Return an image file that looks like PIXELS once turned by its EXIF orientation."""
    # The stored image is turned the other way: 6 and 8 undo each other, and the other numbers undo themselves.
    exif = Image.Exif()
    exif[274] = {6: 8, 8: 6}.get(number, number)
    image = Image.open(io.BytesIO(saved("PNG", exif=exif)))
    stored = ImageOps.exif_transpose(image)
    exif[274] = number
    file = io.BytesIO()
    stored.save(file, form, exif=exif, **options)
    return file.getvalue()


@pytest.mark.parametrize("number", range(1, 9))
@pytest.mark.parametrize(("form", "options"), [("PNG", {}), ("WEBP", {"lossless": True}), ("TIFF", {})])
def test_images_are_turned_by_exif(form, options, number, tmp_path):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / f"a.{form.lower()}").write_bytes(oriented(form, number, **options))
    [(image, _)] = pipeline.image_folder(tmp_path, exif=True)
    assert np.array_equal(image, PIXELS)


def test_photos_are_turned_by_exif(tmp_path):
    photo = np.zeros((64, 32, 3), np.uint8)
    photo[:32] = 255
    exif = Image.Exif()
    exif[274] = 6
    (tmp_path / "class").mkdir()
    Image.fromarray(photo).save(tmp_path / "class" / "a.jpg", exif=exif)
    [(image, _)] = pipeline.image_folder(tmp_path, exif=True)
    assert image.shape == (32, 64, 3)
    assert np.array_equal(image[:, 48:] > 128, np.ones((32, 16, 3), bool))
    [(image, _)] = pipeline.image_folder(tmp_path)
    assert image.shape == (64, 32, 3)


def test_damaged_exif_turns_nothing(tmp_path):
    data = oriented("PNG", 6).replace(b"eXIfMM", b"eXIfXX")
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.png").write_bytes(data)
    [(image, _)] = pipeline.image_folder(tmp_path, exif=True)
    assert image.shape == (5, 4, 3)


def test_a_state_knows_whether_images_are_turned(tmp_path):
    write(tmp_path / "images")
    state = iter(pipeline.image_folder(tmp_path / "images")).state_dict()
    with pytest.raises(pipeline.StateMismatchError, match="exif"):
        iter(pipeline.image_folder(tmp_path / "images", exif=True)).load_state_dict(state)


def test_exif_is_for_the_default_decoder(tmp_path):
    write(tmp_path / "images")
    with raises(pipeline.InvalidArgumentError, "image_folder: exif=True is for the default decoder"):
        pipeline.image_folder(tmp_path / "images", None, exif=True)


def test_classes_may_be_empty(tmp_path):
    write(tmp_path)
    (tmp_path / "bee").mkdir()
    with pytest.raises(pipeline.NotFoundError, match=r"class 'bee' in .*: pass allow_empty=True if that is right"):
        pipeline.image_folder(tmp_path)
    source = pipeline.image_folder(tmp_path, allow_empty=True)
    assert source.classes == ["bee", *CLASSES]
    [(_, labels)] = source.batch(99, pad=0)
    assert np.bincount(labels).tolist() == [0, *np.bincount(LABELS)]
    (tmp_path / "none" / "bee").mkdir(parents=True)
    with raises(pipeline.NotFoundError, "image_folder: there are no images in"):
        pipeline.image_folder(tmp_path / "none", allow_empty=True)


def test_a_bmp_with_a_palette_has_its_colours(tmp_path):
    (tmp_path / "class").mkdir()
    image = Image.fromarray(np.arange(20, dtype=np.uint8).reshape(4, 5)).convert("P")
    image.putpalette(PIXELS.reshape(-1, 3).tobytes() + bytes(768 - PIXELS.size))
    image.save(tmp_path / "class" / "a.bmp")
    [(images, _)] = pipeline.batch(pipeline.image_folder(tmp_path), 1)
    assert np.array_equal(images, [PIXELS])


def test_images_of_one_channel_and_of_16_bits(tmp_path):
    (tmp_path / "class").mkdir()
    deep = np.arange(20, dtype=np.uint16).reshape(4, 5) * 3001
    Image.fromarray(deep).save(tmp_path / "class" / "a.tif")
    (tmp_path / "class" / "b.pgm").write_bytes(b"P5 5 4 65535\n" + deep.astype(">u2").tobytes())
    (tmp_path / "class" / "c.pgm").write_bytes(b"P5 5 4 255\n" + (deep >> 8).astype(np.uint8).tobytes())
    [(images, _)] = pipeline.batch(pipeline.image_folder(tmp_path), 3)
    assert np.array_equal(images, [np.repeat((deep >> 8)[:, :, None], 3, axis=2)] * 3)
    Image.fromarray(np.zeros((2, 2), np.float32)).save(tmp_path / "class" / "a.tif")
    with raises(ValueError, f"image_folder: '{tmp_path}/class/a.tif' cannot be decoded: the pixels of the TIFF image"):
        next(pipeline.batch(pipeline.image_folder(tmp_path), 1))


def huge(size):
    """Three kinds of WebP header, each claiming a large image, and a TIFF."""
    small = size - 1
    for kind, body in (
        (b"VP8X", bytes(4) + small.to_bytes(3, "little") * 2),
        (b"VP8L", b"/" + (0x3FFF | 0x3FFF << 14).to_bytes(4, "little")),
        (b"VP8 ", b"\x10\0\0\x9d\x01\x2a\xff\x3f\xff\x3f"),
    ):
        yield b"RIFF" + (12 + len(body)).to_bytes(4, "little") + b"WEBP" + kind + len(body).to_bytes(4, "little") + body
    entry = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in ((256, size), (257, size), (273, 8)))
    yield b"II*\0\x08\0\0\0\x03\0" + entry + bytes(4)


@pytest.mark.parametrize("data", [*huge(1 << 20)], ids=["VP8X", "VP8L", "VP8", "TIFF"])
def test_images_that_claim_to_be_huge(tmp_path, data):
    (tmp_path / "class").mkdir()
    path = tmp_path / "class" / "a.webp"
    path.write_bytes(data)
    with pytest.raises(pipeline.InvalidArgumentError, match=r"a\.webp' cannot be decoded: .*more than the limit of"):
        list(pipeline.batch(pipeline.image_folder(tmp_path), 1))


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_images_of_many_formats(tmp_path, name):
    (tmp_path / "class").mkdir()
    path, data, random = tmp_path / "class" / name, bytearray(FORMATS[name]), np.random.default_rng(3)
    for end in (4, 12, 20, len(data) // 2):
        path.write_bytes(data[:end])
        with raises(pipeline.InvalidArgumentError, f"image_folder: '{path}' cannot be decoded: "):
            list(pipeline.batch(pipeline.image_folder(tmp_path), 1))
    for _ in range(200):
        changed = data.copy()
        for at in random.integers(0, len(data), 3):
            changed[at] = random.integers(256)
        path.write_bytes(changed)
        with contextlib.suppress(pipeline.InvalidArgumentError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns about odd TIFF tags
            list(pipeline.batch(pipeline.image_folder(tmp_path), 1, num_threads=0))


class TestLinks:
    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.root = tmp_path / "images"
        write(self.root)

    def names(self):
        return [path.removeprefix(f"{self.root}/") for path in pipeline.image_folder(self.root).paths]

    def test_that_lead_back(self):
        before = self.names()
        for number, (place, target) in enumerate([("cat", "."), ("cat/inner", ".."), ("dog", "../cat"), ("cat", "..")]):
            (self.root / place / f"link{number}").symlink_to(target)
        (self.root / "cat" / "self").symlink_to("self")
        (self.root / "cat" / "other").symlink_to("../dog")
        names = self.names()
        assert [name for name in names if "link" not in name and "other" not in name] == before
        cats, dogs = (sum(name.startswith(each) for name in before) for each in ("cat", "dog"))
        # A link to the other class is followed once; from there, a link back is not followed.
        assert sum("other" in name for name in names) == dogs
        assert sum("link2" in name for name in names) == cats + sum("link2/other" in name for name in names)
        assert len({(name.split("/")[0], (self.root / name).resolve()) for name in names}) == len(names)

    def test_many_that_lead_everywhere(self):
        """Without remembering visited folders, the paths between ten folders would be endless."""
        for i in range(10):
            (self.root / "eel" / f"f{i}").mkdir()
            (self.root / "eel" / f"f{i}" / "a.png").write_bytes(b"")
        for i in range(10):
            for j in range(10):
                (self.root / "eel" / f"f{i}" / f"to{j}").symlink_to(f"../f{j}")
        assert sum(name.startswith("eel/f") for name in self.names()) == 10

    def test_outside(self, tmp_path):
        (tmp_path / "store" / "inner").mkdir(parents=True)
        (tmp_path / "store" / "inner" / "x.png").write_bytes(b"")
        (self.root / "fox").symlink_to(tmp_path / "store")
        assert "fox/inner/x.png" in self.names()

    def test_a_class_that_is_the_root(self):
        (self.root / "all").symlink_to(".")
        with raises(pipeline.NotFoundError, f"image_folder: there are no images of class 'all' in '{self.root}'"):
            pipeline.image_folder(self.root)


def test_files_that_are_left_out(tmp_path, caplog):
    write(tmp_path)
    for name in ("b.txt", "c.TXT", "d.heic", "noending", ".hidden"):
        (tmp_path / "dog" / name).write_bytes(b"")
    os.mkfifo(tmp_path / "dog" / "pipe.png")  # reading it would never end
    with caplog.at_level("WARNING", "pipeline.sources"):
        source = pipeline.image_folder(tmp_path)
        assert len(list(pipeline.batch(source, 1))) == len(LABELS)
        assert len(list(source)) == len(LABELS)
    assert [record.getMessage() for record in caplog.records] == [
        f"image_folder: files in '{tmp_path}' that do not have the name of an image were left out: 3 with .txt, "
        f"1 with .png, 1 with no ending, 1 with .heic, such as '{tmp_path}/cat/notes.txt'"
    ]


def test_a_folder_that_cannot_be_read(tmp_path, monkeypatch):
    write(tmp_path)
    scandir = os.scandir

    def scan(path):
        if str(path).endswith("inner"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scan)  # root may read everything
    with raises(pipeline.PermissionDeniedError, f"{tmp_path}/cat/inner; Permission denied"):
        pipeline.image_folder(tmp_path)


@pytest.mark.parametrize("options", ["", "num_threads=0", "deterministic=True"])
def test_a_process_without_descriptors_skips_nothing(tmp_path, options):
    """No image is at fault, so the iterator raises instead of dropping images."""
    write(tmp_path)
    script = f"""
import os, resource
import pipeline
source = pipeline.image_folder({str(tmp_path)!r}, num_epochs=100)
next(iter(source))  # imports what decodes
with pipeline.batch(source, 1, on_error="skip", capacity=4, {options}) as batches:
    next(batches)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    try:
        for batch in batches:
            pass
    except pipeline.UnknownError as error:
        print(error)
    print(batches.num_errors)
    os._exit(0)
"""
    first, second = run_script(script).stdout.splitlines()
    assert first.startswith(f"{tmp_path}/")
    assert "; Too many open files" in first
    assert second == "0"


def test_a_remote_folder():
    system = fsspec.filesystem("memory")
    for number, label in enumerate(LABELS):
        system.pipe(f"/folder/{CLASSES[label]}/{number:02}.png", pipeline.encode_png(image(number)))
    system.pipe("/folder/list.csv", b"no class")
    source = pipeline.image_folder("memory://folder")
    assert source.classes == CLASSES
    [(images, labels)] = pipeline.batch(source, len(LABELS))
    assert np.array_equal(images, np.array([image(number) for number in range(len(LABELS))]))
    assert labels.tolist() == LABELS


def test_errors(tmp_path):
    with raises(pipeline.NotFoundError, f"No such file or directory: '{tmp_path}/no'"):
        pipeline.image_folder(tmp_path / "no")
    with raises(pipeline.NotFoundError, f"image_folder: there are no folders of classes in '{tmp_path}'"):
        pipeline.image_folder(tmp_path)
    (tmp_path / "empty").mkdir()
    with raises(pipeline.NotFoundError, f"image_folder: there are no images of class 'empty' in '{tmp_path}'"):
        pipeline.image_folder(tmp_path)
    with raises(TypeError, "image_folder: decode must be 'rgb', callable or None, not 3"):
        pipeline.image_folder(tmp_path, 3)
