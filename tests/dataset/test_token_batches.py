"""batch and bucket by tokens, and row padding."""

import chains
import numpy as np
import pytest
from dataset_contract import check, stream

import pipeline

ROWS = [np.arange(1, n + 1) for n in (3, 1, 2, 5, 4, 1, 1, 1, 6)]
NAMED = [{"tokens": row, "mask": np.ones(len(row)), "label": i} for i, row in enumerate(ROWS)]


def shapes(data, name=None):
    return [(batch if name is None else batch[name]).shape for batch in data]


def test_as_many_as_fit_after_padding():
    data = stream(ROWS).batch(max_tokens=8)
    assert shapes(data) == [(2, 3), (1, 2), (1, 5), (2, 4), (2, 1), (1, 6)]
    check(data, chains.batches_of_tokens(ROWS, 8))
    assert shapes(stream(ROWS).batch(2, max_tokens=8)) == [(2, 3), (1, 2), (1, 5), (2, 4), (2, 1), (1, 6)]


def test_by_a_field_or_a_function():
    by_field = stream(NAMED).batch(max_tokens=8, length="tokens")
    assert shapes(by_field, "tokens") == shapes(stream(ROWS).batch(max_tokens=8))
    check(by_field, list(stream(NAMED).batch(max_tokens=8, length=lambda row: len(row["mask"]))))
    assert shapes(stream(ROWS).batch(max_tokens=8, length="tokens")) == shapes(stream(ROWS).batch(max_tokens=8))


def test_without_padding_lengths_are_added_up():
    data = stream(ROWS).batch(max_tokens=8, collate="row_splits")
    assert [splits.tolist() for _, splits in data] == [[0, 3, 4, 6], [0, 5], [0, 4, 5, 6, 7], [0, 6]]
    check(data, list(data))


def test_a_function_of_the_list():
    data = stream(ROWS).batch(max_tokens=8, collate=len)
    check(data, [2, 1, 1, 2, 2, 1])


def test_the_last_batch_is_dropped_if_more_would_fit():
    assert shapes(stream(ROWS[:3]).batch(max_tokens=8, drop_remainder=True)) == [(2, 3)]
    assert shapes(stream(ROWS[:2]).batch(max_tokens=6, drop_remainder=True)) == [(2, 3)]
    with iter(stream(ROWS[:3]).batch(max_tokens=8, drop_remainder=True)) as batches:
        list(batches)
        assert batches.num_dropped == 1
    for last, kept in ((3, 0), (4, 1)):  # without padding, one token more would fit, or none
        rows = stream([np.zeros(4, np.int64), np.zeros(last, np.int64)])
        assert len(list(rows.batch(max_tokens=8, collate="row_splits", drop_remainder=True))) == kept


