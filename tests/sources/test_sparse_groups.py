"""arrays: sparse matrices in HDF5 and Zarr groups, as AnnData writes them.

`_PIECE_BYTES` is private: users cannot set the piece size, and files with many full pieces would be large.
"""

import h5py
import numpy as np
import pytest
from source_contract import SourceContract
from test_tokens import raises

import pipeline
from pipeline.errors import DataLossError, FailedPreconditionError

scipy = pytest.importorskip("scipy.sparse", reason="needs SciPy: make test-sources")

COUNT = 200
# Paired rows have equal value counts, so that they fit into one batch.
ROWS = np.where((np.arange(COUNT)[:, None] + np.arange(9)) % 3 == 0, np.arange(COUNT)[:, None] + 1, 0).astype("f4")


def write(group, matrix):
    """Write a matrix as AnnData does."""
    matrix.sort_indices()
    for name in ("data", "indices", "indptr"):
        array = getattr(matrix, name)
        if hasattr(group, "create_array"):  # in Zarr
            group.create_array(name, data=array, chunks=(min(16, len(array)),))
        else:
            group.create_dataset(name, data=array, chunks=(min(16, len(array)),), compression="gzip")
    group.attrs.update({"encoding-type": f"{matrix.format}_matrix", "shape": list(matrix.shape)})


class Matrix(SourceContract):
    count = COUNT

    def make(self, **options):
        return pipeline.arrays({"x": self.group, "n": np.arange(COUNT)}, **options)

    def numbers(self, batch):
        np.testing.assert_array_equal(batch["x"], ROWS[batch["n"]])
        assert batch["x"].dtype == np.float32
        return batch["n"].tolist()


class TestHDF5(Matrix):
    @pytest.fixture(autouse=True)
    def _group(self, tmp_path, monkeypatch):
        monkeypatch.setattr("pipeline.sources.stored._PIECE_BYTES", 500)
        with h5py.File(tmp_path / "data.h5ad", "w") as file:
            write(file.create_group("X"), scipy.csr_matrix(ROWS))
        with h5py.File(tmp_path / "data.h5ad") as file:
            self.group = file["X"]
            yield


class TestPairs(TestHDF5):
    def make(self, **options):
        return super().make(sparse=True, **options)

    def numbers(self, batch):
        indices, values = batch["x"]
        for number, *row in zip(batch["n"].tolist(), indices, values, strict=True):
            wanted = np.flatnonzero(ROWS[number])
            assert [each.tolist() for each in row] == [wanted.tolist(), ROWS[number][wanted].tolist()]
        return batch["n"].tolist()


class TestZarr(Matrix):
    @pytest.fixture(autouse=True)
    def _group(self, tmp_path, monkeypatch):
        zarr = pytest.importorskip("zarr")
        monkeypatch.setattr("pipeline.sources.stored._PIECE_BYTES", 500)
        write(zarr.create_group(tmp_path / "data.zarr"), scipy.csr_matrix(ROWS))
        self.group = zarr.open_group(tmp_path / "data.zarr", mode="r")


