"""The window: results that threads finish in any order are handed over in the order of their tickets."""

import gc
import itertools
import random
import threading
import weakref

import pytest
from helpers import raises, run_in_thread
from hypothesis import given
from hypothesis import strategies as st

from pipeline._tickets import Window


class Item:
    """Can be referred to weakly."""


class Reference:
    """What a window does, for one thread."""

    def __init__(self, room, first):
        self.room, self.due, self.parked = room, first, {}
        self.storing = self.in_hand = self.dropped = False

    def begin(self):
        if not self.storing:
            self.pass_nothing()
            self.storing = self.due in self.parked
            return self.storing
        return False

    def pass_nothing(self):
        while self.due in self.parked and self.parked[self.due] is None:
            del self.parked[self.due]
            self.due += 1

    def offer(self, ticket, item):
        if self.dropped:
            return False
        if not self.due <= ticket < self.due + self.room or ticket in self.parked:
            return ValueError
        self.parked[ticket] = item
        return self.begin()

    def claim(self):
        return self.begin()

    def take(self):
        if not self.storing:
            return RuntimeError
        if self.in_hand:
            del self.parked[self.due]
            self.due += 1
        self.pass_nothing()
        self.storing = self.in_hand = self.due in self.parked
        return self.parked.get(self.due)

    def release(self):
        if not self.storing:
            return RuntimeError
        if self.in_hand and self.dropped:
            del self.parked[self.due]
            self.due += 1
        self.storing = self.in_hand = False
        return None

    def drop(self):
        self.parked = {self.due: self.parked[self.due]} if self.in_hand else {}
        self.dropped = True


CALLS = st.one_of(
    st.tuples(st.just("offer"), st.integers(-2, 10), st.booleans()),
    st.tuples(st.sampled_from(["take"] * 6 + ["claim", "release"])),
    st.tuples(st.sampled_from(["claim"] * 30 + ["drop"])),
)


@given(room=st.integers(1, 9), first=st.integers(0, 5), calls=st.lists(CALLS, max_size=80))
def test_any_calls_do_what_the_reference_does(room, first, calls):
    window, reference, numbers = Window(room, first), Reference(room, first), itertools.count()
    for name, *args in calls:
        if name == "offer":
            ahead, gives = args
            args = [reference.due + ahead, next(numbers) if gives else None]
        try:
            result = getattr(window, name)(*args)
        except (ValueError, RuntimeError) as error:
            result = type(error)
        assert result == getattr(reference, name)(*args)
        assert (window.due, window.parked) == (reference.due, len(reference.parked))
        assert window.has_room(window.due + room - 1)
        assert not window.has_room(window.due + room)


def store(window, stored):
    """Store what is due, as long as it is."""
    while (item := window.take()) is not None:
        stored.append(item)


@pytest.mark.parametrize(("threads", "room"), [(2, 1), (4, 2), (8, 3), (4, 64), (8, 5000)])
def test_threads(threads, room):
    """Every result once, in order, whoever stores; some tickets give nothing, and some stores fail."""
    window, tickets, turn, stored, n = Window(room), itertools.count(), threading.Lock(), [], 3000
    failures = [0]

    def work(seed):
        draw = random.Random(seed)
        while True:
            with turn:
                mine = [ticket for ticket in itertools.islice(tickets, draw.randint(1, 3)) if ticket < n]
            draw.shuffle(mine)
            if not mine:
                return
            for ticket in sorted(mine) if room < 3 * threads else mine:
                assert window.wait_for_room(ticket)
                storing = window.offer(ticket, None if ticket % 7 == 3 else ticket)
                while storing:
                    storing = move(draw)

    def move(draw):
        """Store; fail sometimes, and return whether to try again."""
        while (item := window.take()) is not None:
            if draw.random() < 0.02:
                window.release()
                failures[0] += 1
                return window.claim()
            stored.append(item)
        return False

    for call in [run_in_thread(work, seed) for seed in range(threads)]:
        call.result()
    assert stored == [ticket for ticket in range(n) if ticket % 7 != 3]
    assert (window.due, window.parked) == (n, 0)
    assert failures[0] > 0


def test_only_one_thread_stores():
    window = Window(4)
    assert not window.offer(1, "b")
    assert window.offer(0, "a")
    assert not window.offer(2, "c")
    assert not window.claim()
    stored = []
    store(window, stored)
    assert stored == ["a", "b", "c"]
    with raises(RuntimeError, "Window.take: no thread stores"):
        window.take()
    with raises(RuntimeError, "Window.release: no thread stores"):
        window.release()


