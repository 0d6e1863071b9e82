"""encoding= in text, jsonl and csv; and files that are not UTF-8 or not text."""

import codecs
import gzip
import json
import re

import numpy as np
import pytest
from dataset_contract import check
from helpers import raises

import pipeline

ROWS = [{"name": f"Ren\u00e9e {i}", "n": i} for i in range(60)]
SOURCES = ("text", "jsonl", "csv")


def written(path, encoding, count=60):
    """Write rows in the format given by the path's suffix."""
    if path.name.startswith("t.csv"):
        lines = ["name,n", *(f"{row['name']},{row['n']}" for row in ROWS[:count])]
    else:
        lines = [json.dumps(row, ensure_ascii=False) for row in ROWS[:count]]
    text = "".join(f"{line}\n" for line in lines).encode(encoding)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def source(kind, path, **options):
    """Return a source with ROWS as its examples."""
    if kind == "csv":
        data = pipeline.csv(path, dtypes={"name": str, "n": "int64"}, **options)
        return data.map(lambda row: {"name": str(row["name"]), "n": int(row["n"])})
    if kind == "text":
        return pipeline.text(path, **options).map(json.loads)
    return pipeline.jsonl(path, **options)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "utf-8", "utf-8-sig"])
def test_each_source_reads_each_encoding(kind, encoding, tmp_path):
    for ending in ("", ".gz"):
        path = written(tmp_path / f"t.{kind}{ending}", encoding)
        assert list(source(kind, path, encoding=encoding)) == ROWS


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_runs_resume_within_a_file(kind, encoding, tmp_path):
    path = written(tmp_path / f"t.{kind}", encoding, 9)
    check(source(kind, path, encoding=encoding), ROWS[:9])


@pytest.mark.parametrize("kind", SOURCES)
def test_long_files_resume(kind, tmp_path):
    """With several pieces, so a position in the converted text must be found again."""
    path = tmp_path / "t"
    name = "\u00e9" * 40
    lines = [str(i) if kind == "csv" else f'{{"name": "{name}", "n": {i}}}' for i in range(30_000)]
    path.write_text("\n".join(["n"] * (kind == "csv") + lines), encoding="utf-16")
    data = getattr(pipeline, kind)(path, encoding="utf-16").batch(1000)
    iterator = iter(data)
    for _ in range(17):
        next(iterator)
    again = iter(data)
    again.load_state_dict(iterator.state_dict())
    first = next(again)
    numbers = [json.loads(line)["n"] for line in first] if kind == "text" else first["n"].tolist()
    assert numbers == list(range(17_000, 18_000))
    assert len(list(again)) == 12


@pytest.mark.parametrize("kind", SOURCES)
def test_a_state_is_of_one_encoding(kind, tmp_path):
    path = written(tmp_path / f"t.{kind}", "latin-1")
    state = iter(getattr(pipeline, kind)(path, encoding="latin-1")).state_dict()
    with raises(pipeline.StateMismatchError, f"{kind}: encoding was 'iso8859-1' when the state was saved and is 'cp"):
        iter(getattr(pipeline, kind)(path, encoding="cp1252")).load_state_dict(state)


@pytest.mark.parametrize("kind", SOURCES)
def test_bytes_that_the_encoding_has_not(kind, tmp_path):
    path = written(tmp_path / f"t.{kind}", "latin-1")
    with pytest.raises(pipeline.DataLossError, match=rf"{path} cannot be read by encoding='ascii': ordinal not"):
        list(source(kind, path, encoding="ascii"))


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("encoding", ["klingon", "base64", "rot13", "", "a\0b", "undefined"])
def test_encodings_that_do_not_exist(kind, encoding, tmp_path):
    path = written(tmp_path / f"t.{kind}", "utf-8")
    with raises(ValueError, f"{kind}: encoding: there is no encoding of text {encoding!r}"):
        getattr(pipeline, kind)(path, encoding=encoding)
    with raises(TypeError, f"{kind}: encoding must be a string, such as 'latin-1', not 8"):
        getattr(pipeline, kind)(path, encoding=8)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_utf_16_is_told_by_its_mark(kind, mark, tmp_path):
    path = tmp_path / "t"
    path.write_bytes(mark + '{"a": 1}\n'.encode("utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be"))
    with raises(ValueError, f"{kind}: {path} is in UTF-16: pass encoding='utf-16'"):
        list(getattr(pipeline, kind)(path))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_told_without_a_mark(encoding, tmp_path):
    hint = f"it looks like UTF-16: pass encoding='{encoding}'"
    path = written(tmp_path / "t.csv", encoding)
    with raises(ValueError, f"csv: {path}: the header line cannot be read: {hint}"):
        pipeline.csv(path)
    path = written(tmp_path / "t.jsonl", encoding)
    with pytest.raises(pipeline.DataLossError, match=rf"^jsonl: {path}, line 1: b.* is not UTF-8: {hint}"):
        list(pipeline.jsonl(path))


