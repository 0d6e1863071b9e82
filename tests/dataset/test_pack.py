"""pack: sequences in rows of one length, with segments and positions."""

import numpy as np
import pytest
from dataset_contract import check, stream

ROWS = [[n] * n for n in (2, 5, 1, 3)]


def test_sequences_go_on_in_the_next_row():
    check(stream(ROWS).pack(4), [
        {"tokens": [2, 2, 5, 5], "segment_ids": [1, 1, 2, 2], "positions": [0, 1, 0, 1]},
        {"tokens": [5, 5, 5, 1], "segment_ids": [1, 1, 1, 2], "positions": [0, 1, 2, 0]},
        {"tokens": [3, 3, 3, 0], "segment_ids": [1, 1, 1, 0], "positions": [0, 1, 2, 0]},
    ])  # fmt: skip


def test_a_sequence_goes_on_in_several_rows():
    tokens = [n for row in ROWS for n in row]
    rows = [tokens[i : i + 2] for i in range(0, 11, 2)]
    found = list(stream([[], *ROWS, []]).pack(2))
    assert [row["tokens"].tolist() for row in found] == [*rows[:-1], [3, 0]]
    assert [p for row in found for p in row["positions"]] == [0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0]
    check(stream([[], *ROWS, []]).pack(2), found)


def test_whole_sequences():
    data = stream(ROWS).pack(5, split=False, pad=-1)
    check(data, list(data))
    rows = [row["tokens"].tolist() for row in data]
    assert sorted(x for row in rows for x in row if x > 0) == sorted(x for row in ROWS for x in row)
    assert [5] * 5 in rows


def test_several_fields():
    documents = [{"x": np.arange(n), "y": np.arange(n) / 2} for n in (3, 4)]
    (row,) = stream(documents).pack(7)
    assert row["y"].tolist() == [0, 0.5, 1, 0, 0.5, 1, 1.5]


def test_no_row_is_long_enough():
    with pytest.raises(ValueError, match="has length 5, and a row 4; use split=True"):
        list(stream(ROWS).pack(4, split=False))
