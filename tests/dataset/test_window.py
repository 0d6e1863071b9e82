"""window: neighbours stacked; windows may overlap, touch or leave gaps."""

import pytest
from dataset_contract import check, stream

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


def test_windows_that_do_not_stack():
    with pytest.raises(ValueError, match="window: the value has shape"):
        list(pipeline.dataset([[1], [1, 2]]).window(2))
