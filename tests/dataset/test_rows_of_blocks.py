"""Batches over rows in blocks equal those over single rows, and resume at each row."""

import itertools

import numpy as np
import pytest

import pipeline

SIZES = [1000, 1, 7, 512, 64, 0, 129, 300]  # block sizes
ROWS = sum(SIZES)


def ends():
    return list(itertools.pairwise(np.cumsum([0, *SIZES]).tolist()))


def numbers(begin, end):
    return np.arange(begin, end, dtype=np.float32)


BLOCKS = {
    "array": lambda a, b: np.arange(3 * a, 3 * b).reshape(-1, 3),
    "tuple": lambda a, b: (numbers(a, b), np.arange(a, b)),
    "tuple of one": lambda a, b: (numbers(a, b),),
    "list of one": lambda a, b: [numbers(a, b)],
    "dict": lambda a, b: {"x": numbers(a, b), "y": np.arange(2 * a, 2 * b).reshape(-1, 2)},
    "bytes": lambda a, b: np.array([b"%d" % i for i in range(a, b)], object),
    "bytes and numbers": lambda a, b: {"name": np.array([b"%d" % i for i in range(a, b)], object), "x": numbers(a, b)},
    "objects in rows": lambda a, b: np.array([[str(i), None] for i in range(a, b)], object).reshape(-1, 2),
    "other byte order": lambda a, b: numbers(a, b).astype(">f4"),
    "every other row": lambda a, b: np.arange(2 * a, 2 * b)[::2],
    "read only": lambda a, b: np.broadcast_to(np.float64(a), (b - a, 2)),
    "nested": lambda a, b: {"x": (numbers(a, b), numbers(a, b)), "y": numbers(a, b)},
}


class Blocks:
    """Blocks with one dtype, the same in each epoch."""

    def __init__(self, kind):
        self.make = BLOCKS[kind]

    def __iter__(self):
        return (self.make(*each) for each in ends())


def one_by_one(kind):
    """Return each row as a separate block."""
    make = BLOCKS[kind]
    return [make(i, i + 1) for begin, end in ends() for i in range(begin, end)] if kind != "read only" else None


def plain(value):
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(map(plain, value))
    return value.dtype.str, value.shape, value.tolist()


