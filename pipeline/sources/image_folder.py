"""image_folder: images in folders that are named after their classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.image.decode import decode_image
from pipeline.dtypes import object_vector, path_text
from pipeline.errors import NotFoundError, invalid
from pipeline.files.limits import MAX_RECORD_BYTES
from pipeline.files.opening import file_system, read_whole
from pipeline.files.os_errors import translated
from pipeline.keywords import tells_keywords
from pipeline.producers.numbered import digest
from pipeline.sources.extras import stacked
from pipeline.sources.order import Epochs
from pipeline.sources.source import TableSource

EXTENSIONS = (".jpg", ".jpeg", ".png", ".gif", ".bmp")


def _rgb(data: bytes) -> NDArray[Any]:
    return np.asarray(decode_image(data, channels=3, expand_animations=False))


@tells_keywords
def image_folder(
    root: str | os.PathLike[str],
    decode: Callable[[bytes], Any] | None = _rgb,
    *,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> ImageFolder:
    """Make a source of the images below a folder, which has a folder for each class: pairs (image, label).

    The classes are the sorted names of the folders, and a label is the number of its class, int64. Images are the files
    with names in .jpg, .jpeg, .png, .gif and .bmp in these folders and those inside them, sorted by name; names that
    begin with a dot are left out.

    Args:
        root: The folder; or a URL, which fsspec opens.
        decode: Makes the image, such as an array of a fixed shape, of the contents of a file; several threads call it.
            By default arrays of uint8 of shape [height, width, 3]: images of different sizes are made equal here, or
            padded by `dynamic_pad=True` of the batch function. None gives the bytes, for `map_ahead`.
        num_epochs: How often the images are read; None means without end.
        shuffle: Whether the order is random, another one in each epoch.
        seed: Seed of the orders.
        shard: (index, count): read the images `index`, `index + count`, ... of each order.

    Returns:
        The source, for the batch functions. It is a sequence too.

    Raises:
        NotFoundError: There is no such folder, there are no folders in it, or a class has no images.
        ValueError: `num_epochs` or `shard` is out of range.
        TypeError: `decode` is not callable, or a number is not an integer.
        ImportError: `root` is a URL and fsspec is not installed.

        InvalidArgumentError (when a batch is taken): An image cannot be decoded; the error names its file. With
            `on_error="skip"` the image is left out.
    """
    if decode is not None and not callable(decode):
        raise TypeError(f"image_folder: decode must be callable or None, not {decode!r:.80}")
    return ImageFolder(_Images(path_text(root, "image_folder: root"), decode), Epochs(num_epochs, shuffle, seed, shard))


class ImageFolder(TableSource):
    """The images of a folder; see `image_folder`.

    Attributes:
        classes: The names of the classes, sorted; a label is a place in this list.
        paths: The path of each image.
        labels: The label of each image.
    """

    def __init__(self, images: _Images, epochs: Epochs) -> None:
        super().__init__(images, epochs)
        self.classes = images.classes
        self.paths = images.paths
        self.labels = images.labels


class _Images:
    kind = "image_folder"
    unit = "images"
    sizes: Sequence[int] | None = None
    most = 32  # the size of an image is not known
    singly = True

    def __init__(self, root: str, decode: Callable[[bytes], Any] | None) -> None:
        self._decode = decode
        found = _found(root)
        self.classes = sorted(found)
        self.paths = [path for each in self.classes for path in found[each]]
        self.labels = np.repeat(np.arange(len(self.classes)), [len(found[each]) for each in self.classes])
        self._root = root
        if not self.classes:
            raise NotFoundError(None, None, f"image_folder: there are no folders of classes in '{root}'")
        empty = [each for each in self.classes if not found[each]]
        if empty:
            raise NotFoundError(None, None, f"image_folder: there are no images of class {empty[0]!r} in '{root}'")

    def __len__(self) -> int:
        return len(self.paths)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        images = [self._image(self.paths[number]) for number in numbers.tolist()]
        return stacked(images, self.kind), self.labels[numbers]

    def _image(self, path: str) -> Any:
        data = read_whole(os.fsencode(path), MAX_RECORD_BYTES)
        if self._decode is None:
            return data
        try:
            return self._decode(data)
        except Exception as error:
            raise invalid(f"image_folder: '{path}' cannot be decoded: {error}") from error

    def named(self, number: int) -> str:
        """The path of an image."""
        return self.paths[number]

    def facts(self) -> dict[str, Any]:
        names = object_vector([path.removeprefix(self._root) for path in self.paths])
        return {"classes": len(self.classes), "digest": digest([names, self.labels])}


def _found(root: str) -> dict[str, list[str]]:
    """Return the paths of the images of each class."""
    try:
        return _remote(root) if "://" in root else _local(root)
    except OSError as error:
        raise translated(os.fsencode(root), error) from error


def _local(root: str) -> dict[str, list[str]]:
    with os.scandir(root) as entries:
        classes = [entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    return {each: sorted(_walked(os.path.join(root, each))) for each in classes}


def _walked(folder: str) -> Iterator[str]:
    for place, inner, names in os.walk(folder, followlinks=True):
        inner[:] = [name for name in inner if not name.startswith(".")]
        yield from (os.path.join(place, name) for name in names if _is_image(name))


def _remote(root: str) -> dict[str, list[str]]:
    system = file_system(os.fsencode(root))
    base = system._strip_protocol(root).rstrip("/") + "/"
    found: dict[str, list[str]] = {}
    for path in sorted(system.find(base)):
        inner = path.removeprefix(base).split("/")
        if len(inner) > 1 and not any(part.startswith(".") for part in inner):
            images = found.setdefault(inner[0], [])
            if _is_image(inner[-1]):
                images.append(system.unstrip_protocol(path))
    return found


def _is_image(name: str) -> bool:
    return name.lower().endswith(EXTENSIONS) and not name.startswith(".")
