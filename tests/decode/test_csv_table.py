"""CsvTable, the compiled part of decode_csv: the records it accepts, and its results.

It is private, and called directly because decode_csv leaves rejected records to Python.
"""

import random
import re
import threading

import numpy as np
import pytest

from pipeline import InvalidArgumentError, decode_csv
from pipeline._csv import CsvTable, Cut, cut_records

WORDS = """
    0 1 00 9007199254740993 16777217.0 1.5 - -0 -0.0 . .. .5 5. -.5 e5 1e5 1E-7 1e400 1e-400 1e-40 1.17549435e-38
    nan inf -inf -nan nan(1) +1 +.5 +-1 +nan NA abc 2147483647 2147483648 -2147483649 9223372036854775807 -1
    -9223372036854775808 18446744073709551616 000000000000000000000001 0.000000000000000000000001
    123456789012345678901234567890 0.1 1_000
    0x10 1.0000000596046448 1.00000005960464477539 1e 1e+ --1 1.2.3 12345678 1234567. 1234567.8 12345678.9 -1234567
    "a" "a,b" "" "|""|" "a""b" "1" "1.5" "NA" "-7" ""1"" "a"b a"b "
"""
ATOMS = [
    *WORDS.split(),
    '""""',
    '"""1"""',
    *["", "", " ", " 1", "1 ", '" 2"', '"1 "', "\r", "\n", "1\n", '"a\nb"', "\t1", "1\0", "\0", "é"],
]
KINDS = [np.float32, np.float64, np.int32, np.int64, str]


def table(*dtypes, rows=4, quotes=True, na=b"", exact=True):
    arrays = [np.empty(rows, dtype) for dtype in dtypes]
    defaults = [b"" if array.dtype == object else array.dtype.type(7) for array in arrays]
    return arrays, CsvTable(arrays, defaults, b",", quotes, na, exact)


@pytest.mark.parametrize(
    "record",
    [
        b"1,2.5",
        b"-1,1e-5",
        b",",
        b'"1","2"',
        b" 1 , 0.12345678901234567 ",
        b"NA,NA",
        b"1,nan",
        b"1,-inf",
        b'"NA",".5"',
        b"1,+1.5",
        b"1,+inf",
    ],
)
def test_records_that_it_takes(record):
    arrays, filled = table(np.int32, np.float64, na=b"NA")
    assert filled.fill((b"1,1", record, b"2,2"), 0) == 3
    assert [array[1].item() for array in arrays] == pytest.approx(
        [value.item() for value in decode_csv(record, [7, np.float64(7)], na_value="NA")], nan_ok=True
    )


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"1",
        b"1,2,3",
        b"x,1",
        b"1,",
        b"1,x",
        b"+1,2",
        b'1,"2',
        b'"1"2,3',
        b'"1""",2',
        b"1.,2",
        b"1,2\n",
        b"1,1e400",
    ],
)
def test_records_that_it_leaves(record):
    arrays = [np.empty(3, np.int32), np.empty(3, np.float64)]
    assert CsvTable(arrays, [np.int32(7), None], b",", True, b"", True).fill((b"1,1", record, b"2,2"), 0) == 1
    assert CsvTable(arrays, [np.int32(7), None], b",", True, b"", True).fill((b"1,1", record, b"2,2"), 2) == 3


def test_skipped_columns_may_hold_anything_but_quotes_in_the_wrong_place():
    array = np.empty(3, np.int64)
    filled = CsvTable([None, array], [None, None], b",", True, b"", False)
    assert filled.fill((b"x,1,y", b'"a,""b",2', b'a"b,3'), 0) == 2
    assert array[:2].tolist() == [1, 2]


def records(choice, width, delim):
    """Return some records, most with numbers; few have fields too many or too few."""
    hard = choice.random() / 3

    def field():
        if choice.random() < hard:
            return choice.choice(ATOMS)
        digits = choice.choice([4, 4, 12])
        return f"{choice.uniform(-100, 100):.{digits}f}" if choice.random() < 0.5 else str(choice.randint(-99, 9999))

    for _ in range(choice.randint(1, 30)):
        count = width + (choice.choice([-1, 1, 2]) if choice.random() < 0.02 else 0)
        yield delim.join(field() for _ in range(count)).encode()


def one_by_one(lines, defaults, arguments):
    for i, line in enumerate(lines):
        try:
            yield decode_csv(line, defaults, **arguments)
        except InvalidArgumentError as error:
            yield i, str(error).replace("record 0", f"record {i}")
            return