@pytest.mark.parametrize("n", [1, 50, 128, 600])
@pytest.mark.parametrize("kind", [each for each in BLOCKS if each != "read only"])
def test_batches_are_those_of_single_rows(kind, n):
    found = list(map(plain, pipeline.dataset(Blocks(kind)).unbatch().batch(n)))
    rows = pipeline.dataset(one_by_one(kind)).unbatch()
    assert found == list(map(plain, rows.batch(n)))
    assert len(found) == -(-ROWS // n)


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("room", [0, 2, 40])
def test_a_state_after_each_batch_continues(kind, room):
    data = pipeline.dataset(Blocks(kind)).unbatch().batch(60).prefetch(room)
    straight = iter(data)
    states, batches = [straight.state_dict()], []
    for batch in straight:
        batches.append(plain(batch))
        states.append(straight.state_dict())
    for taken, state in enumerate(states):
        again = iter(data)
        again.load_state_dict(state)
        assert list(map(plain, again)) == batches[taken:]


@pytest.mark.parametrize("room", [0, 2, 40])
def test_states_of_earlier_batches_continue(room):
    data = pipeline.dataset(Blocks("tuple")).unbatch().batch(60).prefetch(room)
    batches = list(map(plain, data))
    iterator = iter(data)
    for taken in range(1, 31):
        next(iterator)
        for behind in {0, 5, taken} & set(range(taken + 1)):
            again = iter(data)
            again.load_state_dict(iterator.state_dict(behind=behind))
            assert plain(next(again)) == batches[taken - behind]


def test_skipped_and_nested_batches():
    data = pipeline.dataset(Blocks("array")).unbatch().batch(20)
    all_of_it = [batch.tolist() for batch in data]
    for room in (0, 9, 64):
        ahead = data.prefetch(room)
        assert [batch.tolist() for batch in ahead.skip(37)] == all_of_it[37:]
        assert [batch.tolist() for batch in ahead.prefetch(20)] == all_of_it
        assert [batch.tolist() for batch in ahead.prefetch(20).map(np.negative).map(np.negative)] == all_of_it
    assert [batch.tolist() for batch in data.unbatch().batch(20)] == all_of_it
    pairs = data.batch(2, drop_remainder=True)
    assert [each.tolist() for pair in pairs for each in pair] == all_of_it[: len(all_of_it) // 2 * 2]


def test_a_generator_may_fill_one_block_again_and_again():
    def blocks():
        block = np.empty(1000)
        for i in range(5):
            block[:] = np.arange(1000 * i, 1000 * i + 1000)
            yield block

    for room in (0, 2, 40):
        found = np.concatenate(list(pipeline.dataset(blocks).unbatch().batch(64).prefetch(room)))
        assert found.tolist() == list(range(5000))


def test_a_batch_is_the_callers():
    block = np.arange(1000)
    for batch in pipeline.dataset([block]).unbatch().batch(100):
        batch[:] = -1
    assert block.tolist() == list(range(1000))


def test_arrays_among_strings_are_an_error():
    column = np.array([b"x"] * 400, object)
    column[250] = np.arange(3)
    batches = pipeline.dataset([column]).unbatch().batch(50)
    alone = pipeline.dataset([column[:300]]).unbatch().batch(50)
    assert [len(each) for each in itertools.islice(batches, 5)] == [50] * 5
    assert outcome(batches) == outcome(alone.map(lambda batch: batch))


def outcome(data):
    found = []
    try:
        found.extend(len(each) for each in itertools.islice(data, 6))
    except Exception as error:
        return found, type(error), str(error)
    return found


@pytest.mark.parametrize("make", ["csv", "text", "fixed_length"])
def test_files_in_batches(tmp_path, make):
    rows = 5000
    names = []
    for part in range(3):
        name = tmp_path / f"{part}.csv"
        numbers = range(part * rows, part * rows + rows)
        name.write_text("a,b\n" * (make == "csv") + "".join(f"{i:07},x{i:06}\n" for i in numbers))
        names.append(str(name))
    source = pipeline.fixed_length(names, 16) if make == "fixed_length" else getattr(pipeline, make)(names)
    single = [plain(batch) for batch in source.map(lambda row: row).batch(70)]
    iterator = iter(source.batch(70))
    states, batches = [], []
    for batch in iterator:
        batches.append(plain(batch))
        states.append(iterator.state_dict())
    assert batches == single
    for taken in range(0, len(states), 11):
        again = iter(source.batch(70))
        again.load_state_dict(states[taken])
        assert [plain(batch) for batch in again] == batches[taken + 1 :]


def test_timeouts_between_batches_lose_nothing():
    data = pipeline.dataset(Blocks("tuple")).unbatch().batch(60).prefetch(1)
    iterator = iter(data)
    found = []
    while True:
        try:
            found.append(plain(iterator.next(timeout=10)))
            found.append(plain(next(iterator)))
        except StopIteration:
            break
    assert found == list(map(plain, data))


def test_no_object_is_lost_or_kept(tmp_path):
    class Thing:
        alive = 0

        def __init__(self):
            Thing.alive += 1

        def __del__(self):
            Thing.alive -= 1

    rows = np.array([f"{i}" for i in range(1000)], object)
    kept = list(pipeline.dataset([rows]).unbatch().batch(100))
    del rows
    assert [each for batch in kept for each in batch] == [f"{i}" for i in range(1000)]
    things = np.array([Thing() for _ in range(1000)], object)
    list(pipeline.dataset([things]).unbatch().batch(100))
    del things
    assert Thing.alive == 0
