"""TIFF through rgb_image, as image_folder and webdataset read it: gray with 12 and 16 bits, turned, in pieces."""

import struct

import numpy as np
import pytest

import pipeline
from pipeline.decode.image.rgb import rgb_image

pytest.importorskip("PIL")

SIZES = {3: 2, 4: 4}
LONG, SHORT = 4, 3


def tiff(width, height, data, **changes):
    """Return a gray image with one strip; changes set tags by "t" and their number, all SHORT."""
    tags = {256: (LONG, [width]), 257: (LONG, [height]), 258: (SHORT, [8]), 259: (SHORT, [1]), 262: (SHORT, [1])}
    tags |= {273: (LONG, [0]), 277: (SHORT, [1]), 278: (LONG, [height]), 279: (LONG, [len(data)])}
    tags |= {int(name[1:]): (SHORT, values) for name, values in changes.items()}
    begin = 8 + 2 + 12 * len(tags) + 4
    sizes = [SIZES[kind] * len(values) for kind, values in tags.values()]
    data_at = begin + sum(size for size in sizes if size > 4)
    entries = more = b""
    for tag, (kind, values) in sorted(tags.items()):
        places = [data_at + value for value in values] if tag == 273 else values
        packed = struct.pack(f"<{len(values)}{'H' if kind == SHORT else 'I'}", *places)
        if len(packed) > 4:
            more, packed = more + packed, struct.pack("<I", begin + len(more))
        entries += struct.pack("<HHI", tag, kind, len(values)) + packed.ljust(4, b"\0")
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4) + more + data


def gray(contents):
    image = rgb_image(contents)
    assert (image == image[:, :, :1]).all()
    return image[:, :, 0].tolist()


EIGHT = bytes(range(10, 18))


def test_bits():
    assert gray(tiff(4, 2, EIGHT)) == [[10, 11, 12, 13], [14, 15, 16, 17]]
    sixteen = struct.pack("<HH", 0x1234, 0xFEDC)
    assert gray(tiff(2, 1, sixteen, t258=[16])) == [[0x12, 0xFE]]
    assert gray(tiff(2, 1, b"\x12\x3f\xed", t258=[12])) == [[0x12, 0xFE]]


def test_white_is_zero():
    assert gray(tiff(4, 2, EIGHT, t262=[0]))[0] == [245, 244, 243, 242]
    assert gray(tiff(2, 1, struct.pack("<HH", 0x1234, 0xFEDC), t258=[16], t262=[0])) == [[0xED, 1]]
    with pytest.raises(pipeline.InvalidArgumentError, match="unknown pixel mode"):  # Pillow has no such mode
        rgb_image(tiff(2, 1, b"\x12\x3f\xed", t258=[12], t262=[0]))


@pytest.mark.parametrize("turned", range(1, 9))
def test_turned(turned):
    image = np.array(gray(tiff(4, 2, EIGHT, t274=[turned])))
    assert sorted(image.ravel().tolist()) == list(EIGHT)
    assert image.shape == ((4, 2) if turned > 4 else (2, 4))


TURNS = {
    1: lambda image: image,
    2: lambda image: image[:, ::-1],
    3: lambda image: image[::-1, ::-1],
    4: lambda image: image[::-1],
    5: lambda image: image.transpose(1, 0, 2),
    6: lambda image: np.rot90(image, -1),
    7: lambda image: image[::-1, ::-1].transpose(1, 0, 2),
    8: lambda image: np.rot90(image),
}


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK", "P", "1", "I;16", "YCbCr", "RGBA"])
@pytest.mark.parametrize("options", [{}, {"compression": "tiff_lzw"}, {"compression": "tiff_adobe_deflate"}], ids=str)
def test_images_of_all_kinds_are_turned(mode, options, tmp_path):
    """As `image_folder` reads them, with `exif=True` and without."""
    import PIL
    from PIL import Image

    if (mode, options) == ("YCbCr", {}) and int(PIL.__version__.partition(".")[0]) < 13:
        pytest.skip("Pillow before 13 cannot read such a file of its own")
    pixels = np.random.default_rng(0).integers(0, 256, (4, 7, 4)).astype(np.uint8)
    image = Image.fromarray(pixels, "CMYK" if mode == "CMYK" else "RGBA")
    if mode == "I;16":
        image = Image.fromarray(pixels[:, :, 0].astype(np.uint16) << 8)
    elif mode != image.mode:
        image = image.convert("RGB").convert(mode)
    (tmp_path / "a").mkdir()
    for turned in TURNS:
        image.save(tmp_path / "a" / f"{turned}.tif", tiffinfo={274: turned}, **options)
    for exif in (False, True):
        found = [each[0] for each in pipeline.image_folder(tmp_path, exif=exif)]
        for made, turn in zip(found, TURNS.values(), strict=True):
            np.testing.assert_array_equal(made, turn(found[0]))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"height": 6, "t278": [2]}, "has 1 of its 3 strips or tiles"),
        ({"height": 4_000_000, "t278": [2]}, "has 1 of its 2,000,000 strips or tiles"),
        ({"t339": [2]}, "signed"),
        ({"t258": [16], "t339": [2], "width": 2}, "signed"),
    ],
)
def test_what_is_refused(changes, text):
    with pytest.raises(pipeline.InvalidArgumentError, match=text):
        rgb_image(tiff(**{"width": 4, "height": 2, "data": EIGHT, **changes}))


def test_planes_are_pieces_of_their_own():
    planes = bytes([1, 2, 11, 12, 21, 22])
    changes = {"t258": [8, 8, 8], "t262": [2], "t277": [3], "t284": [2]}
    with pytest.raises(pipeline.InvalidArgumentError, match="has 1 of its 3 strips"):
        rgb_image(tiff(2, 1, planes, **changes))
