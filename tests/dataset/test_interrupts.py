"""If a signal handler raises, as for Ctrl-C and alarms, the iterator continues and a `for` loop loses nothing.

In `x = next(iterator)` a signal may strike before Python assigns the element. Then it is lost, and counts as delivered.
"""

import contextlib
import gc
import inspect
import itertools
import random
import signal
import sys
import threading
import time

import chains
import numpy as np
import pytest
from helpers import in_order, run_in_thread, wait_blocked, wait_until
from orchestration import threads_since
from steps import STREAMED

import pipeline
from pipeline.errors import CancelledError, FailedPreconditionError
from pipeline.reports import spans

STRIKES = 60
LATE = 5000  # elements that may precede the error if a handler struck during the elements made ahead


class Interrupt(KeyboardInterrupt):
    """Ctrl-C."""


class Alarm(Exception):
    """The error from a handler limiting a program's run time."""


def after_late(iterator, error, count):
    """Return the next elements; the last signal's error may come late, after elements made before it."""
    found, late = [], 0
    while len(found) < count:
        try:
            found.append(chains.plain(next(iterator)))
        except error:
            late += 1
            assert late == 1
    return found


class Strikes:
    """A signal handler that raises at random moments while armed; it disarms itself.

    Args:
        error: The exception.
        seconds: The longest time between two signals.
    """

    def __init__(self, error, seconds):
        self._error, self._seconds, self._random = error, seconds, random.Random(1)
        self.armed, self.count, self._over = False, 0, False

    def __call__(self, number, frame):
        self._set()
        if self.armed:
            self.armed, self.count = False, self.count + 1
            raise self._error

    def _set(self):
        if not self._over:
            signal.setitimer(signal.ITIMER_REAL, self._random.uniform(2e-5, self._seconds))

    def __enter__(self):
        self._before = signal.signal(signal.SIGALRM, self), sys.unraisablehook
        sys.unraisablehook = self._ignore
        self._set()
        return self

    def _ignore(self, raised):
        """Ignore two kinds of exception: Python prints them, and the program continues.

        They are raised in a finalizer, or in a thread (KeyError) if a handler raised an Exception during its start.
        """
        if raised.exc_type is self._error:
            self.armed = True
        elif raised.exc_type is not KeyError:
            self._before[1](raised)

    def __exit__(self, *_):
        self.armed, self._over = False, True  # the handler for a pending signal would set another one
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before[0])
        sys.unraisablehook = self._before[1]


def longest(data):
    """The longest time between two signals: a few elements, once processes and modules are loaded."""
    seconds = []
    for _ in itertools.islice(data, 50):
        pass
    for _ in range(3):
        began = time.perf_counter()
        with iter(data) as iterator:
            next(iterator)
        seconds.append(time.perf_counter() - began)
    return min(4 * min(seconds) + 0.001, 0.03)


def interrupted(iterator, strikes, error):
    """Return a loop's elements after striking it often enough."""
    found, late = [], 0
    while strikes.count < STRIKES:
        try:
            strikes.armed = True
            for element in iterator:
                found.append(element)
                assert late < LATE, "the error of a handler was swallowed"
                if strikes.count >= STRIKES:
                    break
                # Not an `if`: in a jump back from one, Python 3.14 does not catch the interrupt.
                late = 0 if strikes.armed else late + 1
            strikes.armed = False
        except error:
            pass
        with pytest.raises(FailedPreconditionError, match=r"^example_rng: "):  # because no function runs
            pipeline.example_rng()
    return [chains.plain(each) for each in found]


@contextlib.contextmanager
def no_thread_stays():
    """Check that threads begun in the body end. Some never do, because Ctrl-C struck during their start."""
    begun = threads_since()
    yield
    for thread in begun():
        wait_until(lambda thread=thread: not thread.is_alive(), f"{thread.name} to end")


