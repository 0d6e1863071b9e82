"""text and csv: lines and rows from files, plain and compressed."""

import bz2
import csv
import gzip
import importlib
import io
import lzma
import sys

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from helpers import raises, run_script
from orchestration import closed_queue, drain
from source_contract import SourceContract
from tracing import memory_below

import pipeline
from pipeline.files.read_buffer import ReadBuffer
from pipeline.sources import text as text_source
from pipeline.sources.text import cut_lines, cut_pieces

try:
    zstd = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
except ModuleNotFoundError:  # a Python compiled without it
    zstd = None

needs_zstd = pytest.mark.skipif(zstd is None, reason="this Python has no zstd")

COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstd.compress(data),
    # Two streams, as if two files were joined by `cat`.
    ".ZSTD": lambda data: zstd.compress(data[:9]) + zstd.compress(data[9:]),
}
COUNT = 60
ENDS = [(0, 13), (13, 32), (32, 45), (45, COUNT), (COUNT, COUNT)]  # numbers in each file; one is empty


@pytest.fixture
def _small_chunks(monkeypatch):
    monkeypatch.setattr(ReadBuffer, "CHUNK", 64)


@pytest.fixture(params=[pytest.param(each, marks=needs_zstd if "zst" in each.lower() else ()) for each in COMPRESS])
def ending(request):
    return request.param


@pytest.mark.parametrize(
    "text", [b"a\r", b"a\n\r", b"\r", b"a\r\r\n", b"\r\n\r\r", b"a\n\n\r\n", b"x\ry\r\r\nz\r", b""]
)
@pytest.mark.parametrize("chunk", [1, 64])
def test_lines_are_those_of_a_reader(text, chunk, tmp_path, monkeypatch):
    r"""As in TensorFlow: one `\r` at the end of the file is removed, and if nothing remains there is no last line."""
    monkeypatch.setattr(ReadBuffer, "CHUNK", chunk)
    path = tmp_path / "lines.txt"
    path.write_bytes(text)
    reader, queue = pipeline.TextLineReader(), closed_queue([str(path)])
    read = [value for _, value in drain(lambda: reader.read(queue))]
    assert list(pipeline.text(path, encoding=None)) == read
    assert list(pipeline.text(path)) == [each.decode() for each in read]


def line(i):
    return f"{i}" + " long" * (40 * (i % 7 == 3)) + " \u00ff\U0001f600" * (i % 3)


@pytest.mark.parametrize("ending", [".gz", ".xz"])
@pytest.mark.parametrize("zeros", [4, 512, 200_000])
def test_zeros_between_and_after_compressed_streams(tmp_path, ending, zeros):
    """Tapes, and tools that fill blocks, leave such files; gzip and xz read them."""
    compress, path = COMPRESS[ending], tmp_path / f"padded.txt{ending}"
    path.write_bytes(compress(b"one\n") + bytes(zeros) + compress(b"two\n") + bytes(zeros))
    [lines] = pipeline.batch(pipeline.text(path), 2)
    assert lines.tolist() == ["one", "two"]
    for rest in (b"\1", bytes(zeros) + b"text", compress(b"three")[:-3]):
        path.write_bytes(compress(b"one\n") + bytes(zeros) + rest)
        with pytest.raises(pipeline.DataLossError, match=path.name):
            list(pipeline.batch(pipeline.text(path), 1))


@pytest.mark.usefixtures("_small_chunks")
class TestText(SourceContract):
    count = COUNT
    known = False
    ending = ""

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.pattern = tmp_path / f"*.txt{self.ending}"
        for number, (first, end) in enumerate(ENDS):
            data = "title\n" + "".join(line(i) + ("\r\n" if i % 5 else "\n") for i in range(first, end))
            (tmp_path / f"{number}.txt{self.ending}").write_bytes(COMPRESS[self.ending](data.encode()))

    def make(self, **options):
        return pipeline.text(self.pattern, skip_lines=1, **options)

    def numbers(self, batch):
        found = [int(each.split()[0]) for each in batch]
        assert batch.tolist() == list(map(line, found))
        return found

    def test_another_file_does_not_take_the_state(self, tmp_path):
        with pipeline.batch(self.make(), 3, deterministic=True) as batches:
            next(batches)
            state = batches.state_dict()
        name = f"0.txt{self.ending}"
        (tmp_path / name).write_bytes(COMPRESS[self.ending](b"another one"))
        with pytest.raises(pipeline.StateMismatchError, match=name):
            pipeline.batch(self.make(), 3, deterministic=True).load_state_dict(state)


