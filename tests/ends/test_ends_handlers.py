"""A signal handler or finalizer may run between any two lines of a thread, and use the same objects.

A trace function stands in for it: like a handler it runs in the thread itself, and it reaches every line.
"""

import contextlib
import gc
import inspect
import sys
import threading

import numpy as np
import pytest
from helpers import run_in_thread
from orchestration import Gate

import pipeline
from pipeline import Coordinator, FIFOQueue, QueueRunner, RandomShuffleQueue
from pipeline.datasets.iterator import DatasetIterator
from pipeline.diagnostics.workers import WorkerGroup
from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.orders import seeds
from pipeline.queues.causes import because
from pipeline.queues.typed import TypedQueue
from pipeline.queues.waits import Watchdog
from pipeline.stages.prefetch import Fetching, Threads
from pipeline.stages.run import Clock
from pipeline.sync.stop_flag import StopFlag


@pytest.fixture(autouse=True)
def nothing_left_of_other_tests():
    gc.collect()  # a dropped loop ends by `StopFlag.set`, where these handlers run


class Handler:
    """Calls a function once, at the `number`-th line this thread runs in some functions."""

    def __init__(self, call, functions, number):
        self._call, self._number = call, number
        self._codes = {function.__code__ for function in functions}
        self.struck = False

    def __call__(self, frame, event, _):
        return self._line if frame.f_code in self._codes else None

    def _line(self, frame, event, _):
        if event == "line":
            self._number -= 1
            if self._number == 0:
                self.struck = True
                self._call()
        return self._line


def at_each_line(functions, make):
    """At each line in `functions` reached by `make()`'s first call, make its second call. Return the count."""
    number = 0
    while True:
        number += 1
        call, handle, check = make()
        handler = Handler(handle, functions, number)

        def traced(call=call, handler=handler):
            sys.settrace(handler)
            try:
                return call()
            finally:
                sys.settrace(None)

        running = run_in_thread(traced)
        if handler.struck or running.exception() is None:
            running.exception()
        check(running)
        if not handler.struck:
            return number - 1


def methods_of(cls):
    return [each for each in vars(cls).values() if inspect.isfunction(each)]


WAITING = [*methods_of(StopFlag), threading.Condition.wait, threading.Condition.notify]


@pytest.mark.parametrize("wait", ["wait_for_stop", "join", "request_stop"])
def test_request_stop(wait):
    def make():
        coord = Coordinator()
        stopping = threading.Thread(target=coord.request_stop)
        if wait == "join":
            coord.register_thread(stopping)

        def call():
            stopping.start()  # in case the handler never runs
            getattr(coord, wait)()

        return call, coord.request_stop, lambda running: running.result()

    functions = [*WAITING, Coordinator.wait_for_stop, Coordinator.join, Coordinator.request_stop]
    assert at_each_line(functions, make) > 5


class Raised(Exception):
    """Raised by a handler."""


@pytest.mark.parametrize("call", ["wait_for_stop", "request_stop"])
def test_a_handler_that_raises_in_a_wait(call):
    def make():
        coord = Coordinator()

        def handle():
            raise Raised

        def check(running):
            assert isinstance(running.exception(), (type(None), Raised))
            assert coord.wait_for_stop(0) is coord.should_stop()
            waiting = run_in_thread(coord.wait_for_stop)
            coord.request_stop()
            assert waiting.result() is True

        return (lambda: coord.wait_for_stop(0.001)) if call == "wait_for_stop" else coord.request_stop, handle, check

    assert at_each_line(WAITING, make) > 2


def test_a_handler_that_raises_in_join():
    """A handler raising in `Thread.is_alive` or `Thread.join` makes a running thread look ended, up to Python 3.12.

    So `Coordinator.join` is in neither while the thread runs.
    """
    with Gate("laggard") as gate:

        def make():
            coord = Coordinator()
            coord.register_thread(gate.thread)
            coord.request_stop()

            def handle():
                raise Raised

            def check(running):
                assert isinstance(running.exception(), (RuntimeError, Raised))
                assert gate.thread.is_alive()
                with pytest.raises(RuntimeError, match="laggard"):
                    coord.join([gate.thread], stop_grace_period_secs=0)

            return lambda: coord.join(stop_grace_period_secs=0.001), handle, check

        at_each_line(methods_of(threading.Thread), make)


TYING = [Coordinator.close_on_stop, Coordinator._close_tied]  # including the private one: a stop closes queues in it


@pytest.mark.parametrize("call", ["close_on_stop", "request_stop", "join"])
@pytest.mark.parametrize("handler", ["close_on_stop", "request_stop", "raises"])
def test_queues_that_a_stop_closes(call, handler):
    def make():
        coord, own = Coordinator(), [FIFOQueue(9, "int32", shapes=[()]) for _ in range(1 + (call == "close_on_stop"))]
        coord.close_on_stop(own[0])
        calls = {"close_on_stop": lambda: coord.close_on_stop(own[1]), "request_stop": coord.request_stop}
        if call == "join":
            coord._stop.set()  # as if a handler had raised inside request_stop
            calls["join"] = coord.join

        def handle():
            if handler == "raises":
                raise Raised
            if handler == "close_on_stop":
                own.append(coord.close_on_stop(FIFOQueue(9, "int32", shapes=[()])))
            else:
                coord.request_stop()

        def check(running):
            error = running.exception()
            assert error is None or (handler == "raises" and isinstance(error, Raised))
            if call == "close_on_stop" and error is not None:
                own.pop(1)  # perhaps not given
            coord.request_stop()
            assert all(queue.is_closed() for queue in own)
            assert not coord._tied  # it keeps no queue

        return calls[call], handle, check

    # A handler that raises, like a trace function, would leave a lock held.
    others = [] if handler == "raises" else [Coordinator.request_stop, Coordinator.join, TypedQueue.close]
    others += [] if handler == "raises" else [Watchdog.closing, because.__wrapped__]
    assert at_each_line([*TYING, *others], make) > 5


