"""After batch(max_wait=) a state continues at the next example, with other batch sizes, or is rejected."""

import itertools
import json
import threading
import time

import numpy as np
import pytest

import pipeline

COUNT = 24


def plain(batch):
    return batch


def rows(batch):
    yield from batch


CHAINS = {
    "nothing": lambda data: data,
    "map": lambda data: data.map_batches(plain),
    "map in workers": lambda data: data.map(plain, workers=2),
    "two maps": lambda data: data.map(plain).map(plain, workers=2),
    "filter": lambda data: data.filter(lambda batch: True),
    "filter in workers": lambda data: data.filter(lambda batch: True, workers=2),
    "map that skips": lambda data: data.map(plain, on_error="skip"),
    "map that skips in workers": lambda data: data.map(plain, on_error="skip", workers=2),
    "prefetch": lambda data: data.prefetch(5),
    "map, prefetch": lambda data: data.map(plain).prefetch(5),
    "prefetch, map in workers": lambda data: data.prefetch(5).map(plain, workers=2),
    "checksum": lambda data: data.checksum(),
    "window": lambda data: data.map(plain).window(1),
    "repeat": lambda data: data.map(plain).repeat(1),
    "concatenate": lambda data: data.map(plain).concatenate(pipeline.dataset([])),
    "interleave": lambda data: pipeline.interleave([data.map(plain)]),
    "unbatch": lambda data: data.map(plain).unbatch().map(plain),
    "unbatch, prefetch": lambda data: data.unbatch().prefetch(5),
}
MULTIPLIED = {
    "flat_map": lambda data: data.flat_map(rows),
    "flat_map in workers": lambda data: data.flat_map(rows, workers=2),
    "flat_map, map": lambda data: data.flat_map(rows).map(plain),
    "flat_map, prefetch": lambda data: data.flat_map(rows).prefetch(5),
}


def numbers(pause):
    def source():
        for i in range(COUNT):
            if pause and i % 3 != 2:
                time.sleep(0.002)
            yield i

    return pipeline.dataset(source)


def rest(data, state):
    with iter(data) as iterator:
        iterator.load_state_dict(json.loads(json.dumps(state)))
        return [int(each) for element in iterator for each in np.reshape(element, -1)]


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_continues_at_the_next_example(chain):
    """Batches are small before saving and full after loading."""
    slow, fast = chain(numbers(True).batch(4, max_wait=0.001)), chain(numbers(False).batch(4, max_wait=0.001))
    with iter(slow) as iterator:
        for element in itertools.islice(iterator, 6):
            following = int(np.max(element)) + 1
            assert rest(fast, iterator.state_dict()) == list(range(following, COUNT))


@pytest.mark.parametrize("chain", MULTIPLIED.values(), ids=MULTIPLIED)
def test_has_no_state_between_examples_of_one_batch(chain):
    data = chain(numbers(False).batch(4, max_wait=60))
    with iter(data) as iterator:
        for i, number in enumerate(iterator):
            assert number == i
            if i % 4 == 3:
                assert rest(data, iterator.state_dict()) == list(range(i + 1, COUNT))
                continue
            with pytest.raises(pipeline.FailedPreconditionError, match=r"no state between .* flat_map\(rows\) makes"):
                iterator.state_dict()


def test_windows_leave_out_batches_as_they_come():
    """The windows count batches, not n examples each."""
    made = threading.Semaphore(1)

    def source():
        for i in range(5):
            assert made.acquire(timeout=60)
            yield i

    def collate(examples):
        made.release()
        return examples

    data = pipeline.dataset(source).batch(100, max_wait=0.001, collate=collate)
    assert [window.tolist() for window in data.window(1, 2)] == [[[0]], [[2]], [[4]]]


@pytest.mark.parametrize("what", ["bucket", "pack"])
def test_what_holds_batches_is_refused(what):
    data = pipeline.dataset(range(9)).batch(4, max_wait=1)
    with pytest.raises(ValueError, match=rf"{what}: the batches of batch\(max_wait=...\) depend on time"):
        data.bucket([4], [2, 2]) if what == "bucket" else data.pack(9, method="first_fit")
