"""arrays: from dask and xarray, SciPy's sparse matrices; and DataFrames as datasets."""

import numpy as np
import pytest
from source_contract import SourceContract

import pipeline

COUNT = 23
ROWS = np.arange(COUNT * 3, dtype=np.float32).reshape(COUNT, 3)
SPARSE = np.zeros((COUNT, 5))
SPARSE[np.arange(COUNT), np.arange(COUNT) % 4] = SPARSE[:, 4] = 1.0 + np.arange(COUNT)


def number_of(rows):
    return (rows[:, 0] // 3).astype(int).tolist()


class TestDask(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True)
    def _one_piece_per_chunk(self, monkeypatch):
        self.dask = pytest.importorskip("dask.array", reason="needs dask: make test-sources")
        monkeypatch.setattr("pipeline.sources.stored._PIECE_BYTES", 1)  # private: so that a chunk is a piece
        with pytest.importorskip("dask").config.set(scheduler="synchronous"):  # dask keeps its threads
            yield

    def make(self, **options):
        chunks = ((5, 3, 7, 8), 3)
        return pipeline.arrays({"x": self.dask.from_array(ROWS, chunks=chunks), "n": np.arange(COUNT)}, **options)

    def numbers(self, batch):
        assert batch["x"].dtype == np.float32
        assert number_of(batch["x"]) == batch["n"].tolist()
        return batch["n"].tolist()


def test_each_chunk_of_dask_is_computed_once():
    dask = pytest.importorskip("dask.array", reason="needs dask: make test-sources")
    computed = []

    def seen(block):
        computed.append(len(block))
        return block

    large = dask.ones((6, 1 << 18), chunks=(2, 1 << 18), dtype="f8").map_blocks(seen, dtype="f8", meta=np.ones((0, 0)))
    assert sum(map(len, pipeline.dataset(large).batch(1))) == 6
    assert computed == [2, 2, 2]


@pytest.mark.parametrize("rows", [1, 3])
def test_blocks_of_another_size_than_declared(rows):
    dask = pytest.importorskip("dask.array", reason="needs dask: make test-sources")
    odd = dask.from_array(ROWS, chunks=(5, 3)).map_blocks(
        lambda block, block_info=None: block if block_info[0]["chunk-location"][0] != 2 else block[:rows],
        dtype=ROWS.dtype,
    )
    text = rf"arrays: component 'x': rows .*: block 2 has rows of shape \[{rows}, 3\], and \[5, 3\] were declared"
    with pytest.raises(pipeline.DataLossError, match=text):
        list(pipeline.arrays({"x": odd}).batch(5))


def test_masked_values_of_dask():
    dask = pytest.importorskip("dask.array", reason="needs dask: make test-sources")
    masked = dask.ma.masked_equal(dask.arange(6, chunks=2), 3)
    with pytest.raises(pipeline.InvalidArgumentError, match="1 of 6 values missing: fill them"):
        list(pipeline.arrays(masked))
    assert list(pipeline.arrays(dask.ma.filled(masked, -1))) == [0, 1, 2, -1, 4, 5]


def test_blocks_of_another_dtype_than_that_of_the_array():
    dask = pytest.importorskip("dask.array", reason="needs dask: make test-sources")
    whole, half = ({"dtype": "i8", "meta": np.zeros(0, "i8")}, {"dtype": "f8", "meta": np.zeros(0)})
    numbers = dask.arange(6, chunks=2)
    [batch] = pipeline.arrays(numbers.map_blocks(lambda block: block, **half)).batch(6)
    assert batch.dtype == np.float64
    with pytest.raises(pipeline.InvalidArgumentError, match="declares int64, but rows from 0 on have float64"):
        list(pipeline.arrays(numbers.map_blocks(lambda block: block / 2, **whole)))


def test_chunks_of_unknown_size():
    dask = pytest.importorskip("dask.array", reason="needs dask: make test-sources")
    given = dask.from_array(ROWS, chunks=(5, 3))
    with pytest.raises(ValueError, match=r"component 'x' has an unknown number of rows: call its compute_chunk_sizes"):
        pipeline.arrays({"x": given[given[:, 0] > 9]})


class TestXarray:
    @pytest.fixture(autouse=True)
    def _xarray(self):
        self.xarray = pytest.importorskip("xarray", reason="needs xarray: make test-sources")

    def test_an_array_in_memory_is_shuffled_by_row(self):
        pytest.importorskip("dask.array")
        x = self.xarray.DataArray(ROWS, dims=("time", "channel"))
        for given in (x, x.chunk({"time": 4})):
            [batch] = pipeline.dataset({"x": given}).batch(COUNT)
            np.testing.assert_array_equal(batch["x"], ROWS)
        order = [number_of(batch) for batch in pipeline.arrays(x, shuffle=True, seed=2).batch(COUNT)]
        assert order == [number_of(batch) for batch in pipeline.arrays(ROWS, shuffle=True, seed=2).batch(COUNT)]

    @pytest.mark.parametrize("make", [pipeline.arrays, pipeline.dataset])
    def test_a_dataset_is_refused(self, make):
        given = self.xarray.Dataset({"x": (("time", "channel"), ROWS), "scale": (("channel",), ROWS[0])})
        with pytest.raises(TypeError, match=r"which has arrays by name: pass a dict of the arrays"):
            make(given)


class TestSparse(SourceContract):
    count = COUNT
    form = "csr"

    @pytest.fixture(autouse=True)
    def _scipy(self):
        self.scipy = pytest.importorskip("scipy.sparse", reason="needs SciPy: make test-sources")

    def make(self, **options):
        given = self.scipy.csr_array(SPARSE).asformat(self.form)
        return pipeline.arrays({"x": given, "n": np.arange(COUNT)}, **options)

    def numbers(self, batch):
        np.testing.assert_array_equal(batch["x"], SPARSE[batch["n"]])
        return batch["n"].tolist()


class TestPairs(TestSparse):
    def make(self, **options):
        return super().make(sparse=True, **options)

    def numbers(self, batch):
        indices, values = batch["x"]
        for number, *row in zip(batch["n"].tolist(), indices.tolist(), values.tolist(), strict=True):
            wanted = np.flatnonzero(SPARSE[number])
            assert row == [wanted.tolist(), SPARSE[number][wanted].tolist()]
        return batch["n"].tolist()


def test_pairs_of_several_lengths():
    scipy = pytest.importorskip("scipy.sparse", reason="needs SciPy: make test-sources")
    given = scipy.csr_array(np.array([[0, 0, 2.5], [0, 0, 0], [1, 2, 3]]))
    [(indices, values)] = pipeline.arrays(given, sparse=True).batch(3, pad=-1)
    assert indices.tolist() == [[2, -1, -1], [-1, -1, -1], [0, 1, 2]]
    assert values.tolist() == [[2.5, -1, -1], [-1, -1, -1], [1, 2, 3]]
    assert (indices.dtype, values.dtype) == (np.int64, np.float64)


@pytest.mark.parametrize("array", [True, False])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_formats_of_scipy(form, array):
    scipy = pytest.importorskip("scipy.sparse", reason="needs SciPy: make test-sources")
    given = (scipy.csr_array if array else scipy.csr_matrix)(SPARSE).asformat(form)
    for data in (pipeline.dataset(given), pipeline.dataset({"x": given}).map(lambda row: row["x"])):
        [batch] = data.batch(COUNT)
        np.testing.assert_array_equal(batch, SPARSE)
    indices, values = pipeline.arrays(given, sparse=True)[4]
    assert (indices.tolist(), values.tolist()) == (
        np.flatnonzero(SPARSE[4]).tolist(),
        SPARSE[4][SPARSE[4] > 0].tolist(),
    )


def test_values_that_are_there_twice_are_added():
    scipy = pytest.importorskip("scipy.sparse", reason="needs SciPy: make test-sources")
    given = scipy.csr_array((np.array([1.0, 2.0, 4.0]), [2, 0, 2], [0, 3]), shape=(1, 3))
    assert pipeline.dataset(given)[0].tolist() == [2, 0, 5]
    assert [each.tolist() for each in pipeline.arrays(given, sparse=True)[0]] == [[0, 2], [2, 5]]
    assert given.indices.tolist() == [2, 0, 2]


def test_pairs_are_of_sparse_matrices():
    with pytest.raises(ValueError, match=r"sparse=True is for sparse matrices, and there is none"):
        pipeline.arrays(ROWS, sparse=True)


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_frames_keep_their_columns(library):
    frames = pytest.importorskip(library, reason=f"needs {library}: make test-sources")
    frame = frames.DataFrame({"age": [36, 41], "name": ["Ada", "Bo"]})
    [batch] = pipeline.dataset(frame).batch(2)
    assert {name: column.tolist() for name, column in batch.items()} == {"age": [36, 41], "name": ["Ada", "Bo"]}
    assert pipeline.dataset(frame["age"])[1] == 41
    with pytest.raises(TypeError, match=r"is a DataFrame, whose items are columns: pass a dict of its columns, or use"):
        pipeline.arrays(frame)


def test_tables_of_arrow_keep_their_columns():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"age": [36, 41]})
    assert list(pipeline.dataset(table)) == [{"age": 36}, {"age": 41}]
    assert list(pipeline.dataset(table["age"])) == [36, 41]


def test_a_lazy_frame_has_no_rows_yet():
    polars = pytest.importorskip("polars", reason="needs polars: make test-sources")
    with pytest.raises(TypeError, match=r"pass its \.collect\(\)"):
        pipeline.dataset(polars.LazyFrame({"age": [36]}))


def test_objects_of_polars():
    """Arrow would receive their addresses."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": [1, 2], "thing": [object(), object()]})
    with pytest.raises(pipeline.InvalidArgumentError, match="column 'thing' holds Python objects"):
        pipeline.dataset(frame)
    assert [int(row["x"]) for row in pipeline.arrow(frame, columns=["x"])] == [1, 2]
