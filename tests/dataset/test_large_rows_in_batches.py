"""Large results are written into batches, with any steps between function and batch, and with any ending."""

import numpy as np
import pytest

import pipeline

SIZE = 20_000  # float32: 80 KB, large enough to be written to its batch directly
COUNT = 23


def row(i):
    return np.full(SIZE, i, np.float32)


def labelled(i):
    return {"image": row(i), "label": i, "name": f"number {i}"}


def negated(array):
    return -array


def drawn(i):
    return np.full(SIZE, pipeline.example_rng().integers(1 << 20), np.float32)


def firsts(batches):
    """Return the first number in each row; all numbers in a row must be equal."""
    found = []
    for batch in batches:
        assert batch.dtype == np.float32
        assert batch.shape[1:] == (SIZE,)
        assert batch.flags.writeable
        assert batch.flags.c_contiguous
        assert (batch == batch[:, :1]).all()
        found.append(batch[:, 0].tolist())
        batch[:] = -7  # only this batch changes
    return found


def grouped(numbers, n):
    return [list(numbers[i : i + n]) for i in range(0, len(numbers), n)]


WORKERS = pytest.mark.parametrize("workers", [None, 1, 2])
NUMBERS = list(range(COUNT))
CHAINS = {
    "map": (lambda data, w: data.map(row, workers=w), NUMBERS),
    "map of map": (lambda data, w: data.map(row, workers=w).map(negated), [-i for i in NUMBERS]),
    "two in workers": (lambda data, w: data.map(row, workers=w).map(negated, workers=w), [-i for i in NUMBERS]),
    "map before workers": (lambda data, w: data.map(row).map(negated, workers=w), [-i for i in NUMBERS]),
    "filter before": (lambda data, w: data.filter(lambda i: i % 3).map(row, workers=w), [i for i in NUMBERS if i % 3]),
    "filter behind": (
        lambda data, w: data.map(row, workers=w).filter(lambda array: array[0] % 3),
        [i for i in NUMBERS if i % 3],
    ),
    "flat_map": (lambda data, w: data.flat_map(lambda i: [row(i), row(i)], workers=w), [i // 2 for i in range(46)]),
    "skip and shard": (lambda data, w: data.map(row, workers=w).skip(2).shard(1, 2), NUMBERS[3::2]),
    "repeat": (lambda data, w: data.map(row, workers=w).repeat(2), NUMBERS * 2),
    "shuffle": (lambda data, w: data.map(row, workers=w).shuffle(1, seed=1), NUMBERS),
    "prefetch": (lambda data, w: data.map(row, workers=w).prefetch(3), NUMBERS),
    "cache": (lambda data, w: data.map(row, workers=w).cache(), NUMBERS),
    "checksum": (lambda data, w: data.map(row, workers=w).checksum(), NUMBERS),
}


@WORKERS
@pytest.mark.parametrize("n", [1, 4, 23, 40])
@pytest.mark.parametrize("name", CHAINS)
def test_batches_have_the_results_in_order(name, n, workers):
    make, expected = CHAINS[name]
    data = make(pipeline.dataset(range(COUNT)), workers)
    assert firsts(data.batch(n)) == grouped(expected, n)
    whole = [each for each in grouped(expected, n) if len(each) == n]
    assert firsts(data.batch(n, drop_remainder=True)) == whole


@WORKERS
@pytest.mark.parametrize("name", CHAINS)
def test_resume_after_every_batch(name, workers):
    make, expected = CHAINS[name]
    data = make(pipeline.dataset(range(COUNT)), workers).batch(3)
    batches = iter(data)
    for done in range(len(grouped(expected, 3))):
        other = iter(data)
        other.load_state_dict(batches.state_dict())
        assert firsts(other) == grouped(expected, 3)[done:]
        next(batches)


@WORKERS
def test_resume_in_the_middle_of_a_chunk_with_another_batch_size(workers):
    data = pipeline.dataset(range(COUNT)).filter(lambda i: True).map(row, workers=workers)
    batches = iter(data.batch(5))
    next(batches)
    for n in (2, 7):
        other = iter(data.batch(n))
        other.load_state_dict(batches.state_dict(), allow={"batch_size"})
        assert firsts(other) == grouped(NUMBERS[5:], n)


@WORKERS
def test_dicts_with_labels_and_texts(workers):
    data = pipeline.dataset(range(COUNT)).map(labelled, workers=workers).batch(5)
    for batch, expected in zip(data, grouped(NUMBERS, 5), strict=True):
        assert list(batch) == ["image", "label", "name"]
        assert firsts([batch["image"]]) == [expected]
        assert batch["label"].tolist() == expected
        assert batch["name"].tolist() == [f"number {i}" for i in expected]


@WORKERS
def test_arrays_of_one_shape_keep_their_dtypes(workers):
    def halves(i):
        return {"half": row(i + 0.5), "whole": np.full(SIZE, i, np.int32)}

    data = pipeline.dataset(range(COUNT)).map(halves, workers=workers).batch(5)
    for batch, expected in zip(data, grouped(NUMBERS, 5), strict=True):
        assert firsts([batch["half"]]) == [[i + 0.5 for i in expected]]
        assert batch["whole"].dtype == np.int32
        assert batch["whole"][:, -1].tolist() == expected


@WORKERS
def test_skipped_errors_leave_no_gaps(workers):
    def rare(i):
        if i % 4 == 1:
            raise ValueError("a rare one")
        return row(i)

    data = pipeline.dataset(range(COUNT)).map(rare, workers=workers, on_error="skip").batch(4)
    assert firsts(data) == grouped([i for i in NUMBERS if i % 4 != 1], 4)


@WORKERS
def test_an_error_comes_after_the_batches_before_it(workers):
    def failing(i):
        if i == 17:
            raise ValueError("the one that fails")
        return row(i)

    batches = iter(pipeline.dataset(range(COUNT)).map(failing, workers=workers).batch(4))
    assert firsts(next(batches) for _ in range(4)) == grouped(NUMBERS[:16], 4)
    with pytest.raises(ValueError, match="the one that fails"):
        next(batches)


@WORKERS
def test_a_row_of_another_shape_or_dtype_is_an_error(workers):
    def odd_shape(i):
        return row(i)[: SIZE - (i == 17)]

    def odd_dtype(i):
        return row(i).astype("f8" if i == 17 else "f4")

    for function, error in ((odd_shape, pipeline.errors.InvalidArgumentError), (odd_dtype, TypeError)):
        batches = iter(pipeline.dataset(range(COUNT)).map(function, workers=workers).batch(4))
        assert firsts(next(batches) for _ in range(4)) == grouped(NUMBERS[:16], 4)
        with pytest.raises(error, match="in one example and"):
            next(batches)


@WORKERS
def test_shapes_may_change_from_batch_to_batch(workers):
    def growing(i):
        return np.full((2 + i // 8, SIZE), i, np.float32)

    batches = list(pipeline.dataset(range(24)).map(growing, workers=workers).batch(8))
    assert [batch.shape for batch in batches] == [(8, 2, SIZE), (8, 3, SIZE), (8, 4, SIZE)]
    assert [batch[:, -1, -1].tolist() for batch in batches] == grouped(range(24), 8)


@WORKERS
def test_padded_and_collated_batches(workers):
    data = pipeline.dataset(range(COUNT)).map(lambda i: row(i)[: SIZE - i], workers=workers)
    for batch, expected in zip(data.batch(4, pad=-1), grouped(NUMBERS, 4), strict=True):
        assert batch.shape[1] == SIZE - expected[0]
        assert [each[each >= 0].size for each in batch] == [SIZE - i for i in expected]
    sums = data.batch(4, collate=lambda rows: sum(each[0] for each in rows))
    assert [float(each) for each in sums] == [float(sum(each)) for each in grouped(NUMBERS, 4)]


def test_results_in_any_order():
    data = pipeline.dataset(range(COUNT)).map(row, workers=2, ordered=False).batch(4)
    assert sorted(each for batch in firsts(data) for each in batch) == NUMBERS


def test_draws_are_the_same_for_all_workers():
    found = [
        firsts(pipeline.dataset(range(COUNT)).map(drawn, seed=3, workers=workers).batch(4)) for workers in (None, 1, 2)
    ]
    assert found[0] == found[1] == found[2]


@WORKERS
def test_single_batches_by_number(workers):
    data = pipeline.dataset(range(COUNT)).map(row, workers=workers).batch(4)
    assert firsts(data[i] for i in (3, 0, 5)) == [NUMBERS[12:16], NUMBERS[:4], NUMBERS[20:]]


@WORKERS
def test_batches_of_batches(workers):
    data = pipeline.dataset(range(24)).map(row, workers=workers).batch(2).batch(3)
    found = [batch[:, :, 0].tolist() for batch in data]
    assert found == [grouped(range(i, i + 6), 2) for i in range(0, 24, 6)]


def test_a_kept_row_keeps_its_values():
    kept = []
    for batch in pipeline.dataset(range(200)).map(row, workers=2).batch(4):
        kept.append(batch[1])
    assert [each[5] for each in kept] == list(range(1, 200, 4))
