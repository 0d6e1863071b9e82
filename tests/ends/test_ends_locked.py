"""Ctrl-C strikes just as the main thread gets a lock: other threads get it afterwards.

From Python 3.14 on, `with` checks for signals between a compiled `__enter__` and the block.
"""

import _thread
import sys
import threading

import pytest
from helpers import run_in_thread, wait_until

import pipeline
from pipeline.conditions import ReentrantCondition
from pipeline.locks import Lock

TIMES = 20  # because Ctrl-C strikes too early if the main thread does not wait yet


def enter(lock):
    with lock:
        return True


def strike(*files):
    """Strike with Ctrl-C once the main thread is in `enter`, or in one of these files. A wait there does not end."""
    main = threading.main_thread().ident

    def there():
        code = sys._current_frames()[main].f_code
        return code is enter.__code__ or code.co_filename.endswith(files)

    wait_until(there, "the main thread")
    _thread.interrupt_main()


@pytest.mark.parametrize("kind", [Lock, ReentrantCondition], ids=["lock", "condition"])
def test_a_lock(kind):
    lock = kind()

    def hold(held):
        with lock:
            held.set()
            strike("locks.py")

    for _ in range(TIMES):
        held = threading.Event()
        holding = run_in_thread(hold, held)
        assert held.wait(60)
        with pytest.raises(KeyboardInterrupt):
            enter(lock)
        holding.result()
        assert run_in_thread(enter, lock).result()
        with lock:
            assert enter(lock)  # its thread may take it again
            assert not run_in_thread(lock.acquire, False).result()


def test_an_iterator_that_threads_share():
    armed = []

    def function(number):
        if armed:
            armed.pop().set()
            strike("iterator.py", "locks.py")
        return number

    with iter(pipeline.dataset(range(100)).map(function)) as iterator:
        for _ in range(TIMES):
            inside = threading.Event()
            armed.append(inside)
            other = run_in_thread(next, iterator)
            assert inside.wait(60)
            with pytest.raises(KeyboardInterrupt):
                next(iterator)
            other.result()
            assert run_in_thread(next, iterator).result() < 100
