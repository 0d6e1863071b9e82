"""Batches have the machine's byte order, whatever the input's."""

import numpy as np
import pytest

import pipeline

OTHER = np.dtype("i8").newbyteorder()
KINDS = [OTHER, np.dtype("f4").newbyteorder(), np.dtype("M8[s]").newbyteorder(), np.dtype([("a", OTHER), ("b", "f8")])]


def sources(array, folder):
    path, fortran = folder / "rows.npy", folder / "columns.npy"
    np.save(path, array)
    np.save(fortran, np.asfortranarray(array))
    array.tofile(folder / "records.bin")
    yield "in memory", pipeline.arrays(array)
    yield "of a file", pipeline.arrays(str(path))
    yield "of a file by columns", pipeline.arrays(str(fortran))
    yield "of a mapped file", pipeline.arrays(str(path), memory_map=True)
    yield "of a list", pipeline.dataset(list(array))
    yield "records", pipeline.fixed_length(str(folder / "records.bin"), array[0].nbytes, dtype=array.dtype)


def chains(dataset):
    yield "batch", dataset.batch(4)
    yield "map", dataset.map(lambda row: row).batch(4)
    yield "map in workers", dataset.map(lambda row: row, workers=2).batch(4)
    yield "shuffle", dataset.shuffle(4, seed=1).batch(4)
    yield "rest", dataset.skip(5).batch(2)
    yield "dict", dataset.map(lambda row: {"x": row}).batch(4).map(lambda batch: batch["x"])
    yield "window", dataset.window(4, 4)


@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_batches(dtype, tmp_path):
    array = np.arange(24).astype("i8").reshape(8, 3).astype(dtype)
    for source, dataset in sources(array, tmp_path):
        for chain, batches in chains(dataset):
            found = list(batches)
            assert [batch.dtype for batch in found] == [dtype.newbyteorder("=")] * len(found), (source, chain)
            if chain != "shuffle" and source != "records":
                begin = 5 if chain == "rest" else 0
                assert np.array_equal(np.concatenate(found), array[begin:]), (source, chain)


def test_large_files_and_padded_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.sources.arrays._WHOLE_BYTES", 0)  # so that a small file is read like a large one
    np.save(tmp_path / "a.npy", np.arange(8, dtype=OTHER))
    (batch,) = pipeline.arrays(str(tmp_path / "a.npy")).batch(8)
    assert (batch.dtype, batch.tolist()) == (np.int64, list(range(8)))
    rows = pipeline.dataset([np.arange(n, dtype=OTHER) for n in (1, 3)])
    (padded,) = rows.batch(2, pad=-1)
    assert (padded.dtype, padded.tolist()) == (np.int64, [[0, -1, -1], [0, 1, 2]])
    ((values, splits),) = rows.batch(2, collate="row_splits")
    assert (values.dtype, values.tolist(), splits.tolist()) == (np.int64, [0, 0, 1, 2], [0, 1, 4])


def test_stores(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=np.arange(8, dtype=OTHER), chunks=(4,))
        (batch,) = pipeline.arrays(file["x"]).batch(8)
    assert (batch.dtype, batch.tolist()) == (np.int64, list(range(8)))
