"""For all sources, text is str and binary data is bytes. Each reads a real file, written by the real library."""

import io
import json
import tarfile

import numpy as np
import pytest
from dataset_contract import check
from helpers import raises

import pipeline

TEXTS = ["Oslo", "", "K\u00f6ln", "\u6771\u4eac \U0001f600", "Oslo", "a\tb"]  # each of str's widths
BYTES = [text.encode("utf-16-le") for text in TEXTS]  # some are not UTF-8
ROWS = [{"text": text, "bytes": data} for text, data in zip(TEXTS, BYTES, strict=True)]


def lines(folder, **options):
    path = folder / "lines.txt"
    path.write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    return pipeline.text(path, **options)


def indexed_lines(folder):
    return lines(folder, index=True, index_folder=folder / "index")


def converted_lines(folder):
    path = folder / "lines.txt"
    path.write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-16")
    return pipeline.text(path, encoding="utf-16")


def fields(folder, **options):
    path = folder / "fields.csv"
    path.write_text("n,text\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(TEXTS)), encoding="utf-8")
    return pipeline.csv(path, **options).map(lambda row: row["text"])


def objects(folder, **options):
    path = folder / "objects.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return pipeline.jsonl(path, **options).map(lambda row: row["text"])


def table():
    arrow = pytest.importorskip("pyarrow")
    words = arrow.array(TEXTS)
    columns = {"text": words, "bytes": BYTES, "kind": words.dictionary_encode(), "list": [[text] for text in TEXTS]}
    return arrow.table({**columns, "struct": ROWS})


def in_memory(folder, **options):
    return pipeline.arrow(table(), **options)


def parquet(folder, **options):
    pytest.importorskip("pyarrow.parquet").write_table(table(), folder / "t.parquet", row_group_size=4)
    return pipeline.parquet(folder / "t.parquet", **options)


def feather(folder, **options):
    pytest.importorskip("pyarrow.feather").write_feather(table(), folder / "t.feather", chunksize=4)
    return pipeline.feather(folder / "t.feather", **options)


def hugging_face(folder):
    library = pytest.importorskip("datasets", reason="make test-sources installs it")
    return pipeline.huggingface(library.Dataset(table()))


def numpy_arrays(folder):
    np.save(folder / "text.npy", np.array(TEXTS))
    return pipeline.arrays({"text": folder / "text.npy", "bytes": np.array(BYTES, object)})


def hdf5(folder):
    h5py = pytest.importorskip("h5py")
    file = h5py.File(folder / "t.h5", "w")
    file.create_dataset("text", data=TEXTS, chunks=(4,))
    file.create_dataset("bytes", data=[b"a", b"\xff"] * 3, dtype=h5py.string_dtype("ascii"), chunks=(4,))
    return pipeline.arrays({name: file[name] for name in ("text", "bytes")})


def zarr(folder):
    library = pytest.importorskip("zarr", minversion="3")
    stored = library.create_array(folder / "t.zarr", shape=(6,), chunks=(4,), dtype="string")
    stored[:] = np.array(TEXTS, object)
    return pipeline.arrays({"text": stored})


def shards(folder):
    with tarfile.open(folder / "s.tar", "w") as archive:
        for i, row in enumerate(ROWS):
            inside = json.dumps({"text": row["text"]}).encode()
            files = {"txt": row["text"].encode(), "bin": row["bytes"], "json": inside}
            for ending, data in files.items():
                member = tarfile.TarInfo(f"\u00e9{i}.{ending}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return pipeline.webdataset(folder / "s.tar")


def torch_items(folder):
    pytest.importorskip("torch")
    return pipeline.torch.dataset([dict(row) for row in ROWS])


def grain_items(folder):
    return pipeline.grain(pytest.importorskip("grain").MapDataset.source(ROWS))


SOURCES = {
    "text": lines,
    "text by number": indexed_lines,
    "text in UTF-16": converted_lines,
    "csv": fields,
    "jsonl": objects,
    "list": lambda folder: pipeline.dataset(TEXTS),
    "rows in a list": lambda folder: pipeline.dataset(ROWS),
    "arrow": in_memory,
    "parquet": parquet,
    "feather": feather,
    "huggingface": hugging_face,
    "arrays": numpy_arrays,
    "hdf5": hdf5,
    "zarr": zarr,
    "webdataset": shards,
    "torch": torch_items,
    "grain": grain_items,
}


@pytest.fixture(params=SOURCES)
def source(request, tmp_path):
    return SOURCES[request.param](tmp_path)


def kinds(value, kind=None):
    """Return the string types in an example or a batch, by the names of the expected ones."""
    if isinstance(value, dict):
        return {each for name, inner in value.items() for each in kinds(inner, bytes if "b" in name[:1] else str)}
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype == object):
        return {each for inner in value for each in kinds(inner, kind)}
    assert isinstance(value, (str, bytes))
    return {(type(value), kind or str)}


def texts_of(data):
    return [each if isinstance(each, str) else each["txt" if "txt" in each else "text"] for each in data]


RIGHT = {(str, str), (bytes, bytes)}


def test_text_is_str_and_binary_data_is_bytes(source):
    assert texts_of(source) == TEXTS
    for example in source:
        assert kinds(example) <= RIGHT
    for batch in source.batch(4):
        assert kinds(batch) <= RIGHT


@pytest.mark.parametrize("kind", ["csv", "text by number", "parquet", "hdf5", "webdataset"])
def test_it_stays_so_through_all_steps(kind, tmp_path):
    texts = SOURCES[kind](tmp_path).map(lambda each: texts_of([each])[0])
    check(texts.batch(4), [np.array(TEXTS[:4], object), np.array(TEXTS[4:], object)])
    check(texts.map(str.upper, workers=2), [text.upper() for text in TEXTS])
    check(texts.cache(tmp_path / "cache"), TEXTS)
    check(texts.cache(), TEXTS)
    check(texts.batch(5).unbatch().prefetch(2), TEXTS)
    assert sorted(texts.shuffle(3, seed=1)) == sorted(TEXTS)
    assert list(texts.map(str.upper, workers=pipeline.processes(2))) == [text.upper() for text in TEXTS]
    with pipeline.batch(texts, 6) as batches:
        assert next(batches).tolist() == TEXTS
    letters = texts.filter(len).map(list)
    padded = [each for batch in letters.bucket([3], [6, 6], pad="") for each in batch.tolist()]
    assert sorted("".join(each) for each in padded) == sorted(filter(None, TEXTS))


def test_bytes_where_they_are_asked_for(tmp_path):
    data = [text.encode() for text in TEXTS]
    assert list(lines(tmp_path, encoding=None)) == data
    assert list(lines(tmp_path, encoding=None, index=True, index_folder=tmp_path)) == data
    assert list(fields(tmp_path, encoding=None)) == data
    assert list(fields(tmp_path, dtypes={"text": bytes})) == data
    assert list(fields(tmp_path, dtypes={"text": str}, encoding=None)) == TEXTS
    for made in (in_memory, parquet, feather):
        assert [row["text"] for row in made(tmp_path, columns=["text"], dtypes={"text": bytes})] == data
    with raises(TypeError, "jsonl: encoding must be a string, such as 'latin-1', not None"):
        objects(tmp_path, encoding=None)


@pytest.mark.parametrize("index", [False, True])
def test_a_byte_order_mark_is_no_text(index, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a\n\ufeffb\n", encoding="utf-8-sig")
    options = {"index": index, "index_folder": tmp_path if index else None}
    check(pipeline.text(path, **options), ["a", "\ufeffb"])
    assert list(pipeline.text(path, skip_lines=1, **options)) == ["\ufeffb"]
    assert list(pipeline.text(path, encoding=None, **options)) == [b"\xef\xbb\xbfa", b"\xef\xbb\xbfb"]


@pytest.mark.parametrize("index", [False, True])
def test_lines_that_are_not_utf_8(index, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"a\nK\xf6ln\nb\n\xed\xa0\x80\nc\n")  # latin-1, and half a surrogate pair
    data = pipeline.text(path, index=index, index_folder=tmp_path if index else None)
    hint = "pass encoding=, such as 'latin-1' or 'cp1252', or encoding=None, which reads bytes"
    with iter(data) as read:
        assert next(read) == "a"
        with raises(pipeline.DataLossError, f"text: {path}, line 2: b'K\\xf6ln' is not UTF-8: {hint}"):
            next(read)
    with pipeline.batch(data, 3, on_error="skip") as batches:
        assert [batch.tolist() for batch in batches] == [["a", "b", "c"]]
    assert [error.record_key for error in batches.errors] == [f"{path}:{line}".encode() for line in (2, 4)]
    if index:
        assert data[2] == "b"
        with raises(pipeline.DataLossError, f"text: {path}, line 4: "):
            data[3]
    latin = pipeline.text(path, encoding="latin-1")
    assert list(latin) == path.read_text(encoding="latin-1").split("\n")[:-1]


def test_tables_that_are_not_utf_8(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    bad = arrow.Array.from_buffers(arrow.string(), 3, arrow.array([b"a", b"\xff", b"c"]).buffers())
    table = arrow.table({"text": bad})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "t.parquet")
    for data in (pipeline.arrow(table), pipeline.parquet(tmp_path / "t.parquet")):
        with iter(data) as read:
            assert next(read) == {"text": "a"}
            error = r"column 'text': b'\\xff' is not UTF-8: pass dtypes=\{'text': bytes\}"
            with pytest.raises(pipeline.DataLossError, match=error):
                next(read)


def test_samples_that_are_not_utf_8(tmp_path):
    with tarfile.open(tmp_path / "s.tar", "w") as archive:
        member = tarfile.TarInfo("0.txt")
        member.size = 1
        archive.addfile(member, io.BytesIO(b"\xff"))
    path = tmp_path / "s.tar"
    error = f"webdataset: {path}: sample '0': 'txt': b'\\xff' is not UTF-8: pass decoders={{'txt': bytes}}"
    with raises(pipeline.DataLossError, error):
        list(pipeline.webdataset(path))
    assert [sample["txt"] for sample in pipeline.webdataset(path, decoders={"txt": bytes})] == [b"\xff"]


def test_a_column_is_of_one_kind(tmp_path):
    with raises(TypeError, "arrays: the input has both str and bytes: decode or encode some of them"):
        pipeline.arrays(np.array(["a", b"b"], object))
    mixed = pipeline.mix([lines(tmp_path), lines(tmp_path, encoding=None)], seed=1)
    with pytest.raises(TypeError, match=r"is (str|bytes) in one example and (str|bytes) in another"):
        list(mixed.batch(12))


def test_a_state_of_bytes_is_none_of_text(tmp_path):
    with iter(lines(tmp_path, encoding=None)) as read:
        next(read)
        state = read.state_dict()
    with pytest.raises(pipeline.StateMismatchError, match="text: encoding was 'bytes' when the state was saved"):
        iter(lines(tmp_path)).load_state_dict(state)


@pytest.mark.parametrize(("data", "wrong", "right"), [("a", b"", ""), (b"a", "<pad>", b"<pad>")])
def test_padding_of_the_other_kind(data, wrong, right):
    rows = pipeline.dataset([{"words": [data, data]}, {"words": [data]}])
    text = (
        f"component 'words' is {type(data).__name__}, and pad={wrong!r} is {type(wrong).__name__}: write pad={right!r}"
    )
    with raises(TypeError, f"batch: {text}"):
        list(rows.batch(2, pad=wrong))
    with raises(TypeError, f"bucket: {text}"):
        list(rows.bucket([9], [2, 2], length="words", pad={"words": wrong}))
    [batch] = rows.batch(2, pad=right)
    assert batch["words"].tolist() == [[data, data], [data, right]]
