"""Errors of function= name what the item came from: a file, and the key, line or row there."""

import gzip
import io
import sys
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import pipeline
from pipeline.explain.live import mappings

BAD = 7


def fails_at_bad(example):
    if isinstance(example, tuple):
        return pipeline.decode_image(example[0], channels=3), example[1]
    if isinstance(example, bytes):
        example = {"n": int(example)}
    if example.get("n", example.get("cls")) == BAD:
        raise ValueError("odd")
    return example


def images(folder):
    (folder / "cat").mkdir()
    for i in range(10):
        data = pipeline.encode_png(np.zeros((4, 4, 3), np.uint8)) if i != BAD else b"nonsense"
        (folder / "cat" / f"{i}.png").write_bytes(data)
    return pipeline.image_folder(folder, decode=None), f"{folder}/cat/{BAD}.png"


def samples(folder):
    path = folder / "s.tar"
    with tarfile.open(path, "w") as archive:
        for i in range(10):
            member = tarfile.TarInfo(f"a/{i:03}.cls")
            member.size = 1
            archive.addfile(member, io.BytesIO(b"%d" % i))
    return pipeline.webdataset(path), f"{path}:a/{BAD:03}"


def rows(folder):
    for i in range(2):
        table = pa.table({"n": range(5 * i, 5 * i + 5)})
        pa.parquet.write_table(table, folder / f"{i}.parquet", row_group_size=2)
    return pipeline.parquet(f"{folder}/*.parquet"), f"{folder}/1.parquet:2"


def table_rows(folder):
    source = pipeline.arrays({"n": np.arange(10)[::-1]}, shuffle=True, seed=1)
    return source, f"row {9 - BAD}"


def lines(folder):
    for i in range(2):
        with gzip.open(folder / f"{i}.txt.gz", "wb") as file:
            file.writelines(b"%d\n" % n for n in (0, *range(5 * i, 5 * i + 5)))
    return pipeline.text(f"{folder}/*.txt.gz", skip_lines=1), f"{folder}/1.txt.gz:4"


def csv_rows(folder):
    for i in range(2):
        records = [f'{n},"two\nlines"\n\n' for n in range(5 * i, 5 * i + 5)]
        (folder / f"{i}.csv").write_text("n,text\n" + "".join(records))
    return pipeline.csv(f"{folder}/*.csv"), f"{folder}/1.csv:8"


WAYS = {
    "plain": {},
    "inline": {"num_threads": 0},
    "threads": {"workers": pipeline.threads(2)},
    "processes": {"workers": pipeline.processes(1)},
    "ordered": {"deterministic": True},
    "ordered inline": {"deterministic": True, "num_threads": 0},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [images, samples, rows, table_rows, lines, csv_rows])
def test_names(make, way, tmp_path):
    source, name = make(tmp_path)
    with pytest.raises(ValueError, match=r"odd|Unknown image") as caught:
        list(pipeline.batch(source, 2, function=fails_at_bad, **WAYS[way]))
    assert caught.value.record_key == name
    if hasattr(caught.value, "__notes__"):
        number = [int(row["n"]) for row in source].index(BAD) if make is table_rows else BAD
        assert caught.value.__notes__ == [f"function 'fails_at_bad', item {number}, {name}"]
    with pipeline.batch(source, 2, function=fails_at_bad, on_error="skip", **WAYS[way]) as batches:
        assert len(list(batches)) == 4
    assert [error.record_key for error in batches.errors] == [name]


