"""Unusual image files: PNGs with odd chunks, GIFs with disposal and offsets, CMYK JPEGs, palettes in BMPs."""

import base64
import importlib.util
import struct
import zlib

import numpy as np
from compat_cases import case

RANDOM = np.random.RandomState(3)


def add(name, function, within=None):
    def made(tf):
        return function(tf)

    made.__name__ = name
    case(graph=False, within=within)(made)


def chunk(name, body=b"", crc=None):
    return struct.pack(">I", len(body)) + name + body + (crc or struct.pack(">I", zlib.crc32(name + body)))


SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def png(colour, bits, before=b"", between=b"", after=b"", size=(5, 4), end=None, palette=bytes(range(30, 42))):
    """Return a noise PNG, with chunks before the palette, before the pixels and after them."""
    width, height = size
    row = (width * SAMPLES[colour] * bits + 7) // 8
    noise = np.random.RandomState(colour + bits).randint(0, 4 if colour == 3 else 256, (height, row)).astype(np.uint8)
    packed = zlib.compress(b"".join(b"\0" + each.tobytes() for each in noise), 0)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
    colours = chunk(b"PLTE", palette) if colour == 3 else b""
    end = chunk(b"IEND") if end is None else end
    return b"\x89PNG\r\n\x1a\n" + header + before + colours + between + chunk(b"IDAT", packed) + after + end


def gamma(value):
    return chunk(b"gAMA", struct.pack(">I", value))


def corners(*values):
    return chunk(b"cHRM", struct.pack(">8I", *values))


SRGB, WIDE = chunk(b"sRGB", b"\0"), corners(31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)
ANIMATED = chunk(b"acTL", struct.pack(">II", 2, 0))
LIGHT = {
    "gamma": gamma(45455),
    "linear": gamma(100000),
    "other_gamma": gamma(55556),
    "gamma_near_one": gamma(98000),
    "gamma_too_small": gamma(15),
    "gamma_twice": gamma(45455) + gamma(100000),
    "gamma_damaged": chunk(b"gAMA", struct.pack(">I", 45455), b"abcd"),
    "gamma_short": chunk(b"gAMA", b"\0\0"),
    "srgb": SRGB,
    "srgb_unknown_intent": chunk(b"sRGB", b"\x09"),
    "srgb_then_gamma": SRGB + gamma(100000),
    "gamma_then_srgb": gamma(100000) + SRGB,
    "srgb_empty": chunk(b"sRGB"),
    "corners_then_gamma": WIDE + gamma(55556),
    "impossible_corners_then_gamma": corners(*range(1, 9)) + gamma(55556),
    "black_corners_then_gamma": corners(*[0] * 8) + gamma(55556),
    "damaged_profile_then_gamma": chunk(b"iCCP", b"x\0\0garbage of some length") + gamma(55556),
    "gamma_then_damaged_profile": gamma(55556) + chunk(b"iCCP", b"x\0\0garbage of some length"),
    "few_significant_bits": chunk(b"sBIT", b"\5\5\5") + gamma(55556),
}
for which, chunks in LIGHT.items():
    for its_colour, its_bits in ((2, 8), (3, 8), (6, 16)) if "gamma" in which or which == "srgb" else ((2, 8),):
        data = png(its_colour, its_bits, chunks)
        add(
            f"gray_with_{which}_of_{its_colour}_{its_bits}",
            lambda tf, data=data: [
                tf.image.decode_png(data, channels=1),
                tf.image.decode_png(data, channels=1, dtype=tf.uint16),
                tf.image.decode_image(data, channels=1, dtype=tf.float32),
                tf.image.decode_png(data),
            ],
        )