@pytest.fixture
def file(tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as opened:
        yield opened


def test_rows_without_values(file):
    rows = np.where(np.arange(COUNT)[:, None] % 50 < 10, ROWS, 0)
    write(file.create_group("X"), scipy.csr_matrix(rows))
    [batch] = pipeline.arrays(file["X"]).batch(COUNT)
    np.testing.assert_array_equal(batch, rows)
    assert [len(indices) for indices, _ in pipeline.arrays(file["X"], sparse=True)] == [
        3 * (i % 50 < 10) for i in range(COUNT)
    ]


def test_a_tuple(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(tmp_path / "data.zarr")
    write(group, scipy.csr_matrix(ROWS))
    row, number = pipeline.arrays((group, np.arange(COUNT)))[7]
    assert (row.tolist(), number) == (ROWS[7].tolist(), 7)


def test_one_matrix(file):
    write(file.create_group("X"), scipy.csr_matrix(ROWS))
    data = pipeline.arrays(file["X"])
    assert len(data) == COUNT
    [batch] = data.batch(COUNT)
    np.testing.assert_array_equal(batch, ROWS)
    np.testing.assert_array_equal(np.sort(next(iter(data.shuffle(COUNT, seed=1).batch(COUNT))), 0), np.sort(ROWS, 0))


def test_shapes_of_old_files_and_of_others(file):
    matrix = scipy.csr_matrix(ROWS)
    write(file.create_group("old"), matrix)
    del file["old"].attrs["shape"], file["old"].attrs["encoding-type"]
    file["old"].attrs.update({"h5sparse_format": b"csr", "h5sparse_shape": matrix.shape})
    write(file.create_group("other"), matrix)
    for name in list(file["other"].attrs):
        del file["other"].attrs[name]
    with raises(ValueError, "'/other' of '", "is a group with a sparse matrix and has no attribute 'shape'"):
        pipeline.arrays(file["other"])
    file["other"]["shape"] = matrix.shape
    for name in ("old", "other"):
        assert pipeline.arrays(file[name])[41].tolist() == ROWS[41].tolist()


def test_matrices_by_columns_are_refused(file):
    write(file.create_group("X"), scipy.csc_matrix(ROWS))
    with raises(
        ValueError, "is a sparse matrix by columns (CSC), of which rows cannot be read: write it by rows (CSR)"
    ):
        pipeline.arrays(file["X"])
    del file["X"].attrs["encoding-type"]
    with raises(ValueError, "by columns (CSC)"):
        pipeline.arrays(file["X"])


def test_values_that_are_there_twice_are_added(file):
    group = file.create_group("X")
    group["data"], group["indices"], group["indptr"] = np.array([1.0, 2.0, 4.0]), [2, 0, 2], [0, 3]
    group.attrs["shape"] = (1, 3)
    assert pipeline.arrays(group)[0].tolist() == [2, 0, 5]


@pytest.mark.parametrize("rows", [0, 3])
def test_matrices_without_values(file, rows):
    group = file.create_group("X")
    group["data"], group["indices"] = np.zeros(0, "f4"), np.zeros(0, "i4")
    group["indptr"] = np.zeros(rows + 1, "i4")
    group.attrs["shape"] = (rows, 3)
    assert [each.tolist() for each in pipeline.arrays(group)] == [[0, 0, 0]] * rows


@pytest.mark.parametrize(
    ("indices", "indptr", "text"),
    [
        ([0, 1, 3], [0, 2, 3], "rows 0 to 1 are damaged: "),
        ([0, 1, -1], [0, 2, 3], "rows 0 to 1 are damaged: "),
        ([0, 1], [0, 2, 3], "has arrays that do not fit together: 3 data, 2 indices and an indptr that ends with 3"),
        ([0, 1, 2], [0, 2, 4], "has arrays that do not fit together"),
        ([0, 1, 2], [0, 4, 3], "has arrays that do not fit together"),
        ([0, 1, 2], [1, 2, 3], "has arrays that do not fit together"),
        ([0, 1, 2], [0, 3], "has the shape [2, 3] and an indptr of 1 rows"),
    ],
)
def test_arrays_that_do_not_fit_together(file, indices, indptr, text):
    group = file.create_group("X")
    group["data"], group["indices"], group["indptr"] = np.ones(3), indices, indptr
    group.attrs["shape"] = (2, 3)
    with raises(DataLossError, "arrays: the input, '/X' of '", text):
        list(pipeline.arrays(group))


def test_a_closed_file(tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        write(file.create_group("X"), scipy.csr_matrix(ROWS))
        group = file["X"]
        data = pipeline.arrays({"x": group})
    with raises(FailedPreconditionError, "because its file was closed"):
        list(data)
    with raises(FailedPreconditionError, "because its file was closed"):
        pipeline.arrays(group)


def test_groups_of_other_arrays_are_refused(file):
    file.create_group("X")["data"] = [1]
    with raises(TypeError, "which has arrays by name: pass a dict of the arrays to read"):
        pipeline.arrays(file["X"])
