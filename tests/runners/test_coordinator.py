"""Coordinator: what a stop request records, and which threads see it."""

import sys
import threading
import traceback

import pytest
from helpers import run_in_thread, wait_until

from pipeline import CancelledError, Coordinator, OutOfRangeError
from pipeline.runners import coordinator


def raised(error):
    """The error with a traceback, and its exc_info."""
    try:
        raise error
    except BaseException:
        return sys.exc_info()


def test_new_coordinator():
    coord = Coordinator()
    assert not coord.should_stop()
    assert not coord.joined
    coord.raise_requested_exception()
    coord.join()
    assert coord.joined


def test_it_says_what_it_is():
    coord = Coordinator()
    states = [repr(coord)]
    coord.register_thread(threading.Thread())
    states.append(repr(coord))
    coord.request_stop(ValueError("bad row"))
    states.append(repr(coord))
    with pytest.raises(ValueError, match="bad row"):
        coord.join()
    states.append(repr(coord))
    coord.clear_stop()
    coord.request_stop()
    assert [*states, repr(coord)] == [
        "<Coordinator: running, 0 registered threads>",
        "<Coordinator: running, 1 registered thread>",
        "<Coordinator: stop requested because of ValueError: bad row, 1 registered thread>",
        "<Coordinator: stop requested because of ValueError: bad row, joined, 0 registered threads>",
        "<Coordinator: stop requested, 0 registered threads>",
    ]


def test_a_bare_class_is_no_list_of_clean_types():
    with pytest.raises(TypeError, match=r"must be a tuple of exception classes: \(ValueError,\) not ValueError"):
        Coordinator(ValueError)


def test_request_stop_sets_the_flag():
    coord = Coordinator()
    coord.request_stop()
    assert coord.should_stop()
    coord.raise_requested_exception()


def test_exception_object_is_recorded_itself_outside_any_handler():
    coord, error = Coordinator(), ValueError("bad row")
    coord.request_stop(error)
    with pytest.raises(ValueError, match="bad row") as caught:
        coord.join()
    assert caught.value is error


def test_exception_object_wins_over_the_one_being_handled():
    coord, error = Coordinator(), RuntimeError("reported")
    try:
        raise ValueError("handled")
    except ValueError:
        coord.request_stop(error)
    with pytest.raises(RuntimeError) as caught:
        coord.join()
    assert caught.value is error


def test_exc_info_is_recorded_with_its_traceback():
    coord, info = Coordinator(), raised(KeyError("key"))
    coord.request_stop(info)
    with pytest.raises(KeyError) as caught:
        coord.raise_requested_exception()
    assert caught.value is info[1]
    assert "raised" in [entry.name for entry in caught.traceback]


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(3), StopIteration(1)], ids=lambda e: type(e).__name__
)
def test_any_exception_is_recorded(error):
    coord = Coordinator()
    coord.request_stop(error)
    with pytest.raises(type(error)) as caught:
        coord.join()
    assert caught.value is error


def test_first_request_wins():
    coord, first = Coordinator(), ValueError("first")
    coord.request_stop(first)
    coord.request_stop(RuntimeError("second"))
    with pytest.raises(ValueError, match="first"):
        coord.join()


def test_first_request_wins_without_an_exception():
    coord = Coordinator()
    coord.request_stop()
    coord.request_stop(RuntimeError("dropped"))
    coord.join()


@pytest.mark.parametrize("ex", [OutOfRangeError(None, None, "end"), raised(OutOfRangeError(None, None, "end"))])
def test_clean_exceptions_stop_without_being_recorded(ex):
    coord = Coordinator()
    coord.request_stop(ex)
    assert coord.should_stop()
    coord.join()


def test_clean_types_can_be_chosen():
    coord = Coordinator(clean_stop_exception_types=[CancelledError])
    coord.request_stop(OutOfRangeError(None, None, "end"))
    with pytest.raises(OutOfRangeError):
        coord.join()
    coord = Coordinator(clean_stop_exception_types=())
    coord.request_stop(OutOfRangeError(None, None, "end"))
    with pytest.raises(OutOfRangeError):
        coord.join()


