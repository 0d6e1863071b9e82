"""image_folder: images in folders named after their classes."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.image.rgb import EXTENSIONS, rgb_image
from pipeline.decode.image.upright import upright_image
from pipeline.dtypes import object_vector, path_text, truth
from pipeline.errors import NotFoundError, invalid
from pipeline.files.limits import MAX_RECORD_BYTES
from pipeline.files.near_names import no_such_file
from pipeline.files.opening import read_whole
from pipeline.files.os_errors import translated
from pipeline.files.urls import file_system
from pipeline.keywords import tells_keywords
from pipeline.logs import logger
from pipeline.on_error import add_note, of_record
from pipeline.orders.numbered import digest
from pipeline.sources.extras import stacked
from pipeline.sources.nodes import Table
from pipeline.sources.order import Epochs
from pipeline.sources.paths import at_home
from pipeline.sources.source import TableSource
from pipeline.stages.block import Examples, as_columns

_log = logger("pipeline.sources")


@tells_keywords
def image_folder(
    root: str | os.PathLike[str],
    decode: Callable[[bytes], Any] | str | None = "rgb",
    *,
    exif: bool = False,
    allow_empty: bool = False,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> ImageFolder:
    r"""Read images from a directory with one subfolder per class, as (image, label).

    A label is the index of the class among the sorted folder names.

    Args:
        root: The folder, or a URL.
        decode: "rgb" for uint8 [height, width, 3]; your function; None for bytes.
        exif: Rotate images by their EXIF orientation.
        allow_empty: Accept classes without images.
        num_epochs, shuffle, seed, shard: As in `arrays`.

    Raises:
        NotFoundError: There is no such folder, or there are no images.
        InvalidArgumentError, ImportError: An image cannot be decoded.
        ValueError, TypeError: An option is wrong.

    Examples:
        >>> import os
        >>> os.makedirs("pets/cat")
        >>> np.ones(1, "u1").tofile("pets/cat/0.png")
        >>> list(pipeline.image_folder("pets", decode=None))
        [(b'\x01', np.int64(0))]
    """
    function = rgb_image if isinstance(decode, str) and decode == "rgb" else decode
    if function is not None and not callable(function):
        raise TypeError(f"image_folder: decode must be 'rgb', callable or None, not {decode!r:.80}")
    if truth(exif, "image_folder: exif"):
        if function is not rgb_image:
            raise invalid("image_folder: exif=True is for the default decoder: leave out decode=, or exif=")
        function = upright_image
    allows = truth(allow_empty, "image_folder: allow_empty")
    folder = at_home(path_text(root, "image_folder: root"))
    return ImageFolder(_Images(folder, function, allows), Epochs(num_epochs, shuffle, seed, shard))


class ImageFolder(TableSource):
    """A folder's images; see `image_folder`.

    Attributes:
        classes: The class names, sorted; a label is an index into this list.
        paths: Each image's path.
        labels: Each image's label.
    """

    def __init__(self, images: _Images, epochs: Epochs) -> None:
        super().__init__(images, epochs)
        self.classes = images.classes
        self.paths = images.paths
        self.labels = images.labels


class _Images(Table):
    kind = "image_folder"
    unit = "images"
    most = 32  # image sizes are unknown
    one_by_one = True

    def __init__(self, root: str, decode: Callable[[bytes], Any] | None, allow_empty: bool) -> None:
        self._decode = decode
        if decode is not None:
            self.lighter = "Pass `decode=None`, and decode in `.map(..., workers=n)`"
        if "://" not in root and not os.path.exists(root):
            raise no_such_file(root)
        found = _found(root)
        self.classes = sorted(found)
        self.paths = [path for each in self.classes for path in found[each]]
        self.labels = np.repeat(np.arange(len(self.classes)), [len(found[each]) for each in self.classes])
        self._root = root
        if not self.classes:
            raise NotFoundError(None, None, f"image_folder: there are no folders of classes in '{root}'")
        if allow_empty and not self.paths:
            raise NotFoundError(None, None, f"image_folder: there are no images in '{root}'")
        empty = [each for each in self.classes if not found[each]]
        if empty and not allow_empty:
            text = f"there are no images of class {empty[0]!r} in '{root}': pass allow_empty=True if that is right"
            raise NotFoundError(None, None, f"image_folder: {text}")

    def __len__(self) -> int:
        return len(self.paths)

    def files(self) -> list[str]:
        return self.paths

    def functions(self) -> tuple[Any, ...]:
        return (self._decode,)

    def take(self, numbers: NDArray[np.int64]) -> Examples:
        return Examples([(self._alone(self.paths[number]), self.labels[number]) for number in numbers.tolist()])

    def _alone(self, path: str) -> Any:
        image = self._image(path)
        if any(self._decode is each for each in (None, rgb_image, upright_image)):
            return image  # a user's function may return the same array each time
        (example,) = as_columns(stacked([image], self.kind), 1).examples()
        return example

    def _image(self, path: str) -> Any:
        data = read_whole(os.fsencode(path), MAX_RECORD_BYTES)
        if self._decode is None:
            return data
        try:
            return self._decode(data)
        except Exception as error:
            if not of_record(error):
                add_note(error, f"image_folder: '{path}'")
                raise
            raise invalid(f"image_folder: '{path}' cannot be decoded: {error}") from error

    def named(self, number: int) -> str:
        """Return an image's path."""
        return self.paths[number]

    def facts(self) -> dict[str, Any]:
        names = object_vector([path.removeprefix(self._root) for path in self.paths])
        turned = {"exif": True} if self._decode is upright_image else {}
        return {"classes": len(self.classes), "digest": digest([names, self.labels]), **turned}


