"""Measure loops with `deterministic=True` compared with unordered loops, and the cost of states.

Functions take 10 us each, in Python, so threads can only take turns: this measures the cost of the order alone.
"""

import itertools
import time

import numpy as np
import pytest

import pipeline

ORDERS = pytest.mark.parametrize("which", ["ours", "free"])  # ours is the deterministic one
EXAMPLES, BLOCKS, N = 20_000, 300, 128


@pytest.fixture(scope="module")
def rows():
    """Return the same arrays for both orders: separate ones would be in other pages, with other properties."""
    return np.random.default_rng(1).random((30_000, 784), np.float32)


def drain(loop):
    with loop:
        for _ in loop:
            pass


@ORDERS
@pytest.mark.parametrize("threads", [1, 2, 4, 8])
def test_functions(measure, which, threads):
    value = np.zeros(4, np.float32)

    def run():
        numbers = pipeline.range_input_producer(EXAMPLES, 1, False, collection=[])

        def example():
            numbers.dequeue()
            end = time.perf_counter() + 10e-6
            while time.perf_counter() < end:
                pass
            return value

        drain(pipeline.batch(example, N, threads, 1024, deterministic=which == "ours"))

    measure(f"function of 10 us, {threads} threads, per example", run, EXAMPLES, rounds=5, warmup_rounds=1)


@ORDERS
@pytest.mark.parametrize("shuffled", [False, True], ids=["FIFO", "shuffled"])
def test_blocks(measure, which, shuffled, rows):
    block = rows[:N]

    def run():
        blocks = itertools.repeat(block, BLOCKS)
        options = {"enqueue_many": True, "deterministic": which == "ours"}
        if shuffled:
            drain(pipeline.shuffle_batch(blocks, N, 15_000, 10_000, seed=1, **options))
        else:
            drain(pipeline.batch(blocks, N, 1, 1024, **options))

    kind = "shuffled" if shuffled else "FIFO"
    measure(f"{kind} blocks {N} x f32[784], per block", run, BLOCKS, rounds=7, warmup_rounds=1)


@ORDERS
@pytest.mark.parametrize("shuffled", [False, True], ids=["FIFO", "shuffled"])
def test_slices(measure, which, shuffled, rows):
    def run():
        source = pipeline.slice_input_producer([rows], 1, True, 1, collection=[])
        if shuffled:
            drain(pipeline.shuffle_batch(source, N, 15_000, 10_000, seed=1, deterministic=which == "ours"))
        else:
            drain(pipeline.batch(source, N, 1, 1024, deterministic=which == "ours"))

    kind = "shuffled" if shuffled else "FIFO"
    measure(f"{kind} slices f32[784], per example", run, len(rows), rounds=7, warmup_rounds=1)


# States --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """Write a file with many more lines than a buffer holds."""
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    path.write_bytes(b"".join(b"%d,%d\n" % (i, i % 7) for i in range(1_200_000)))
    return str(path)


def line_loop(path, pool):
    def block(read):
        return np.array([line.count(",") for line in read])

    blocks = pipeline.text(path, num_epochs=None).batch(512).map(block)
    return pipeline.shuffle_batch(blocks, N, pool + 5000, pool, seed=1, enqueue_many=True, deterministic=True)


@pytest.mark.parametrize("pool", [10**4, 10**6], ids=["1e4", "1e6"])
def test_state_dict(measure, lines, pool):
    with line_loop(lines, pool) as loop:
        for _ in range(50):
            next(loop)
        measure(f"state_dict() with a pool of {pool:,} lines", loop.state_dict)


@pytest.mark.parametrize("which", ["ours", "cold start"])
def test_resume(measure, lines, which):
    """Measure the time until the first batch."""
    with line_loop(lines, 10**5) as loop:
        for _ in range(3000):  # by then each line in the buffer was drawn again
            next(loop)
        state = loop.state_dict()

    def run():
        with line_loop(lines, 10**5) as loop:
            if which == "ours":
                loop.load_state_dict(state)
            next(loop)

    measure("the first batch from a pool of 100,000 lines, resumed", run, rounds=5)


@pytest.mark.parametrize("which", ["with checksum", "without"])
def test_checksum(measure, which):
    """Measure batches with rows of 65 integers, as for digits."""
    rows = pipeline.arrays(np.random.default_rng(1).integers(0, 16, (128 * 200, 65)))

    def run():
        drain(iter((rows.checksum() if which == "with checksum" else rows).batch(128)))

    measure("200 batches of 128 rows of 65 integers", run, rounds=5)