def bits(value):
    return value if isinstance(value, bytes) else (value.dtype, value.tobytes())


def test_the_text_of_a_missing_field_at_the_start_of_a_quoted_one():
    lines = [b'"NA,b",1', b'",NA",2', b'"NA",3', b'NA,"NA"', b'"NA""",5']
    assert [column.tolist() for column in decode_csv(lines, ["x", 0], na_value="NA")] == [
        [b"NA,b", b",NA", b"x", b"x", b'NA"'],
        [1, 2, 3, 0, 5],
    ]


@pytest.mark.parametrize("seed", range(24))
def test_blocks_are_what_their_records_are(seed):
    """To the bit, for any delimiter, quotes, missing fields and columns; errors too."""
    choice = random.Random(seed)
    failed = 0
    for _ in range(250):
        width = choice.randint(1, 5)
        columns = sorted(choice.sample(range(width), choice.randint(1, width)))
        kinds = [choice.choice(KINDS) for _ in columns]
        arguments = {
            "field_delim": choice.choice([*",,,,,,|\t.1 -e"]),
            "use_quote_delim": choice.random() < 0.8,
            "na_value": choice.choice(["", "", "NA", "1", '"']),
            "select_cols": columns if len(columns) < width or choice.random() < 0.1 else None,
        }
        defaults = [["x"] if kind is str else kind if choice.random() < 0.5 else [kind(7)] for kind in kinds]
        lines = list(records(choice, width, arguments["field_delim"]))
        expected = list(one_by_one(lines, defaults, arguments))
        wrong = expected[-1] if isinstance(expected[-1], tuple) else None
        if wrong is None:
            rows = zip(*decode_csv(lines, defaults, **arguments), strict=True)
            assert [[*map(bits, row)] for row in rows] == [[*map(bits, row)] for row in expected], lines
            continue
        with pytest.raises(InvalidArgumentError) as caught:
            decode_csv(lines, defaults, **arguments)
        assert (caught.value.record, str(caught.value)) == wrong, lines
        failed += 1
    assert 20 < failed < 240