def test_names_and_lines_in_latin_1(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\u00e9,b\n1,2\n", encoding="latin-1")
    hint = "pass encoding=, such as 'latin-1' or 'cp1252'"
    with raises(pipeline.DataLossError, f"csv: {path}: the header line: b'\\xe9,b' is not UTF-8: {hint}"):
        pipeline.csv(path)
    assert list(pipeline.csv(path, encoding="latin-1")) == [{"\u00e9": 1, "b": 2}]
    path.write_text('{"a": 1}\n{"a": "\u00e9"}\n', encoding="latin-1")
    with raises(pipeline.DataLossError, f'jsonl: {path}, line 2: b\'{{"a": "\\xe9"}}\' is not UTF-8: {hint}'):
        list(pipeline.jsonl(path))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "text"])
def test_files_of_other_formats(kind, tmp_path):
    path = tmp_path / "t"
    begins = {
        b"PAR1\x15\x04": "a Parquet file: use pipeline.parquet",
        b"ARROW1\x00\x00": "a Feather file: use pipeline.feather",
        gzip.compress(b"a,b\n1,2\n"): f"compressed by gzip: rename it to {path}.gz",
        b"PK\x03\x04": "a zip file, or an Excel workbook: save its sheets as CSV",
        b"SQLite format 3\x00": "an SQLite database",
    }
    for begin, what in begins.items():
        path.write_bytes(begin + bytes(100))
        with raises(ValueError, f"{kind}: {path} is {what}"):
            list(getattr(pipeline, kind)(path))
    np.save(tmp_path / "x.npy", np.arange(3))
    with raises(ValueError, f"{kind}: {tmp_path}/x.npy is a .npy file: use pipeline.arrays"):
        list(getattr(pipeline, kind)(tmp_path / "x.npy"))


def test_names_that_begin_like_other_formats(tmp_path):
    (tmp_path / "t.csv").write_text("PAR1,BZh,PK\n1,2,3\n")
    assert list(pipeline.csv(tmp_path / "t.csv")) == [{"PAR1": 1, "BZh": 2, "PK": 3}]


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_csv_and_jsonl_on_a_table(kind, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    table, path = arrow.table({"x": [1, 2]}), tmp_path / "t"
    if kind == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        pytest.importorskip("pyarrow.feather").write_feather(table, path)
    for source_of in (pipeline.csv, pipeline.jsonl):
        with pytest.raises(ValueError, match=rf"is a {kind.capitalize()} file: use pipeline\.{kind}(\n|$)"):
            list(source_of(path))


@pytest.mark.parametrize("delim", [";", "\t", "|"])
def test_another_delimiter_between_quoted_names(delim, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(delim.join(['"name"', '"age, years"']) + "\n" + delim.join(['"Ada"', "36"]) + "\n")
    with pytest.raises(ValueError, match=f"cannot be read: .*; with field_delim={re.escape(repr(delim))} it has 2$"):
        pipeline.csv(path)
    assert list(pipeline.csv(path, field_delim=delim)) == [{"name": "Ada", "age, years": 36}]


def test_a_missing_field_names_its_own_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"x\ny",2\n\n"x",\nz,3\n')
    with raises(ValueError, f"csv: {path}, line 5: column 'b' is required but missing; see defaults="):
        list(pipeline.csv(path, dtypes={"b": "int64"}).batch(3))
    path.write_text('{"a": 1}\n{"a": 2}\n{"a": null}\n{"a": 4}\n')
    text = "batch: component 'a' is None, but int in other examples: fill in missing values, or leave it out"
    for data in (pipeline.jsonl(path), pipeline.jsonl(path).skip(2)):
        with raises(TypeError, f"{text} ({path}:3)"):
            list(data.batch(4))
