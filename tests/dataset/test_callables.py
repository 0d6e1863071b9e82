"""A function as a source: what it reads from is found out, so that its position can be saved and found again."""

import json

import pytest

import pipeline
from pipeline.errors import FailedPreconditionError, StateMismatchError


@pytest.fixture
def lines(tmp_path):
    """A function that makes a function, which reads the lines of three files."""
    paths = []
    for i in range(3):
        paths.append(str(tmp_path / f"{i}.txt"))
        (tmp_path / f"{i}.txt").write_text("".join(f"{i}{k:02}\n" for k in range(40)))

    def make(shuffle=False, paths=paths):
        files = pipeline.string_input_producer(paths, num_epochs=2, shuffle=shuffle, seed=3, collection=[])
        reader = pipeline.TextLineReader()

        def number():
            _, line = reader.read(files)
            return int(line)

        return number

    return make


def all_of(dataset, state=None):
    iterator = iter(dataset)
    if state is not None:
        iterator.load_state_dict(state)
    states, batches = [json.loads(json.dumps(iterator.state_dict()))], []
    for batch in iterator:
        batches.append(batch.tolist())
        states.append(json.loads(json.dumps(iterator.state_dict())))
    return batches, states, iterator.fingerprint()


CHAINS = {
    "batch": lambda data: data.batch(7),
    "prefetch": lambda data: data.batch(7).prefetch(2),
    "pool": lambda data: data.shuffle(20, seed=1).batch(7),
    "map": lambda data: data.map(lambda x: x + 1).filter(lambda x: x % 3).batch(7),
}


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_a_function_over_a_reader_resumes_anywhere(lines, chain, shuffle):
    batches, states, fingerprint = all_of(chain(pipeline.dataset(lines(shuffle))))
    assert sum(map(len, batches)) == (240 if chain is not CHAINS["map"] else 160)
    for k in (0, 1, 5, len(batches) - 1, len(batches)):
        rest, _, again = all_of(chain(pipeline.dataset(lines(shuffle))), states[k])
        assert rest == batches[k:]
        assert again == fingerprint


def test_rows_of_a_producer_resume():
    def make():
        rows = pipeline.slice_input_producer([list(range(50))], num_epochs=2, seed=5, collection=[])
        return pipeline.dataset(lambda: rows()[0] * 2).batch(8)

    batches, states, fingerprint = all_of(make())
    rest, _, again = all_of(make(), states[3])
    assert (rest, again) == (batches[3:], fingerprint)


def test_a_reader_that_is_used_elsewhere_is_refused(lines):
    number = lines()
    iterator = iter(pipeline.dataset(number))
    next(iterator)
    with pytest.raises(FailedPreconditionError, match="belongs to an iterator whose order is fixed"):
        number()
    iterator.close()
    number()


def test_other_files_are_a_mismatch(lines, tmp_path):
    iterator = iter(pipeline.dataset(lines()).batch(7))
    next(iterator)
    state = iterator.state_dict()
    iterator.close()
    other = iter(pipeline.dataset(lines(paths=[str(tmp_path / "1.txt"), str(tmp_path / "0.txt")])).batch(7))
    other.load_state_dict(state)
    with pytest.raises(StateMismatchError, match="input_producer"):
        next(other)


def test_a_function_that_reads_from_nothing_known_has_no_state():
    numbers = iter(range(10))
    iterator = iter(pipeline.dataset(lambda: next(numbers)).batch(4))
    next(iterator)
    with pytest.raises(FailedPreconditionError, match="it reads from nothing that knows its place"):
        iterator.state_dict()
    assert [batch.tolist() for batch in iterator] == [[4, 5, 6, 7], [8, 9]]


def test_a_registered_queue_runner_starts_with_the_iterator():
    queue = pipeline.FIFOQueue(10, "int64", shapes=[()])
    numbers = iter(range(20))
    number = pipeline.limit_epochs(lambda: next(numbers), 20)
    pipeline.add_queue_runner(pipeline.QueueRunner(queue, [lambda: queue.enqueue(number())]))
    assert [batch.tolist() for batch in pipeline.dataset(queue).batch(8)] == [
        [*range(8)],
        [*range(8, 16)],
        [16, 17, 18, 19],
    ]


def test_a_thread_that_fails_does_not_end_a_dataset_in_silence():
    queue = pipeline.FIFOQueue(10, "int64", shapes=[()])
    numbers = iter(range(20))

    def fill():
        number = next(numbers)
        if number == 5:
            raise KeyError("number five")
        queue.enqueue(number)

    pipeline.add_queue_runner(pipeline.QueueRunner(queue, [fill]))
    iterator = iter(pipeline.dataset(queue).batch(2))
    got = []
    with pytest.raises(KeyError, match="number five"):
        got.extend(iterator)
    assert [batch.tolist() for batch in got] == [[0, 1], [2, 3]]
    assert list(iterator) == []


def test_a_generator_function_may_read_from_a_producer(tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\n3\n")

    def lines():
        files = pipeline.string_input_producer([str(tmp_path / "a.txt")], num_epochs=1, collection=[])
        reader = pipeline.TextLineReader()
        while True:
            try:
                yield int(reader.read(files)[1])
            except pipeline.errors.OutOfRangeError:
                return

    for workers in (0, 1):
        data = pipeline.dataset(lines).batch(2).prefetch(workers)
        assert [batch.tolist() for batch in data] == [[1, 2], [3]]
