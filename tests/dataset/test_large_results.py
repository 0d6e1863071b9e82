"""Large arrays returned from functions are not copied if nothing else refers to them, and never shared."""

import weakref

import numpy as np
import pytest
from tracing import ArrayBytes

import pipeline

SIZE = 40_000  # float32: above the copying limit
WAYS = {
    "an array": (lambda array, i: array, lambda element: element),
    "a tuple": (lambda array, i: (array, i), lambda element: element[0]),
    "a dict": (lambda array, i: {"x": array, "i": i}, lambda element: element["x"]),
    "a tuple of two": (lambda array, i: (i, array, array[:5].copy()), lambda element: element[1]),
}


def fresh(i):
    return np.full(SIZE, i, np.float32)


class Refilled:
    """Returns one array repeatedly."""

    def __init__(self):
        self.array = fresh(0)

    def __call__(self, i):
        self.array[:] = i
        return self.array


class Remembered:
    """Keeps each array, and changes the one before."""

    def __init__(self):
        self.arrays = []

    def __call__(self, i):
        self.arrays.append(fresh(i))
        if len(self.arrays) > 1:
            self.arrays[-2][:] = -1
        return self.arrays[-1]


class Weak(Remembered):
    """Finds the previous array by a weak reference."""

    def __call__(self, i):
        array = fresh(i)
        last = self.arrays[-1]() if self.arrays else None
        if last is not None:
            last[:] = -1
        self.arrays.append(weakref.ref(array))
        return array


def every_second(i):
    """Keep some arrays and change them later."""
    array = fresh(i)
    if i % 2:
        SEEN.append(array)
        for each in SEEN[:-1]:
            each[:] = -1
    return array


SEEN = []
FUNCTIONS = {
    "fresh": lambda: fresh,
    "refilled": Refilled,
    "remembered": Remembered,
    "weakly remembered": Weak,
    "some remembered": lambda: every_second,
    "views": lambda: lambda i: np.full((2, SIZE), i, np.float32)[1],
    "read-only": lambda: lambda i: np.frombuffer(fresh(i).tobytes(), np.float32),
}


@pytest.mark.parametrize("workers", [None, 1, 2])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_nobody_elses(name, way, workers):
    SEEN.clear()
    made, array_of = FUNCTIONS[name](), WAYS[way][1]
    if workers == 2 and name not in ("fresh", "views", "read-only"):
        pytest.skip("two threads would share what the function remembers")
    dataset = pipeline.dataset(range(23)).map(lambda i: WAYS[way][0](made(i), i), workers=workers)
    for i, element in enumerate(list(dataset)):
        assert (array_of(element) == i).all()
        assert array_of(element).flags.writeable
        array_of(element)[:] = -2
    found = [array_of(batch) for batch in dataset.batch(5)]
    assert [batch[:, 0].tolist() for batch in found] == [list(range(i, min(i + 5, 23))) for i in range(0, 23, 5)]
    for batch in found:
        assert (batch == batch[:, :1]).all()
        batch[:] = -2


def test_nobody_writes_to_what_a_function_remembers():
    made = Remembered()
    for element in pipeline.dataset(range(9)).map(lambda i: (made(i), i), workers=1):
        element[0][:] = 7
    assert made.arrays[-1][0] == 8


def test_shapes_and_dtypes_that_differ():
    shapes = [(200, 300), (200, 300), (300, 200), (1,), (200, 300)]
    dtypes = ["f4", "f8", "f4", "f4", ">f4"]

    def make(i):
        return np.full(shapes[i], i, dtypes[i]), i

    for workers in (None, 2):
        found = list(pipeline.dataset(range(5)).map(make, workers=workers))
        assert [(array.shape, array.dtype, array.flat[0], i) for array, i in found] == [
            (shapes[i], np.dtype(dtypes[i]), i, i) for i in range(5)
        ]


@pytest.mark.parametrize("workers", [None, 2])
def test_batches_that_are_kept_while_others_are_dropped(workers):
    """They exceed malloc's cache and reuse the memory freed by dropped ones."""
    rows = np.arange(18 * 20, dtype=np.float32)

    def make(i):
        return np.full((512, 1024), rows[i]), i  # 2 MiB

    kept = {}
    batches = pipeline.dataset(range(len(rows))).map(make, workers=workers).batch(18)
    for number, (images, numbers) in enumerate(batches):
        np.testing.assert_array_equal(images[:, 3, 5], numbers)
        if number % 3 == 1:
            kept[number] = images[2:4, 1::2]
    for number, part in kept.items():
        wanted = rows[[18 * number + 2, 18 * number + 3], None, None]
        np.testing.assert_array_equal(part, np.broadcast_to(wanted, part.shape))
    assert len(kept) == 7


def test_a_kept_batch_keeps_no_memory_of_dropped_ones():
    size = 40 << 20
    with ArrayBytes() as alive:
        batches = iter(pipeline.dataset(range(24)).map(lambda i: np.full(10 << 20, i, np.uint8)).batch(4))
        last = [next(batches) for _ in range(6)][-1]
        batches.close()
        del batches
        assert (last == np.arange(20, 24)[:, None]).all()
        assert size <= alive() < 2 * size
        del last
        assert alive() < size
