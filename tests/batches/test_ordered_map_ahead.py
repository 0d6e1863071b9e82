"""map_ahead in a deterministic loop: order, example_rng, items first by number, errors, states."""

import itertools
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from ahead_functions import ByHand, drawn, square
from helpers import raises
from lockstep import play  # the oracle

import pipeline
from pipeline.errors import FailedPreconditionError

SEEDS = (87654321, 7)  # of seed=7


@pytest.fixture
def executor():
    with ThreadPoolExecutor(3) as made:
        yield made


def draw_of(number):
    """What `drawn` draws for an item, by the words of Philox alone."""
    key = np.array([SEEDS[0] ^ 0x9E3779B97F4A7C15, SEEDS[1]], np.uint64)
    return int(np.random.Generator(np.random.Philox(key=key, counter=[0, number, 0, 0])).integers(1 << 30))


def shuffled(source, held_back=20, **options):
    options = {"allow_smaller_final_batch": True, **options}
    return pipeline.shuffle_batch(source, 6, 40, held_back, seed=7, deterministic=True, **options)


def pairs(loop):
    return [(int(i), int(draw)) for batch in loop for i, draw in zip(*batch, strict=True)]


EXPECTED = [(i, draw_of(i)) for i in play(*SEEDS, 20, list(range(57)))[0]]


@pytest.mark.parametrize("options", [{}, {"keep_input": lambda _: True}], ids=["numbers", "pool"])
@pytest.mark.parametrize("chunksize", [1, 5, 100])
def test_order_and_draws_are_those_of_the_oracle(executor, chunksize, options):
    assert pairs(shuffled(pipeline.map_ahead(drawn, range(57), executor, chunksize=chunksize), **options)) == EXPECTED


def test_in_processes_and_resumed_there():
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as executor:
        with shuffled(pipeline.map_ahead(drawn, range(57), executor, chunksize=4)) as loop:
            begun = pairs(itertools.islice(loop, 4))
            state = loop.state_dict()
        with shuffled(pipeline.map_ahead(drawn, range(57), executor, chunksize=7)) as loop:
            loop.load_state_dict(state)
            assert begun + pairs(loop) == EXPECTED


def test_within_a_function(executor):
    source = pipeline.map_ahead(drawn, range(57), executor)
    assert pairs(shuffled(lambda: source(), num_threads=2)) == EXPECTED


def test_a_queue_in_order_can_be_seeded_too(executor):
    pipeline.set_random_seed(3)
    try:
        runs = []
        for _ in range(2):
            pipeline.set_random_seed(3)
            source = pipeline.map_ahead(drawn, range(20), executor, chunksize=3)
            runs.append(pairs(pipeline.batch(source, 5, deterministic=True)))
        assert runs[0] == runs[1]
        assert [number for number, _ in runs[0]] == list(range(20))
    finally:
        pipeline.set_random_seed(None)


def test_shares_of_hosts(executor):
    shares = [
        [
            each.tolist()
            for each in pipeline.batch(
                pipeline.map_ahead(square, range(40), executor, chunksize=3), 5, shard=(host, 2), deterministic=True
            )
        ]
        for host in range(2)
    ]
    assert list(itertools.chain(*itertools.chain(*zip(*shares, strict=True)))) == [i * i for i in range(40)]


def fails_at_30(i):
    if i == 30:
        raise KeyError(i)
    return i


def test_an_error_comes_after_the_batches_before(executor):
    order, got = play(*SEEDS, 20, list(range(57)))[0], []
    source = pipeline.map_ahead(fails_at_30, range(57), executor, chunksize=4)
    loop = shuffled(source, allow_smaller_final_batch=False)
    with pytest.raises(KeyError, match="30") as failure:
        got.extend(each.tolist() for each in loop)
    assert failure.value.record_key == "item 30"
    assert list(itertools.chain(*got)) == order[: order.index(30) // 6 * 6]


def test_items_of_an_iterator_keep_their_order_but_have_no_state(executor):
    loop = shuffled(pipeline.map_ahead(drawn, iter(range(57)), executor, chunksize=3))
    with loop:
        begun = pairs(itertools.islice(loop, 2))
        with raises(FailedPreconditionError, "state_dict: the items of map_ahead are an iterator, not a sequence"):
            loop.state_dict()
        assert begun + pairs(loop) == EXPECTED


@pytest.mark.parametrize("kind", ["map_ahead", "slices"])
def test_what_gave_examples_before_is_refused(executor, kind):
    source = (
        pipeline.map_ahead(square, range(9), executor)
        if kind == "map_ahead"
        else pipeline.slice_input_producer([np.arange(9)], 1, collection=[])
    )
    if kind == "slices":
        source.queue.runner.create_threads(start=True, daemon=True)
    source()
    with pytest.raises(FailedPreconditionError, match="has given examples before this loop"):
        next(shuffled(source, 3))


def test_leaving_the_loop_cancels_chunks_that_nobody_has_begun():
    class Some(ByHand):
        """Runs the first chunks only: the first example needs one."""

        def submit(self, function, /, *args):
            future = super().submit(function, *args)
            if len(self.futures) < 4:
                self.run_new()
            else:
                one_waits.set()
            return future

    one_waits, executor = threading.Event(), Some()
    loop = shuffled(pipeline.map_ahead(square, range(57), executor, chunksize=2, buffersize=4))
    loop.start()
    assert one_waits.wait(60)
    loop.close()
    assert all(future.done() for future in executor.futures)
    assert any(future.cancelled() for future in executor.futures)
