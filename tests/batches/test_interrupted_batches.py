"""Ctrl-C strikes `next` with a batch on its way: whoever asks next gets it, and it counts as delivered only then."""

import _weakrefset
import contextlib
import gc
import random
import signal
import sys
import threading

import numpy as np
import pytest
from endurance.interrupts import Interrupt, Striker, codes
from helpers import LIMIT, run_in_thread, wait_until, waiting

import pipeline
from pipeline.batches import counting
from pipeline.batches.bucket_feed import BucketFeed
from pipeline.batches.layout import ExampleLayout
from pipeline.batches.loop import Batches
from pipeline.batches.ordered import OrderedFeed
from pipeline.batches.ordered_buckets import OrderedBucketFeed

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="the instructions at which Python looks have other names"
)

STEP = 2
ROWS = 22
TAKES = [vars(each)["take"].__code__ for each in (*BucketFeed.__mro__[:2], OrderedFeed, OrderedBucketFeed)]
STRUCK = codes(ExampleLayout, counting) | {Batches._next.__code__, OrderedFeed._counted.__code__, *TAKES}
ORDERED = {"deterministic": True, "allow_smaller_final_batch": True}


def rows():
    return pipeline.range_input_producer(ROWS, num_epochs=1, seed=2, collection=[])


NUMBERS = [{"row": number} for number in range(ROWS)]  # the queue gives no dicts: Python makes them


def free(**more):
    return pipeline.batch(NUMBERS, 4, 1, allow_smaller_final_batch=True, **more)


def free_buckets(**more):
    queue = rows()
    return pipeline.bucket_by_sequence_length(lambda row: row % 9, queue.dequeue, 4, [4], dynamic_pad=False, **more)


def ordered(**more):
    queue = rows()
    return pipeline.shuffle_batch(lambda: {"row": queue.dequeue()}, 4, 12, 6, 1, seed=1, **ORDERED, **more)


def shared():
    return ordered(shard=(1, 2))


def with_content():
    return ordered(fingerprint="content")


def ordered_buckets():
    return free_buckets(seed=1, deterministic=True)


def alone():
    return pipeline.batch(NUMBERS, 4, 0, allow_smaller_final_batch=True)


def ordered_alone():
    return pipeline.batch(list(range(ROWS)), 4, 0, fingerprint="content", **ORDERED)


def taken(loop, batches, striker=None):
    """Whether Ctrl-C came before the end of a loop; `batches` gets what came before."""
    sys._getframe().f_trace_opcodes = True  # 3.12 traces opcodes only if some frame asked for it before
    sys.settrace(striker)
    try:
        while (batch := next(loop, None)) is not None:
            batches.append(repr(batch))
    except Interrupt:
        return True
    finally:
        sys.settrace(None)
    return False


@pytest.mark.parametrize(
    "make", [free, free_buckets, ordered, shared, with_content, ordered_buckets, alone, ordered_alone]
)
def test_it_is_delivered_later(make):
    expected, looks = [], Striker(0, STRUCK)
    assert not taken(make(), expected)
    with make() as loop:
        loop.start()
        taken(loop, [], looks)
    first = random.randint(1, STEP)
    print("from moment", first)
    on_the_way = 0
    for number in range(first, looks.seen + 1, STEP):
        batches = []
        with make() as loop:
            loop.start()
            if taken(loop, batches, Striker(number, STRUCK)):
                on_the_way += check_the_rest(loop, make, batches, expected)
            assert batches == expected, number
    assert on_the_way > 3
    gc.collect()


def check_the_rest(loop, make, batches, expected):
    """Go on after Ctrl-C, by a state and in another thread; return whether a batch had been on its way."""
    if make in (ordered, shared, with_content, ordered_buckets, ordered_alone):
        resumed, rest = make(), []
        assert loop.delivered[0] == len(batches)
        resumed.load_state_dict(loop.state_dict())
        assert not taken(resumed, rest)
        assert batches + rest == expected
    on_its_way = loop._latest.outlet.struck
    batch = run_in_thread(next, loop, None).result()
    if batch is not None:
        batches.append(repr(batch))
    assert not taken(loop, batches)
    return on_its_way