class _Found:
    """Image paths by class, and paths of ignored files, collected during the search."""

    def __init__(self) -> None:
        self.classes: dict[str, list[str]] = {}
        self.left_out: list[str] = []

    def add(self, images: list[str], name: str, path: str, is_file: bool = True) -> None:
        if not name.startswith("."):
            (images if is_file and name.lower().endswith(EXTENSIONS) else self.left_out).append(path)

    def warn(self, root: str) -> None:
        """Warn once about ignored files, with their number and kinds."""
        if self.left_out:
            kinds = Counter(os.path.splitext(path)[1].lower() or "no ending" for path in self.left_out)
            told = ", ".join(f"{count:,} with {kind}" for kind, count in kinds.most_common(5))
            _log.warning(
                "image_folder: files in '%s' that do not have the name of an image were left out: %s%s, such as '%s'",
                root,
                told,
                " and others" if len(kinds) > 5 else "",
                self.left_out[0],
            )


def _found(root: str) -> dict[str, list[str]]:
    """Return the image paths by class."""
    found = _Found()
    try:
        (_remote if "://" in root else _local)(root, found)
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else root
        raise translated(os.fsencode(name), error) from error
    found.warn(root)
    return found.classes


def _local(root: str, found: _Found) -> None:
    with os.scandir(root) as entries:
        classes = sorted(entry.name for entry in entries if _is(entry.is_dir) and not entry.name.startswith("."))
    for each in classes:
        images = found.classes[each] = []
        _walk(root, os.path.join(root, each), images, found)
        images.sort()


def _walk(root: str, folder: str, images: list[str], found: _Found) -> None:
    """Add a folder's images and those inside it, links to folders last.

    Each folder is read once, so cyclic links end; folders around the classes are not read.
    """
    seen, waiting = {_identity(root)}, deque([folder])
    while waiting:
        place = waiting.popleft()
        identity = _identity(place)
        if identity in seen:
            continue
        seen.add(identity)
        with os.scandir(place) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name, reverse=True)
        for entry in entries:
            if not _is(entry.is_dir):
                # A dangling link is an error when it is read; opening a pipe would block.
                found.add(images, entry.name, entry.path, _is(entry.is_file) or not os.path.exists(entry.path))
            elif not entry.name.startswith("."):
                (waiting.append if entry.is_symlink() else waiting.appendleft)(entry.path)


def _is(kind: Callable[[], bool]) -> bool:
    """Return an entry's kind; False for a link to itself."""
    try:
        return kind()
    except OSError:
        return False


def _identity(folder: str) -> tuple[int, int]:
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def _remote(root: str, found: _Found) -> None:
    system = file_system(os.fsencode(root))
    base = system._strip_protocol(root).rstrip("/") + "/"
    for path in sorted(system.find(base)):
        inner = path.removeprefix(base).split("/")
        if len(inner) > 1 and not any(part.startswith(".") for part in inner):
            found.add(found.classes.setdefault(inner[0], []), inner[-1], system.unstrip_protocol(path))
