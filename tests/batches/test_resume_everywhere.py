"""A loop that is saved after any of its batches, and resumed, gives what the loop that was not stopped gives."""

import json
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pipeline
import pipeline.batches.ledger
import pipeline.flow.lockstep

ROWS = 23


@pytest.fixture(autouse=True)
def short_journal(monkeypatch):
    """Entries so close together that small inputs have many."""
    monkeypatch.setattr(pipeline.batches.ledger, "EVERY", 4)
    monkeypatch.setattr(pipeline.flow.lockstep, "_LOOK", 3)


@pytest.fixture(scope="module")
def pool():
    with ThreadPoolExecutor(2) as made:
        yield made


@pytest.fixture
def files(tmp_path, pool):
    """Lines with numbers, in files of different lengths, one of them empty."""
    paths = []
    for i, count in enumerate((13, 0, 20, 1, 34)):
        paths.append(tmp_path / f"{i}.txt")
        paths[-1].write_text("".join(f"{100 * i + j}\n" for j in range(count)))
    return Files(paths, pool)


class Files(list):
    """Their paths; and the executor for what is mapped."""

    def __init__(self, paths, pool):
        super().__init__(paths)
        self.pool = pool


def array(files):
    return np.arange(57).reshape(57, 1), {}


def listed(files):
    return list(range(57)), {}


def slices(files):
    return pipeline.slice_input_producer([np.arange(ROWS), np.arange(ROWS) * 2.0], num_epochs=3, seed=5), {}


def kept_slices(files):
    return pipeline.slice_input_producer([np.arange(ROWS)], num_epochs=3, seed=5), {
        "keep_input": lambda row: row[0] % 3 != 0
    }


def producer(files):
    return pipeline.range_input_producer(ROWS, num_epochs=3, seed=4), {}


def function(files):
    queue = pipeline.range_input_producer(ROWS, num_epochs=3, seed=4)

    def example():
        number = queue.dequeue()
        return {"number": number, "noise": pipeline.example_rng().random()}

    return example, {}


def kept(files):
    queue = pipeline.range_input_producer(ROWS, num_epochs=3, seed=4)
    return lambda: int(queue.dequeue()), {"keep_input": lambda number: number % 3 != 0}


def failing(files):
    queue = pipeline.range_input_producer(ROWS, num_epochs=3, seed=4)

    def example():
        number = int(queue.dequeue())
        if number % 4 == 1:
            raise ValueError(number)
        return np.zeros(2 if number % 5 == 2 else 1) + number  # some do not fit

    return example, {"on_error": "skip"}


def lines(files):
    queue = pipeline.string_input_producer(files, num_epochs=2, seed=4)
    reader = pipeline.TextLineReader()
    return lambda: reader.read(queue), {}


def line_blocks(files):
    queue = pipeline.string_input_producer(files, num_epochs=2, seed=4)
    reader = pipeline.TextLineReader()
    return lambda: np.array([int(value) for value in reader.read_up_to(queue, 5).values]), {"enqueue_many": True}


def two_readers(files):
    queue = pipeline.string_input_producer(files, num_epochs=2, seed=4)
    first, second = pipeline.TextLineReader(), pipeline.TextLineReader(name="second")
    return lambda: (first.read(queue).value, second.read(queue).value), {}


def pairs(files):
    queue = pipeline.range_input_producer(ROWS, num_epochs=4, seed=4)
    return lambda: (queue.dequeue(), queue.dequeue()), {}


class Counting:
    """An iterable that can say where it is."""

    def __init__(self):
        self._at = 0

    def __iter__(self):
        while self._at < 57:
            self._at += 1
            yield self._at - 1

    def state_dict(self):
        return {"at": self._at}

    def load_state_dict(self, state):
        self._at = state["at"]


def stateful(files):
    return Counting(), {}


def noisy(number):
    return {"number": number, "noise": pipeline.example_rng().random()}


def mapped(files):
    return pipeline.map_ahead(noisy, range(57), files.pool, chunksize=3, buffersize=4), {}


def kept_mapped(files):
    return mapped(files)[0], {"keep_input": lambda example: example["number"] % 3 != 0}


def failing_mapped(files):
    def some(number):
        if number % 5 == 2:
            raise ValueError(number)
        return noisy(number)

    return pipeline.map_ahead(some, range(57), files.pool, chunksize=3, buffersize=4), {"on_error": "skip"}


