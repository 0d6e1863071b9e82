"""LooperThread: how often it calls, and how it ends."""

import threading

import pytest
from helpers import LIMIT, wait_until

from pipeline import Coordinator, LooperThread


class Loop(LooperThread):
    """Records its calls; stops the coordinator after `calls` calls to run_loop."""

    def __init__(self, coord, interval, calls):
        super().__init__(coord, interval)
        self.coord, self.left, self.log = coord, calls, []

    def start_loop(self):
        self.log.append("start")

    def run_loop(self):
        self.log.append("run")
        self.left -= 1
        if not self.left:
            self.coord.request_stop()

    def stop_loop(self):
        self.log.append("stop")


@pytest.mark.parametrize("interval", [None, 0, 0.001])
def test_calls_until_stopped(interval):
    coord = Coordinator()
    loop = Loop(coord, interval, calls=4)
    loop.start()
    coord.join()
    assert loop.log == ["start", "run", "run", "run", "run", "stop"]


def test_first_call_comes_at_once():
    coord = Coordinator()
    loop = Loop(coord, 10 * LIMIT, calls=1)
    loop.start()
    coord.join()
    assert loop.log == ["start", "run", "stop"]


@pytest.mark.parametrize("interval", [None, 10.0])
def test_stop_before_start_calls_only_the_hooks(interval):
    coord = Coordinator()
    coord.request_stop()
    loop = Loop(coord, interval, calls=1)
    loop.start()
    coord.join()
    assert loop.log == ["start", "stop"]


def test_missed_calls_are_made_up_for(monkeypatch):
    """The test alone advances the clock: after a first call of 0.25 s, overdue calls follow without waiting."""
    coord = Coordinator()
    clock, waits = [100.0], []
    monkeypatch.setattr("time.monotonic", lambda: clock[0])

    def wait_for_stop(timeout):
        waits.append(round(timeout, 6))
        clock[0] += max(0.0, timeout)
        return len(waits) > 6

    monkeypatch.setattr(coord, "wait_for_stop", wait_for_stop)
    seen = []

    def call():
        if not seen:
            clock[0] += 0.25
        seen.append(round(clock[0] - 100, 6))

    LooperThread(coord, 0.1, call).run()
    assert seen == [0.25, 0.25, 0.25, 0.3, 0.4, 0.5]
    assert waits == [0.0, -0.15, -0.05, 0.05, 0.1, 0.1, 0.1]


def test_exception_goes_to_the_coordinator_and_stop_loop_is_left_out():
    coord = Coordinator()

    class Failing(Loop):
        def run_loop(self):
            super().run_loop()
            raise ValueError("tick")

    loop = Failing(coord, None, calls=5)
    loop.start()
    with pytest.raises(ValueError, match="tick"):
        coord.join()
    assert loop.log == ["start", "run"]


def test_loop_starts_a_registered_daemon_thread_with_arguments():
    coord, seen, called = Coordinator(), [], threading.Event()

    def target(*args, **kwargs):
        seen.append((args, kwargs))
        called.set()

    thread = LooperThread.loop(coord, 10.0, target, args=(1, 2), kwargs={"key": 3})
    assert isinstance(thread, LooperThread)
    assert thread.daemon
    assert called.wait(LIMIT)
    assert seen == [((1, 2), {"key": 3})]
    coord.request_stop()
    coord.join()
    wait_until(lambda: not thread.is_alive(), "the looper to end")


def test_bad_arguments():
    with pytest.raises(ValueError, match="'coord' argument must be a Coordinator"):
        LooperThread("coord", 1.0)
    with pytest.raises(ValueError, match="require that you also pass 'target'"):
        LooperThread(Coordinator(), 1.0, args=(1,))
    with pytest.raises(ValueError, match="require that you also pass 'target'"):
        LooperThread(Coordinator(), 1.0, kwargs={"a": 1})