def name_of(i):
    """Return a string with every character that needs quotes; sometimes empty."""
    return ["", "plain", 'with "quotes"', "two\nlines", "a, b", "\r\n", "ünï"][i % 7] + (f" {i}" if i % 7 else "")


def write_rows(numbers, columns, quoting=csv.QUOTE_MINIMAL):
    file = io.StringIO(newline="")
    writer = csv.writer(file, quoting=quoting)
    writer.writerow(columns)
    for i in numbers:
        row = {"n": i, "name": name_of(i), "x": "" if i % 4 == 1 else i / 4, "left out": "no number"}
        writer.writerow([row[each] for each in columns])
        if i % 9 == 0:
            file.write("\n")  # an empty line
    return file.getvalue().encode()


def check(batch):
    numbers = batch["n"].tolist()
    assert list(batch) == ["n", "name", "x"]
    assert (batch["n"].dtype, batch["x"].dtype, batch["name"].dtype) == (np.int32, np.float64, object)
    assert batch["name"].tolist() == [name_of(i) for i in numbers]
    assert batch["x"].tolist() == [-1.0 if i % 4 == 1 else i / 4 for i in numbers]
    return numbers


@pytest.mark.usefixtures("_small_chunks")
class TestCsv(SourceContract):
    count = COUNT
    known = False
    ending = ""

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.pattern = tmp_path / f"*.csv{self.ending}"
        columns = ["left out", "n", "name", "x"]
        for number, (first, end) in enumerate(ENDS):
            data = write_rows(range(first, end), columns[number % 4 :] + columns[: number % 4])  # in a different order
            (tmp_path / f"{number}.csv{self.ending}").write_bytes(COMPRESS[self.ending](data))

    def make(self, **options):
        return pipeline.csv(self.pattern, ["n", "name", "x"], {"n": "int32"}, {"x": -1}, **options)

    def numbers(self, batch):
        return check(batch)


@needs_zstd
class TestZstdCsv(TestCsv):
    ending = ".zst"


