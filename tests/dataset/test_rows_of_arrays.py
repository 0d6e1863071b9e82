"""Batches from array rows: values, states, counts and end, in one thread, in several, and after a fork."""

import gc
import os
import threading

import numpy as np
import pytest
from helpers import run_in_thread
from tracing import kept_alive

import pipeline

ROWS = np.arange(3000 * 3).reshape(3000, 3)
LABELS = np.arange(3000)
FORMS = {
    "array": ROWS,
    "tuple": (ROWS, LABELS),
    "dict": {"y": LABELS, "x": ROWS},
    "nested": {"y": LABELS, "x": (ROWS, ROWS)},
}


def batches(form="tuple", size=7, **options):
    return pipeline.arrays(FORMS[form], **options).batch(size)


def same(one, other):
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return type(other) is tuple and len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other)


def of_passes():
    """Chains over several epochs ending within a batch of 7, and the elements per epoch."""
    rows = pipeline.arrays(FORMS["tuple"])
    return {
        "in order": (rows.repeat(3), [rows] * 3),
        "shuffled": (rows.shuffle(seed=1).repeat(3), [rows.shuffle(seed=1).epoch(i) for i in range(3)]),
        "pool": (rows.shuffle(50, seed=1).repeat(3), [rows.shuffle(50, seed=1).epoch(i) for i in range(3)]),
        "nested": (rows.repeat(3).repeat(1), [rows] * 3),
    }


def test_passes_without_end_resume():
    data = pipeline.arrays(LABELS).shuffle(seed=1).repeat().batch(700)
    with iter(data) as iterator, iter(data) as resumed:
        for _ in range(24):
            next(iterator)
        resumed.load_state_dict(iterator.state_dict())
        for _ in range(20):
            assert np.array_equal(next(iterator), next(resumed))


@pytest.mark.parametrize("chain", of_passes())
def test_passes_over_arrays_resume(chain):
    repeated, passes = of_passes()[chain]
    expected = [int(label) for each in passes for _, label in each]
    with iter(repeated.batch(7)) as iterator:
        states, found = [iterator.state_dict()], []
        for _, labels in iterator:
            found.append(labels.tolist())
            states.append(iterator.state_dict())
    assert [label for batch in found for label in batch] == expected
    with iter(repeated.map(lambda example: example[1]).batch(7)) as other:  # its rows are not columns
        assert [labels.tolist() for labels in other] == found
    for k in [0, 1, 200, 428, 429, 700, len(found) - 1, len(found)]:
        with iter(repeated.batch(7)) as resumed:
            resumed.load_state_dict(states[k])
            assert [labels.tolist() for _, labels in resumed] == found[k:]
        with iter(repeated.batch(7).skip(k)) as later:
            assert [labels.tolist() for _, labels in later] == found[k:]


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize("pool", [None, 100])
def test_batches_of_a_producer_of_slices(pool, threads, deterministic):
    source = pipeline.slice_input_producer([ROWS, LABELS], num_epochs=2, seed=1)
    given = {"num_threads": threads, "deterministic": deterministic}
    if pool is None:
        iterator = pipeline.batch(source, 8, **given)
    else:
        iterator = pipeline.shuffle_batch(source, 8, 1000, pool, seed=2, **given)
    with iterator:
        rows, labels = next(iterator)
        assert np.array_equal(rows, ROWS[labels])
        assert sum(1 for _ in iterator) == 749


def test_the_only_component_of_a_tuple_comes_bare_in_the_batch_functions():
    for options in ({}, {"dynamic_pad": True}, {"on_error": "skip"}):
        with pipeline.batch((LABELS,), 3, **options) as iterator:
            assert next(iterator).tolist() == [0, 1, 2]


