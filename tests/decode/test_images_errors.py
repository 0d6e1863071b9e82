"""Files that are not images, damaged or oversized images, and wrong arguments; without Pillow."""

import contextlib
import io
import struct
import textwrap
import zlib

import numpy as np
import pytest
from helpers import run_script
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import InvalidArgumentError
from pipeline.decode.image.decode import decode_bmp, decode_gif, decode_image, decode_jpeg, decode_png
from pipeline.decode.image.encode import encode_jpeg, encode_png

Image = pytest.importorskip("PIL.Image")

PIXELS = np.random.default_rng(0).integers(0, 256, (8, 9, 3)).astype(np.uint8)


def saved(kind, **options):
    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, kind, **options)
    return file.getvalue()


FILES = {
    "png": encode_png(PIXELS),
    "png16": encode_png(PIXELS.astype(np.uint16) * 257),
    "jpeg": encode_jpeg(PIXELS),
    "gif": saved("GIF", save_all=True, append_images=[Image.fromarray(PIXELS[::-1].copy())]),
    "bmp": saved("BMP"),
}


@pytest.mark.parametrize("decode", [decode_image, decode_png, decode_jpeg, decode_gif, decode_bmp])
class TestNoImage:
    @pytest.mark.parametrize(
        ("data", "found"),
        [
            (b"not an image", r"got 12 bytes that begin with b'not an image'$"),
            (b"<html><body>404", "looks like XML, SVG or HTML"),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "looks like WebP"),
            (b"II*\0" + bytes(9), "looks like TIFF"),
            (b"\x89PNG\n\x1a\n", "looks like PNG with changed line ends"),
        ],
    )
    def test_what_was_found(self, decode, data, found):
        with pytest.raises(InvalidArgumentError, match=r"^Unknown image file format") as caught:
            decode(data)
        assert caught.match(found)

    def test_empty(self, decode):
        with pytest.raises(InvalidArgumentError, match=r"^Input is empty\.$"):
            decode(b"")

    @pytest.mark.parametrize("contents", [None, "text", [b"x"], PIXELS])
    def test_no_bytes(self, decode, contents):
        with pytest.raises(TypeError, match="must be the bytes of one image"):
            decode(contents)


class TestDamaged:
    @pytest.mark.parametrize("kind", FILES)
    @pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
    def test_cut_off(self, kind, part):
        data = FILES[kind]
        with pytest.raises(InvalidArgumentError, match=r"^(Invalid (PNG|GIF|BMP) data|jpeg::Uncompress failed)"):
            decode_image(data[: int(len(data) * part)])

    def test_a_png_without_its_end(self):
        for kind in ("png", "png16"):
            with pytest.raises(InvalidArgumentError, match="has no IEND chunk"):
                decode_png(FILES[kind][:-12])

    def test_a_changed_png(self):
        data = bytearray(FILES["png16"])
        data[60] ^= 1
        with pytest.raises(InvalidArgumentError, match="the IDAT chunk at byte 33 is damaged"):
            decode_png(bytes(data))

    @settings(deadline=None, max_examples=300)
    @given(
        st.sampled_from(sorted(FILES)),
        st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=4),
        st.integers(0, 10_000),
    )
    @pytest.mark.filterwarnings("ignore")
    def test_other_bytes_are_read_or_refused(self, kind, changes, cut):
        data = bytearray(FILES[kind])
        for at, value in changes:
            data[at % len(data)] = value
        data = bytes(data[: cut % len(data)]) if cut % 4 == 0 else bytes(data)
        for decode in (decode_image, decode_gif, decode_bmp):
            with contextlib.suppress(InvalidArgumentError):
                assert decode(data, max_pixels=10_000).dtype == np.uint8


