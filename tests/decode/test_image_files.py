"""Damaged and malicious image files: checksums, rows, scans and frames, and sizes."""

import io
import itertools
import struct
import zlib

import numpy as np
import pytest

from pipeline import InvalidArgumentError
from pipeline.decode.image.decode import decode_bmp, decode_gif, decode_image, decode_jpeg, decode_png

Image = pytest.importorskip("PIL.Image")

SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
KINDS = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1), (3, 8), (4, 8), (4, 16), (6, 8), (6, 16)]
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def chunk(name, body=b""):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def header(size, bits, colour, interlaced=0):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", *size, bits, colour, 0, 0, interlaced))


def png(*chunks):
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + chunk(b"IEND")


def rows(size, bits, colour, interlaced=0):
    """Return each noise row's bytes, pass by pass, with the byte marking it as unfiltered."""
    rng = np.random.default_rng(bits + colour)
    for left, top, across, down in PASSES if interlaced else ((0, 0, 1, 1),):
        columns, count = -(-(size[0] - left) // across), -(-(size[1] - top) // down)
        for _ in range(count if columns > 0 else 0):
            yield b"\0" + rng.bytes((columns * SAMPLES[colour] * bits + 7) // 8)


def image(size, bits, colour, interlaced=0, most=None):
    packed = zlib.compress(b"".join(itertools.islice(rows(size, bits, colour, interlaced), most)))
    colours = [chunk(b"PLTE", bytes(range(256)) * 3)] if colour == 3 else []
    return png(header(size, bits, colour, interlaced), *colours, chunk(b"IDAT", packed))


class TestPng:
    @pytest.mark.parametrize(("colour", "bits"), KINDS)
    def test_a_changed_bit_is_refused(self, colour, bits):
        data = image((9, 7), bits, colour)
        assert decode_png(data).shape[:2] == (7, 9)
        for at in range(8, len(data)):
            changed = bytearray(data)
            changed[at] ^= 1 << at % 8
            with pytest.raises(InvalidArgumentError):
                decode_png(bytes(changed))

    def test_the_damaged_chunk_is_named(self):
        data = bytearray(image((9, 7), 8, 2))
        data[60] ^= 1
        with pytest.raises(InvalidArgumentError, match="the IDAT chunk at byte 33 is damaged"):
            decode_png(bytes(data))

    def test_damaged_transparency_counts_as_absent(self):
        clear, palette = chunk(b"tRNS", b"\x10"), chunk(b"PLTE", bytes(range(12)))
        for body, expected in ((clear, [0, 1, 2, 16]), (clear[:-1] + b"\0", [0, 1, 2])):
            data = png(header((4, 1), 2, 3), palette, body, chunk(b"IDAT", zlib.compress(b"\0\x1b")))
            assert decode_png(data)[0, 0].tolist() == expected

    def test_a_second_header(self):
        large = header((60_000, 15_000), 8, 2)
        packed = chunk(b"IDAT", zlib.compress(bytes(1000)))
        for data in (png(header((1, 1), 8, 2), large, packed), png(header((1, 1), 8, 2), packed, large)):
            with pytest.raises(InvalidArgumentError, match="it has a second IHDR chunk, at byte"):
                decode_image(data, max_pixels=100)

    @pytest.mark.parametrize("interlaced", [0, 1])
    @pytest.mark.parametrize(("colour", "bits"), KINDS)
    @pytest.mark.parametrize("size", [(5, 4), (1, 1), (17, 3), (1, 9), (8, 1)])
    def test_missing_rows_are_refused(self, colour, bits, size, interlaced):
        count = len(list(rows(size, bits, colour, interlaced)))
        assert decode_png(image(size, bits, colour, interlaced)).shape[:2] == size[::-1]
        for most in range(count):
            with pytest.raises(InvalidArgumentError, match="the pixels end after"):
                decode_png(image(size, bits, colour, interlaced, most))

    def test_interlaced_as_pillow_has_it(self):
        for colour, bits in ((2, 8), (6, 8), (4, 8), (0, 8)):
            data = image((13, 11), bits, colour, 1)
            with Image.open(io.BytesIO(data)) as opened:
                assert np.array_equal(decode_png(data).squeeze(), np.array(opened))

    def test_pixels_that_would_fill_the_memory(self):
        packed = zlib.compressobj(9)
        bomb = b"".join(packed.compress(bytes(1 << 20)) for _ in range(100)) + packed.flush()
        data = png(header((5, 4), 8, 2), chunk(b"IDAT", bomb))
        assert decode_png(data).tolist() == np.zeros((4, 5, 3)).tolist()

    def test_profiles_and_texts_that_would_fill_the_memory(self):
        bomb = zlib.compress(bytes(1 << 26))
        extra = chunk(b"iCCP", b"n\0\0" + bomb) + chunk(b"zTXt", b"k\0\0" + bomb) + chunk(b"gAMA", b"\0\0\xb1\x8f")
        whole = image((5, 4), 8, 2)
        data = whole[:33] + extra + whole[33:]
        assert np.array_equal(decode_png(data), decode_png(whole))
        assert decode_png(data, 1).shape == (4, 5, 1)

    def test_a_profile_that_libpng_does_not_know_changes_nothing(self):
        cms = pytest.importorskip("PIL.ImageCms")
        profile = cms.ImageCmsProfile(cms.createProfile("sRGB")).tobytes()
        whole = image((5, 4), 8, 2)
        plain = chunk(b"iCCP", b"sRGB\0\0" + zlib.compress(profile))
        assert np.array_equal(decode_png(whole[:33] + plain + whole[33:], 1), decode_png(whole, 1))


class TestJpeg:
    @staticmethod
    def with_scans(count):
        """Return a progressive JPEG with its last scan repeated."""
        file = io.BytesIO()
        pixels = np.add.outer(np.arange(64), np.arange(64)).astype(np.uint8)
        Image.fromarray(pixels).save(file, "JPEG", progressive=True)
        data = file.getvalue()
        begin = data.rindex(b"\xff\xda")
        scans = data.count(b"\xff\xda")
        return data[:-2] + data[begin:-2] * (count - scans) + b"\xff\xd9"

    def test_hundreds_of_scans(self):
        for count in (101, 500, 100_000):
            with pytest.raises(InvalidArgumentError, match=f"has {count:,} scans, more than the limit of 100"):
                decode_jpeg(self.with_scans(count))
        assert decode_jpeg(self.with_scans(20)).shape == (64, 64, 1)

    def test_what_looks_like_scans_in_a_comment(self):
        file = io.BytesIO()
        Image.new("RGB", (8, 8), (1, 2, 3)).save(file, "JPEG")
        data = file.getvalue()
        comment = b"\xff\xda" * 1000
        data = data[:2] + b"\xff\xfe" + struct.pack(">H", 2 + len(comment)) + comment + data[2:]
        assert decode_jpeg(data).shape == (8, 8, 3)


class TestGif:
    BLACK, RED = (0, 0, 0), (250, 0, 0)

    def frames(self):
        for x in range(3):
            frame = Image.new("RGBA", (9, 7), (0, 0, 0, 0))
            frame.putpixel((x, 1), (*self.RED, 255))
            yield frame

    @pytest.mark.parametrize("disposal", [0, 1, 2, 3])
    def test_no_frame_is_disposed_of(self, disposal):
        file = io.BytesIO()
        first, *others = self.frames()
        first.save(file, "GIF", save_all=True, append_images=others, disposal=disposal)
        got = decode_gif(file.getvalue())
        red = (got == self.RED).all(axis=3).sum(axis=(1, 2)).tolist()
        assert red == [1, 2, 3]

    def test_the_first_frame_of_a_file_that_is_cut_off(self):
        file = io.BytesIO()
        first, *others = self.frames()
        first.save(file, "GIF", save_all=True, append_images=others)
        data = file.getvalue()[:-10]
        with pytest.raises(InvalidArgumentError, match="it is cut off in frame 2"):
            decode_image(data)
        assert decode_image(data, expand_animations=False).shape == (7, 9, 3)

    def test_frames_that_would_fill_the_memory(self):
        large = b"\x2c" + struct.pack("<HHHHB", 0, 0, 60_000, 60_000, 0) + b"\x02\x00"
        data = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + bytes(6) + large + b";"
        with pytest.raises(InvalidArgumentError, match="has 60000 x 60000 pixels, more than the limit of"):
            decode_gif(data)


class TestBmp:
    def test_indices_of_a_palette_are_gray(self):
        indices = np.arange(20, dtype=np.uint8).reshape(4, 5) * 3
        image = Image.fromarray(indices).convert("P")
        image.putpalette(list(range(255, -1, -1)) * 3)
        file = io.BytesIO()
        image.save(file, "BMP")
        assert np.array_equal(decode_bmp(file.getvalue()), indices[:, :, None])
        assert np.array_equal(decode_bmp(file.getvalue(), 3), indices[:, :, None].repeat(3, axis=2))

    @staticmethod
    def with_fields(rows, bits, masks):
        """Return a BMP file with one line per item in `rows`, the lowest first, and pixels split by masks."""
        width = 8 * len(rows[0]) // bits
        header = struct.pack("<IiiHHIIiiII", 56, width, len(rows), 1, bits, 3, 0, 0, 0, 0, 0)
        header += struct.pack("<4I", *masks)
        return b"BM" + struct.pack("<IHHI", 0, 0, 0, 14 + len(header)) + header + b"".join(rows)

    @pytest.mark.parametrize(
        ("masks", "order"),
        [
            ((0xFF, 0xFF00, 0xFF0000, 0xFF000000), [0, 1, 2, 3]),
            ((0xFF0000, 0xFF00, 0xFF, 0xFF000000), [2, 1, 0, 3]),
            ((0xFF000000, 0xFF0000, 0xFF00, 0xFF), [3, 2, 1, 0]),
        ],
    )
    def test_fields_of_32_bits(self, masks, order):
        """The masks decide, whereas TensorFlow always reads blue, green, red and alpha."""
        pixels = np.random.default_rng(0).integers(0, 256, (3, 5, 4)).astype(np.uint8)
        data = self.with_fields([row.tobytes() for row in pixels[::-1]], 32, masks)
        assert np.array_equal(decode_bmp(data), pixels[:, :, order])
        assert np.array_equal(decode_bmp(data, 3), pixels[:, :, order[:3]])
        assert np.array_equal(decode_image(data, 4), pixels[:, :, order])

    @pytest.mark.parametrize(
        ("masks", "bits"), [((0xF800, 0x7E0, 0x1F, 0), (5, 6, 5)), ((0x7C00, 0x3E0, 0x1F, 0), (5, 5, 5))]
    )
    def test_fields_of_16_bits(self, masks, bits):
        """TensorFlow rejects them."""
        numbers = np.random.default_rng(0).integers(0, 1 << sum(bits), (3, 6)).astype("<u2")
        data = self.with_fields([row.tobytes() for row in numbers[::-1]], 16, masks)
        red, green = numbers >> (bits[1] + bits[2]), numbers >> bits[2] & (1 << bits[1]) - 1
        fields = np.stack((red, green, numbers & (1 << bits[2]) - 1), 2).astype(float)
        wanted = fields * 255 / ((1 << np.array(bits)) - 1)
        assert (abs(decode_bmp(data) - wanted) < 1).all()

    def test_other_fields_are_an_error(self):
        data = self.with_fields([bytes(8)], 32, (0x3FF, 0xFFC00, 0x3FF00000, 0))
        with pytest.raises(InvalidArgumentError, match="Unsupported BMP bitfields layout"):
            decode_bmp(data)