def test_threads_at_once():
    lines = [b"%d,%d.25,t%d" % (i, i, i) for i in range(20_000)]
    found = []
    threads = [threading.Thread(target=lambda: found.append(decode_csv(lines, [0, 0.0, ""]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for whole, quarters, strings in found:
        assert np.array_equal(whole, np.arange(20_000))
        assert np.array_equal(quarters, np.arange(20_000) + 0.25)
        assert strings.tolist() == [b"t%d" % i for i in range(20_000)]
    assert len(found) == 4


def test_records_are_cut_in_the_same_places_whatever_is_known_of_the_text():
    """Complete records stay the same when more text arrives, and are the same individually."""
    draws = random.Random(1)
    for _ in range(300):
        text = "".join(draws.choices(['"', '""', ",", "\n", "\r\n", "a", '"b\n",', "\0"], k=12)).encode()
        whole, end = cut_records(text, 0, len(text), b",", True, True, 99)
        assert end == len(text)
        for size in range(len(text)):
            records, at = cut_records(text, 0, size, b",", True, False, 99)
            rest, end = cut_records(text, at, len(text), b",", True, True, 99)
            assert ([*records, *rest], end) == ([*whole], len(text))
        at, found = 0, []
        while at < len(text):
            records, at = cut_records(text, at, len(text), b",", True, True, 1)
            found += records
        assert found == [*whole]
    for begin, end in ((-1, 2), (2, 1), (0, 4)):
        with pytest.raises(IndexError):
            cut_records(b"a\nb", begin, end, b",", True, True, 99)


def test_a_cut_is_a_sequence_of_records():
    text = b"".join(b"%d,%d\n" % (i, i) for i in range(300)) + b"300"
    cut, end = cut_records(text, 0, len(text), b",", True, True, 999)
    expected = text.split(b"\n")
    assert (len(cut), end, list(cut)) == (301, len(text), expected)
    for begin, stop in ((0, 301), (7, 9), (5, 5), (9, 7), (-3, None), (None, -300), (290, 999)):
        part = cut[begin:stop]
        assert type(part) is Cut
        assert list(part) == expected[begin:stop]
        assert list(part[1:]) == expected[begin:stop][1:]
    assert (cut[-301], cut[-1], bool(cut[3:3])) == (b"0,0", b"300", False)
    for index in (301, -302):
        with pytest.raises(IndexError, match=f"there is no record {index}: there are 301"):
            cut[index]
    with pytest.raises(ValueError, match="a slice of neighbouring records, got one with the step"):
        cut[::2]
    with pytest.raises(TypeError):
        cut["a"]


@pytest.mark.parametrize(
    ("text", "lines", "offsets"),
    [
        (b"", 0, []),
        (b"\n\n", 2, []),
        (b"a\n\nb\r\nc", 3, [0, 3, 6]),
        (b'"a\n\n",1\n"b"', 3, [0, 8]),
    ],
)
def test_a_cut_knows_its_lines_and_where_its_records_begin(text, lines, offsets):
    cut, end = cut_records(b"1\n" + text, 2, 2 + len(text), b",", True, True, 999)
    assert (cut.lines, end) == (lines, 2 + len(text))
    assert [cut.offset(i) - 2 for i in range(len(cut))] == offsets
    assert [list(cut[i:j]) for i in range(4) for j in range(i)] == [[]] * 6
    for index in (-1, len(cut)):
        with pytest.raises(IndexError, match=f"there is no record {index}: there are {len(cut)}"):
            cut.offset(index)


def test_a_part_of_a_cut_keeps_its_text():
    text = b"%d,%d\n" % (10**40, 1) * 3
    part = cut_records(text, 0, len(text), b",", True, True, 9)[0][1:][1:]
    del text
    arrays = [None, np.empty(1, np.int64)]
    assert CsvTable(arrays, [None, None], b",", True, b"", True).fill(part, 0) == 1
    assert arrays[1].tolist() == [1]


def test_a_cut_and_a_tuple_of_its_records_give_the_same():
    choice = random.Random(7)
    for _ in range(200):
        width = choice.randint(1, 4)
        text = b"\n".join(records(choice, width, ",")) + b"\n"
        cut, _ = cut_records(text, 0, len(text), b",", True, True, 999)
        kinds = choice.choices([np.int32, np.int64, np.uint64, np.bool_, np.float32, np.float64, object], k=width)
        found = []
        for each in (cut, tuple(cut)):
            arrays = [np.zeros(len(cut), kind) for kind in kinds]
            filled = CsvTable(arrays, [None] * width, b",", True, b"", True).fill(each, 0)
            found.append((filled, [array[:filled].tolist() for array in arrays]))
        assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint64])
def test_short_numbers_are_what_they_are_by_themselves(dtype):
    """Alone, and two records at a time: fields of each length, with a point in any position, at the end or not."""
    digits = ["0" * 7, "1" * 17, "9" * 17, "1234567", "16777217", "99999999", "0000001", "7654321" * 3, "2147483648"]
    digits += [str(2**64 - 1), str(2**64), "1" + "0" * 19, "20000000000000000000", "0" * 13 + "1234567"]
    texts = {text[:size] for text in digits for size in range(21 if dtype == np.uint64 else 19)}
    if np.dtype(dtype).kind == "f":
        texts |= {f"{text[:i]}.{text[i:]}" for text in texts for i in range(len(text) + 1)}
        texts |= {
            text + more
            for text in ("1", "1.5", "12345", "12345678", "1.23456789")
            for more in ("e1", "E-3", "e", " ", ".", "..", "-", "x")
        }
    texts |= {f"{sign}{text}" for text in texts for sign in "-+ "}
    texts = [text.encode() for text in sorted(texts) if text.strip()]
    for rows in ([text + b"," + text for text in texts], [b"1," + text for text in texts]):
        blocks = [np.zeros((2, 2), dtype) for _ in rows]
        for row, block in zip(rows, blocks, strict=True):
            for lines in ((row,), (row, row)):
                filled = CsvTable([*block[:, : len(lines)]], [None, None], b",", True, b"", True).fill(lines, 0)
                expected = plainly(row, dtype)
                assert filled == (0 if expected is None else len(lines)), row
                if expected is not None:
                    assert block[:, : len(lines)].T.tobytes() == expected.tobytes() * len(lines), row


def plainly(row, dtype):
    """Return the numbers in a record, by NumPy; None if one is not a number."""
    fields = [field.strip(b" ").decode() for field in row.split(b",")]
    kind = r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?" if np.dtype(dtype).kind == "f" else r"-?\d+"
    if not all(re.fullmatch(kind, field, re.IGNORECASE) for field in fields):
        return None
    if np.dtype(dtype).kind == "f":
        return np.array(fields).astype(dtype)
    limits = np.iinfo(dtype)
    return np.array(fields).astype(dtype) if all(limits.min <= int(each) <= limits.max for each in fields) else None