ODD = {
    "profile_empty": chunk(b"iCCP"),
    "profile_without_end": chunk(b"iCCP", b"name"),
    "profile_unknown_method": chunk(b"iCCP", b"n\0\x07" + zlib.compress(b"x" * 200)),
    "profile_damaged": chunk(b"iCCP", b"x\0\0garbage"),
    "corners_short": chunk(b"cHRM", bytes(31)),
    "corners_empty": chunk(b"cHRM"),
    "text_damaged": chunk(b"zTXt", b"key\0\0garbage"),
    "text_unknown_method": chunk(b"zTXt", b"key\0\5xx"),
    "text_large": chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(3_000_000))),
    "text_wrong_checksum": chunk(b"tEXt", b"k\0abc", b"abcd"),
    "text_not_utf8": chunk(b"iTXt", b"key\0\0\0en\0\xff\0\xff\xff"),
    "resolution_short": chunk(b"pHYs", b"\0"),
    "animation_empty": chunk(b"acTL"),
    "animation_control_empty": ANIMATED + chunk(b"fcTL"),
    "animation_control_wrong": ANIMATED + chunk(b"fcTL", struct.pack(">IIIIIHHBB", 7, 50, 40, 9, 9, 1, 1, 0, 0)),
    "animation_data_first": ANIMATED + chunk(b"fdAT", struct.pack(">I", 0) + b"abc"),
    "animation_data_empty": chunk(b"fdAT"),
    "unknown": chunk(b"abCd", b"x"),
    "unknown_wrong_checksum": chunk(b"abCd", b"x", b"abcd"),
    "unknown_critical": chunk(b"ABCD", b"x"),
    "no_name": chunk(b"a1Cd", b"x"),
    "second_header": chunk(b"IHDR", struct.pack(">IIBBBBB", 5, 4, 8, 2, 0, 0, 0)),
    "second_palette": chunk(b"PLTE", b"abc") * 2,
    "clear_short": chunk(b"tRNS", b"\0"),
    "clear_damaged": chunk(b"tRNS", b"\0\1", b"abcd"),
    "end": chunk(b"IEND"),
}
for which, chunks in ODD.items():
    for its_colour, its_bits in ((2, 8), (3, 8), (4, 8), (2, 16)):
        data = png(its_colour, its_bits, b"", chunks)
        add(
            f"png_with_{which}_of_{its_colour}_{its_bits}",
            lambda tf, data=data: [
                tf.image.decode_png(data),
                tf.image.decode_png(data, channels=4, dtype=tf.uint16),
            ],
        )
    for place in ("before", "after"):
        data = png(3, 8, **{place: chunks})
        add(f"png_with_{which}_{place}", lambda tf, data=data: [tf.image.decode_png(data), tf.image.decode_image(data)])
for which, data in {
    "end_with_bytes": png(2, 8, end=chunk(b"IEND", b"abc")),
    "end_damaged": png(2, 8, end=chunk(b"IEND", b"", b"abcd")),
    "no_end": png(2, 8, end=b""),
    "palette_with_index_beyond": png(3, 8, palette=b"abcdef"),
    "pixels_damaged": png(2, 8).replace(zlib.compress(b"")[-4:], b"")[:60] + png(2, 8)[61:],
}.items():
    add(f"png_{which}", lambda tf, data=data: tf.image.decode_png(data))


def blocks(data):
    return b"".join(bytes([len(data[i : i + 255])]) + data[i : i + 255] for i in range(0, len(data), 255)) + b"\0"


