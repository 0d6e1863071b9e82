"""decode_csv on blocks: on any code path, the values equal those of the single records."""

import csv
import io
import pathlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import InvalidArgumentError, decode_csv

DEFAULTS = [0, np.int64(1), 0.5, np.float64(0.25), ["d"], [], np.int32]
DIGITS = pathlib.Path(__file__).parents[2] / "examples" / "data" / "digits.csv"

numbers = st.one_of(
    st.integers(-(2**33), 2**33).map(str),
    st.floats(allow_subnormal=False).map(repr),
    st.decimals(-1000, 1000, places=3).map(str),
    st.sampled_from(["", "1", "-0", "-0.0", ".5", "5.", "-", ".", "1-2", "1.2.3", " 3", "x", "1e5", "0" * 20 + "7"]),
)
texts = st.sampled_from(["", "a", '"q,"', "b c", '"', "\r", "NA"])


def outcome(records, **arguments):
    try:
        return [column.tolist() for column in decode_csv(records, **arguments)]
    except InvalidArgumentError as error:
        return str(error)


def one_by_one(records, **arguments):
    rows = []
    for i, record in enumerate(records):
        try:
            rows.append([v if isinstance(v, bytes) else v.item() for v in decode_csv(record, **arguments)])
        except InvalidArgumentError as error:
            return str(error).replace("record 0", f"record {i}")
    return [list(column) for column in zip(*rows, strict=True)]


@settings(deadline=None)
@given(st.lists(st.lists(numbers | texts, min_size=1, max_size=3), min_size=1, max_size=5), st.data())
def test_block_is_what_its_records_are(rows, data):
    width = data.draw(st.sampled_from([len(row) for row in rows]))
    defaults = data.draw(st.lists(st.sampled_from(DEFAULTS), min_size=width, max_size=width))
    records = [",".join(row).encode() for row in rows]
    arguments = {"record_defaults": defaults, "na_value": data.draw(st.sampled_from(["", "NA"]))}
    assert repr(outcome(records, **arguments)) == repr(one_by_one(records, **arguments))


@settings(deadline=None)
@given(st.lists(st.lists(st.decimals(-(10**9), 10**9, places=4), min_size=2, max_size=2), min_size=1, max_size=20))
def test_decimal_fractions_are_read_exactly(rows):
    records = [",".join(map(str, row)) for row in rows]
    columns = decode_csv(records, [np.float64] * 2)
    assert np.array_equal(np.array(columns).T, [[float(str(value)) for value in row] for row in rows])


@pytest.mark.parametrize("text", ["9007.671281821551", "-9007.67128182155", "9007671281821551", "0.99999999999999"])
def test_as_many_digits_as_a_float_has(text):
    assert decode_csv([text, text], [np.float64])[0].tolist() == [float(text)] * 2


@settings(deadline=None)
@given(st.lists(st.lists(st.text('a,"b', max_size=5), min_size=2, max_size=2), min_size=1, max_size=6))
def test_what_the_csv_module_writes(rows):
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    columns = decode_csv(file.getvalue().splitlines(), [[""], [""]])
    assert [[value.decode() for value in row] for row in zip(*columns, strict=True)] == rows


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_digits(dtype):
    lines = DIGITS.read_bytes().splitlines()
    columns = decode_csv(lines, [dtype] * 65)
    assert np.array_equal(np.array(columns).T, np.loadtxt(lines, delimiter=",", dtype=dtype))
    assert all(column.dtype == dtype and column.shape == (1797,) for column in columns)
    assert columns[64][:5].tolist() == [0, 1, 2, 3, 4]


def test_shape_of_an_array_of_records_is_kept():
    records = np.array([["1,a", "2,b"], ["3,c", "4,d"]])
    numbers_, letters = decode_csv(records, [0, ""])
    assert numbers_.tolist() == [[1, 2], [3, 4]]
    assert letters.tolist() == [[b"a", b"b"], [b"c", b"d"]]
    assert decode_csv(np.array("5,e"), [0, ""]) == [5, b"e"]


def test_no_records():
    columns = decode_csv([], [0, "", 1.5])
    assert [(column.dtype, len(column)) for column in columns] == [(np.int32, 0), (object, 0), (np.float32, 0)]


def test_tuples_and_generators_of_records():
    assert decode_csv((b"1", "2"), [0])[0].tolist() == [1, 2]
    assert decode_csv((str(i) for i in range(3)), [0])[0].tolist() == [0, 1, 2]


def test_columns_belong_to_the_caller():
    for column in decode_csv([b"1,2,a"] * 3, [0, 0, ""]) + decode_csv([b"1,2"] * 3, [0, 0]):
        column[0] = 5
        assert column.flags.owndata or column.base.flags.owndata


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"record_defaults": []}, "record_defaults describes no column"),
        ({"record_defaults": [[1, 2]]}, "There should only be 1 default per field but field 0 has 2"),
        ({"record_defaults": [0], "field_delim": ",,"}, "field_delim should be only 1 char"),
        ({"record_defaults": [0], "field_delim": ""}, "field_delim should be only 1 char"),
        ({"record_defaults": [0], "select_cols": [0, 1]}, "select_cols should match output size"),
        ({"record_defaults": [0, 0], "select_cols": [1, 0]}, "select_cols should be strictly increasing"),
        ({"record_defaults": [0, 0], "select_cols": [1, 1]}, "select_cols should be strictly increasing"),
        ({"record_defaults": [0], "select_cols": [-1]}, "select_cols should be strictly increasing"),
    ],
)
def test_bad_arguments(arguments, text):
    with pytest.raises(InvalidArgumentError, match=text):
        decode_csv(b"1", **arguments)


