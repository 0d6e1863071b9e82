"""Unicode strings: code points, characters, other encodings, scripts."""

import random

import numpy as np
from compat_cases import case

MALFORMED = [
    b"a\xffb",
    b"\xe2\x82",
    b"\xe2\x82\xac\xe2\x82",
    b"\xe0\x80\x80",
    b"\xed\xa0\x80\xed\xb0\x80",
    b"\xf0\x9f\x98",
    b"\xf0\x9fx",
    b"\xf4\x90\x80\x80",
    b"\xf8\x88\x80\x80\x80",
    b"\xc0\xaf\xc1\xbf",
    b"\x80\xbf",
    b"\xef\xbb\xbfa",
    b"\xef\xbf\xbd\xef\xbf\xbf\xf4\x8f\xbf\xbf",
    b"\x00\x1f\x7f\xc2\x80",
    b"",
]
TEXTS = ["G\u00f6\u00f6dnight", "\U0001f60a", "", "\u65e5\u672c\u8a9e"]


def mixed(alphabet, seed=1):
    """Short strings of bytes that begin, go on with and break characters."""
    draw = random.Random(seed)
    return [bytes(draw.choices(alphabet, k=draw.randrange(12))) for _ in range(60)]


STRINGS = {
    "UTF-8": mixed(b"a\x00\x1f\x7f\x80\xbf\xc1\xc2\xdf\xe0\xe1\xed\xef\xf0\xf1\xf4\xf5\xff\x9f\xa0\x8f\x90"),
    "UTF-16-BE": mixed(b"\x00a\xd8\xdb\xdc\xdf\xfe\xff\x80"),
    "UTF-16LE": mixed(b"\x00a\xd8\xdb\xdc\xdf\xfe\xff\x80"),
    "UTF-32-BE": mixed(b"\x00\x00\x00\x00a\xd8\x10\x11\xff"),
    "utf_32le": mixed(b"\x00\x00\x00\x00a\xd8\x10\x11\xff"),
}
BYTES = [bytes([byte]) for byte in range(256)]
SINGLE = (
    [f"ISO-8859-{number}" for number in (*range(1, 12), 13, 14, 15)]
    + [f"windows-{number}" for number in range(1250, 1259)]
    + ["US-ASCII", "latin1", "KOI8-R", "KOI8-U", "macintosh", "x-mac-cyrillic", "IBM037", "cp500", "cp1140"]
)
CHINESE = "\u4f60\u597da\u00b7\u2014".encode("gbk")
KOREAN = "\ud55c\uae00 a".encode("euc-kr")


def parts(tf, ragged):
    """The tensors of a ragged tensor under names of their own, and what is known of its shape."""
    return [ragged.shape, *(tf.identity(each, "part") for each in (*ragged.nested_row_splits, ragged.flat_values))]


def fed(tf, strings):
    """Strings of which a graph knows the rank alone."""
    return tf.placeholder_with_default(strings, [None] * np.ndim(strings))


def decoded(tf, strings, encoding, **options):
    codes, offsets = tf.strings.unicode_decode_with_offsets(strings, encoding, **options)
    return [codes.row_splits, codes.flat_values, offsets.flat_values]


def add(**functions):
    """Make a case of each function under its name here."""
    for name, function in functions.items():
        function.__name__ = name
        case(graph=False)(function)


@case()
def decode_vector_graph(tf):
    op = tf.strings.unicode_decode(tf.constant(TEXTS), "UTF-8")
    return [op.flat_values.dtype, op.row_splits.dtype, op.flat_values.shape, op.row_splits.shape, op.ragged_rank]


@case()
def transcode_graph(tf):
    return tf.strings.unicode_transcode(TEXTS, "UTF-8", "UTF-16-BE", name="t")


@case()
def script_graph(tf):
    return tf.strings.unicode_script([[97, 0x3042], [0x431, -1]])


@case(graph=False)
def decode_every_encoding(tf):
    found = {}
    for encoding, strings in STRINGS.items():
        for errors in ("replace", "ignore"):
            for control in (False, True):
                options = {"errors": errors, "replace_control_characters": control}
                found[f"{encoding} {errors} {control}"] = decoded(tf, strings, encoding, **options)
    return found


@case(graph=False)
def decode_single_bytes(tf):
    return {name: decoded(tf, BYTES, name) for name in SINGLE}


@case(graph=False)
def transcode_every_encoding(tf):
    return {
        f"{source} {target} {replacement}": tf.strings.unicode_transcode(
            strings, source, target, replacement_char=replacement
        )
        for source, strings in STRINGS.items()
        for target in ("UTF-8", "UTF-16-BE", "UTF-32-BE")
        for replacement in (0xFFFD, 32, 0xD800, 0x1F600)
    }


