"""image_folder: images in folders that are named after their classes."""

import concurrent.futures

import fsspec
import numpy as np
import pytest
from helpers import raises
from source_contract import SourceContract

import pipeline

CLASSES = ["cat", "dog", "eel"]
LABELS = [0] * 5 + [1] * 9 + [2] * 2


def image(number):
    """An image that follows from its number."""
    return np.full((4, 5, 3), number * 3, np.uint8)


def write(folder):
    """Write the images; what is none lies between them."""
    for number, label in enumerate(LABELS):
        place = folder / CLASSES[label] / ("inner" if number % 4 == 3 else "")
        place.mkdir(parents=True, exist_ok=True)
        # The files in `inner` come after the others of their class.
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
        self.order = [int(example[0][0, 0, 0]) // 3 for example in source]  # as the names are sorted
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

    @pytest.mark.parametrize(
        "options", [{}, {"num_threads": 0}, {"deterministic": True}, {"workers": pipeline.threads(2)}], ids=str
    )
    def test_a_function_gets_images_of_different_sizes(self, options):
        (self.root / "cat" / "large.png").write_bytes(pipeline.encode_png(np.zeros((9, 7, 3), np.uint8)))
        batches = pipeline.batch(self.make(), self.count + 1, function=lambda example: len(example[0]), **options)
        [heights] = batches
        assert sorted(heights.tolist()) == [4] * self.count + [9]

    def test_a_function_decodes(self):
        source = pipeline.image_folder(self.root, lambda data: {"mean": pipeline.decode_image(data).mean()})
        [(images, labels)] = pipeline.batch(source, self.count)
        assert images["mean"].tolist() == [3.0 * number for number in self.order]
        assert labels.tolist() == LABELS

    @pytest.mark.parametrize("deterministic", [False, True])
    def test_workers_decode_the_bytes(self, deterministic):
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            source = pipeline.image_folder(self.root, None, shuffle=True, seed=1)
            decoded = pipeline.map_ahead(decoded_pair, source, executor, chunksize=3)
            got = self.taken(pipeline.batch(decoded, 4, deterministic=deterministic))
        assert [i for numbers in got for i in numbers] == self.in_order(self.make(shuffle=True, seed=1))

    def test_images_of_different_sizes(self):
        name = self.root / "cat" / "a00.PNG"
        name.write_bytes(pipeline.encode_png(np.full((2, 7, 3), 9, np.uint8)))
        with raises(ValueError, "image_folder: examples differ in shape: make them equal, or pass dynamic_pad=True"):
            list(pipeline.batch(self.make(), 4))
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
        with pytest.raises(pipeline.StateMismatchError, match="source 'image_folder': its values are others"):
            resumed.load_state_dict(state)


def decoded_pair(example):
    data, label = example
    return pipeline.decode_image(data), label


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
    with raises(pipeline.NotFoundError, f"{tmp_path}/no; No such file"):
        pipeline.image_folder(tmp_path / "no")
    with raises(pipeline.NotFoundError, f"image_folder: there are no folders of classes in '{tmp_path}'"):
        pipeline.image_folder(tmp_path)
    (tmp_path / "empty").mkdir()
    with raises(pipeline.NotFoundError, f"image_folder: there are no images of class 'empty' in '{tmp_path}'"):
        pipeline.image_folder(tmp_path)
    with raises(TypeError, "image_folder: decode must be callable or None, not 3"):
        pipeline.image_folder(tmp_path, 3)
