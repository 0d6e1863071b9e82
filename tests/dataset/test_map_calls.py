"""map in the calling thread: each example once, in order, whatever functions return, raise or draw."""

import contextlib

import numpy as np
import pytest

import pipeline


class Seen:
    """A function recording its arguments."""

    def __init__(self, function):
        self.function, self.calls = function, []

    def __call__(self, example):
        self.calls.append(int(np.sum(example)))
        return self.function(example)


def failing(*which):
    def function(i):
        if i in which:
            raise KeyError(i)
        return np.full(2, i)

    return function


@pytest.mark.parametrize("size", [1, 10, 64, 100])
@pytest.mark.parametrize("which", [(0,), (5,), (63,), (64, 65), (199,), (3, 4, 70, 130)])
def test_an_error_comes_after_the_results_before_it(size, which):
    seen = Seen(failing(*which))
    iterator = iter(pipeline.dataset(range(200)).map(seen).batch(size))
    found = []
    with pytest.raises(KeyError) as caught:
        found.extend(int(row[0]) for batch in iterator for row in batch)
    assert caught.value.args == (which[0],)
    assert f"example {which[0]}" in "".join(getattr(caught.value, "__notes__", [f"example {which[0]}"]))
    assert found == list(range(which[0] // size * size))
    assert seen.calls == list(range(which[0] + 1))
    assert list(iterator) == []


@pytest.mark.parametrize("size", [1, 10, 64, 100])
@pytest.mark.parametrize("which", [(0,), (5,), (63,), (64, 65), (199,), (3, 4, 70, 130), range(200)])
@pytest.mark.parametrize("workers", [None, 1])
def test_errors_that_are_skipped_leave_the_others(size, which, workers):
    seen = Seen(failing(*which))
    iterator = iter(pipeline.dataset(range(200)).map(seen, workers=workers, on_error="skip").batch(size))
    found = [int(row[0]) for batch in iterator for row in batch]
    assert found == [i for i in range(200) if i not in which]
    assert seen.calls == list(range(200))
    assert iterator.num_errors == len(which)


@pytest.mark.parametrize("at", [0, 40, 64, 99])
def test_none_is_an_error(at):
    dataset = pipeline.dataset(range(100)).map(lambda i: None if i == at else i)
    iterator = iter(dataset)
    assert [next(iterator) for _ in range(at)] == list(range(at))
    with pytest.raises(ValueError, match="returned None, which is not an example"):
        next(iterator)


@pytest.mark.parametrize("workers", [None, 1])
def test_one_array_may_be_returned_again_and_again(workers):
    buffer = np.zeros(3)

    def fill(i):
        buffer[...] = i
        return buffer if i % 50 else (buffer, i)

    found = next(iter(pipeline.dataset(range(128)).map(fill, workers=workers).batch(128, collate=list)))
    assert [float(each[0][0] if isinstance(each, tuple) else each[0]) for each in found] == list(range(128))
    assert [i for i, each in enumerate(found) if isinstance(each, tuple)] == [0, 50, 100]


@pytest.mark.parametrize("workers", [None, 1])
@pytest.mark.parametrize(
    "value", [5, 2.5, "text", b"bytes", True, np.float32(3), np.int64(4), np.datetime64("2026-01-01")]
)
def test_single_values_keep_their_dtype(workers, value):
    batches = list(pipeline.dataset(range(100)).map(lambda i: value, workers=workers).batch(70))
    (plain,) = pipeline.dataset([value] * 100).batch(100)
    assert np.concatenate(batches).dtype == plain.dtype
    assert np.concatenate(batches).tolist() == plain.tolist()


def test_the_draws_of_an_example_depend_on_its_number_alone():
    def draw(i):
        return pipeline.example_rng().integers(1 << 40)

    whole = list(pipeline.dataset(range(200)).map(draw, seed=7))
    assert list(pipeline.dataset(range(200)).map(draw, seed=7, workers=2)) == whole
    assert list(pipeline.dataset(range(200)).map(draw, seed=7).skip(70).take(3)) == whole[70:73]
    assert list(pipeline.dataset(range(200)).map(draw, seed=7, on_error="skip")) == whole
    inner = pipeline.dataset(range(3)).map(draw, seed=8)
    thrice = pipeline.dataset(range(200)).map(lambda i: (draw(i), next(iter(inner)), draw(i)), seed=7)
    straight = pipeline.dataset(range(200)).map(lambda i: pipeline.example_rng().integers(1 << 40, size=2), seed=7)
    assert [[one, other] for one, _, other in thrice] == [
        pair.tolist() for pair in straight
    ]  # the second use continues the first
    assert [one for one, _, _ in thrice] == whole
    assert {between for _, between, _ in thrice} == {next(iter(inner))}
    with pytest.raises(pipeline.errors.FailedPreconditionError):
        pipeline.example_rng()


def test_a_function_may_close_the_iterator_that_calls_it():
    def closing(i):
        if i == 20:
            iterator.close()
        return i

    iterator = iter(pipeline.dataset(range(100)).map(closing).batch(50))
    with pytest.raises(pipeline.errors.CancelledError):
        next(iterator)
    with pytest.raises(pipeline.errors.FailedPreconditionError, match="this iterator is closed"):
        list(iterator)


def test_an_interrupt_within_a_function_loses_nothing():
    once = iter([KeyboardInterrupt])

    def interrupted(i):
        if i == 90 and (error := next(once, None)):
            raise error
        return np.full(1, i)

    iterator = iter(pipeline.dataset(range(200)).map(interrupted).batch(20))
    found = []
    with pytest.raises(KeyboardInterrupt):
        found.extend(batch for batch in iterator)
    found.extend(iterator)
    assert np.concatenate(found)[:, 0].tolist() == list(range(200))


@pytest.mark.parametrize("timeout", [None, 0.0, 1e-4, 60])
def test_a_timeout_loses_nothing_and_calls_nothing_twice(timeout):
    seen = Seen(lambda i: np.full(2, i))
    iterator, found = iter(pipeline.dataset(range(300)).map(seen).batch(100).prefetch(1)), []
    for _ in range(3):
        try:
            found.append(iterator.next(timeout=timeout))
        except pipeline.errors.DeadlineExceededError:
            found.append(iterator.next())
    assert np.concatenate(found)[:, 0].tolist() == list(range(300))
    assert seen.calls == list(range(300))


def test_example_rng_in_the_generator_of_a_flat_map():
    def crops(image):
        rng = pipeline.example_rng()
        for _ in range(2):
            yield int(rng.integers(1 << 40))

    data = pipeline.dataset(range(5))
    expected = list(data.flat_map(lambda image: list(crops(image)), seed=1))
    assert len(set(expected)) == 10
    assert list(data.flat_map(crops, seed=1)) == expected
    assert list(data.flat_map(crops, seed=1, workers=2)) == expected
    assert list(data.filter(lambda image: True).flat_map(crops, seed=1)) != expected  # by another function
    assert list(data.flat_map(crops, seed=1).map(lambda x: x)) == expected


def crops(number):
    """A generator: its body runs after the call."""
    rng = pipeline.example_rng()
    for _ in range(3):
        yield number, int(rng.integers(1 << 40))


def listed(number):
    return list(crops(number))


@pytest.mark.parametrize("workers", [None, 2, "processes"])
def test_generators_draw_for_their_example(workers):
    with contextlib.ExitStack() as stack:
        executor = stack.enter_context(pipeline.processes(1)) if workers == "processes" else workers
        data = pipeline.dataset(range(7))
        expected = list(data.flat_map(listed, seed=3))
        assert len({draw for _, draw in expected}) == 21
        assert list(data.flat_map(crops, seed=3, workers=executor)) == expected
        twice = data.flat_map(crops, seed=3, workers=executor).flat_map(lambda each: crops(each[0]))
        assert len({draw for _, draw in twice}) == 63
    with pytest.raises(pipeline.FailedPreconditionError):
        pipeline.example_rng()


@pytest.mark.parametrize("workers", [None, 2])
def test_elements_that_flat_map_makes_have_draws_of_their_own(workers):
    def draw(_):
        return int(pipeline.example_rng().integers(1 << 40))

    flat = pipeline.dataset(range(50)).flat_map(lambda x: [x] * (x % 4), workers=workers)
    expected = list(pipeline.dataset(range(50)).flat_map(lambda x: [x] * (x % 4)).map(draw, seed=5))
    assert len(set(expected)) == 73
    assert list(flat.map(draw, seed=5, workers=workers)) == expected
    assert list(flat.take(30).map(draw, seed=5)) == expected[:30]
    assert list(flat.prefetch(3).map(draw, seed=5)) == expected
    assert list(flat.shard(1, 3).map(draw, seed=5)) == expected[1::3]
    assert list(flat.map(draw, seed=5).shard(1, 3)) == expected[1::3]
    for k in (0, 1, 7, 40, 72):
        with iter(flat.map(draw, seed=5)) as iterator:
            assert [next(iterator) for _ in range(k)] == expected[:k]
            state = iterator.state_dict()
        with iter(flat.map(draw, seed=5)) as iterator:
            iterator.load_state_dict(state)
            assert list(iterator) == expected[k:]


def test_generators_of_nested_maps_do_not_disturb_each_other():
    """Two generators run in turn: each keeps its own numbers, and so does the code between them."""

    def drawn(each):
        return *each, int(pipeline.example_rng().integers(1 << 40))

    data = pipeline.dataset(range(5))
    both = [
        pipeline.zip(data.flat_map(make, seed=1).map(drawn), data.flat_map(make, seed=2)) for make in (crops, listed)
    ]
    assert list(both[0]) == list(both[1])


@pytest.mark.parametrize("method", ["map", "map_batches", "filter", "flat_map"])
@pytest.mark.parametrize("workers", [0, -1, np.int64(0)])
def test_no_workers(method, workers):
    kind = "map" if method == "map_batches" else method
    at_least = f"workers must be at least 1 and at most 65,536, got {workers}"
    said = rf"^{kind}: {at_least}; without workers= the thread that iterates runs it"
    with pytest.raises(ValueError, match=said):
        getattr(pipeline.dataset(range(3)).batch(1), method)(list, workers=workers)