def test_bare_clean_type_is_a_type_error():
    with pytest.raises(TypeError):
        Coordinator(clean_stop_exception_types=ValueError)


@pytest.mark.parametrize(
    "ex",
    [(), (ValueError,), (None, None, None), (ValueError, None, None), "text", ValueError],
    ids=["empty", "short", "nothing", "no value", "text", "class"],
)
def test_malformed_report_stops_with_a_value_error(ex):
    coord = Coordinator()
    coord.request_stop(ex)
    assert coord.should_stop()
    with pytest.raises(ValueError, match=r"ex must be an exception or a tuple as returned by sys.exc_info\(\), not"):
        coord.join()


@pytest.mark.parametrize("ex", [0, "", None])
def test_falsy_report_counts_as_none(ex):
    coord = Coordinator()
    coord.request_stop(ex)
    assert coord.should_stop()
    coord.join()


class TestAfterJoin:
    def test_exception_is_raised_and_the_flag_left_alone(self):
        coord, error = Coordinator(), ValueError("late")
        coord.join()
        with pytest.raises(ValueError, match="late") as caught:
            coord.request_stop(error)
        assert caught.value is error
        assert not coord.should_stop()

    def test_exc_info_is_raised(self):
        coord, info = Coordinator(), raised(ValueError("late"))
        coord.join()
        with pytest.raises(ValueError, match="late") as caught:
            coord.request_stop(info)
        assert caught.value is info[1]

    def test_none_and_clean_types_set_the_flag(self):
        for ex in (None, OutOfRangeError(None, None, "end")):
            coord = Coordinator()
            coord.join()
            coord.request_stop(ex)
            assert coord.should_stop()

    def test_stop_on_exception_propagates(self):
        coord = Coordinator()
        coord.join()
        with pytest.raises(ValueError, match="late"):
            with coord.stop_on_exception():
                raise ValueError("late")

    def test_clear_stop_makes_it_as_new(self):
        coord = Coordinator()
        coord.request_stop(ValueError("old"))
        with pytest.raises(ValueError, match="old"):
            coord.join()
        coord.clear_stop()
        assert (coord.joined, coord.should_stop()) == (False, False)
        coord.raise_requested_exception()
        coord.request_stop(RuntimeError("new"))
        with pytest.raises(RuntimeError, match="new"):
            coord.join()


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), GeneratorExit(), StopIteration()])
def test_stop_on_exception_swallows_and_reports(error):
    coord = Coordinator()
    with coord.stop_on_exception():
        raise error
    assert coord.should_stop()
    with pytest.raises(type(error)) as caught:
        coord.raise_requested_exception()
    assert caught.value is error


def test_stop_on_exception_without_one_does_not_stop():
    coord = Coordinator()
    with coord.stop_on_exception():
        pass
    assert not coord.should_stop()


def test_exception_is_raised_as_often_as_asked_with_one_traceback():
    coord = Coordinator()
    coord.request_stop(raised(ValueError("again")))
    lengths = []
    for call in (coord.raise_requested_exception, coord.raise_requested_exception, coord.join, coord.join):
        with pytest.raises(ValueError, match="again") as caught:
            call()
        lengths.append(len([entry for entry in caught.traceback if entry.name == "raised"]))
    assert lengths == [1, 1, 1, 1]


class Odd(OSError):
    def __init__(self, *, needed):
        super().__init__("odd", needed)


class Worded(OSError):
    def __init__(self, name):
        super().__init__(f"{name} is gone")
        self.name = name


class OfPath(OSError):
    def __init__(self, path):
        super().__init__(2, "gone", path)


class Keyed(OSError):
    def __new__(cls, *, needed):
        return super().__new__(cls, "odd", needed)

    def __init__(self, *, needed):
        super().__init__("odd", needed)


class Slotted(OSError):
    __slots__ = ("where",)

    def __init__(self, where):
        super().__init__("gone")
        self.where = where

    def __str__(self):
        return self.where