class TestTooLarge:
    def test_a_png_that_says_so(self):
        header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
        chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
        data = b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
            for name, body in chunks
        )
        with pytest.raises(InvalidArgumentError, match="has 60000 x 60000 pixels, more than the limit of 134,217,728"):
            decode_image(data)

    @pytest.mark.parametrize("kind", FILES)
    def test_limit(self, kind):
        frames = 2 if kind == "gif" else 1
        assert decode_image(FILES[kind], max_pixels=72 * frames).shape[-3:] == (8, 9, 3)
        with pytest.raises(InvalidArgumentError, match=r"has 9 x 8 pixels.* more than the limit of"):
            decode_image(FILES[kind], max_pixels=72 * frames - 1)

    def test_one_frame_of_many(self):
        assert decode_image(FILES["gif"], expand_animations=False, max_pixels=72).shape == (8, 9, 3)


class TestArguments:
    @pytest.mark.parametrize(
        ("call", "text"),
        [
            (lambda: decode_png(FILES["png"], 2), "`channels` must be 0, 1, 3 or 4 but got 2"),
            (lambda: decode_png(FILES["png"], dtype=np.int32), "not in the list of allowed values: uint8, uint16"),
            (lambda: decode_image(FILES["png"], dtype=np.int32), "decode_image does not support dtype int32"),
            (lambda: decode_jpeg(FILES["jpeg"], 4), "JPEG does not support 4 channels"),
            (lambda: decode_jpeg(FILES["jpeg"], ratio=3), "ratio must be 1, 2, 4, or 8, got 3"),
            (lambda: decode_bmp(FILES["bmp"], 1), "`channels` must be 0, 3 or 4 for BMP, but got 1"),
            (lambda: decode_image(FILES["gif"], 4), "channels must be 0 or 3 for GIF, got 4"),
            (lambda: decode_bmp(FILES["png"]), "Trying to decode PNG format using DecodeBmp op. Use `decode_png`"),
            (lambda: decode_png(FILES["bmp"]), "Trying to decode BMP format using a wrong op. Use `decode_bmp`"),
            (lambda: decode_png(FILES["gif"]), "Got 2 frames, but animated gifs can only be decoded by"),
            (lambda: encode_png(PIXELS, 10), "compression should be in [-1,9], got 10"),
            (lambda: encode_png(PIXELS[0]), "image must be 3-dimensional[9,3]"),
            (lambda: encode_png(PIXELS[:0]), "image has no pixels"),
            (lambda: encode_png(np.zeros((2, 2, 5), np.uint8)), "image must have 1, 2, 3, or 4 channels, got 5"),
            (lambda: encode_png(PIXELS.astype(np.float32)), "image has dtype float32"),
            (lambda: encode_jpeg(PIXELS.astype(np.uint16)), "image has dtype uint16"),
            (lambda: encode_jpeg(PIXELS[:, :, :2]), "image must have 1 or 3 channels, got [8,9,2]"),
            (lambda: encode_jpeg(PIXELS, "grayscale"), "format grayscale expects 1 channels, got [8,9,3]"),
            (lambda: encode_jpeg(PIXELS, "x"), "format 'x' is not in the list of allowed values"),
            (lambda: encode_jpeg(PIXELS, quality=101), "quality must be in [0,100], got 101"),
            (lambda: encode_jpeg(PIXELS, density_unit="mm"), "density_unit 'mm' is not in the list"),
            (lambda: encode_jpeg(np.zeros((1, 65536, 1), np.uint8)), "at most 65535 pixels"),
        ],
    )
    def test_refused(self, call, text):
        with pytest.raises(InvalidArgumentError) as caught:
            call()
        assert text in str(caught.value)


def test_without_pillow():
    script = textwrap.dedent("""
        import sys
        sys.modules["PIL"] = None
        from pipeline.decode.image.encode import encode_png
        from pipeline.decode.image.decode import decode_image
        import numpy as np
        for call in (lambda: decode_image(b"GIF89a"), lambda: encode_png(np.zeros((1, 1, 1), np.uint8))):
            try:
                call()
            except ImportError as error:
                print(error)
    """)
    assert run_script(script).stdout == "decoding and encoding images needs Pillow: pip install pillow\n" * 2