def test_shards_get_the_same_number_of_batches():
    data = stream([*ROWS, *ROWS]).batch(max_tokens=8)
    parts = [list(data.shard(i, 5, drop_remainder=True)) for i in range(5)]
    assert {len(part) for part in parts} == {len(list(data)) // 5}
    whole = [chains.plain(batch) for batch in data]
    assert [chains.plain(parts[i % 5][i // 5]) for i in range(len(parts[0]) * 5)] == whole[: len(parts[0]) * 5]


def test_batches_of_other_shards_are_measured_and_not_made():
    made = []

    def collate(rows):
        made.append(len(rows))
        return len(rows)

    assert list(stream(ROWS).batch(max_tokens=8, collate=collate).shard(1, 3)) == [1, 2]
    assert made == [1, 2]


def test_resumes_with_another_number_of_tokens():
    batches = iter(stream(ROWS).batch(max_tokens=8))
    first = next(batches)
    other = iter(stream(ROWS).batch(max_tokens=12))
    with pytest.raises(pipeline.StateMismatchError, match="max_tokens"):
        other.load_state_dict(batches.state_dict())
    other.load_state_dict(batches.state_dict(), allow={"batch_size"})
    rows = [row[row > 0].tolist() for batch in [first, *other] for row in batch]
    assert rows == [row.tolist() for row in ROWS]


def test_lengths_are_asked_for_once_and_in_order():
    asked = []

    def length(row):
        asked.append(len(row))
        return len(row)

    list(stream(ROWS).batch(max_tokens=8, length=length))
    assert asked == list(map(len, ROWS))


@pytest.mark.parametrize("size", [3, 5])
def test_an_error_comes_after_the_batches_before_it(size):
    def fail_at(row):
        if len(row) == size:
            raise LookupError(size)
        return row

    batches = iter(stream(ROWS).map(fail_at).batch(max_tokens=4))
    with pytest.raises(LookupError):
        list(batches)
    given = [] if size == 3 else [[[1, 2, 3]], [[1, 0], [1, 2]]]
    found = []
    with pytest.raises(LookupError):
        found.extend(batch.tolist() for batch in stream(ROWS).map(fail_at).batch(max_tokens=4, length=len))
    assert found in (given, given[:-1])


@pytest.mark.parametrize("way", ["batch", "bucket"])
@pytest.mark.parametrize(("rows", "options", "text"), [
    (ROWS, {"max_tokens": 4}, "example 3 has length 5 and max_tokens is 4: cut or filter such examples"),
    (NAMED, {"max_tokens": 9}, "an example is a dict, whose len.*pass length=, such as length='tokens'"),
    (NAMED, {"max_tokens": 9, "length": "ids"}, "has no field 'ids'; there are .'tokens', 'mask', 'label'."),
    (NAMED, {"max_tokens": 9, "length": "label"}, "'label' has no length: 0 in"),
    (ROWS, {"max_tokens": 9, "length": "ids"}, "is a ndarray, and only a dict has a field 'ids'"),
    (ROWS, {"max_tokens": 9, "length": lambda row: -1}, "must be an integer of at least 0, got -1 for example 0"),
    (ROWS, {"max_tokens": 9, "length": lambda row: 1.5}, "must be an integer of at least 0, got 1.5 for example 0"),
    (ROWS, {"max_tokens": 9, "length": lambda row: None}, "must be an integer of at least 0, got None for example 0"),
])  # fmt: skip
def test_lengths_that_do_not_work(way, rows, options, text):
    with pytest.raises(ValueError, match=text):
        list(getattr(stream(rows), way)(**options))


@pytest.mark.parametrize(("write", "text"), [
    (lambda d: d.batch(), "batch: pass n, the number of elements per batch, or max_tokens="),
    (lambda d: d.batch(max_tokens=0), "batch: max_tokens must be"),
    (lambda d: d.batch(max_tokens=4, max_wait=1.0), "max_tokens= and max_wait= contradict"),
    (lambda d: d.batch(max_tokens=4, collate="stack"), "max_tokens= and collate='stack' contradict"),
    (lambda d: d.batch(max_tokens=4, pad_to=5), "pad_to=5 is above max_tokens=4"),
    (lambda d: d.batch(max_tokens=4, length=5), "batch: length must be callable"),
    (lambda d: d.batch(2, length=len, pad_to=5, pad_to_multiple_of=8), "contradict each other"),
    (lambda d: d.batch(2, length="tokens"), "length= has no effect without max_tokens="),
    (lambda d: d.batch(2, pad_to=0), "batch: pad_to must be"),
    (lambda d: d.batch(2, pad_to_multiple_of=0), "batch: pad_to_multiple_of must be"),
    (lambda d: d.batch(2, pad_side="top"), "batch: pad_side must be 'right' or 'left'"),
    (lambda d: d.batch(2, pad_side="left", collate="row_splits"), "pad_side= and collate='row_splits' contradict"),
    (lambda d: d.bucket(), "bucket: give either boundaries and batch_sizes"),
    (lambda d: d.bucket([2], [1, 1], max_tokens=4), "bucket: give either boundaries and batch_sizes, or max_tokens="),
    (lambda d: d.bucket([8], max_tokens=4, pad_to_boundary=True), "the boundary 8 is above max_tokens=4"),
    (lambda d: d.bucket(max_tokens=4, multiple_of=8), "multiple_of=8 is above max_tokens=4"),
])  # fmt: skip
def test_wrong_arguments(write, text):
    with pytest.raises((ValueError, TypeError), match=text):
        write(stream(ROWS))


def test_padding_on_the_left():
    data = pipeline.dataset([[1, 2, 3], [4]])
    check(data.batch(2, pad=9, pad_side="left"), [[[1, 2, 3], [9, 9, 4]]])
    check(data.batch(2, pad_side="left", pad_to=5), [[[0, 0, 1, 2, 3], [0, 0, 0, 0, 4]]])
    [batch] = pipeline.dataset([np.ones((1, 2)), np.ones((2, 1))]).batch(2, pad_side="left")
    assert batch.tolist() == [[[0, 0], [1, 1]], [[1, 0], [1, 0]]]


def test_padding_to_a_length_or_a_multiple():
    data = pipeline.arrays(np.arange(6).reshape(2, 3))
    check(data.batch(2, pad_to=4, pad=-1), [[[0, 1, 2, -1], [3, 4, 5, -1]]])
    check(data.batch(2, pad_to_multiple_of=2), [[[0, 1, 2, 0], [3, 4, 5, 0]]])
    check(data.batch(2, pad_to_multiple_of=3), [[[0, 1, 2], [3, 4, 5]]])
    [batch] = pipeline.dataset([["a"], ["b", "c"]]).batch(2, pad_to=3, pad="")
    assert batch.tolist() == [["a", "", ""], ["b", "c", ""]]
    with pytest.raises(ValueError, match=r"batch: the value: a row has length 3, and pad_to= is 2 \(example 1\)"):
        list(pipeline.dataset([[1], [1, 2, 3]]).batch(2, pad_to=2))
    with pytest.raises(ValueError, match="value 300 does not fit dtype uint8"):
        list(pipeline.dataset([np.ones(2, np.uint8)]).batch(1, pad_to=4, pad=300))
    with pytest.raises(TypeError, match="dtype"):
        list(pipeline.dataset([np.ones(2, np.uint8), np.ones(2)]).batch(2, pad_to=4))


def test_components_to_pad_are_named():
    data = stream([{"tokens": [1], "box": [1, 2], "label": 3}])
    with pytest.raises(ValueError, match=r"several arrays, \['box', 'tokens'\]: name those to pad, such as pad={'box"):
        list(data.batch(1, pad_to=4))
    check(data.batch(1, pad_to=4, pad={"tokens": 7}), [{"tokens": [[1, 7, 7, 7]], "box": [[1, 2]], "label": [3]}])
    check(stream([{"tokens": [1], "label": 3}]).batch(1, pad_to=2), [{"tokens": [[1, 0]], "label": [3]}])


def test_buckets_by_tokens():
    rng = np.random.default_rng(0)
    rows = [np.full(n, i) for i, n in enumerate(rng.integers(1, 60, 300))]
    data = stream(rows).bucket(max_tokens=256, multiple_of=8)
    batches = list(data)
    assert all(batch.size <= 256 and batch.shape[1] % 8 == 0 for batch in batches)
    lengths = [len(rows[row[0]]) for batch in batches for row in batch]
    assert sorted(lengths) == sorted(map(len, rows))
    assert sum(batch.size for batch in batches) < 1.4 * sum(lengths)
    few = stream(rows[:40]).bucket(max_tokens=256, multiple_of=8)
    check(few, list(few))


def test_buckets_by_tokens_and_boundaries():
    data = stream(ROWS).bucket([3], max_tokens=8)
    assert shapes(data) == [(1, 3), (1, 5), (4, 2), (1, 4), (1, 1), (1, 6)]
    fixed = stream(ROWS).bucket([3, 7], max_tokens=9, pad_to_boundary=True)
    assert shapes(fixed) == [(1, 7), (1, 7), (1, 7), (3, 3), (1, 7), (2, 3)]
    assert shapes(stream(ROWS).bucket([3, 7], [2, 2, 2], multiple_of=4)) == [(2, 4), (2, 8), (2, 4), (2, 8), (1, 4)]
    for each in (data, fixed, stream(ROWS).bucket([3], max_tokens=8, drop_remainder=True)):
        check(each, list(each))


def test_only_components_of_the_length_are_padded_to_a_multiple():
    data = stream([{**row, "box": [1, 2, 3]} for row in NAMED]).bucket(max_tokens=16, length="tokens", multiple_of=4)
    assert {batch["box"].shape[1] for batch in data} == {3}
    assert {batch["mask"].shape[1] for batch in data} == {4, 8}


@pytest.mark.parametrize("options", [{"max_tokens": 12}, {"max_tokens": 8, "n": 2}], ids=str)
def test_another_number_of_tokens_behind_a_function_loses_nothing_or_is_refused(options):
    outcomes = set()
    for k in range(1, 6):
        with iter(stream(ROWS).batch(max_tokens=8).map(np.sum, workers=2)) as batches:
            total = sum(next(batches) for _ in range(k))
            state = batches.state_dict()
        with iter(stream(ROWS).batch(**options).map(np.sum, workers=2)) as other:
            try:
                other.load_state_dict(state, allow={"batch_size"})
            except pipeline.InvalidArgumentError as error:
                outcomes.add("it is within an element of .batch(max_tokens=" in str(error))
            else:
                assert total + sum(other) == sum(map(sum, ROWS))
    assert outcomes <= {True}


@pytest.mark.parametrize("behind", ["skip", "take"])
def test_another_number_of_tokens_is_refused_before_a_step_that_counts(behind):
    one, two = (iter(getattr(stream(ROWS).batch(max_tokens=n), behind)(1)) for n in (8, 12))
    with pytest.raises(pipeline.StateMismatchError, match=r"allow={'batch_size'} is not possible"):
        two.load_state_dict(one.state_dict(), allow={"batch_size"})