def test_a_key_of_a_record_stays(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("n\n" + "1\n" * 20 + "x\n" + "2\n" * 20)
    source = pipeline.csv(path, dtypes=int)
    for options in ({}, {"num_threads": 0}, {"deterministic": True}):
        with pipeline.batch(source, 5, function=dict, on_error="skip", **options) as batches:
            assert sum(len(batch["n"]) for batch in batches) == 40
        assert [error.record_key for error in batches.errors] == [f"{path}:22".encode()]


@pytest.mark.parametrize("options", [{}, {"deterministic": True}], ids=str)
def test_what_was_delivered_is_forgotten(options, tmp_path):
    """Of a run without end nothing is kept but the items that are under way."""
    images(tmp_path)
    (tmp_path / "cat" / f"{BAD}.png").unlink()
    before = {number for number, _ in mappings.numbered()}
    source = pipeline.image_folder(tmp_path, decode=None, num_epochs=None)
    with pipeline.batch(source, 5, 1, 10, function=fails_at_bad, **options) as batches:
        for _ in range(200):
            next(batches)
        (mapping,) = (thing for number, thing in mappings.numbered() if number not in before)
        assert len(mapping._placed._blocks) < 200


def test_lines_far_into_a_file(tmp_path):
    """Pieces after the first one know how many lines came before them, and a loop that goes on in one does too."""
    path = tmp_path / "long.txt"
    path.write_text("".join(f"{n:060}\n" for n in range(100_000)))

    def fails(line):
        if int(line) == 99_000:
            raise ValueError("odd")
        return line

    with pipeline.batch(pipeline.text(path), 500, function=fails, deterministic=True) as batches:
        for _ in range(190):
            next(batches)
        state = batches.state_dict()
    with pipeline.batch(pipeline.text(path), 500, function=fails, deterministic=True) as batches:
        batches.load_state_dict(state)
        with pytest.raises(ValueError, match="odd") as caught:
            list(batches)
    assert caught.value.record_key == f"{path}:99001"


def changes_at_bad(example):
    return np.zeros(3 if example["n"] != BAD else 4)


def other_structure_at_bad(example):
    return (1, 2) if example["n"] != BAD else {"a": 1}


@pytest.mark.parametrize("function", [changes_at_bad, other_structure_at_bad])
@pytest.mark.parametrize("way", WAYS)
def test_an_example_that_does_not_fit_names_its_item(way, function, tmp_path):
    source, name = rows(tmp_path)
    with pytest.raises(ValueError, match=r"Shape mismatch|every example must") as caught:
        list(pipeline.batch(source, 2, function=function, **WAYS[way]))
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__[-1] == f"in '{function.__name__}' of 'batch', record {name!r}"


def test_an_item_of_a_list_that_does_not_fit():
    with pytest.raises(ValueError, match="Shape mismatch") as caught:
        list(pipeline.batch([{"n": n} for n in range(10)], 2, function=changes_at_bad, workers=pipeline.threads(1)))
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__[-1].endswith(f", record 'item {BAD}'")


@pytest.mark.parametrize("items", [list(range(40)), np.arange(40), pipeline.arrays(np.arange(40))], ids=type)
@pytest.mark.parametrize("bad", [1, 9, 33])
@pytest.mark.parametrize("odd", [np.zeros(3), "x"], ids=["shape", "dtype"])
def test_without_threads_it_is_the_same_item(odd, bad, items):
    seen = []
    for options in ({}, {"num_threads": 0}):
        with pytest.raises((ValueError, TypeError)) as caught:
            list(pipeline.batch(items, 4, function=lambda n: odd if n == bad else np.zeros(2), **options))
        if sys.version_info >= (3, 11):
            seen.append([note.partition(", ")[2] for note in caught.value.__notes__])
    assert seen[1:] == seen[:1]


def test_without_threads_what_fails_in_a_function_is_its_item_and_in_a_source_none():
    def gives(n):
        if n == 5:
            raise KeyError("odd")
        return n

    def breaks():
        yield from range(5)
        raise OSError("gone")

    for source, kind in ((range(9), KeyError), (breaks, OSError)):
        with pytest.raises(kind) as caught:
            list(pipeline.batch(source, 2, 0, function=gives))
        expected = ["function 'gives', item 5"] if kind is KeyError else []
        assert getattr(caught.value, "__notes__", expected) == expected


def test_without_threads_each_source_of_a_join_has_its_items():
    sources = [range(10), range(100, 110)]
    with pytest.raises(TypeError) as caught:
        list(pipeline.batch_join(sources, 4, num_threads=0, function=lambda n: "x" if n == 107 else n))
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__[-1].endswith(", record 'item 7'")
