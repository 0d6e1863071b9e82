"""window: neighbours stacked; windows may overlap, touch or leave gaps."""

import numpy as np
import pytest
from dataset_contract import check, stream
from tracing import memory_below

import pipeline


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("stride", [None, 1, 2, 5])
@pytest.mark.parametrize("size", [1, 3, 9])
@pytest.mark.parametrize("source", [pipeline.dataset(range(8)), stream(range(8))], ids=["list", "stream"])
def test_window(source, size, stride, whole):
    begins = range(0, 8, stride or size)
    windows = [list(range(8))[i : i + size] for i in begins if i + size <= 8 or not whole]
    check(source.window(size, stride, drop_remainder=whole), windows)


def test_a_window_of_dicts():
    data = pipeline.dataset([{"t": i} for i in range(5)]).window(2, 1)
    check(data, [{"t": [i, i + 1]} for i in range(4)])


def test_windows_of_texts_before_other_steps():
    """Several are requested at once, and each has its own size."""
    texts = list("abcdefg")
    windows = stream(texts).window(3, 1).batch(2)
    assert [each.tolist() for each in windows] == [
        [texts[i : i + 3] for i in (0, 1)],
        [texts[i : i + 3] for i in (2, 3)],
        [texts[4:7]],
    ]


def test_windows_that_do_not_stack():
    with pytest.raises(ValueError, match="window: the value has shape"):
        list(pipeline.dataset([[1], [1, 2]]).window(2))


COLUMNS = {
    "rows": np.arange(600, dtype=np.float32).reshape(200, 3),
    "others": np.arange(200, dtype=">i4"),
    "odd": np.arange(200) % 2 == 1,
}


@pytest.mark.parametrize("names", [["rows"], ["others", "rows"], ["odd", "others"]])
@pytest.mark.parametrize(("size", "stride"), [(4, 4), (7, 3), (5, 1), (3, 8)])
def test_windows_of_columns(names, size, stride):
    """Full windows are built together unless they leave gaps; each has separate arrays."""
    columns = {name: COLUMNS[name] for name in names}
    begins = range(0, 200, stride)
    windows = [{name: column[i : i + size] for name, column in columns.items()} for i in begins]
    data = pipeline.arrays(columns).window(size, stride, drop_remainder=False)
    check(data.prefetch(8), windows)
    full = [each for each in windows if len(each[names[0]]) == size]
    batches = [
        {name: np.stack([each[name] for each in full[i : i + 9]]) for name in names} for i in range(0, len(full), 9)
    ]
    whole = pipeline.arrays(columns).window(size, stride).batch(9)
    check(whole, batches)
    found = list(pipeline.arrays(columns).window(size, stride).shuffle(1))
    for each in found:
        for array in each.values():
            assert array.dtype.isnative
            array[...] = array[0]
    for each, window in zip(found, full, strict=True):
        for name in names:
            assert (each[name] == window[name][0]).all()


@pytest.mark.parametrize("ahead", [1, 64])
def test_windows_before_rows_that_cannot_be_read(tmp_path, ahead):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    name = tmp_path / "damaged.parquet"
    table = {"n": np.arange(50)}
    parquet.write_table(pytest.importorskip("pyarrow").table(table), name, row_group_size=10, compression="none")
    damaged = parquet.read_metadata(name).row_group(3).column(0).dictionary_page_offset
    with name.open("r+b") as file:
        file.seek(damaged)
        file.write(b"\xff" * 8)
    windows = iter(pipeline.parquet([str(name)]).window(4, 2).prefetch(ahead))
    found = [next(windows)["n"][0] for _ in range(14)]
    assert found == list(range(0, 28, 2))
    with pytest.raises(pipeline.errors.DataLossError, match=r"damaged\.parquet"):
        next(windows)


def test_large_windows_that_are_left_out_take_little_memory():
    data = pipeline.arrays(np.arange(300_000)).window(250_000, 100)
    with memory_below(64 << 20):  # one is 2 MB, and there are 501
        (last,) = data.skip(len(data) - 1)
    assert last[0] == 50_000