def test_what_was_not_stored_is_due_as_before():
    window = Window(4)
    assert window.offer(0, "a")
    assert window.take() == "a"
    window.release()
    assert window.due == 0
    assert window.offer(1, "b")  # whoever comes next
    assert window.take() == "a"
    window.release()
    assert window.claim()
    stored = []
    store(window, stored)
    assert stored == ["a", "b"]


def test_what_is_taken_keeps_its_room_until_it_is_stored():
    window = Window(1)
    assert window.offer(0, "a")
    assert window.take() == "a"
    assert not window.has_room(1)
    with raises(ValueError, "Window: ticket 1 lies outside of the window; due is 0, room 1"):
        window.offer(1, "b")
    assert window.take() is None
    assert window.offer(1, "b")


def test_tickets_that_may_not_be_offered():
    window = Window(4, first=10)
    assert not window.offer(12, "c")
    with raises(ValueError, "Window: ticket 12 is parked already"):
        window.offer(12, "again")
    with raises(ValueError, "Window: ticket 9 lies outside of the window; due is 10, room 4"):
        window.offer(9, "past")
    with pytest.raises(OverflowError):
        window.offer(2**64, "far")
    with pytest.raises(TypeError):
        window.offer("12", "text")
    assert window.parked == 1


@pytest.mark.parametrize(("room", "first"), [(0, 0), (2**24 + 1, 0), (1, -1), (1, 2**62)])
def test_windows_that_cannot_be(room, first):
    with raises(ValueError, "Window: "):
        Window(room, first)


# Waiting for room -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [True, False])
def test_waits_end_when_there_is_room(nothing):
    window = Window(2)
    calls = [run_in_thread(window.wait_for_room, ticket) for ticket in (2, 3, 4)]
    assert window.wait_for_room(1)
    for ticket in range(3):
        if window.offer(ticket, None if nothing else ticket):
            store(window, [])
    assert [call.result() for call in calls] == [True] * 3


def test_a_wait_that_takes_too_long():
    window = Window(2)
    assert not window.wait_for_room(2, timeout=0)
    assert not window.wait_for_room(2, timeout=0.001)
    with raises(ValueError, "timeout must be None or a number of seconds >= 0"):
        window.wait_for_room(2, timeout=-1)


@pytest.mark.parametrize("end", [Window.wake, Window.drop])
def test_no_wait_outlives_the_loop(end):
    window = Window(2)
    calls = [run_in_thread(window.wait_for_room, ticket) for ticket in (2, 2, 9)]
    end(window)
    assert [call.result() for call in calls] == [False] * 3
    assert not window.wait_for_room(2)
    assert window.wait_for_room(1)


# References -----------------------------------------------------------------------------------------------------------


def alive(items):
    gc.collect()
    return [each() is not None for each in items]


def refer(*items):
    return [weakref.ref(item) for item in items]


def test_what_is_stored_is_let_go():
    window, a, b = Window(4), Item(), Item()
    items = refer(a, b)
    window.offer(0, a)
    window.offer(1, b)
    del a, b
    window.take()
    assert alive(items) == [True, True]
    window.take()
    assert alive(items) == [False, True]
    window.take()
    assert alive(items) == [False, False]


def test_dropping_lets_go_of_all_but_what_is_in_hand():
    window, a, b, c = Window(4), Item(), Item(), Item()
    items = refer(a, b, c)
    window.offer(0, a)
    window.offer(1, b)
    window.offer(3, None)
    window.take()
    del a, b
    window.drop()
    window.drop()
    assert alive(items) == [True, False, True]
    assert not window.offer(2, c)
    del c
    assert window.take() is None
    assert alive(items) == [False] * 3
    assert window.parked == 0


def test_refused_items_are_let_go():
    window, a = Window(4), Item()
    items = refer(a)
    with pytest.raises(ValueError, match="outside"):
        window.offer(9, a)
    del a
    assert alive(items) == [False]


def test_a_window_that_its_items_refer_to():
    window, a = Window(4), Item()
    items = refer(a)
    a.window = window
    window.offer(3, a)
    del window, a
    assert alive(items) == [False]


def test_hand_offers_and_takes_what_is_due():
    window = Window(4)
    assert window.hand(1, "b") is None  # not due
    assert window.hand(0, "a") == "a"
    assert window.hand(2, "c") is None  # somebody stores
    assert [window.take() for _ in range(3)] == ["b", "c", None]
    with raises(ValueError, "Window: ticket 0 lies outside of the window"):
        window.hand(0, "again")
    assert window.hand(3, "d") == "d"
