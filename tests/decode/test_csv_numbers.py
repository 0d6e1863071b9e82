"""Numbers from text: on any code path, each is the nearest to its text."""

import math
import random
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import InvalidArgumentError, decode_csv
from pipeline._csv import CsvTable  # decode_csv would silently leave rejected texts to Python
from pipeline.decode.csv.numbers import number

FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
DTYPES = [*FLOATS, np.dtype(np.int32), np.dtype(np.int64)]
MOST = 10**19  # numbers below this have digits that fit into a word

decimals = st.one_of(
    st.floats(width=32, allow_infinity=False, allow_nan=False).map(repr),
    st.floats(allow_infinity=False, allow_nan=False).map(repr),
    st.decimals(-(10**6), 10**6, places=25).map(str),
    st.tuples(st.text("0123456789", min_size=1, max_size=30), st.integers(-60, 60)).map(
        lambda pair: f"{pair[0]}e{pair[1]}"
    ),
)


def column_of(texts, dtype):
    """Return the column from a block with these records; None if one is not a number."""
    try:
        return decode_csv(texts, [dtype])[0].tolist()
    except InvalidArgumentError:
        return None


def nearest_float32(text):
    """Return the float32 nearest to a text, ties to even, as an integer with its bits."""
    exact = abs(Fraction(text))
    low, high = 0, 0x7F800000  # floats sort like their bits
    while high - low > 1:
        middle = (low + high) // 2
        if Fraction(of_bits(middle)) <= exact:
            low = middle
        else:
            high = middle
    above = Fraction(2) ** 128 if high == 0x7F800000 else Fraction(of_bits(high))
    twice = 2 * exact - Fraction(of_bits(low)) - above
    return high if twice > 0 or (twice == 0 and low % 2) else low


def of_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


@settings(deadline=None)
@given(st.lists(decimals, min_size=1, max_size=5))
def test_float32s_are_rounded_once(texts):
    """Not first to a float64."""
    for values in (decode_csv(texts, [np.float32])[0], [decode_csv(text, [np.float32])[0] for text in texts]):
        bits = [int(np.abs(value).view(np.int32)) for value in values]
        assert bits == [nearest_float32(text) for text in texts]
        assert np.signbit(values).tolist() == [text.startswith("-") for text in texts]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0000000596046448", 1.0000001),  # just above the midpoint, which is its nearest float64
        ("1.00000005960464477539", 1.0),
        ("1.00000005960464477540", 1.0000001),
        ("-1.0000000596046448", -1.0000001),
        ("9.01636266708374", 9.016362190246582),
        ("9.72235918045044", 9.722359657287598),
        ("9007199791611905", 9007200328482816.0),
        ("16777217", 16777216.0),
        ("16777217.0", 16777216.0),
        ("16777217.0000001", 16777218.0),
        ("16777217.000000001", 16777218.0),
        ("7.0064923216240854e-46", 1e-45),
        ("7.00649232162408535e-46", 0.0),
        ("3.4028235677973366e38", 3.4028234663852886e38),
        ("3.4028235677973367e38", math.inf),
    ],
)
def test_float32s_of_tensorflow(text, value):
    """As decoded by TensorFlow 2.21."""
    assert decode_csv([text, text], [np.float32])[0].tolist() == [np.float32(value).item()] * 2
    assert decode_csv(text, [np.float32]) == [np.float32(value)]


def taken(texts, dtype):
    """Return the compiled code's numbers for these texts; it must not leave any to Python."""
    column = np.empty(len(texts), dtype)
    lines = tuple(text.encode() for text in texts)
    done = CsvTable([column], [None], b",", False, b"", True).fill(lines, 0)
    assert done == len(lines), lines[done]
    return column


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_numbers_times_every_power_of_ten(dtype):
    """From 0, through less precise numbers, to the largest below infinity."""
    choice = random.Random(5)
    texts = []
    for power in range(-365, 309):
        wholes = [1, MOST - 1, *(choice.getrandbits(choice.randint(1, 64)) % MOST for _ in range(30))]
        texts += [f"{whole}e{power}" for whole in wholes]
    expected = np.array([number(text.encode(), dtype) for text in texts])
    texts = [text for text, finite in zip(texts, np.isfinite(expected), strict=True) if finite]
    assert taken(texts, dtype).tobytes() == expected[np.isfinite(expected)].tobytes()
    assert column_of(["1", "1e309", "-1e99999999999999999999"], dtype) == [1, math.inf, -math.inf]