def codes(indices, bits=2):
    """Encode indices as in a GIF, uncompressed: the table is cleared before it grows."""
    value = count = 0
    for i, index in enumerate(indices):
        for code in ([1 << bits] if i % 2 == 0 else []) + [int(index)]:
            value |= code << count
            count += bits + 1
    value |= ((1 << bits) + 1) << count
    return bytes([bits]) + blocks(value.to_bytes((count + bits + 8) // 8, "little"))


COLOURS = bytes([10, 20, 30, 200, 0, 0, 0, 200, 0, 0, 0, 200])
OTHER_COLOURS = bytes([1, 2, 3, 90, 90, 0, 0, 90, 90, 250, 251, 252])


def control(disposal=0, clear=None):
    return b"\x21\xf9\x04" + bytes([disposal << 2 | (clear is not None), 0, 0, clear or 0, 0])


def frame(left, top, width, height, colours=None, rows=None):
    indices = RANDOM.randint(0, 4, width * (height if rows is None else rows))
    flags = 0x81 if colours else 0
    return b"\x2c" + struct.pack("<HHHHB", left, top, width, height, flags) + (colours or b"") + codes(indices)


def gif(*parts, colours=COLOURS, size=(6, 5)):
    flags = 0x81 if colours else 0
    return b"GIF89a" + struct.pack("<HHBBB", *size, flags, 1, 0) + (colours or b"") + b"".join(parts) + b"\x3b"


WHOLE = frame(0, 0, 6, 5)
GIFS = {
    f"disposal_{disposal}_clear_{clear}": gif(
        control(disposal, clear) + WHOLE,
        control(disposal, clear) + frame(1, 1, 3, 2),
        control(disposal, clear) + frame(2, 0, 4, 4, OTHER_COLOURS),
        control(0, clear) + frame(0, 0, 6, 5, OTHER_COLOURS),
    )
    for disposal in range(4)
    for clear in (None, 0, 2)
}
GIFS |= {
    "frames_within_the_screen": gif(frame(1, 1, 3, 2), frame(0, 0, 2, 4)),
    "a_frame_larger_than_the_screen": gif(WHOLE, frame(1, 1, 8, 2), size=(3, 3)),
    "a_frame_far_away": gif(WHOLE, frame(60, 50, 3, 3)),
    "no_screen": gif(WHOLE, size=(0, 0)),
    "one_clear_frame": gif(control(0, 1) + WHOLE),
    "no_colours": gif(WHOLE, colours=None),
    "colours_of_the_frame_only": gif(frame(0, 0, 6, 5, OTHER_COLOURS), colours=None),
    "an_index_beyond_the_colours": gif(WHOLE, colours=COLOURS[:6]).replace(b"\x81\x01\x00", b"\x80\x01\x00", 1),
    "two_controls": gif(WHOLE, control(0, 1) + control(0, 2) + WHOLE),
    "a_control_for_one_frame": gif(control(0, 2) + WHOLE, WHOLE),
    "a_control_and_a_comment": gif(control(0, 2) + b"\x21\xfe\x03abc\0" + WHOLE),
    "a_short_control": gif(b"\x21\xf9\x01\x01\0" + WHOLE),
    "bytes_between_frames": gif(WHOLE, b"\0\0", WHOLE),
    "no_frames": gif(),
    "an_empty_frame": gif(frame(0, 0, 0, 0)),
    "too_few_rows": gif(frame(0, 0, 6, 5, rows=3)),
    "no_end": gif(WHOLE, WHOLE)[:-1],
}
for which, data in GIFS.items():
    if which != "too_few_rows":  # TensorFlow returns uninitialized memory
        add(f"gif_{which}", lambda tf, data=data: [tf.image.decode_gif(data), tf.image.decode_image(data)])
        add(f"gif_{which}_first", lambda tf, data=data: tf.image.decode_image(data, expand_animations=False))


def bmp(width, height, bits, colours, rows):
    offset = 54 + len(colours)
    information = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, len(rows), 0, 0, len(colours) // 4, 0)
    return b"BM" + struct.pack("<IHHI", offset + len(rows), 0, 0, offset) + information + colours + rows


MANY, ROWS = RANDOM.bytes(1024), RANDOM.bytes(8 * 5)
for which, data in {
    "palette": bmp(7, 5, 8, MANY, ROWS),
    "palette_from_the_top": bmp(7, -5, 8, MANY, ROWS),
    "gray_palette": bmp(7, 5, 8, bytes(v for i in range(256) for v in (i, i, i, 0)), ROWS),
}.items():
    for channels in (0, 3):
        add(f"bmp_{which}_{channels}", lambda tf, data=data, n=channels: tf.image.decode_bmp(data, channels=n))
    add(f"bmp_{which}_image", lambda tf, data=data: tf.image.decode_image(data, expand_animations=False))

# 16 x 8 CMYK pixels; the byte after "Adobe" and its flags marks YCCK.
CMYK = zlib.decompress(
    base64.b64decode(
        "eNr7f+P/OwY+x5T8pFSGFAYQ+H+bwZmBl5OLm4uDl5uLm4+Pl19YQVRYSEhYXUZOXEFP09BAT1NXx9jKy87YzM1cR9ch3NHNxy8oOMjILioxKi"
        "DBKzDI//8BBhEOBg4GARZnQQZfQYZIQQZvQYb/RxjEGRgZmBmQARsDCztQQlaAgYmBnRFZhpVFTNHQ0Sl54f9bDHwszgy+DJEM3gwM9gwxv5O+"
        "vL9+QekOt4T7vWVZv5P8/taK6R6Ibal9Vf//JgD5DjHF"
    )
)
ADOBE = CMYK.index(b"Adobe")
PLAIN = CMYK[: ADOBE - 4] + CMYK[ADOBE + 12 :]
MENTIONED = CMYK[: ADOBE - 4] + b"\xff\xfe\x00\x10\xff\xee\x00\x0eAdobe\0\0\0\0\0" + CMYK[ADOBE + 12 :]
LONG = CMYK[: ADOBE - 4] + b"\xff\xee\x00\x10" + CMYK[ADOBE : ADOBE + 12] + b"xx" + CMYK[ADOBE + 12 :]
# TensorFlow computes the cosine transform in a faster, less exact way, as simplejpeg does; Pillow cannot.
FAST = 0 if importlib.util.find_spec("simplejpeg") else 8
for which, data in {
    "adobe": CMYK,
    "ycck": CMYK[: ADOBE + 11] + b"\2" + CMYK[ADOBE + 12 :],
    "adobe_long": LONG,
    "plain": PLAIN,
    "with_a_comment": MENTIONED,
}.items():
    for its_ratio in (1, 2):
        add(
            f"cmyk_{which}_{its_ratio}",
            lambda tf, data=data, ratio=its_ratio: tf.image.decode_jpeg(data, ratio=ratio),
            FAST,
        )
    add(f"cmyk_{which}_image", lambda tf, data=data: tf.image.decode_image(data, channels=3), FAST)
