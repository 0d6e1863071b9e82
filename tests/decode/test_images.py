"""decode_png, decode_jpeg, decode_gif, decode_bmp, decode_image: the same pixels as TensorFlow."""

import importlib.util
import io
import textwrap

import numpy as np
import pytest
from helpers import run_script

from pipeline.decode.image.decode import decode_bmp, decode_gif, decode_image, decode_jpeg, decode_png
from pipeline.decode.image.encode import encode_jpeg, encode_png

Image = pytest.importorskip("PIL.Image")
with_simplejpeg = pytest.mark.skipif(importlib.util.find_spec("simplejpeg") is None, reason="needs simplejpeg")

RGB = np.random.default_rng(0).integers(0, 256, (4, 5, 3)).astype(np.uint8)
DEEP = np.random.default_rng(1).integers(0, 65536, (6, 7, 4)).astype(np.uint16)
DEEP[0, 0] = [33427, 41229, 50068, 7]
DEEP[0, 1] = [60762, 26858, 28860, 65535]


def saved(image, kind, **options):
    file = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(file, kind, **options)
    return file.getvalue()


class TestPng:
    @pytest.mark.parametrize("channels", [1, 2, 3, 4])
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    def test_what_was_encoded_is_decoded(self, channels, dtype):
        image = np.ascontiguousarray(DEEP[:, :, :channels].astype(dtype))
        for compression in (-1, 0, 9):
            data = encode_png(image, compression)
            decoded = decode_png(data, dtype=dtype)
            assert decoded.dtype == dtype
            assert np.array_equal(decoded, image)
            assert decoded.flags.writeable
        assert np.array_equal(decode_image(data, dtype=dtype), image)

    def test_a_smooth_image_of_16_bits_is_small(self):
        """Each row has its best filter, as in libpng: here from the left and above."""
        ramp = (np.add.outer(np.arange(200) * 100, np.arange(300) * 70)).astype(np.uint16)[:, :, None]
        data = encode_png(ramp)
        assert len(data) < 2100  # 1,939 from TensorFlow; differences from the row above take 2,510
        assert np.array_equal(decode_png(data, dtype=np.uint16), ramp)

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    def test_channels(self, dtype):
        top = np.iinfo(dtype).max
        rgb = np.array([[[217, 163, 130], [69, 78, 10], [19, 4, 44], [208, 208, 208]]], dtype)
        alpha = np.array([[[1], [2], [3], [4]]], dtype)
        gray = rgb[:, :, :1]
        expected = [[[175], [67], [13], [208]]] if dtype == np.uint8 else [[[175], [68], [13], [208]]]
        for given in (rgb, np.concatenate((rgb, alpha), axis=2)):
            data = encode_png(given)
            assert np.array_equal(decode_png(data, 3, dtype), rgb)
            assert decode_png(data, 4, dtype)[0, :, 3].tolist() == ([top] * 4 if given is rgb else [1, 2, 3, 4])
            assert decode_png(data, 1, dtype).tolist() == expected
        for given in (gray, np.concatenate((gray, alpha), axis=2)):
            data = encode_png(given)
            assert np.array_equal(decode_png(data, 1, dtype), gray)
            assert np.array_equal(decode_png(data, 3, dtype), gray.repeat(3, axis=2))
            assert decode_png(data, 4, dtype)[0, :, 3].tolist() == ([top] * 4 if given is gray else [1, 2, 3, 4])

    def test_gray_of_16_bits(self):
        assert decode_png(encode_png(DEEP[:, :, :3]), 1, np.uint16)[0, :2, 0].tolist() == [39904, 37223]

    def test_16_bits_as_8_and_8_as_16(self):
        assert np.array_equal(decode_png(encode_png(DEEP)), DEEP >> 8)
        assert np.array_equal(decode_png(encode_png(RGB), dtype=np.uint16), RGB.astype(np.uint16) * 257)

    @pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA"])
    def test_16_bits_as_pillow_has_them(self, mode):
        channels = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}[mode]
        data = encode_png(DEEP[:, :, :channels])
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            if mode != "L":
                assert np.array_equal(np.asarray(image.convert(mode)), decode_png(data))

    def test_palettes(self):
        image = Image.fromarray(RGB).quantize(4)
        wanted = np.asarray(image.convert("RGB"))
        assert np.array_equal(decode_png(saved(image, "PNG")), wanted)
        assert (decode_png(saved(image, "PNG"), 4)[:, :, 3] == 255).all()
        clear = decode_png(saved(image, "PNG", transparency=1))
        assert clear.shape == (4, 5, 4)
        assert np.array_equal(clear[:, :, 3] == 0, np.asarray(image) == 1)
        assert np.array_equal(decode_png(saved(image, "PNG", transparency=1), 3), wanted)

    def test_one_bit(self):
        image = RGB[:, :, 0] > 128
        assert np.array_equal(decode_png(saved(image, "PNG"))[:, :, 0], image * np.uint8(255))

    def test_a_colour_that_is_transparent(self):
        data = saved(RGB, "PNG", transparency=tuple(RGB[0, 0].tolist()))
        assert decode_png(data).shape == (4, 5, 3)
        assert decode_png(data, 4)[0, :2, 3].tolist() == [0, 255]

    def test_floats(self):
        got = decode_image(encode_png(RGB), dtype=np.float32)
        assert got.dtype == np.float32
        assert np.allclose(got, RGB / 255, atol=1e-6)
        deep = decode_image(encode_png(DEEP), dtype=np.float64)
        assert np.allclose(deep, (DEEP >> 8) / 255, atol=0.005)