@contextlib.contextmanager
def no_collection():
    """Collect no garbage in the body: the finalizer of another test's iterator would swallow the exception."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class AtCall:
    """A profile function that raises at call number `place` in some files: where a signal handler may run.

    These are the beginnings of functions, and the ends of functions in C. Python 3.10 also looks for signals after a
    function in Python has returned to one in Python.
    """

    def __init__(self, files, place):
        self._files, self._place, self.struck = files, place, False

    def __call__(self, frame, event, argument):
        code = frame.f_code
        if event not in ("call", "c_return", "return") or code.co_filename not in self._files:
            return
        if event == "return" and code.co_name == "__next__":  # to the loop
            return
        self._place -= 1
        if self._place < 0:
            sys.setprofile(None)
            self.struck = True
            raise Interrupt


def double(x):
    return 2 * x


def odd(x):
    return x % 2 == 1


def pair(x):
    return [x, -x]


def numbers():
    yield from itertools.count()


def text(folder):
    path = folder / "lines"
    if not path.exists():
        path.write_text("".join(f"line {i}\n" for i in range(500)))
    return pipeline.text(path)


RANGE = pipeline.dataset(range(10**9))
CHAINS = {
    "sequence": lambda folder: RANGE.map(double).batch(4),
    "arrays": lambda folder: pipeline.arrays(np.arange(5000)).shuffle(seed=1).batch(8).repeat(),
    "text": lambda folder: text(folder).repeat().shuffle(50, seed=1).batch(8),
    "filter, flat_map": lambda folder: pipeline.dataset(numbers).filter(odd).flat_map(pair),
    "workers": lambda folder: RANGE.filter(odd).map(double, workers=2),
    "workers, batch": lambda folder: pipeline.dataset(numbers).map(double, workers=2).batch(3),
    "batch, prefetch": lambda folder: RANGE.filter(odd).batch(2).prefetch(3),
    "workers, prefetch": lambda folder: text(folder).repeat().map(len, workers=2).prefetch(4),
    "processes": lambda folder: RANGE.map(double, workers=PROCESSES).batch(4),
    "interleave of lines": lambda folder: pipeline.interleave([RANGE.map(double), text(folder).repeat()]),
} | {
    name: lambda folder, step=step: step.over_itself(pipeline.dataset(numbers))
    for name, step in STREAMED.items()
    if name not in ("take", "cache")  # these end, or fill memory
}

PROCESSES = pipeline.processes(2)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", ["arrays", "filter, flat_map"])
def test_at_any_call(name, traced, tmp_path, monkeypatch):
    monkeypatch.setattr(spans, "on", traced)
    monkeypatch.setattr(spans, "events", spans.Events())
    data = CHAINS[name](tmp_path).take(4)
    expected = [chains.plain(each) for each in data]
    for place in itertools.count():
        with iter(data) as iterator:
            found = [next(iterator)]
            strike = AtCall([inspect.getfile(type(iterator)), spans.__file__], place)
            with contextlib.suppress(Interrupt), no_collection():
                sys.setprofile(strike)
                for element in iterator:
                    sys.setprofile(None)
                    found.append(element)
                    break
            sys.setprofile(None)
            found += iterator
        assert [chains.plain(each) for each in found] == expected
        if not strike.struck:
            break
    assert place > 3


# From `threading`: an exception in `start` takes a thread off a list that the thread wants to take itself off.
@pytest.mark.filterwarnings("ignore:Exception ignored in thread started by:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("error", [Interrupt, Alarm])
@pytest.mark.parametrize("name", CHAINS)
def test_loops_go_on_and_double_nothing(name, error, tmp_path):
    data = CHAINS[name](tmp_path)
    with iter(data) as iterator, iter(data) as other:
        with Strikes(error, longest(data)) as strikes:
            found = interrupted(iterator, strikes, error)
        assert iterator.delivered[0] == len(found)
        assert found == [chains.plain(each) for each in itertools.islice(other, len(found))]
        state = iterator.state_dict()
        following = after_late(iterator, error, 5)
    with iter(data) as resumed:
        resumed.load_state_dict(state)
        assert [chains.plain(next(resumed)) for _ in range(5)] == following


@pytest.mark.parametrize("name", ["arrays", "workers", "text", "workers, prefetch"])
def test_the_first_call_is_interrupted(name, tmp_path):
    """The interrupt strikes anywhere during the opening."""
    data = CHAINS[name](tmp_path)
    expected = [chains.plain(each) for each in itertools.islice(data, 3 + STRIKES)]
    with Strikes(Interrupt, longest(data) / 4) as strikes, no_thread_stays():
        while strikes.count < STRIKES:
            with iter(data) as iterator:
                found, before = [], strikes.count
                while len(found) < 3:
                    try:
                        strikes.armed = not found
                        for element in iterator:
                            found.append(element)
                            strikes.armed = False
                            if len(found) == 3:
                                break
                    except Interrupt:
                        pass
                count = iterator.delivered[0]
                assert count <= 3 + strikes.count - before
                assert in_order([chains.plain(each) for each in found], expected[:count])


@pytest.fixture(params=["KeyboardInterrupt", "TimeoutError"])
def strike(request):
    """Return a function that raises through a signal, at once in the main thread, and its error."""

    def alarm(number, frame):
        raise Alarm

    ctrl_c = request.param == "KeyboardInterrupt"
    number = signal.SIGINT if ctrl_c else signal.SIGUSR1
    before = signal.signal(number, signal.default_int_handler if ctrl_c else alarm)
    main = threading.get_ident()

    def strike():
        signal.pthread_kill(main, number)

    yield strike, KeyboardInterrupt if ctrl_c else Alarm
    signal.signal(number, before)


def once(at, strike):
    """Return a function struck at its first call with a given number."""
    struck = []

    def function(number):
        if number == at and not struck:
            struck.append(number)
            strike()
        return number

    return function


class BeginsAnew:
    """An iterator that restarts at each `iter`, so an interrupt would double its items.

    Args:
        function: Called with each number.
    """

    def __init__(self, function):
        self.function = function

    def __iter__(self):
        self.numbers = iter(range(9))
        return self

    def __next__(self):
        return self.function(next(self.numbers))


WITHOUT_STATE = {
    "iterator": lambda function: pipeline.dataset(iter(range(9))).map(function),
    "generator": lambda function: pipeline.dataset(function(i) for i in range(9)),
    "generator, batch": lambda function: pipeline.dataset(function(i) for i in range(9)).batch(3),
    "an iterator that begins anew": lambda function: pipeline.dataset(BeginsAnew(function)),
    "callable": lambda function: pipeline.dataset(map(function, range(9)).__next__),
    "queue": lambda function: pipeline.dataset(full(9)).map(int).map(function),
    "unordered": lambda function: pipeline.dataset(range(9)).map(int, workers=2, ordered=False).map(function),
}


def full(n):
    queue = pipeline.FIFOQueue(n, ["int64"], [()])
    queue.enqueue_many(range(n))
    queue.close()
    return queue


@pytest.mark.parametrize("name", WITHOUT_STATE)
def test_what_has_no_state_says_so_instead_of_ending(name, strike):
    strike, error = strike
    with iter(WITHOUT_STATE[name](once(4, strike))) as iterator:
        found = []
        with pytest.raises(error):
            found.extend(iterator)
        with pytest.raises(FailedPreconditionError, match="the iterator was interrupted and cannot continue: "):
            next(iterator)
        assert list(iterator) == []
    assert len(found) < 9


def test_a_function_that_is_struck_is_called_again(strike):
    strike, error = strike
    with iter(pipeline.dataset(range(9)).filter(once(4, strike)).batch(2)) as iterator:
        found = []
        with pytest.raises(error):
            found.extend(iterator)
        assert iterator.delivered == (1, 2)
        found += iterator
    assert [batch.tolist() for batch in found] == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_a_comparison_of_keys_may_be_struck(strike):
    strike, error = strike
    struck = once(0, strike)

    class Key:
        def __init__(self, number):
            self.number = number

        def __lt__(self, other):
            return self.number < other.number

        def __ne__(self, other):
            return struck(self.number) is None

    with iter(pipeline.dataset(range(4)).sort(4, Key, reverse=True)) as iterator:
        with pytest.raises(error):
            next(iterator)
        assert list(iterator) == [3, 2, 1, 0]


@pytest.mark.parametrize("chain", [lambda data: data, lambda data: data.prefetch(2)], ids=["queue", "prefetch"])
def test_a_queue_may_be_interrupted_while_it_is_waited_for(chain, strike):
    """Nothing is lost, even without a state to return to."""
    strike, error = strike
    queue = pipeline.FIFOQueue(10, ["int64"], [()])
    main_waits = threading.Event()

    def send():
        for i in range(20):
            assert main_waits.wait(60)
            main_waits.clear()
            wait_blocked(queue, dequeues=1)
            strike()
            assert main_waits.wait(60)
            main_waits.clear()
            queue.enqueue(i)

    sending, found = run_in_thread(send), []
    with iter(chain(pipeline.dataset(queue))) as iterator:
        next_or_error(iterator, main_waits, found, error, 20)
        queue.close()
        assert list(iterator) == []
    sending.result()
    assert found == list(range(20))


def next_or_error(iterator, main_waits, found, error, n):
    """Take n elements; interrupt the wait before each."""
    while len(found) < n:
        main_waits.set()
        with pytest.raises(error):
            next(iterator)
        main_waits.set()
        found.append(next(iterator))


def test_a_prefetch_may_be_interrupted_while_it_is_waited_for(strike):
    """Its thread continues, even over a single-pass source."""
    strike, error = strike
    asked, go_on, main_waits = threading.Event(), threading.Semaphore(0), threading.Event()

    def numbers():
        for i in range(20):
            asked.set()
            assert go_on.acquire(timeout=60)
            yield i

    def send():
        for _ in range(20):
            assert main_waits.wait(60)
            main_waits.clear()
            assert asked.wait(60)
            asked.clear()
            strike()
            assert main_waits.wait(60)
            main_waits.clear()
            go_on.release()

    sending, found = run_in_thread(send), []
    with iter(pipeline.dataset(numbers()).prefetch(1)) as iterator:
        next_or_error(iterator, main_waits, found, error, 20)
        assert list(iterator) == []
    sending.result()
    assert found == list(range(20))


def strike_waiting(queue, strike):
    """Strike while a caller waits at an empty queue."""
    wait_until(lambda: queue.size() == 0, "the elements to be taken")
    wait_blocked(queue, dequeues=1)
    strike()


def test_batches_in_time_may_be_interrupted_while_they_are_waited_for(strike):
    strike, error = strike
    queue = pipeline.FIFOQueue(10, ["int64"], [()])
    with iter(pipeline.dataset(queue).batch(3, max_wait=60)) as batches:
        queue.enqueue_many(range(2))
        striking = run_in_thread(strike_waiting, queue, strike)
        with pytest.raises(error):
            next(batches)
        striking.result()
        queue.enqueue(2)
        assert next(batches).tolist() == [0, 1, 2]


def test_other_threads_continue_where_one_is_struck(strike):
    strike, error = strike
    main, struck = threading.get_ident(), set()

    def function(number):
        if threading.get_ident() == main and len(struck) < 20:
            struck.add(number)
            strike()
        return number

    numbers, found = iter(pipeline.dataset(range(3000)).filter(lambda number: True).map(function)), []
    others = [run_in_thread(lambda: list(numbers)) for _ in range(2)]
    with numbers:
        while True:
            try:
                found += numbers
                break
            except error:
                pass
        lists = [other.result() for other in others]
    assert sorted(itertools.chain(found, *lists)) == list(range(3000))


CLOSED = {
    "queue": lambda queue, wait: pipeline.dataset(queue),
    "map of a queue": lambda queue, wait: pipeline.dataset(queue).map(int),
    "batches in time": lambda queue, wait: pipeline.dataset(queue).batch(2, max_wait=60),
    "prefetch": lambda queue, wait: pipeline.dataset(range(9)).map(wait).prefetch(2),
    "workers": lambda queue, wait: pipeline.dataset(range(9)).map(wait, workers=2),
    "map": lambda queue, wait: pipeline.dataset(range(9)).map(wait),
}


@pytest.mark.parametrize("name", CLOSED)
def test_each_thread_that_waits_gets_a_cancelled_error(name):
    queue, reached, closed = pipeline.FIFOQueue(10, ["int64"], [()]), threading.Event(), threading.Event()

    def wait(number):
        reached.set()
        assert closed.wait(60)
        return number

    iterator = iter(CLOSED[name](queue, wait))
    calls = [run_in_thread(next, iterator) for _ in range(3)]
    if name in ("prefetch", "workers", "map"):
        assert reached.wait(60)
    else:
        wait_blocked(queue, dequeues=1)
    closing = run_in_thread(iterator.close)
    wait_until(lambda: "closed" in repr(iterator), "the iterator to be closed")
    closed.set()
    closing.result()
    assert [type(call.exception()) for call in calls] == [CancelledError] * 3
    with pytest.raises(CancelledError, match="closed by another thread"):
        next(iterator)
    with pytest.raises(pipeline.errors.FailedPreconditionError, match="this iterator is closed"):
        list(iterator)


def test_any_thread_can_close_after_an_interrupted_close(strike):
    strike, error = strike
    closing = []

    def rows():
        try:
            yield from range(5)
        finally:
            closing.append(True)
            if len(closing) == 1:
                strike()

    numbers = iter(pipeline.dataset(rows).map(int))
    assert next(numbers) == 0
    with pytest.raises(error):
        numbers.close()
    run_in_thread(numbers.close).result()
    with pytest.raises(FailedPreconditionError, match="this iterator is closed"):
        list(numbers)


@pytest.mark.parametrize("name", ["text", "prefetch", "workers, prefetch"])
def test_an_interrupted_close_can_be_done_again(name, tmp_path):
    data, struck = CHAINS[name](tmp_path), 0
    with Strikes(Interrupt, longest(data) / 4) as strikes, no_thread_stays():
        for _ in range(STRIKES):
            iterator = iter(data)
            next(iterator)
            try:
                strikes.armed = True
                iterator.close()
                strikes.armed = False
            except Interrupt:
                struck += 1
            run_in_thread(iterator.close).result()
            with pytest.raises((FailedPreconditionError, CancelledError)):
                next(iterator)


@pytest.mark.parametrize("name", ["text", "prefetch", "workers, prefetch"])
def test_a_state_is_loaded_or_not(name, tmp_path):
    data = CHAINS[name](tmp_path)
    with iter(data) as iterator:
        before = [chains.plain(next(iterator)) for _ in range(3)]
        state = iterator.state_dict()
        after = [chains.plain(next(iterator)) for _ in range(3)]
    with Strikes(Interrupt, longest(data) / 4) as strikes, no_thread_stays():
        for _ in range(STRIKES):
            with iter(data) as iterator:
                iterator.start()
                try:
                    strikes.armed = True
                    iterator.load_state_dict(state)
                    strikes.armed = False
                except Interrupt:
                    pass
                assert [chains.plain(next(iterator)) for _ in range(3)] in (before, after)
            with iter(data) as iterator:
                try:
                    strikes.armed = True
                    iterator.load_state_dict(state)
                    strikes.armed = False
                except Interrupt:
                    iterator.load_state_dict(state)
                assert [chains.plain(next(iterator)) for _ in range(3)] == after