def test_states_of_slices_resume():
    def loop():
        source = pipeline.slice_input_producer([LABELS], num_epochs=3, seed=1)
        return pipeline.shuffle_batch(source, 7, 1000, 100, seed=2, deterministic=True)

    with loop() as whole:
        batches = [(batch.tolist(), whole.state_dict()) for batch in whole]
    for begin in (0, 1, 500, 1200, len(batches) - 1):
        with loop() as rest:
            rest.load_state_dict(batches[begin][1])
            for batch, state in batches[begin + 1 : begin + 20]:
                assert next(rest).tolist() == batch
                assert rest.state_dict()["delivered"] == state["delivered"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_and_states_are_those_of_a_prefetch(form, shuffle):
    dataset = batches(form, shuffle=shuffle, seed=3, num_epochs=2)
    with iter(dataset) as one, iter(dataset.prefetch(2)) as other:
        for count in range(1, 859):
            assert same(next(one), other.next(timeout=1000))
            assert one.delivered == other.delivered == (count, min(7 * count, 6000))
            if count % 40 == 0:
                assert one.state_dict() == other.state_dict()
                assert one.state_dict(behind=33) == other.state_dict(behind=33)
        assert next(one, None) is next(other, None) is None
        assert one.state_dict(behind=64) == other.state_dict(behind=64)


def test_it_continues_from_each_state():
    dataset = batches(shuffle=True, seed=3)
    with iter(dataset) as iterator:
        found = list(iterator)
    with iter(dataset) as iterator:
        for i in range(0, len(found), 23):
            with iter(dataset) as other:
                state = iterator.state_dict()
                other.load_state_dict(state)
                assert same(next(other), found[i])
            for _ in range(23):
                next(iterator, None)


def test_elements_are_counted():
    with iter(batches()) as iterator:
        assert sum(1 for _ in iterator) == 429
        (row,) = (row for row in iterator.report().stages if row.name.startswith("batch"))
        assert row.elements == 429


@pytest.mark.parametrize("mapped", [False, True])
def test_several_threads_share_them(mapped):
    """Each batch reaches one thread, and counts only grow."""
    data = batches(size=3, num_epochs=20, shuffle=True, seed=1)
    with iter(data.map(tuple) if mapped else data) as iterator:
        seen, over = [], threading.Event()

        def look():
            while not over.is_set():
                seen.append((iterator.delivered[0], iterator.state_dict()["delivered"]["batches"]))

        def take():
            return sum(int(y.sum()) for _, y in iterator)

        looking = run_in_thread(look)
        takers = [run_in_thread(take) for _ in range(4)]
        total = sum(each.result() for each in takers)
        over.set()
        looking.result()
        assert total == 20 * int(LABELS.sum())
        assert iterator.delivered == (20_000, 60_000)
    flat = [count for pair in seen for count in pair]
    assert flat == sorted(flat)


def test_after_close_there_are_none():
    iterator = iter(batches())
    next(iterator)
    next(iterator)
    iterator.close()
    with pytest.raises(pipeline.errors.FailedPreconditionError, match="this iterator is closed"):
        next(iterator)
    assert iterator.delivered == (2, 14)


def test_after_the_coordinator_has_stopped_there_are_none():
    coord = pipeline.Coordinator()
    iterator = pipeline.batch(pipeline.arrays(np.arange(700)), 7, coord=coord)
    next(iterator)
    next(iterator)
    coord.request_stop()
    assert next(iterator, None) is None
    assert iterator.delivered == (2, 14)


def test_a_forked_process_needs_an_iterator_of_its_own():
    with iter(batches()) as iterator:
        next(iterator)
        state = iterator.state_dict()
        child = os.fork()
        if not child:
            status = 1
            try:
                with pytest.raises(pipeline.FailedPreconditionError, match=r"opened before os\.fork\(\)"):
                    next(iterator)
                resumed = iter(batches())
                resumed.load_state_dict(state)
                status = int(next(resumed)[1][0])
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert next(iterator)[1][0] == 7


@pytest.mark.parametrize("size", [300, 9000])
def test_memory_is_used_again_when_nobody_has_it(size):
    """Batches above 1 and 32 MiB."""
    rows = np.arange(2 * size * 600, dtype=np.int64).reshape(-1, 600)
    seen = set()
    with iter(pipeline.arrays(rows, num_epochs=4).batch(size)) as iterator:
        kept = next(iterator)[5:]
        for batch in iterator:
            seen.add(batch.__array_interface__["data"][0])
            assert kept_alive(batch) <= 2 * batch.nbytes
            assert batch.flags.writeable
            assert batch[0, 0] in (0, size * 600)
            batch[:] = -1
    del batch
    gc.collect()
    assert np.array_equal(kept, rows[5:size])
    assert len(seen) <= 3


def test_a_finalizer_that_takes_a_batch_meanwhile():
    """Each batch comes once: the finalizer receives it, or is refused and the loop gets all."""
    found, refused = [], []

    class Cycle:
        def __init__(self):
            self.itself = self

        def __del__(self):
            try:
                found.append(int(next(iterator)["y"][0]))
            except pipeline.FailedPreconditionError as error:
                refused.append(str(error))

    before = gc.get_threshold()
    with iter(batches("dict", 1)) as iterator:
        next(iterator)
        try:
            for _ in range(200):
                gc.disable()
                Cycle()
                gc.set_threshold(1)  # the next object in a possible cycle runs the finalizer
                gc.enable()
                found.append(int(next(iterator)["y"][0]))
        finally:
            gc.enable()
            gc.set_threshold(*before)
        assert sorted(found) == list(range(1, len(found) + 1))
        assert iterator.delivered[0] == len(found) + 1
    assert set(refused) <= {"next was called inside next() of the same iterator"}