class TestSeveralThreads:
    """Each thread that joins raises the reported error. Raising modifies an exception, and without the GIL several
    threads could do so with the same one: CPython would free its traceback twice, and crash.
    """

    def told(self, coord):
        def ask():
            with pytest.raises(OSError, match=r"gone|odd|one|two") as caught:
                coord.raise_requested_exception()
            return caught.value

        first = ask()
        return first, run_in_thread(ask).result(), ask()

    @pytest.mark.parametrize("gil", [True, False])
    def test_each_has_an_exception_of_its_own_without_the_lock(self, gil, monkeypatch):
        monkeypatch.setattr(coordinator, "gil_enabled", lambda: gil)
        coord = Coordinator()
        error = FileNotFoundError(2, "gone", "a.txt")
        error.__cause__ = cause = ValueError("why")
        error.note = "as it was"
        coord.request_stop(raised(error))
        first, second, again = self.told(coord)
        assert first is error
        assert again is error
        assert (second is error) == gil
        assert (type(second), second.args, second.filename) == (FileNotFoundError, (2, "gone"), "a.txt")
        assert (second.__cause__, second.note) == (cause, "as it was")
        assert "raised" in [entry.name for entry in traceback.extract_tb(second.__traceback__)]

    @pytest.mark.parametrize("error", [Odd(needed=5), Worded("odd"), OfPath("odd.txt"), Keyed(needed=5)])
    def test_classes_that_make_other_exceptions_of_the_same_arguments(self, error, monkeypatch):
        monkeypatch.setattr(coordinator, "gil_enabled", lambda: False)
        coord = Coordinator()
        coord.request_stop(error)
        first, second, _ = self.told(coord)
        assert first is error
        assert second is not error
        assert (type(second), second.args, str(second)) == (type(error), error.args, str(error))
        assert (vars(second), second.errno, second.filename) == (vars(error), error.errno, error.filename)

    def test_one_that_cannot_be_copied_is_raised_itself(self, monkeypatch):
        monkeypatch.setattr(coordinator, "gil_enabled", lambda: False)
        coord = Coordinator()
        coord.request_stop(error := Slotted("odd"))
        assert self.told(coord) == (error,) * 3

    def test_a_cleared_stop_forgets_who_was_told(self, monkeypatch):
        monkeypatch.setattr(coordinator, "gil_enabled", lambda: False)
        coord = Coordinator()
        coord.request_stop(OSError("one"))
        self.told(coord)
        coord.clear_stop()
        coord.request_stop(error := OSError("two"))
        assert run_in_thread(self.told, coord).result()[0] is error


def test_wait_for_stop():
    coord = Coordinator()
    assert coord.wait_for_stop(timeout=0) is False
    assert coord.wait_for_stop(timeout=-5) is False
    assert coord.wait_for_stop(timeout=0.001) is False
    call = run_in_thread(coord.wait_for_stop)
    wait_until(call.alive, "the thread to start")
    coord.request_stop()
    assert call.result() is True
    assert coord.wait_for_stop(timeout=-5) is True


def test_a_wait_that_a_cleared_stop_ends():
    """The thread must not wait for its next call. The private `_bells` shows that the thread waits."""
    coord = Coordinator()
    call = run_in_thread(coord.wait_for_stop)
    wait_until(lambda: coord._stop._bells, "the thread to wait")
    coord.request_stop()
    coord.clear_stop()
    assert call.result() is True


def test_a_wait_of_no_number_of_seconds():
    coord = Coordinator()
    waiting = run_in_thread(coord.wait_for_stop, float("nan"))
    with pytest.raises(ValueError, match="timeout must be a number of seconds, got nan"):
        waiting.result()
    joining = run_in_thread(coord.join, stop_grace_period_secs=float("nan"))
    with pytest.raises(ValueError, match="stop_grace_period_secs must be a number of seconds, got nan"):
        joining.result()
    assert coord.wait_for_stop(-float("inf")) is False
