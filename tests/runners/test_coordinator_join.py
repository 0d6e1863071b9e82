"""Coordinator.join: the threads it waits for, and its outcomes."""

import re
import threading

import pytest
from helpers import run_in_thread
from orchestration import Gate

from pipeline import Coordinator, OutOfRangeError

RUNNING = "Coordinator stopped with threads still running: "


def test_waits_for_registered_and_given_threads():
    coord = Coordinator()
    with Gate() as first, Gate() as second:
        coord.register_thread(first.thread)
        call = run_in_thread(coord.join, iter([second.thread, first.thread]))
        first.go.set()
        first.thread.join()
        assert call.alive()
        second.go.set()
        assert call.result() is None
    assert not coord.should_stop()


def test_threads_that_end_by_themselves_end_the_join_without_a_stop():
    coord = Coordinator()
    thread = threading.Thread(target=lambda: None)
    coord.register_thread(thread)
    thread.start()
    coord.join()
    assert coord.joined
    assert not coord.should_stop()


def test_stop_begins_the_grace_period():
    coord = Coordinator()
    with Gate("laggard") as gate:
        call = run_in_thread(coord.join, [gate.thread], stop_grace_period_secs=0)
        assert call.alive()
        coord.request_stop()
        first, place = str(call.exception()).splitlines()
        assert first == RUNNING + "laggard"
        assert re.fullmatch(r"'laggard' is in \w+\(\) at .+\.py:\d+", place)
    assert coord.joined


@pytest.mark.parametrize("grace", [0, -1, 0.001])
def test_laggards_are_named(grace):
    coord = Coordinator()
    coord.request_stop()
    with Gate("one") as one, Gate("two") as two:
        with pytest.raises(
            RuntimeError,
            match=rf"^{RUNNING}one two\n'one' is in \w+\(\) at .+\.py:\d+\n'two' is in \w+\(\) at .+\.py:\d+$",
        ):
            coord.join([one.thread, two.thread], stop_grace_period_secs=grace)


def test_thread_that_ends_within_the_grace_period_is_no_laggard():
    coord = Coordinator()
    coord.request_stop()
    with Gate() as gate:
        call = run_in_thread(coord.join, [gate.thread])
        gate.go.set()
        assert call.result() is None


def test_laggards_can_be_ignored():
    coord = Coordinator()
    coord.request_stop()
    with Gate() as gate:
        coord.join([gate.thread], stop_grace_period_secs=0, ignore_live_threads=True)


@pytest.mark.parametrize("ignore", [True, False])
def test_recorded_exception_matters_more_than_laggards(ignore):
    coord, error = Coordinator(), ValueError("cause")
    coord.request_stop(error)
    with Gate() as gate:
        with pytest.raises(ValueError, match="cause") as caught:
            coord.join([gate.thread], stop_grace_period_secs=0, ignore_live_threads=ignore)
    assert caught.value is error


def test_clean_exception_matters_less_than_laggards():
    coord = Coordinator()
    coord.request_stop(OutOfRangeError(None, None, "end"))
    with Gate("slow") as gate:
        with pytest.raises(RuntimeError, match=RUNNING + "slow"):
            coord.join([gate.thread], stop_grace_period_secs=0)


def test_thread_that_was_not_started_counts_as_ended():
    coord = Coordinator()
    coord.register_thread(threading.Thread())
    coord.join([threading.Thread()])


def test_second_join_has_forgotten_the_registered_threads():
    coord = Coordinator()
    coord.request_stop()
    with Gate() as gate:
        coord.register_thread(gate.thread)
        with pytest.raises(RuntimeError):
            coord.join(stop_grace_period_secs=0)
        coord.join(stop_grace_period_secs=0)


def test_clear_stop_keeps_registered_threads():
    coord = Coordinator()
    with Gate("kept") as gate:
        coord.register_thread(gate.thread)
        coord.request_stop()
        coord.clear_stop()
        coord.request_stop()
        with pytest.raises(RuntimeError, match="kept"):
            coord.join(stop_grace_period_secs=0)


def test_thread_that_joins_itself_is_a_laggard():
    coord = Coordinator()
    coord.request_stop()

    def join():
        coord.join([threading.current_thread()])

    assert str(run_in_thread(join).exception()).startswith(RUNNING)


def test_registering_twice_is_one_thread():
    coord = Coordinator()
    coord.request_stop()
    with Gate("once") as gate:
        coord.register_thread(gate.thread)
        coord.register_thread(gate.thread)
        with pytest.raises(RuntimeError, match=rf"^{RUNNING}once\n'once' is in \w+\(\) at .+\.py:\d+$"):
            coord.join([gate.thread], stop_grace_period_secs=0)


def test_huge_grace_period():
    coord = Coordinator()
    coord.request_stop()
    with Gate() as gate:
        call = run_in_thread(coord.join, [gate.thread], stop_grace_period_secs=1e300)
        gate.go.set()
        assert call.result() is None
