"""Helpers for tests of coordinators, runners, producers, readers and batches."""

import contextlib
import os
import threading

import pytest
from helpers import LIMIT, wait_until

import pipeline
from pipeline.errors import OutOfRangeError


def out_of_range(text="end of input"):
    return OutOfRangeError(None, None, text)


def source(items):
    """Return a thread-safe callable; it returns the items in turn and then raises OutOfRangeError."""
    lock = threading.Lock()
    rest = iter(list(items))

    def take():
        with lock:
            for item in rest:
                return item
        raise out_of_range()

    return take


def closed_queue(strings, name="work"):
    """Return a closed FIFOQueue with strings."""
    queue = pipeline.FIFOQueue(max(1, len(strings)), "string", [()], name=name)
    queue.enqueue_many((list(map(os.fsencode, strings)),))
    queue.close()
    return queue


def drain(take):
    """Call `take` until OutOfRangeError; return its results."""
    items = []
    with contextlib.suppress(OutOfRangeError):
        while True:
            items.append(take())
    return items


def threads_since():
    """Return a function listing the living threads begun from now on; earlier tests' threads may end at any time."""
    before = set(threading.enumerate())
    return lambda: [each for each in threading.enumerate() if each not in before]


@contextlib.contextmanager
def no_thread_left():
    """Check that every thread started in the body ends."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        # A thread whose `start` was struck may be about to begin.
        wait_until(lambda new=thread: new.is_alive() or new not in threading.enumerate(), f"{thread.name} to begin")
        thread.join(LIMIT)
        if thread.is_alive():
            pytest.fail(f"thread {thread.name} is still alive")


class Gate:
    """A thread running until it is released."""

    def __init__(self, name=None):
        self.go = threading.Event()
        self.thread = threading.Thread(target=self.go.wait, args=(LIMIT,), name=name, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.go.set()
        self.thread.join(LIMIT)


@contextlib.contextmanager
def fresh_collection():
    """Clear all registrations before and after."""
    pipeline.reset()
    yield
    pipeline.reset()