SOURCES = [array, listed, slices, kept_slices, producer, function, kept, failing, lines, line_blocks, two_readers]
SOURCES += [pairs, stateful, mapped, kept_mapped, failing_mapped]


def make(source, files, held_back, threads):
    examples, options = source(files)
    options = {"num_threads": threads, "deterministic": True, "allow_smaller_final_batch": True, **options}
    if held_back is None:
        return pipeline.batch(examples, 6, capacity=random.choice([6, 40]), **options)
    capacity = held_back + random.choice([1, 9, 100])
    return pipeline.shuffle_batch(examples, 6, capacity, held_back, seed=1, **options)


def same_moment(state, other):
    """Whether two states are equal, except for how far threads have read ahead, which is a matter of time."""
    keys = (state.keys() | other.keys()) - {"files", "read"}
    differing = [key for key in keys if state.get(key) != other.get(key)]
    return not differing or print([(key, state.get(key), other.get(key)) for key in differing])


@pytest.mark.parametrize("held_back", [None, 0, 1, 7, 40, 200])
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_every_moment(source, files, held_back):
    with make(source, files, held_back, 1) as loop:
        states = [loop.state_dict()]
        whole = []
        for each in loop:
            whole.append(repr(each))
            states.append(loop.state_dict())
        fingerprint = loop.fingerprint()
    for done in range(len(whole) + 1):
        state = json.loads(json.dumps(states[done]))
        assert state == states[done]
        with make(source, files, held_back, random.choice([1, 2, 4])) as loop:
            loop.load_state_dict(state)
            assert loop.state_dict() == state
            for expected in whole[done : done + 1]:
                assert repr(next(loop)) == expected
            middle = loop.state_dict()
            if done < len(whole):
                assert same_moment(middle, states[done + 1])
        with make(source, files, held_back, random.choice([1, 3])) as loop:
            loop.load_state_dict(middle)
            assert [repr(each) for each in loop] == whole[done + 1 :]
            assert loop.fingerprint() == fingerprint


def joined(files):
    """Three sources, which end one after the other."""
    return [list(range(n, n + count)) for n, count in ((100, 7), (200, 40), (300, 21))]


@pytest.mark.parametrize("held_back", [None, 0, 7, 40])
def test_every_moment_of_a_join(files, held_back):
    def make():
        options = {"deterministic": True, "allow_smaller_final_batch": True}
        if held_back is None:
            return pipeline.batch_join(joined(files), 3, **options)
        return pipeline.shuffle_batch_join(joined(files), 3, held_back + 5, held_back, seed=1, **options)

    with make() as loop:
        states = [loop.state_dict()]
        whole = []
        for each in loop:
            whole.append(each.tolist())
            states.append(loop.state_dict())
        fingerprint = loop.fingerprint()
    for done, state in enumerate(states):
        with make() as loop:
            loop.load_state_dict(json.loads(json.dumps(state)))
            assert [each.tolist() for each in loop] == whole[done:]
            assert loop.fingerprint() == fingerprint


class TestWhatIsNoState:
    def loop(self):
        return pipeline.batch(range(9), 2, deterministic=True)

    def test_a_checkpoint_that_has_it(self):
        checkpoint = {"step": 1, "input": self.loop().state_dict()}
        text = r"its keys are 'step', 'input'\..*pass that part, such as checkpoint\[\"input\"\]"
        with pytest.raises(pipeline.errors.InvalidArgumentError, match=text):
            self.loop().load_state_dict(checkpoint)
        self.loop().load_state_dict(checkpoint["input"])

    def test_a_name_for_a_collection_of_names(self):
        with pytest.raises(
            TypeError, match=r"^allow must be a collection of names, such as {'batch_size'}, not 'batch"
        ):
            self.loop().load_state_dict(self.loop().state_dict(), allow="batch_size")


@pytest.mark.parametrize("pool", [None, 20])
def test_slices_whose_seeds_chance_gave(pool):
    def loop():
        slices = pipeline.slice_input_producer([np.arange(100)], num_epochs=2, collection=[])
        if pool is None:
            return pipeline.batch(slices, 5, deterministic=True)
        return pipeline.shuffle_batch(slices, 5, 50, pool, deterministic=True)

    with loop() as batches:
        next(batches)
        state = batches.state_dict()
        rest = [each.tolist() for each in batches]
    with loop() as resumed:
        resumed.load_state_dict(state)
        assert [each.tolist() for each in resumed] == rest