@pytest.mark.parametrize("records", [[1], [b"1", None], [1.5]])
def test_records_that_are_no_text(records):
    with pytest.raises(TypeError, match="must be bytes or str"):
        decode_csv(records, [0])


@settings(deadline=None, max_examples=500)
@given(
    st.lists(st.text('a1,"\xff', max_size=8).map(lambda text: text.encode("latin-1")), min_size=1, max_size=4),
    st.sampled_from([None, [0], [1]]),
)
def test_quotes_anywhere(records, select):
    arguments = {"record_defaults": [[""]] if select else [[""], ["d"]], "select_cols": select}
    assert outcome(records, **arguments) == one_by_one(records, **arguments)


@pytest.mark.parametrize("delim", [b"\t", b";", b" ", b'"', b"\xfe", b"\0"])
def test_quotes_and_delimiters(delim):
    records = [delim.join([b'"a"', b"1", b"\xff"]), delim.join([b'""', b'"2"', b"b"])]
    arguments = {"record_defaults": [[""], [0], [""]], "field_delim": delim}
    assert outcome(records, **arguments) == one_by_one(records, **arguments)


def test_quoted_fields_of_any_length():
    sizes = (1, 10, 200_000)
    records = [b'"%b","%b"' % (b"x" * size, b"y" * size) for size in sizes]
    assert outcome(records, record_defaults=[[""], [""]]) == [[x * size for size in sizes] for x in (b"x", b"y")]


@pytest.mark.parametrize("field", [b"34,", b"3,4", b",34", b","])
def test_delimiter_within_a_quoted_number(field):
    """It is not a number, nor two; found by fuzzing."""
    lines = [b"1,2", b'5,"%b"' % field]
    for block in (lines, lines[::-1]):
        with pytest.raises(InvalidArgumentError, match="is not a valid float"):
            decode_csv(block, [np.int32, np.float32])


def test_na_value_in_a_table_of_numbers():
    columns = decode_csv([b"1,-1", b"-1,2", b"-1,-1"], [[7], np.int32(8)], na_value="-1")
    assert [column.tolist() for column in columns] == [[1, 7, 7], [8, 2, 8]]
    with pytest.raises(InvalidArgumentError, match=r"^Field 1 is required but missing in record 1!$"):
        decode_csv([b"1,2", b"3,-1"], [[7.0], np.float32], na_value="-1")


def test_blocks_of_many_parts():
    """Strings are made in parts of 4,096 records; an unusual record is decoded alone, and errors have its index."""
    rows = 3 * 4096 + 1000
    records = [b"%d,%d.5,t%d" % (i, i, i) for i in range(rows)]
    records[rows - 10] = b'"%d",\r\n1.5,"t ""%d"""' % (rows - 10, rows)
    whole, halves, strings = decode_csv(records, [0, 0.0, ""])
    assert np.array_equal(whole, np.arange(rows))
    assert halves[: rows - 10].tolist() == [i + 0.5 for i in range(rows - 10)]
    assert strings[rows - 11 : rows - 9].tolist() == [b"t%d" % (rows - 11), b't "%d"' % rows]
    assert [column.dtype for column in (whole, halves, strings)] == [np.int32, np.float32, object]
    records[rows - 5] = b"1,x,t"
    with pytest.raises(InvalidArgumentError, match=f"^Field 1 in record {rows - 5} is not a valid float: x$") as caught:
        decode_csv(records, [0, 0.0, ""])
    assert caught.value.record == rows - 5


@pytest.mark.parametrize(
    "records",
    [
        [b'1,"a', b'b"\n2,c'],  # the line count equals the record count, but no line is a record
        [b'"a""', b'"b"'],
        [b'""a",1', b'"",1'],
        [b'"a"",""b",1', b'"a","b"'],
        [b"a\nb", b"c"],
        [b'"a,b"', b"1,2"],
        [b'"a"b,"c"', b"1,2"],
    ],
)
def test_quotes_and_line_ends_that_add_up(records):
    arguments = {"record_defaults": [["d"], ["e"]]}
    assert outcome(records, **arguments) == one_by_one(records, **arguments)


@pytest.mark.parametrize("size", [1, 5, 300, 5000])
def test_strings_with_zeros_and_of_any_length(size):
    texts = [b"x" * size, b"\0" * size, b"a\0", b"", b"\xff" * size]
    assert decode_csv([b"%b,1" % text for text in texts], [["d"], 0])[0].tolist() == [text or b"d" for text in texts]
    ascii_only = [text.replace(b"\0", b"y") for text in texts]
    assert decode_csv([b"%b,1" % text for text in ascii_only], [["d"], 0])[0].tolist() == [
        t or b"d" for t in ascii_only
    ]
