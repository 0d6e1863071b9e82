"""pack: sequences in rows with equal length, with segments, positions, labels and cumulative lengths."""

import numpy as np
import pytest
from dataset_contract import check, stream

import pipeline
from pipeline.workers.choice import processes

ROWS = [[n] * n for n in (2, 5, 1, 3)]
METHODS = ["concat", "first_fit", "best_fit"]
FITS = METHODS[1:]


def lengths_of(rows):
    """Return the piece lengths per row."""
    return [np.unique(row["segment_ids"][row["segment_ids"] > 0], return_counts=True)[1].tolist() for row in rows]


def documents(count, seed=0, most=40):
    """Sequences whose numbers all differ."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum(rng.integers(0, most, count))
    return np.split(np.arange(1, ends[-1] + 1), ends[:-1])


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


@pytest.mark.parametrize("method", FITS)
def test_whole_sequences(method):
    data = stream(ROWS).pack(5, method=method, pad=-1)
    check(data, list(data))
    rows = [row["tokens"].tolist() for row in data]
    assert sorted(x for row in rows for x in row if x > 0) == sorted(x for row in ROWS for x in row)
    assert [5] * 5 in rows


def test_first_fit_takes_the_oldest_that_has_room():
    data = stream([[n] * n for n in (4, 5, 2, 3, 1, 6)])
    assert lengths_of(data.pack(8, method="first_fit")) == [[4, 2, 1], [5, 3], [6]]
    assert lengths_of(data.pack(8, method="first_fit", buffer=2)) == [[4], [5, 2], [3, 1], [6]]
    check(data.pack(8, method="first_fit", buffer=3), list(data.pack(8, method="first_fit", buffer=3)))


def test_best_fit_takes_the_longest_that_has_room():
    data = stream([[n] * n for n in (4, 5, 2, 3, 1, 6)])
    assert lengths_of(data.pack(8, method="best_fit")) == [[4, 3, 1], [5, 2], [6]]
    assert lengths_of(data.pack(8, method="best_fit", buffer=2)) == [[4], [5, 2], [3, 1], [6]]
    assert lengths_of(data.pack(8, method="best_fit", max_sequences=2)) == [[4, 3], [5, 2], [1, 6]]


@pytest.mark.parametrize("method", FITS)
def test_no_sequence_waits_for_longer_than_the_buffer(method):
    data = stream([np.full(1, 1), *[np.full(7, 7)] * 30]).pack(7, method=method, buffer=5)
    assert next(iter(data))["tokens"].tolist() == [1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [{}, {"max_sequences": 2}, {"begin": -1, "end": -2, "labels": True}], ids=str)
def test_every_token_comes_once_and_resumes(method, options):
    given = documents(60)
    buffer = {} if method == "concat" else {"buffer": 7}
    data = stream(given).pack(16, method=method, cu_seqlens=True, **buffer, **options)
    rows = list(data)
    tokens = np.concatenate([row["tokens"][row["segment_ids"] > 0] for row in rows])
    assert sorted(tokens[tokens > 0]) == sorted(np.concatenate(given))
    check(data, rows)


@pytest.mark.parametrize("method", METHODS)
def test_long_sequences(method):
    data = stream([np.arange(1, 12), np.arange(21, 24)])

    def tokens(long):
        rows = list(data.pack(4, method=method, long=long))
        return sorted(x for row in rows for x in row["tokens"].tolist() if x)

    assert tokens("split") == [*range(1, 12), 21, 22, 23]
    assert tokens("truncate") == [1, 2, 3, 4, 21, 22, 23]
    assert tokens("drop") == [21, 22, 23]
    with pytest.raises(ValueError, match=r"pack: example 0 .*has length 11, and a row has 4: pass long='split'"):
        tokens("error")


@pytest.mark.parametrize("method", METHODS)
def test_truncated_sequences_keep_their_begin_and_end(method):
    given = [np.arange(1, 12), np.arange(21, 23), np.arange(31, 34)]

    def packed(length, **options):
        data = stream(given).pack(length, method=method, long="truncate", **options)
        rows = list(data)
        check(data, rows)
        return sorted(np.concatenate([row["tokens"][row["segment_ids"] > 0] for row in rows]).tolist()), rows

    both, rows = packed(4, begin=-1, end=-2, labels=True)
    assert both == [-2, -2, -2, -1, -1, -1, 1, 2, 21, 22, 31, 32]
    assert [row["labels"].tolist() for row in rows] == [[1, 2, -2, -100], [21, 22, -2, -100], [31, 32, -2, -100]]
    assert [row["tokens"].tolist() for row in rows] == [[-1, 1, 2, -2], [-1, 21, 22, -2], [-1, 31, 32, -2]]
    assert packed(4, end=-2)[0] == [-2, -2, -2, 1, 2, 3, 21, 22, 31, 32, 33]
    begun, rows = packed(4, begin=-1, labels=True)
    assert begun == [-1, -1, -1, 1, 2, 3, 21, 22, 31, 32, 33]
    assert rows[0]["labels"].tolist() == [1, 2, 3, 4]  # without an end token, its last label is the token cut off


def test_a_row_without_room_between_begin_and_end():
    for long in ("truncate", "drop", "error"):
        for options in ({"begin": 1, "end": 2}, {"end": 2}):
            with pytest.raises(pipeline.InvalidArgumentError, match=r"pack: length=.* leaves no room for a sequence"):
                stream(ROWS).pack(len(options), long=long, **options)
    assert [row["tokens"].tolist() for row in stream([[5]]).pack(2, begin=1, end=2)] == [[1, 5], [2, 0]]


@pytest.mark.parametrize("method", FITS)
def test_long_sequences_are_split_into_whole_rows_and_a_rest(method):
    data = stream([np.arange(11), np.arange(2)]).pack(4, method=method)
    assert lengths_of(data) == [[4], [4], [3], [2]]
    assert [row["positions"].tolist() for row in data][1] == [0, 1, 2, 3]
    check(data, list(data))


def test_several_fields():
    given = [{"x": np.arange(n), "y": np.arange(n) / 2} for n in (3, 4)]
    (row,) = stream(given).pack(7)
    assert row["y"].tolist() == [0, 0.5, 1, 0, 0.5, 1, 1.5]


def test_begin_and_end():
    data = stream([np.array([5, 6]), np.array([], int), np.array([7])])
    assert [row["tokens"].tolist() for row in data.pack(5, begin=1, end=2)] == [[1, 5, 6, 2, 1], [7, 2, 0, 0, 0]]
    pairs = stream([{"x": [5, 6], "y": [0.5, 0.25]}])
    (row,) = pairs.pack(5, begin={"x": 1, "y": -1.0}, method="best_fit")
    assert (row["x"].tolist(), row["y"].tolist()) == ([1, 5, 6, 0, 0], [-1.0, 0.5, 0.25, 0, 0])


@pytest.mark.parametrize(("options", "text"), [
    ({"begin": 300}, "pack: begin: 300 does not fit 'x' of dtype uint8"),
    ({"end": {"x": 1}}, "pack: end: there is no value for the field 'y'"),
    ({"end": {"x": 1, "y": 1, "z": 1}}, "pack: end: there is no field 'z'"),
    ({"labels": True}, "no field 'tokens' to make labels of.*such as labels='x'"),
    ({"labels": "y"}, "labels need integers"),
])  # fmt: skip
def test_what_does_not_fit_the_fields(options, text):
    data = pipeline.dataset([{"x": np.array([1], np.uint8), "y": np.array([0.5])}])
    for method in METHODS:
        with pytest.raises(pipeline.InvalidArgumentError, match=text):
            list(data.pack(4, method=method, **options))


def test_labels_do_not_cross_sequences_and_continue_in_the_next_row():
    data = stream([np.array([1, 2, 3], np.uint16), np.array([4, 5], np.uint16)])
    one, other = data.pack(4, labels=True)
    assert (one["labels"].tolist(), other["labels"].tolist()) == ([2, 3, -100, 5], [-100, -100, -100, -100])
    assert (one["labels"].dtype, one["tokens"].dtype) == (np.int32, np.uint16)
    first, second, third = data.pack(2, labels=True, method="best_fit")
    assert [row["labels"].tolist() for row in (first, second, third)] == [[2, 3], [-100, -100], [5, -100]]
    (row,) = stream([{"input_ids": [1, 2], "mask": [True, False]}]).pack(3, labels="input_ids")
    assert row["labels"].tolist() == [2, -100, -100]


def test_cumulative_lengths():
    data = stream([[1] * n for n in (3, 2, 4)])
    full, rest = data.pack(5, cu_seqlens=True)
    assert (full["cu_seqlens"].tolist(), full["max_seqlen"]) == ([0, 3, 5], 3)
    assert (rest["cu_seqlens"].tolist(), rest["max_seqlen"]) == ([0, 4, 5], 4)
    assert (full["cu_seqlens"].dtype, full["max_seqlen"].dtype) == (np.int32, np.int32)
    (batch,) = data.pack(5, cu_seqlens=True, max_sequences=3).batch(2)
    assert batch["cu_seqlens"].tolist() == [[0, 3, 5, 5, 5], [0, 4, 5, 5, 5]]
    assert batch["max_seqlen"].tolist() == [3, 4]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("workers", [2, processes(2)], ids=["threads", "processes"])
def test_rows_are_equal_for_any_workers(method, workers):
    given = pipeline.dataset(documents(300)).shuffle(seed=1)
    alone = given.map(np.negative).pack(64, method=method)
    with iter(given.map(np.negative, workers=workers).pack(64, method=method)) as rows:
        for row, expected in zip(rows, alone, strict=True):
            np.testing.assert_equal(row, expected)


def test_best_fit_is_nearly_full():
    rng = np.random.default_rng(1)
    lengths = np.maximum(1, rng.lognormal(np.log(900) - 0.5, 1.0, 8000)).astype(int)
    rows = list(pipeline.dataset([np.ones(n, np.int32) for n in lengths]).pack(2048, method="best_fit"))
    assert np.mean([row["segment_ids"] > 0 for row in rows]) >= 0.995


def test_elements_count_each_sequence_once():
    for method in METHODS:
        with iter(stream(documents(20)).filter(len).pack(5, method=method)) as rows:
            list(rows)
            assert rows.state_dict()["delivered"]["elements"] == sum(map(bool, map(len, documents(20))))


@pytest.mark.parametrize(("arguments", "text"), [
    ({"length": 0}, "pack: length must be"),
    ({"method": "worst_fit"}, "pack: method must be 'concat' or 'first_fit' or 'best_fit'"),
    ({"long": "cut"}, "pack: long must be"),
    ({"max_sequences": 0}, "pack: max_sequences must be"),
    ({"buffer": 0, "method": "best_fit"}, "pack: buffer must be"),
    ({"buffer": 10}, "pack: buffer: method='concat' keeps no sequences"),
])  # fmt: skip
def test_wrong_arguments(arguments, text):
    with pytest.raises(ValueError, match=text):
        stream(ROWS).pack(**{"length": 4, **arguments})