@pytest.mark.parametrize(("dtype", "size"), [(FLOATS[0], 24), (FLOATS[1], 53)], ids=str)
def test_exactly_halfway_with_a_power_of_ten(dtype, size):
    """Ties go to the even neighbour; for every power of ten with ties that fit into a word."""
    choice = random.Random(6)
    low, high = 2**size, 2 ** (size + 1)  # the odd numbers between have a bit too many
    texts = []
    for power in range(-20, 24):
        five = 5 ** abs(power)
        if power < 0:
            odd = range(low + 1, min(high, MOST // five), 2)
            texts += [f"{choice.choice(odd) * five}e{power}" for _ in range(30 if odd else 0)]
        else:
            odd = range(low // five + 1 | 1, high // five, 2)
            texts += [f"{choice.choice(odd)}e{power}" for _ in range(30 if odd else 0)]
    assert len(texts) > 700
    assert taken(texts, dtype).tobytes() == np.array([number(text.encode(), dtype) for text in texts]).tobytes()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_more_digits_than_a_word_holds(dtype):
    choice = random.Random(7)
    texts = [f"{choice.uniform(-10, 10):.{digits}f}e{choice.randint(-30, 30)}" for digits in range(19, 60)]
    texts += ["1" + "0" * 30, "0" * 40 + ".5", "0." + "0" * 400 + "25e401", "25" + "0" * 400 + "e-401", "0e9999"]
    texts += ["123456789012345678901e-400", "-0." + "0" * 30, "1e-99999999999999999999"]
    assert taken(texts, dtype).tobytes() == np.array([number(text.encode(), dtype) for text in texts]).tobytes()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_last_of_many_digits_tells(dtype):
    half = np.finfo(dtype).eps / 2
    text = "1" + f"{Decimal(float(half)):f}"[1:]  # 1 and a half of the next
    assert len(text) > 25
    assert column_of([text, text + "000", text + "0001"], dtype) == [1, 1, 1 + 2 * half]


@settings(deadline=None)
@given(st.lists(st.lists(decimals, min_size=2, max_size=2), min_size=1, max_size=8))
def test_float64s_are_those_of_python(rows):
    columns = decode_csv([",".join(row) for row in rows], [np.float64] * 2)
    assert np.array(columns).T.tolist() == [[float(text) for text in row] for row in rows]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_any_byte_anywhere(dtype):
    """All 256 bytes at each position in numbers with one to three words: no other text is read as a number."""
    for template in (b"7", b"12345678", b"1.2345678", b"-12345678901234567"):
        for at in range(len(template)):
            texts = [template[:at] + bytes([byte]) + template[at + 1 :] for byte in range(256) if byte not in b'\r\n,"']
            valid = [text for text in texts if number(text, dtype) is not None]
            for text in set(texts) - set(valid):
                assert column_of([text, b"1"], dtype) is None, text
            assert column_of(valid, dtype) == [number(text, dtype) for text in valid]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_points_and_signs_anywhere(dtype):
    """Up to 20 digits, a point before, behind or between them; two points are an error."""
    choice = random.Random(1)
    texts = []
    for size in range(1, 21):
        digits = "".join(choice.choices("0123456789", k=size))
        texts += [digits, "-" + digits, *(digits[:at] + "." + digits[at:] for at in range(size + 1))]
        texts += [digits[:at] + ".." + digits[at:] for at in range(0, size + 1, 3)]
        texts += ["-" + digits[: size // 2] + "." + digits[size // 2 :], digits[: size // 2] + "." + digits + "."]
    for text in map(str.encode, texts):
        expected = number(text, dtype)
        assert column_of([text, text], dtype) == (None if expected is None else [expected] * 2), text


@pytest.mark.parametrize("text", ["nan(1)", "nan(ind)", "1e", "0x1p3", "1_0.5e0", "1e5 1", "infin", "--1e5"])
def test_what_other_parsers_take_for_a_number(text):
    for lines in ([text, "1e5"], ["1e5", text]):
        with pytest.raises(InvalidArgumentError, match="is not a valid double: "):
            decode_csv(lines, [np.float64])


@pytest.mark.parametrize(
    "text", ["nan", "-nan", "NAN", "inf", "-Infinity", "+1e5", " 1e5 ", "\t1e5", "1e400", "-1e400", "1e-400", "1e39"]
)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_unusual_numbers_among_long_ones(text, dtype):
    column = decode_csv([text, "1e-5", text], [dtype])[0]
    assert column.tobytes() == np.array([decode_csv(one, [dtype])[0] for one in (text, "1e-5", text)]).tobytes()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_spaces(dtype):
    texts = [b" 1", b"  -2", b"3 ", b"        4", b"\t5", b" 6  "]
    assert column_of(texts, dtype) == [1, -2, 3, 4, 5, 6]
    for text in (b"- 6", b" ", b" -", b"1 2", b"  \t"):
        assert column_of([b"1", text], dtype) is None


@pytest.mark.parametrize("dtype", [np.dtype(np.int32), np.dtype(np.int64)], ids=str)
def test_ends_of_the_range(dtype):
    limits = np.iinfo(dtype)
    inside, outside = [limits.min, limits.min + 1, 0, limits.max], [limits.min - 1, limits.max + 1, 10**19, 10**20]
    assert column_of([b"%d" % value for value in inside], dtype) == inside
    for value in outside:
        assert column_of([b"1", b"%d" % value], dtype) is None


def test_tiny_number_beside_nan():
    assert decode_csv(["nan", "7.0064923216240854e-46"], [np.float32])[0].tolist()[1] > 0


def test_spaces_before_a_delimiter_that_is_a_minus():
    with pytest.raises(InvalidArgumentError, match=r"Field 1 in record 1 is not a valid int32:    $"):
        decode_csv(["1-2-3", "1-   -3"], [0, 0, 0], field_delim="-")


def test_underscores_beside_long_numbers():
    columns = decode_csv(["a_b,0.12345678901234567", "c_d,nan"], ["", np.float64])
    assert columns[0].tolist() == [b"a_b", b"c_d"]
    assert np.array_equal(columns[1], [0.12345678901234567, np.nan], equal_nan=True)