@pytest.mark.parametrize("cancel", [False, True])
@pytest.mark.parametrize("call", ["close", "dequeue"])
def test_close(call, cancel):
    def make():
        queue = FIFOQueue(1, "int32", shapes=[()])
        QueueRunner(queue, [lambda: None]).create_threads()

        def check(running):
            assert isinstance(running.exception(), (type(None), CancelledError, OutOfRangeError, TimeoutError))
            assert queue.is_closed() or call == "dequeue"

        def close():
            try:
                queue.close(cancel)
            except CancelledError:
                assert not cancel

        return (queue.close if call == "close" else lambda: queue.dequeue(timeout=0.001)), close, check

    functions = [TypedQueue.close, Watchdog.closing, Watchdog.why_closed, Watchdog.not_closed, Watchdog.about_to_wait]
    functions += [WorkerGroup.idle, WorkerGroup.lost, WorkerGroup.ends]
    assert at_each_line(functions, make) > 5


def test_make_a_queue():
    def make():
        handle = lambda: RandomShuffleQueue(9, 1, "int32", shapes=[()])  # noqa: E731
        return handle, handle, lambda running: running.result()

    pipeline.set_random_seed(1)
    try:
        assert at_each_line([seeds.get_seed, seeds.generator_seeds], make) > 5
    finally:
        pipeline.set_random_seed(None)


def test_a_first_element_decides_the_components():
    """A queue without dtypes, given its first element while it looks at its first element."""

    def make():
        queue = FIFOQueue(9)
        return lambda: queue.enqueue(1), lambda: queue.enqueue(2), lambda running: check(queue, running)

    def check(queue, running):
        running.result()
        assert queue.size() in (1, 2)

    functions = [each for each in vars(TypedQueue).values() if hasattr(each, "__code__")]
    assert at_each_line(functions, make) > 5


def test_runners_are_started():
    def make():
        queue = FIFOQueue(1, "int32", shapes=[()])

        def op():
            raise OutOfRangeError(None, None, "end")

        runner = QueueRunner(queue, [op])
        started = []
        handle = lambda: started.extend(runner.create_threads(start=True))  # noqa: E731

        def check(running):
            running.result()
            for thread in started:
                thread.join()
            assert queue.is_closed()

        return handle, handle, check

    assert at_each_line([QueueRunner.create_threads, WorkerGroup.begin], make) > 5


ROWS = list(range(40))
CHAINS = {
    "rows": lambda: pipeline.arrays(np.array(ROWS)).batch(2),
    "map": lambda: pipeline.dataset(ROWS).map(int).batch(2),
    "prefetch": lambda: pipeline.dataset(ROWS).map(int).batch(2).prefetch(2),
    "workers": lambda: pipeline.dataset(ROWS).map(int, workers=pipeline.threads(1)).batch(2),
}


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("call", ["first next", "next", "start", "state_dict", "close"])
@pytest.mark.parametrize("handler", ["close", "next", "state_dict"])
def test_an_iterator(chain, call, handler):
    """A handler is served or refused at once. After `close` there are no elements, and each element arrives once."""

    def make():
        before = threading.enumerate()
        iterator = iter(CHAINS[chain]())
        taken = [next(iterator).tolist()] if call in ("next", "close") else []
        if call == "state_dict":
            iterator.load_state_dict(iter(CHAINS[chain]()).state_dict())
        states, closed = [], []

        def use(name):
            if name == "state_dict":
                states.append(iterator.state_dict())
            elif name in ("next", "first next"):
                batch = next(iterator, None)
                if batch is not None:
                    taken.append(batch.tolist())
            else:
                getattr(iterator, name)()
                closed.extend(["close"] * (name == "close"))

        def handle():
            try:
                use(handler)
            except pipeline.FailedPreconditionError as error:
                allowed = "was called inside next() of the same iterator", "this iterator is closed"
                assert any(text in str(error) for text in allowed), error  # noqa: PT017

        ends = CancelledError, pipeline.FailedPreconditionError

        def check(running):
            error = running.exception()
            assert error is None or (closed and isinstance(error, ends))
            assert all(isinstance(each, dict) for each in states)
            for thread in threading.enumerate() if closed else ():
                if thread not in before:
                    thread.join(60)
                    assert not thread.is_alive()
            rest = []
            with contextlib.suppress(*ends) if closed else contextlib.nullcontext():
                while (batch := next(iterator, None)) is not None:
                    rest.append(batch.tolist())
            iterator.close()
            if closed:
                assert rest == []
            else:
                assert sorted(row for batch in taken + rest for row in batch) == ROWS

        return lambda: use(call), handle, check

    functions = [each for cls in (DatasetIterator, Clock, Fetching, Threads) for each in methods_of(cls)]
    assert at_each_line(functions, make) > 2