def slices(**more):
    columns = [np.arange(900), np.ones((900, 2))]
    return pipeline.shuffle_batch(pipeline.slice_input_producer(columns, seed=3, collection=[]), 4, seed=1, **more)


def ordered_slices():
    return slices(deterministic=True)


def of_a_list():
    return pipeline.batch([[number, 2 * number] for number in range(ROWS)], 4, capacity=ROWS)


def of_an_array():
    return pipeline.batch(np.arange(ROWS), 4, capacity=ROWS)


@pytest.mark.parametrize("make", [slices, ordered_slices, of_a_list, of_an_array])
def test_a_batch_that_the_queue_has_whole_takes_no_step_of_python(make):
    """So there is no moment at which Ctrl-C could strike it on its way, and no time goes by."""
    calls, batches = [], []

    def note(frame, event, _):
        # What weak sets call as threads that have ended go is no step of this call, and may come at any.
        if event == "call" and frame.f_code.co_filename != _weakrefset.__file__:
            calls.append(frame.f_code.co_name)

    with make() as loop:
        first = next(loop)
        for _ in range(2 * (make is ordered_slices)):  # after the first examples it takes large blocks
            next(loop)
        wait_until(lambda: loop.queue.stats().enqueued >= ROWS, "the queue to have some batches")
        sys.setprofile(note)
        for _ in range(3):
            batches.append(next(loop))
        sys.setprofile(None)
        assert not calls
        assert [len(batch) for batch in batches] == [len(first)] * 3


def waiting_row(go):
    """Rows, the ninth of which comes when `go` is set."""
    for number in range(ROWS):
        assert number < 8 or go.wait(LIMIT)
        yield number


def ordered_waiting(go, **more):
    return pipeline.batch(waiting_row(go), 4, **ORDERED, **more)


def shared_waiting(go):
    return ordered_waiting(go, shard=(0, 1), fingerprint="content")


def buckets_waiting(go):
    return pipeline.bucket_by_sequence_length(
        lambda _: 1, waiting_row(go), 4, [4], dynamic_pad=False, seed=1, deterministic=True
    )


@contextlib.contextmanager
def told(handlers):
    """Signal handlers within the body; SIGALRM, a while after, ends a call that waits for ever."""

    def give_up(*_):
        raise TimeoutError

    handlers = {signal.SIGALRM: give_up, **handlers}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        signal.alarm(int(LIMIT))
        yield
    finally:
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("make", [ordered_waiting, shared_waiting, buckets_waiting])
def test_a_signal_handler_that_asks_for_a_batch(make):
    """It would wait for the call that it has interrupted."""
    go, errors = threading.Event(), []

    def ask(*_):
        try:
            next(loop)
        except pipeline.FailedPreconditionError as error:
            errors.append(str(error))
        finally:
            go.set()

    def strike():
        wait_until(lambda: waiting(loop.queue)[1] == 1, "the third batch to be waited for")
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

    with told({signal.SIGUSR1: ask}), make(go) as loop:
        batches = [repr(next(loop)) for _ in range(2)]
        call = run_in_thread(strike)
        assert not taken(loop, batches)
        call.result()
        delivered = loop.delivered
    assert len(errors) == 1
    assert "was asked for a batch while it waits for one, in a signal handler" in errors[0]
    assert batches == [repr(batch) for batch in make(go)]
    assert delivered[0] == len(batches)


def test_a_call_within_another_takes_nothing_of_it():
    """The handler comes when the batch has been counted, and the lock is still held."""
    loop, errors = with_content(), []

    def ask(frame, event, _):
        if event == "return" and not errors:
            with pytest.raises(pipeline.FailedPreconditionError) as caught:
                next(loop)
            errors.append(caught)
        return ask

    def watch(frame, *_):
        return ask if frame.f_code is counting.counted.__code__ else None

    with loop:
        before = sys.gettrace()
        sys.settrace(watch)
        try:
            batches = [repr(next(loop))]
        finally:
            sys.settrace(before)
        assert loop.delivered == (1, 4)
        assert not taken(loop, batches)
    assert errors
    assert batches == [repr(batch) for batch in with_content()]
