"""Functions as sources: called once per example, and without a state, because their reads are unknown."""

import pytest

import pipeline
from pipeline.errors import FailedPreconditionError


@pytest.fixture
def number(tmp_path):
    """A function reading the lines in three files, twice."""
    paths = []
    for i in range(3):
        paths.append(str(tmp_path / f"{i}.txt"))
        (tmp_path / f"{i}.txt").write_text("".join(f"{i}{k:02}\n" for k in range(40)))
    files = pipeline.string_input_producer(paths, num_epochs=2, shuffle=False, collection=[])
    reader = pipeline.TextLineReader()

    def number():
        return int(reader.read(files)[1])

    return number


LINES = [100 * i + k for i in range(3) for k in range(40)] * 2
CHAINS = {
    "batch": (lambda data: data.batch(7), LINES),
    "prefetch": (lambda data: data.batch(7).prefetch(2), LINES),
    "pool": (lambda data: data.shuffle(20, seed=1).batch(7), None),
    "map": (
        lambda data: data.map(lambda x: x + 1).filter(lambda x: x % 3).batch(7),
        [x + 1 for x in LINES if x % 3 < 2],
    ),
    "workers": (lambda data: data.map(str, workers=2).map(int).batch(7), LINES),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_function_over_a_reader(number, name):
    chain, expected = CHAINS[name]
    found = [x for batch in chain(pipeline.dataset(number)) for x in batch.tolist()]
    assert found == expected if expected is not None else sorted(found) == sorted(LINES)


@pytest.mark.parametrize("name", CHAINS)
def test_it_has_no_state_and_the_error_shows_what_to_write(number, name):
    with iter(CHAINS[name][0](pipeline.dataset(number))) as iterator:
        for _ in range(2):
            with pytest.raises(
                FailedPreconditionError, match=r"number is a function.*pipeline\.text\(files\)\.map\(f\)"
            ):
                iterator.state_dict()
            next(iterator)


def test_an_iterator_continues_where_the_one_before_has_ended():
    numbers = iter(range(10))
    data = pipeline.dataset(lambda: next(numbers))
    with iter(data) as first:
        assert [next(first) for _ in range(4)] == [0, 1, 2, 3]
    assert [batch.tolist() for batch in data.batch(4)] == [[4, 5, 6, 7], [8, 9]]


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


@pytest.mark.parametrize(
    "make",
    [lambda: iter([1, 2]), lambda: (x for x in range(3)), lambda: map(abs, [1])],
    ids=["list", "generator", "map"],
)
@pytest.mark.parametrize("n", [None, 2])
def test_a_function_that_makes_iterators_is_refused(make, n):
    """Such a function expects one call per epoch; called per example, it would never end."""
    data = pipeline.dataset(lambda: make())
    with pytest.raises(TypeError, match=r"returned an iterator, .*: pass a generator function, or functools\.partial"):
        list(data if n is None else data.batch(n))