class TestJpeg:
    SMOOTH = np.stack(np.broadcast_arrays(np.arange(90) * 2, np.arange(60)[:, None] * 3, 90), axis=2).astype(np.uint8)

    def test_close_to_what_was_encoded(self):
        for options in ({}, {"progressive": True}, {"chroma_downsampling": False}, {"optimize_size": True}):
            got = decode_jpeg(encode_jpeg(self.SMOOTH, **options))
            assert got.shape == (60, 90, 3)
            assert np.abs(got.astype(int) - self.SMOOTH).mean() < 3

    def test_channels(self):
        data = encode_jpeg(self.SMOOTH)
        gray = decode_jpeg(data, 1)
        assert gray.shape == (60, 90, 1)
        assert np.abs(gray[:, :, 0] - self.SMOOTH @ [0.299, 0.587, 0.114]).mean() < 2
        data = encode_jpeg(self.SMOOTH[:, :, :1], format="grayscale")
        assert decode_jpeg(data).shape == (60, 90, 1)
        assert decode_jpeg(data, 3).shape == (60, 90, 3)

    @pytest.mark.parametrize("ratio", [1, 2, 4, 8])
    @pytest.mark.parametrize("size", [(1, 1), (9, 15), (60, 90), (3, 33)])
    def test_ratio(self, ratio, size):
        data = encode_jpeg(np.full((*size, 3), 77, np.uint8))
        got = decode_jpeg(data, ratio=ratio)
        assert got.shape == (-(-size[0] // ratio), -(-size[1] // ratio), 3)
        assert np.abs(got.astype(int) - 77).max() < 3

    def test_cmyk(self):
        got = decode_jpeg(saved(Image.new("CMYK", (16, 8), (0, 255, 255, 0)), "JPEG"))
        assert got.shape == (8, 16, 3)

    @with_simplejpeg
    def test_the_cosine_transform_is_tensorflows(self):
        data = encode_jpeg(self.SMOOTH)
        fast, accurate = decode_jpeg(data), decode_jpeg(data, dct_method="INTEGER_ACCURATE")
        with Image.open(io.BytesIO(data)) as image:
            assert np.array_equal(accurate, np.asarray(image))
        assert np.array_equal(fast, decode_jpeg(data, dct_method="INTEGER_FAST"))
        assert 0 < np.abs(fast.astype(int) - accurate).max() <= 8
        assert not np.array_equal(fast, decode_jpeg(data, fancy_upscaling=False))

    @with_simplejpeg
    def test_bytes_that_are_too_many_are_passed_over(self):
        data = encode_jpeg(self.SMOOTH)
        assert np.array_equal(decode_jpeg(data[:-2] + bytes(range(100)) + data[-2:]), decode_jpeg(data))

    def test_without_simplejpeg(self):
        data = encode_jpeg(self.SMOOTH)
        script = """
            import sys
            sys.modules["simplejpeg"] = None
            from pipeline.decode.image.decode import decode_jpeg
            sys.stdout.write(decode_jpeg(bytes.fromhex(sys.stdin.read())).tobytes().hex())
        """
        got = np.frombuffer(bytes.fromhex(run_script(textwrap.dedent(script), input=data.hex()).stdout), np.uint8)
        with Image.open(io.BytesIO(data)) as image:
            assert np.array_equal(got.reshape(60, 90, 3), np.asarray(image))

    @with_simplejpeg
    def test_without_pillow(self):
        script = """
            import sys
            sys.modules["PIL"] = None
            from pipeline.decode.image.decode import decode_jpeg
            print(decode_jpeg(bytes.fromhex(sys.stdin.read())).shape)
        """
        data = encode_jpeg(self.SMOOTH)
        assert run_script(textwrap.dedent(script), input=data.hex()).stdout == "(60, 90, 3)\n"

    def test_floats_are_multiplied(self):
        data = encode_jpeg(self.SMOOTH)
        assert np.array_equal(decode_image(data, dtype=np.float32), decode_jpeg(data) * np.float32(1 / 255))

    def test_a_truncated_file_may_be_taken(self):
        data = encode_jpeg(self.SMOOTH)[:1200]
        got = decode_jpeg(data, try_recover_truncated=True)
        assert got.shape == (60, 90, 3)
        assert np.abs(got[:8].astype(int) - self.SMOOTH[:8]).mean() < 5

    def test_16_bits(self):
        data = encode_jpeg(self.SMOOTH)
        assert np.array_equal(decode_image(data, dtype=np.uint16), decode_jpeg(data).astype(np.uint16) * 256)

    def test_quality_and_density(self):
        assert len(encode_jpeg(self.SMOOTH, quality=0)) < len(encode_jpeg(self.SMOOTH, quality=100))
        with Image.open(io.BytesIO(encode_jpeg(self.SMOOTH, density_unit="cm", x_density=100, y_density=50))) as image:
            assert image.info["dpi"] == (254, 127)


FRAMES = [Image.new("P", (5, 4), color=i) for i in range(3)]
for frame in FRAMES:
    frame.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])


