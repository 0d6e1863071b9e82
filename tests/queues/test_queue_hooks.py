"""Hooks called before a queue's call waits, and during its wait.

The hooks are private; the package's queues explain a wait in them.
"""

import os
import signal

import pytest
from helpers import run_in_thread, start_blocked, wait_blocked, wait_until

from pipeline import FailedPreconditionError, FIFOQueue, OutOfRangeError
from pipeline._queue import CALLS


class Refused(Exception):
    pass


class Watched(FIFOQueue):
    """Records waiting calls; the hooks return or raise `answers`."""

    def __init__(self, *answers):
        super().__init__(2, "int64", shapes=())
        self.answers, self.asked = list(answers), []

    def answer(self, *what):
        self.asked.append(what)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _about_to_wait(self, call):
        return self.answer(call)

    def _still_waiting(self, call, waited_s):
        assert waited_s >= 0
        return self.answer(call, "still")


def test_calls_that_are_served_at_once_do_not_ask():
    queue = Watched(Refused())
    queue.enqueue_many([[1, 2]])
    assert queue.dequeue_many(2).tolist() == [1, 2]
    queue.close()
    assert queue.asked == []


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda queue: queue.dequeue(), "dequeue"),
        (lambda queue: queue.dequeue_many(3), "dequeue_many"),
        (lambda queue: queue.dequeue_up_to(3), "dequeue_up_to"),
    ],
)
def test_a_refused_dequeue_leaves_everything_in_place(call, name):
    queue = Watched(Refused())
    if name != "dequeue":
        queue.enqueue(7)
    with pytest.raises(Refused):
        call(queue)
    assert queue.asked == [(CALLS[name],)]
    stats = queue.stats()
    assert (stats.waiting_dequeues, stats.size) == (0, int(name != "dequeue"))


def test_a_refused_enqueue_keeps_what_was_stored():
    queue = Watched(Refused())
    with pytest.raises(Refused):
        queue.enqueue_many([[1, 2, 3]])
    assert queue.asked == [(CALLS["enqueue"],)]
    assert queue.dequeue_many(2).tolist() == [1, 2]
    assert queue.stats().waiting_enqueues == 0


def test_asked_again_as_often_as_wanted():
    queue = Watched(0.001, 0.001, 0, Refused())
    with pytest.raises(Refused):
        queue.dequeue()
    dequeue = CALLS["dequeue"]
    assert queue.asked == [(dequeue,), (dequeue, "still"), (dequeue, "still"), (dequeue, "still")]


def test_a_wait_goes_on_after_the_last_question():
    queue = Watched(0.001, None)
    waiting = start_blocked(queue, "dequeue")
    queue.enqueue(5)
    assert waiting.result() == 5
    assert len(queue.asked) <= 2


@pytest.mark.parametrize(("call", "vals"), [("dequeue", []), ("enqueue", [3]), ("enqueue_many", [[[4, 5]]])])
def test_a_poke_asks_every_call_that_waits(call, vals):
    queue = Watched()
    if vals:
        queue.enqueue_many([[1, 2]])
    waiting = [start_blocked(queue, call, *vals) for _ in range(2)]
    wait_until(lambda: len(queue.asked) == 2, "the calls were asked before they wait")
    queue.answers = [Refused()] * 2
    queue._poke()
    for each in waiting:
        with pytest.raises(Refused):
            each.result()
    assert queue.size() == len(vals) * 2


def test_a_poke_before_the_wait_is_heard():
    queue = Watched()

    def about_to_wait(call):
        queue._poke()
        queue.answers = [Refused()]

    queue._about_to_wait = about_to_wait
    with pytest.raises(Refused):
        queue.dequeue()


class TestDecidedMeanwhile:
    """A hook reports that the wait would never end, but by then it has ended."""

    def hopeless(self, queue, act):
        def about_to_wait(call):
            act()
            raise FailedPreconditionError(None, None, "was never started")

        queue._about_to_wait = about_to_wait
        return queue

    def test_the_element_counts(self):
        queue = Watched()
        self.hopeless(queue, lambda: queue.enqueue(7))
        assert queue.dequeue() == 7
        assert (queue.size(), queue.stats().waiting_dequeues) == (0, 0)

    def test_the_batch_counts(self):
        queue = Watched()
        queue.enqueue(1)
        self.hopeless(queue, lambda: queue.enqueue_many([[2, 3]]))
        assert queue.dequeue_many(3).tolist() == [1, 2, 3]

    def test_the_end_counts(self):
        queue = Watched()
        self.hopeless(queue, queue.close)
        with pytest.raises(OutOfRangeError, match="is closed and has insufficient elements"):
            queue.dequeue()

    def test_room_counts(self):
        queue = Watched()
        queue.enqueue_many([[1, 2]])
        self.hopeless(queue, queue.dequeue)
        queue.enqueue(3)
        assert queue.dequeue_many(2).tolist() == [2, 3]

    def test_when_it_is_asked_again(self):
        queue = Watched()
        queue._about_to_wait = lambda call: 0

        def still_waiting(call, waited_s):
            queue.enqueue(7)
            raise FailedPreconditionError(None, None, "nobody fills it")

        queue._still_waiting = still_waiting
        assert queue.dequeue() == 7

    def test_too_few_elements_do_not_count(self):
        queue = Watched()
        self.hopeless(queue, lambda: queue.enqueue(7))
        with pytest.raises(FailedPreconditionError, match="was never started"):
            queue.dequeue_many(2)
        del queue._about_to_wait
        assert queue.dequeue() == 7

    @pytest.mark.parametrize("error", [KeyboardInterrupt, Refused])
    def test_what_a_signal_handler_raises_in_a_hook_wins(self, error):
        queue = Watched()

        def about_to_wait(call):
            queue.enqueue(7)
            raise error

        queue._about_to_wait = about_to_wait
        with pytest.raises(error):
            queue.dequeue()
        assert queue.dequeue() == 7

    def test_what_a_signal_handler_raises_in_the_wait_wins(self):
        """Also an error with that class."""
        queue = Watched()

        def handle(*_):
            queue.enqueue(7)
            raise FailedPreconditionError(None, None, "of the handler")

        before = signal.signal(signal.SIGUSR1, handle)
        try:

            def strike():
                wait_blocked(queue, dequeues=1)
                os.kill(os.getpid(), signal.SIGUSR1)

            striking = run_in_thread(strike)
            with pytest.raises(FailedPreconditionError, match="of the handler"):
                queue.dequeue()
            striking.result()
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert queue.dequeue() == 7


def test_a_queue_that_holds_more_than_its_capacity_has_no_room():
    queue = Watched()
    waiting = start_blocked(queue, "dequeue_many", 9)
    queue.enqueue_many([[1, 2, 3, 4, 5]])
    queue.answers = [Refused()]
    queue._poke()
    assert isinstance(waiting.exception(), Refused)
    assert queue.size() == 5
    assert queue._flow() == (5, 0)
    assert queue.dequeue_many(5).tolist() == [1, 2, 3, 4, 5]
