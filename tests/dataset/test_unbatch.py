"""unbatch: rows from batches."""

import numpy as np
import pytest
from dataset_contract import check, stream

import pipeline


@pytest.mark.parametrize("n", [1, 3, 20])
def test_what_was_batched(n):
    check(stream(range(10)).batch(n).unbatch(), range(10))
    check(pipeline.dataset(range(10)).batch(n).unbatch().batch(4), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])


def test_structures_and_empty_batches():
    batches = [{"a": np.arange(2), "b": ["x", "y"]}, {"a": np.arange(0), "b": []}, {"a": np.arange(1), "b": ["z"]}]
    check(stream(batches).unbatch(), [{"a": 0, "b": "x"}, {"a": 1, "b": "y"}, {"a": 0, "b": "z"}])


@pytest.mark.parametrize("batch", [1, (np.arange(2), np.arange(3))], ids=["a number", "other lengths"])
def test_what_is_no_batch(batch):
    with pytest.raises(ValueError, match="unbatch: "):
        list(stream([batch]).unbatch())