@case(graph=False)
def encode_numbers(tf):
    numbers = tf.ragged.constant(
        [[97, 0xD7FF, 0xD800, 0xDBFF], [], [0xDC00, 0xDFFF, 0xE000, 0xFFFF], [0x10000, 0x10FFFF, 0x110000, -1]],
        tf.int32,
    )
    return {
        f"{encoding} {errors} {replacement}": tf.strings.unicode_encode(numbers, encoding, errors, replacement)
        for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE")
        for errors in ("replace", "ignore")
        for replacement in (0xFFFD, 32, 0xD800)
    }


add(
    decode_malformed=lambda tf: decoded(tf, MALFORMED, "UTF-8"),
    decode_malformed_dropped=lambda tf: decoded(tf, MALFORMED, "UTF-8", errors="ignore"),
    decode_malformed_marked=lambda tf: decoded(tf, MALFORMED, "UTF-8", replacement_char=63),
    decode_byte_order=lambda tf: decoded(tf, [b"\xfe\xff\x00a\x00b"], "UTF-16"),
    decode_byte_order_little=lambda tf: decoded(tf, [b"\xff\xfea\x00b\x00"], "UTF-16"),
    decode_byte_order_wide=lambda tf: decoded(tf, [b"\xff\xfe\x00\x00a\x00\x00\x00"], "UTF-32"),
    decode_no_byte_order=lambda tf: decoded(tf, [b"\x00a\x00b"], "UTF-16"),
    decode_chinese=lambda tf: [decoded(tf, [CHINESE, b""], name) for name in ("GBK", "gb18030", "cp936")],
    decode_gb18030=lambda tf: decoded(tf, ["\u00e4\U0001f60a\u4f60".encode("gb18030")], "gb18030"),
    decode_korean=lambda tf: [decoded(tf, [KOREAN], name) for name in ("EUC-KR", "windows-949")],
    decode_control_strict=lambda tf: decoded(
        tf, ["a\x01\n"], "UTF-8", errors="strict", replace_control_characters=True
    ),
    decode_strict_good=lambda tf: decoded(tf, [*TEXTS, "\ufffd"], "UTF-8", errors="strict"),
    decode_strict_bad=lambda tf: decoded(tf, MALFORMED, "UTF-8", errors="strict"),
    decode_scalar=lambda tf: tf.strings.unicode_decode(TEXTS[0], "UTF-8"),
    decode_scalar_offsets=lambda tf: list(tf.strings.unicode_decode_with_offsets(TEXTS[0], "utf8")),
    decode_vector=lambda tf: parts(tf, tf.strings.unicode_decode(TEXTS, "UTF-8")),
    decode_matrix=lambda tf: parts(tf, tf.strings.unicode_decode([["ab", "c"], ["", "d\u00e9f"]], "UTF-8")),
    decode_cube=lambda tf: parts(tf, tf.strings.unicode_decode([[["ab"], ["c"]], [[""], ["d"]]], "UTF-8")),
    decode_ragged=lambda tf: parts(
        tf, tf.strings.unicode_decode(tf.ragged.constant([["ab", "c"], [], ["d"]]), "UTF-8")
    ),
    decode_ragged_value=lambda tf: parts(
        tf, tf.strings.unicode_decode(tf.ragged.constant_value([[b"ab", b"c"], [b"d"]]), "UTF-8")
    ),
    decode_empty=lambda tf: parts(tf, tf.strings.unicode_decode(tf.constant([], tf.string), "UTF-8")),
    decode_unknown_size=lambda tf: parts(
        tf, tf.strings.unicode_decode(tf.placeholder_with_default(TEXTS, [None]), "UTF-8")
    ),
    decode_unknown_rank=lambda tf: tf.strings.unicode_decode(tf.placeholder_with_default(TEXTS, None), "UTF-8"),
    decode_unknown_encoding=lambda tf: tf.strings.unicode_decode("a", "nope"),
    decode_unknown_errors=lambda tf: tf.strings.unicode_decode("a", "UTF-8", errors="x"),
    decode_number=lambda tf: tf.strings.unicode_decode(5, "UTF-8"),
    decode_replacement_too_large=lambda tf: tf.strings.unicode_decode("a", "UTF-8", replacement_char=0x110000),
    decode_replacement_negative=lambda tf: tf.strings.unicode_decode("a", "UTF-8", replacement_char=-1),
    decode_replacement_text=lambda tf: tf.strings.unicode_decode("a", "UTF-8", replacement_char="?"),
    split_scalar=lambda tf: tf.strings.unicode_split(fed(tf, TEXTS[0]), "UTF-8"),
    split_vector=lambda tf: parts(tf, tf.strings.unicode_split(fed(tf, TEXTS), "UTF-8")),
    split_matrix=lambda tf: parts(tf, tf.strings.unicode_split(fed(tf, [["ab", "c"], ["", "d\u00e9f"]]), "UTF-8")),
    split_malformed=lambda tf: parts(tf, tf.strings.unicode_split(fed(tf, MALFORMED), "UTF-8")),
    split_malformed_dropped=lambda tf: parts(tf, tf.strings.unicode_split(fed(tf, MALFORMED), "UTF-8", "ignore")),
    split_malformed_strict=lambda tf: parts(tf, tf.strings.unicode_split(fed(tf, MALFORMED), "UTF-8", "strict")),
    split_wide=lambda tf: parts(tf, tf.strings.unicode_split(fed(tf, [b"\x00a\xd8=\xde\x0a"]), "UTF-16-BE")),
    split_latin=lambda tf: tf.strings.unicode_split("a", "ISO-8859-1"),
    split_offsets=lambda tf: [
        parts(tf, each) for each in tf.strings.unicode_split_with_offsets(fed(tf, TEXTS), "UTF-8")
    ],
    split_offsets_scalar=lambda tf: list(tf.strings.unicode_split_with_offsets(fed(tf, TEXTS[0]), "UTF-8")),
    encode_vector=lambda tf: tf.strings.unicode_encode([71, 246, 128522], "UTF-8"),
    encode_matrix=lambda tf: tf.strings.unicode_encode([[71, 246], [128522, 0]], "UTF-8"),
    encode_cube=lambda tf: tf.strings.unicode_encode([[[71, 246], [1, 2]], [[3, 4], [5, 6]]], "UTF-16-BE"),
    encode_ragged=lambda tf: parts(
        tf, tf.strings.unicode_encode(tf.ragged.constant([[[71, 246], []], [[98]]]), "UTF-8")
    ),
    encode_ragged_uniform=lambda tf: parts(
        tf, tf.strings.unicode_encode(tf.ragged.constant([[[71, 246], [72, 73]], [[98, 99]]], ragged_rank=1), "UTF-8")
    ),
    encode_empty=lambda tf: tf.strings.unicode_encode(tf.zeros([0], tf.int32), "UTF-8"),
    encode_scalar=lambda tf: tf.strings.unicode_encode(5, "UTF-8"),
    encode_int64=lambda tf: tf.strings.unicode_encode(tf.constant([[5]], tf.int64), "UTF-8"),
    encode_unknown_encoding=lambda tf: tf.strings.unicode_encode([5], "UTF-16"),
    encode_unknown_errors=lambda tf: tf.strings.unicode_encode([5], "UTF-8", "x"),
    encode_strict=lambda tf: tf.strings.unicode_encode([0xD800], "UTF-8", "strict"),
    encode_replacement_negative=lambda tf: tf.strings.unicode_encode([5], "UTF-8", replacement_char=-1),
    encode_unknown_rank=lambda tf: tf.strings.unicode_encode(tf.placeholder_with_default([5], None), "UTF-8"),
    transcode_scalar=lambda tf: tf.strings.unicode_transcode(b"a\xffb", "UTF-8", "UTF-16-BE"),
    transcode_matrix=lambda tf: tf.strings.unicode_transcode([[b"\xe9", b"a"]], "ISO-8859-1", "UTF-8"),
    transcode_malformed=lambda tf: tf.strings.unicode_transcode(MALFORMED, "UTF-8", "UTF-8"),
    transcode_dropped=lambda tf: tf.strings.unicode_transcode(MALFORMED, "UTF-8", "UTF-8", errors="ignore"),
    transcode_strict=lambda tf: tf.strings.unicode_transcode(MALFORMED, "UTF-8", "UTF-8", errors="strict"),
    transcode_control=lambda tf: tf.strings.unicode_transcode(
        MALFORMED, "UTF-8", "UTF-8", replace_control_characters=True
    ),
    transcode_unknown_source=lambda tf: tf.strings.unicode_transcode("a", "nope", "UTF-8"),
    transcode_unknown_target=lambda tf: tf.strings.unicode_transcode("a", "UTF-8", "UTF-16"),
    transcode_no_text=lambda tf: tf.strings.unicode_transcode("a", 5, "UTF-8"),
    transcode_number=lambda tf: tf.strings.unicode_transcode(5, "UTF-8", "UTF-8"),
    script_ranges=lambda tf: tf.strings.unicode_script(tf.range(0, 0x30000, 37)),
    script_ends=lambda tf: tf.strings.unicode_script([-1, 0, 0xD800, 0xE000, 0x10FFFF, 0x110000, 2**31 - 1]),
    script_text=lambda tf: tf.strings.unicode_script("a"),
    script_int64=lambda tf: tf.strings.unicode_script(tf.constant([1], tf.int64)),
)