@pytest.mark.usefixtures("_small_chunks")
def test_a_resumed_loop_does_not_read_from_the_start(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("n,text\n" + "".join(f'{i},"\n"\n' for i in range(20_000)))

    def loop():
        return pipeline.batch(pipeline.csv(path), 500, deterministic=True)

    with loop() as batches:
        for _ in range(38):
            next(batches)
        state = batches.state_dict()
    gone_to = []
    go_to = ReadBuffer.go_to
    monkeypatch.setattr(ReadBuffer, "go_to", lambda file, at: gone_to.append(at) or go_to(file, at))
    resumed = loop()
    resumed.load_state_dict(state)
    assert [n for batch in resumed for n in batch["n"]] == list(range(19_000, 20_000))
    assert min(gone_to) > path.stat().st_size // 3


def test_compressed(ending, tmp_path):
    """Lines and rows are the same with any compression."""
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(COMPRESS[ending](write_rows(range(COUNT), ["n", "name", "x"])))
    [got] = pipeline.batch(pipeline.csv(path, None, {"n": np.int32}, {"x": -1}), COUNT)
    assert check(got) == list(range(COUNT))
    path.write_bytes(COMPRESS[ending]("\n".join(map(line, range(5000))).encode()))
    for source in (pipeline.text(path), pipeline.text(path, skip_lines=1)):
        lines = list(source)
        assert lines == list(map(line, range(5000)))[-len(lines) :]


def test_compressed_files_that_are_damaged(ending, tmp_path):
    path = tmp_path / f"t.txt{ending}"
    path.write_bytes(b"")
    assert list(pipeline.text(path)) == []
    if not ending:
        return
    data = COMPRESS[ending](b"some text\n" * 1000)
    for damaged in (data[:-1], data[: len(data) // 2], b"not compressed", data + b"more"):
        path.write_bytes(damaged)
        with pytest.raises(pipeline.DataLossError, match=rf"t\.txt{ending} is damaged.* beyond byte \d+: ."):
            list(pipeline.text(path))


@needs_zstd
def test_what_compresses_very_well_takes_little_memory(tmp_path, monkeypatch):
    """No read exceeds the requested size, however few bytes encode it; `_read` is where this shows."""
    path = tmp_path / "t.txt.zst"
    path.write_bytes(zstd.compress((b"0" * 999 + b"\n") * 20_000))
    sizes = []
    read = ReadBuffer._read
    monkeypatch.setattr(ReadBuffer, "_read", lambda file: sizes.append(len(piece := read(file))) or piece)
    assert sum(1 for _ in pipeline.text(path)) == 20_000
    assert max(sizes) <= ReadBuffer.CHUNK


def test_a_line_over_the_limit_is_read_no_further(tmp_path, monkeypatch):
    path, limit = tmp_path / "t.txt.gz", 1 << 22
    path.write_bytes(gzip.compress(b"a" * (8 * limit)))
    monkeypatch.setattr(ReadBuffer, "CHUNK", 1 << 14)
    monkeypatch.setattr("pipeline.sources.text.MAX_RECORD_BYTES", limit)
    for options in ({}, {"skip_lines": 1}):
        with memory_below(2.5 * limit), raises(pipeline.ResourceExhaustedError, f"{path}: "):
            list(pipeline.text(path, **options))


def test_a_file_url_of_a_name_with_brackets(tmp_path):
    for name in ("a[1].txt", "a1.txt", "a2.txt"):
        (tmp_path / name).write_text(name)
    assert list(pipeline.text(f"file://{tmp_path}/a[1].txt")) == ["a[1].txt"]
    assert list(pipeline.text(f"file://{tmp_path}/a[12].txt")) == ["a1.txt", "a2.txt"]


def test_remote_patterns(ending):
    for i in range(3):
        with fsspec.open(f"memory://csv/{i}.csv{ending}", "wb") as file:
            file.write(COMPRESS[ending](write_rows(range(20 * i, 20 * i + 20), ["n", "name", "x"])))
    source = pipeline.csv(f"memory://csv/*.csv{ending}", dtypes={"n": "int32"}, defaults={"x": -1})
    [got] = pipeline.batch(source, COUNT)
    assert check(got) == list(range(COUNT))


class TestAgainstArrow:
    """For generated tables, the result equals pyarrow's."""

    @pytest.mark.parametrize("chunk", [7, 64, 1 << 18])
    @pytest.mark.parametrize("seed", range(4))
    def test_tables(self, seed, chunk, tmp_path, monkeypatch):
        monkeypatch.setattr(ReadBuffer, "CHUNK", chunk)
        random = np.random.default_rng(seed)
        pieces = ["a", '"', ",", "\n", "\r\n", "é", " ", "0", "''", ""]
        table = {
            "whole": random.integers(-(2**62), 2**62, 300),
            "real": np.float64(random.normal(size=300) * 10.0 ** random.integers(-300, 300, 300)),
            'te"x,t': ["".join(random.choice(pieces, 5)) for _ in range(300)],
            "few\nmissing": np.where(random.random(300) < 0.1, np.nan, random.integers(0, 9, 300)),
        }
        path = tmp_path / "t.csv"
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL if seed == 0 else csv.QUOTE_MINIMAL)
            writer.writerow(table)
            for row in zip(*table.values(), strict=True):
                writer.writerow(["" if value != value else value for value in row])
        options = pa.csv.ParseOptions(newlines_in_values=True)
        theirs = pa.csv.read_csv(path, parse_options=options)
        [ours] = pipeline.batch(pipeline.csv(path), 300, capacity=300)
        assert sorted(ours) == sorted(table) == sorted(theirs.column_names)
        assert ours["whole"].dtype == np.int64
        for name in ("whole", "real", "few\nmissing"):
            expected = theirs[name].to_numpy()
            assert np.array_equal(ours[name].astype(expected.dtype), expected, equal_nan=True)
        assert ours['te"x,t'].tolist() == theirs['te"x,t'].to_pylist() == table['te"x,t']

    def test_dtypes(self, tmp_path):
        """The dtypes pyarrow finds, if both have them."""
        rows = ["1,1.5,x,,2024,nan,-", "2,2,y,,7,1e400,"]
        path = tmp_path / "t.csv"
        path.write_text("\n".join(["i,f,s,none,some,odd,dash", *rows]))
        ours = next(iter(pipeline.csv(path)))
        theirs = pa.csv.read_csv(path)
        for name in ("i", "f", "some", "odd"):
            assert np.asarray(ours[name]).dtype == theirs[name].to_numpy().dtype
        assert (ours["s"], ours["dash"]) == ("x", "-")
        assert np.isnan(ours["none"])


def test_more_lines_to_skip_than_there_are(tmp_path, monkeypatch):
    """The end of the file ends the skipping before the count does."""
    (tmp_path / "a").write_text("1\n2\n")
    taken, first_line = [], text_source.first_line

    def counted(*args):
        taken.append(first_line(*args))
        assert len(taken) < 10
        return taken[-1]

    monkeypatch.setattr(text_source, "first_line", counted)
    assert list(pipeline.text(tmp_path / "a", skip_lines=10**12)) == []
    assert taken == [b"1\n", b"2\n", b""]


def test_names_and_syntax(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_bytes(b"\xef\xbb\xbf# made by hand\n1\tNA\t'a\"\r\n2\t3\tb")
    options = {"names": ["n", "x", "text"], "field_delim": "\t", "use_quote_delim": False, "na_value": "NA"}
    [got] = pipeline.batch(pipeline.csv(path, skip_lines=1, **options), 2)
    assert got["n"].tolist() == [1, 2]
    assert np.array_equal(got["x"], [np.nan, 3], equal_nan=True)
    assert got["text"].tolist() == ["'a\"", "b"]
    path.write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    assert list(next(iter(pipeline.csv(path)))) == ["a", "b"]
    [got] = pipeline.batch(pipeline.csv(path, dtypes=np.float32), 1)
    assert got["a"].dtype == got["b"].dtype == np.float32


def test_pieces_are_the_same_from_any_of_them(monkeypatch):
    """States rely on this."""

    class File:
        def __init__(self, data):
            self.data = io.BytesIO(data)

        def read(self, size):
            return self.data.read(min(size, 11))

        def seek(self, offset):
            return self.data.seek(offset) >= 0

        def size_limit(self):
            return None

    monkeypatch.setattr(ReadBuffer, "CHUNK", 16)
    random = np.random.default_rng(1)
    text = b"\n".join(b"x" * int(n) for n in random.integers(0, 4, 100) ** 4) + b"\n"
    whole = [(piece.offset, piece.records) for piece in cut_pieces(ReadBuffer(File(text)), cut_lines, "t")]
    assert b"\n".join(line for _, lines in whole for line in lines) + b"\n" == text
    for i, (offset, _) in enumerate(whole):
        file = ReadBuffer(File(text))
        file.go_to(offset)
        assert [(piece.offset, piece.records) for piece in cut_pieces(file, cut_lines, "t")] == whole[i:]


class TestErrors:
    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "t.csv"

    def test_of_columns(self, path):
        path.write_text("a,b\n1,2\n")
        known = "the columns are 'a', 'b'"
        for text, options in {
            f"there is no column 'c'; {known}": {"columns": ["a", "c"]},
            f"no columns are chosen; {known}": {"columns": []},
            f"dtypes: there is no column 'c'; {known}": {"dtypes": {"c": int}},
            f"defaults: there is no column 'c'; {known}": {"defaults": {"c": 1}},
        }.items():
            with raises(ValueError, f"csv: {path}: {text}"):
                pipeline.csv(path, **options)
        with raises(TypeError, f"csv: {path}: columns must be a list of names, such as ['a'], not 'a'"):
            pipeline.csv(path, "a")
        known = "float32, float64, int32, int64, uint64, bool, str, bytes and datetime64"
        with raises(ValueError, f"csv: column 'a' cannot be int8: dtypes are {known}"):
            pipeline.csv(path, dtypes={"a": "int8"})
        with raises(TypeError, "csv: dtypes of column 'a' must be a dtype, such as np.float32, got str 'nonsense'"):
            pipeline.csv(path, dtypes="nonsense")
        for default, kind in ((1.5, "int64"), (2**70, "int64"), ("x", "int64"), (None, "float64"), (1, "str")):
            with raises(ValueError, f"csv: {default!r} is not a valid default for column 'a' of {kind}"):
                pipeline.csv(path, dtypes={"a": kind}, defaults={"a": default})

    def test_of_names(self, path):
        path.write_text('"a\n1,2\n')
        with raises(ValueError, f"csv: {path}: the header line cannot be read: Quoted field has to end"):
            pipeline.csv(path)
        path.write_bytes(b"\xff,b\n1,2\n")
        with raises(pipeline.DataLossError, f"csv: {path}: the header line: b'\\xff,b' is not UTF-8: pass encoding="):
            pipeline.csv(path)
        path.write_text("a,a\n1,2\n")
        with raises(ValueError, f"csv: {path}: its first line is used as column names, and 'a' appears twice"):
            pipeline.csv(path)
        assert list(next(iter(pipeline.csv(path, names=["a", "b"], skip_lines=1)))) == ["a", "b"]
        for names, error in (["a", 1], TypeError), ("ab", TypeError), ([], ValueError), (["a", "a"], ValueError):
            with raises(error, "csv: "):
                pipeline.csv(path, names=names)
        path.write_text("\n\n")
        with raises(ValueError, f"csv: expected a header line in '{path}'"):
            pipeline.csv(path)

    def test_of_syntax(self, path):
        path.write_text("a\n1\n")
        for delim in (",,", "", '"', "\n", "é"):
            with raises(ValueError, "csv: field_delim must be one character other than a quote or line end, got "):
                pipeline.csv(path, field_delim=delim)
        for columns in (5, True):
            got = f"{type(columns).__name__} {columns}"
            with raises(TypeError, f"csv: {path}: columns must be a list of names, got {got}"):
                pipeline.csv(path, columns=columns)
        for function in (pipeline.csv, pipeline.text):
            with raises(ValueError, f"{function.__name__}: skip_lines must be at least 0, got -1"):
                function(path, skip_lines=-1)
            with raises(TypeError, f"{function.__name__}: skip_lines must be an integer"):
                function(path, skip_lines=1.5)
            with raises(pipeline.NotFoundError, f"No such file or directory: '{path}0'. Did you mean '{path}'?"):
                function(f"{path}0")

    @pytest.mark.parametrize("ending", ["", ".gz"])
    @pytest.mark.parametrize("n", [1, 100])
    def test_of_rows(self, n, ending, tmp_path, monkeypatch):
        """They name the file, line and column, wherever the row is."""
        monkeypatch.setattr(ReadBuffer, "CHUNK", 64)
        path = tmp_path / f"t.csv{ending}"
        before = 'n,text,x\n1,"two\nlines",1.5\n\n' * n
        before = before.replace("n,text,x\n", "", n - 1) if n == 1 else "n,text,x\n" + '1,"two\nlines",1.5\n\n' * n
        at = before.count("\n") + 1
        for row, text in {
            "x,a,1": "column 'n' is not a valid int64: x; the first rows look like int64: pass dtypes= or defaults=",
            ",a,1": "column 'n' is required but missing; the first rows look like int64",
            "1,a,x": "column 'x' is not a valid float: x",
            "1,a": "Expect 3 fields but have 2",
            "1,a,2,3": "Expect 3 fields but have 4",
            '1,"a"b,2': "Quote inside a string has to be escaped by another quote",
            '1,a"b,2': "Unquoted fields cannot have quotes/CRLFs inside",
            '1,"a': "Quoted field has to end with quote followed by delim or end",
        }.items():
            path.write_bytes(COMPRESS[ending](f"{before}\n{row}\n2,b,3\n".encode()))
            source = pipeline.csv(path, dtypes={"n": "int64", "x": "float32"})
            with raises(ValueError, f"csv: {path}, line {at + 1:,}: {text.partition(';')[0]}"):
                list(pipeline.batch(source, 1000, allow_smaller_final_batch=True))

    def test_of_dtypes_that_were_guessed(self, path):
        path.write_text("n\n" + "1\n" * 3000 + "2.5\n")
        text = f"csv: {path}, line 3,002: column 'n' is not a valid int64: 2.5; the first rows look like int64"
        with raises(ValueError, text):
            list(pipeline.csv(path))
        assert list(pipeline.csv(path, dtypes={"n": float}))[-1] == {"n": 2.5}
        assert next(iter(pipeline.csv(path, defaults={"n": 0.5}))) == {"n": 1}

    def test_of_files_that_differ(self, path, tmp_path):
        path.write_text("a,b\n1,2\n")
        other = tmp_path / "u.csv"
        other.write_text("b,c\n1,2\n")
        with raises(ValueError, f"csv: '{other}' has other columns than '{path}': it has no 'a', it has 'c'"):
            list(pipeline.csv([path, other]))
        other.write_text("b,c,a\n1,2,3\n")
        with raises(ValueError, f"csv: '{other}' has other columns than '{path}': it has 'c'; see columns="):
            list(pipeline.csv([path, other]))
        assert [tuple(row.values()) for row in pipeline.csv([path, other], ["a", "b"])] == [(1, 2), (3, 1)]

    def test_of_lines_without_end(self, path, monkeypatch):
        path.write_text('a\n"' + "b\n" * 2000)
        monkeypatch.setattr(ReadBuffer, "CHUNK", 64)
        monkeypatch.setattr("pipeline.sources.text.MAX_RECORD_BYTES", 1000)
        with raises(pipeline.ResourceExhaustedError, f"{path}: the line or record at byte 2 has more than the limit"):
            pipeline.csv(path)
        path.write_text("a" * 2000)
        for options in ({}, {"skip_lines": 1}):
            with raises(pipeline.ResourceExhaustedError, f"{path}: ") as caught:
                list(pipeline.text(path, **options))
            assert str(caught.value).endswith(" has more than the limit of 1,000 bytes")  # no option can help

    @pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python has zstd")
    def test_without_zstd(self, tmp_path):
        path = tmp_path / "t.csv.zst"
        path.write_bytes(zstd.compress(b"a\n1\n"))
        script = f"""
import sys
sys.modules["backports.zstd"] = None
import pipeline
for make in (pipeline.csv, lambda path: list(pipeline.text(path))):
    try:
        make({str(path)!r})
    except ImportError as error:
        print(error)
"""
        text = "files compressed by zstd need backports.zstd: pip install backports.zstd"
        assert run_script(script).stdout.splitlines() == [text, text]


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_bad_rows_are_left_out(deterministic, ending, tmp_path):
    """With `on_error="skip"`; an error that ends a file is always raised."""
    path = tmp_path / f"t.csv{ending}"
    rows = ["n,x", *(f"{i},{'?' if i % 10 == 4 else i}" for i in range(100)), "1,2,3"]
    data = COMPRESS[ending]("\n".join(rows).encode())
    path.write_bytes(data)

    def loop():
        source = pipeline.csv(path, dtypes={"x": "float64"})
        return pipeline.batch(source, 5, on_error="skip", deterministic=deterministic)

    batches = loop()
    assert [n for batch in batches for n in batch["n"]] == [i for i in range(100) if i % 10 != 4]
    assert [str(error).split(", ")[1] for error in batches.errors] == [
        *(f"line {i + 2}: column 'x' is not a valid double: ?" for i in range(4, 100, 10)),
        "line 102: Expect 2 fields but have 3",
    ]
    if ending:
        path.write_bytes(data[:-8])
        with pytest.raises(pipeline.DataLossError, match="ends too early"):
            list(loop())


def test_each_name_of_a_wide_file_is_looked_at_a_few_times(tmp_path):
    compared = []

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(self)
            return str.__eq__(self, other)

    path, width = tmp_path / "wide.csv", 300
    path.write_text(",".join(["1"] * width) + "\n")
    names = [Name(f"c{i}") for i in range(width)]
    [row] = pipeline.csv(path, names=names, dtypes="float32", defaults={names[-1]: 0})
    assert len(row) == width
    assert len(compared) < 20 * width


class TestPatterns:
    """Files matched by a source's pattern."""

    @pytest.fixture(autouse=True)
    def _tree(self, tmp_path, monkeypatch):
        for name in ("data/a.txt", "data/x/b.txt", "data/x/y/c.txt", "data/x/y/d.csv", "data/.z/e.txt"):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{path.stem}\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path))

    @pytest.mark.parametrize(
        ("pattern", "found"),
        [
            ("data/**/*.txt", "eabc"),
            ("**/*.txt", "eabc"),
            ("data/**/y/**/*.txt", "c"),
            ("data/**/**/c.txt", "c"),
            ("data/x/**", "bcd"),
            ("data/**/?.csv", "d"),
            ("data/x**/*.txt", "b"),
            ("~/data/*.txt", "a"),
            ("~/data/x/b.txt", "b"),
            ("~/data/**/c.*", "c"),
        ],
    )
    def test_any_depth_and_the_home_folder(self, pattern, found):
        assert "".join(pipeline.text(pattern)) == found

    @pytest.mark.parametrize("pattern", ["data/**/*.txt", "data/x/**/*.txt", "data/**/y/*"])
    def test_they_name_what_fsspec_names(self, tmp_path, pattern):
        assert sorted(pipeline.text(pattern)) == sorted(pipeline.text(f"file://{tmp_path}/{pattern}"))

    def test_links_are_followed_but_not_around(self, tmp_path):
        (tmp_path / "data" / "x" / "up").symlink_to(tmp_path / "data")
        (tmp_path / "linked").symlink_to(tmp_path / "data" / "x" / "y")
        assert list(pipeline.text("data/**/c.txt")) == ["c"]
        assert list(pipeline.text("linked/**/c.txt")) == ["c"]

    def test_a_file_whose_name_begins_with_a_tilde(self, tmp_path):
        (tmp_path / "~").write_text("literal\n")
        assert list(pipeline.text("~")) == ["literal"]

    def test_none_are_found(self, tmp_path):
        with raises(pipeline.NotFoundError, "text: 'data/**/*.json' matches no file"):
            pipeline.text("data/**/*.json")
        with raises(pipeline.NotFoundError, f"No such file or directory: '{tmp_path}/none.txt'"):
            pipeline.text("~/none.txt")

    def test_of_arrays_and_images(self, tmp_path):
        np.save("x.npy", np.arange(3))
        assert len(pipeline.arrays("~/x.npy")) == 3
        (tmp_path / "pets" / "cat").mkdir(parents=True)
        (tmp_path / "pets" / "cat" / "0.png").write_bytes(b"none")
        assert list(pipeline.image_folder("~/pets", decode=None)) == [(b"none", 0)]