class TestGif:
    ANIMATED = saved(FRAMES[0], "GIF", save_all=True, append_images=FRAMES[1:])
    ONE = saved(FRAMES[0], "GIF")

    def test_frames(self):
        got = decode_gif(self.ANIMATED)
        assert got.shape == (3, 4, 5, 3)
        assert got[:, 0, 0].tolist() == [[10, 20, 30], [40, 50, 60], [70, 80, 90]]
        assert np.array_equal(decode_image(self.ANIMATED), got)
        assert np.array_equal(decode_image(self.ANIMATED, 3), got)
        assert np.array_equal(decode_image(self.ANIMATED, expand_animations=False), got[0])

    def test_one_frame(self):
        assert decode_gif(self.ONE).shape == (1, 4, 5, 3)
        assert decode_image(self.ONE).shape == (1, 4, 5, 3)
        assert decode_png(self.ONE).shape == decode_jpeg(self.ONE).shape == (4, 5, 3)

    def test_other_formats_are_one_frame(self):
        assert np.array_equal(decode_gif(encode_png(RGB)), RGB[None])
        assert np.array_equal(decode_jpeg(encode_png(RGB)), RGB)
        assert decode_png(encode_jpeg(RGB)).shape == RGB.shape


class TestBmp:
    def test_rgb(self):
        data = saved(RGB, "BMP")
        assert np.array_equal(decode_bmp(data), RGB)
        assert np.array_equal(decode_image(data), RGB)
        assert (decode_bmp(data, 4)[:, :, 3] == 255).all()

    def test_gray_and_palettes_of_few_colours(self):
        gray = saved(RGB[:, :, 0], "BMP")
        assert np.array_equal(decode_bmp(gray), RGB[:, :, :1])
        assert np.array_equal(decode_bmp(gray, 3), RGB[:, :, :1].repeat(3, axis=2))
        image = Image.fromarray(RGB[:, :, 0] > 99)
        assert np.array_equal(decode_bmp(saved(image, "BMP"))[:, :, 0], np.asarray(image) * 255)

    def test_alpha(self):
        rgba = np.concatenate((RGB, RGB[:, :, :1]), axis=2)
        data = saved(rgba, "BMP")
        assert np.array_equal(decode_bmp(data), rgba)
        assert np.array_equal(decode_bmp(data, 3), RGB)
