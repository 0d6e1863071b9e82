"""Moves elements through a chain of three queues, with threads that raise, time out, are cancelled or leave at random.

Producers -> queue -> movers -> queue -> movers -> queue -> consumers. Another thread takes over from one that fails or
leaves. The main thread produces and consumes too, and real signals interrupt its calls.
"""

import itertools
import random
import signal
import threading
import time

import numpy as np
from helpers import run_in_thread
from stress.ledger import Ledger
from stress.queues import HOOKED, KINDS, here
from stress.words import HookRaised

import pipeline
from pipeline.errors import CancelledError, DeadlineExceededError, OutOfRangeError

PATIENCE = [0, 0.0001, 0.001, 0.01, 0.1]  # timeouts, in seconds
SIZES = [1, 1, 2, 5, 17, 60]
PERIOD = 0.003  # seconds between two signals


class Failed(Exception):
    """A thread's own error; `numbers` are the elements it held and did not pass on."""

    def __init__(self, numbers):
        super().__init__(f"with {len(numbers)} elements in hand")
        self.numbers = numbers


class Interrupted(Exception):
    """Raised by the signal handler."""


def build(draw, name):
    """Return a random queue with two components: a number derived from the element's, and the element's."""
    kind, capacity = draw.choice(KINDS), draw.choice([2, 20, 100, 300])
    if kind in ("shuffle", "lockstep"):
        args, lockstep = (capacity, draw.randrange(capacity), [np.int64] * 2, [(), ()]), kind == "lockstep"
        return HOOKED["RandomShuffleQueue"](*args, name=name, deterministic=lockstep)
    if kind == "padding":
        return HOOKED["PaddingFIFOQueue"](capacity, [np.int64] * 2, [(), ()], name=name)
    if kind == "priority":
        return HOOKED["PriorityQueue"](capacity, np.int64, (), name=name)
    return HOOKED["FIFOQueue"](capacity, [np.int64] * 2, [(), ()], name=name)


def put(queue, numbers, timeout):
    """Enqueue elements; return how many are stored: all, unless the time was up or the queue was closed."""
    try:
        if len(numbers) == 1:
            queue.enqueue((numbers[0] % 7, numbers[0]), timeout=timeout)
        else:
            block = np.array(numbers)
            queue.enqueue_many((block % 7, block), timeout=timeout)
    except (DeadlineExceededError, CancelledError) as error:
        return error.stored
    return len(numbers)


def take(queue, draw, timeout):
    """Take elements, whichever way; return their numbers."""
    n, capacity = draw.choice(SIZES), queue.stats().capacity
    if isinstance(queue, pipeline.PriorityQueue):
        n = min(n, capacity)  # more never arrive together
    if n == 1:
        return [check(*queue.dequeue(timeout=timeout))]
    # When the queue is closed and holds fewer, only one method takes them.
    many = queue.dequeue_many if n <= capacity and draw.random() < 0.5 else queue.dequeue_up_to
    keys, numbers = many(n, timeout=timeout)
    return [check(key, number) for key, number in zip(keys, numbers, strict=True)]


def check(key, number):
    assert key == number % 7, f"element {number} has the component of another: {key}"
    return int(number)


class Chain:
    """One run.

    Args:
        seed: Fixes the queues and each thread's planned calls; the system decides when they happen.
        count: Elements.
        signals: Whether signals interrupt the calls of the main thread, which must be the caller.
    """

    def __init__(self, seed, count, signals=True):
        self.draw, self.count, self.signals = random.Random(seed), count, signals
        self.queues = [build(self.draw, f"q{i}") for i in range(3)]
        self.ledger = Ledger()
        self.numbers = iter(range(count))
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.threads = 0

    # Mortal threads

    def lives(self, job, seed):
        """Do a job in successive threads until it is done; each thread may raise or leave."""
        draw = random.Random(seed)
        while True:
            with self.lock:
                self.threads += 1
                thread = self.threads
            life = run_in_thread(self.life, job, draw.random(), thread)
            last(life)
            error = life.exception()
            if isinstance(error, Failed):
                self.ledger.note("threads raised", "reported", error.numbers)
            elif isinstance(error, OutOfRangeError):
                return
            elif error is not None:
                raise error

    def life(self, job, seed, thread):
        here.thread = thread
        draw = random.Random(seed)
        for _ in range(draw.choice([3, 30, 300])):
            job(draw)
        self.ledger.note("threads left")

    def block(self, draw):
        """Take numbers not yet enqueued by any thread."""
        with self.lock:
            return list(itertools.islice(self.numbers, draw.choice(SIZES)))

    def produce(self, draw):
        block = self.block(draw)
        if not block:
            raise OutOfRangeError(None, None, "no more")
        while block:
            try:
                stored = put(self.queues[0], block, draw.choice(PATIENCE))
            except HookRaised:
                self.ledger.doubt("enqueues cancelled", block)
                return
            self.ledger.note("enqueues", "stored", block[:stored])
            block = block[stored:]
            if block and draw.random() < 0.02:
                self.ledger.note("blocks given up", "refused", block)
                return

    def move(self, stage, draw):
        hand = self.got(self.queues[stage], draw)
        while hand:
            if draw.random() < 0.01:
                raise Failed(hand)
            try:
                stored = put(self.queues[stage + 1], hand, draw.choice(PATIENCE))
            except HookRaised:
                self.ledger.doubt("enqueues cancelled", hand)
                return
            hand = hand[stored:]

    def got(self, queue, draw):
        """Take elements, or none if the call times out or is cancelled. Raise OutOfRangeError at the end of the
        queue."""
        try:
            return take(queue, draw, draw.choice(PATIENCE))
        except DeadlineExceededError:
            self.ledger.note("dequeues timed out")
        except HookRaised:
            self.ledger.note("dequeues cancelled")
        except OutOfRangeError:
            if queue.size() == 0:
                raise
        return []

    def consume(self, draw):
        self.ledger.note("dequeues", "delivered", self.got(self.queues[2], draw))

    def harass(self, draw):
        """Cancel calls in the most recently started threads, until the end."""
        pause = threading.Event()
        while not self.stop.is_set():
            draw.choice(self.queues).cancel(max(1, self.threads - draw.randrange(8)))
            pause.wait(draw.choice([0.0005, 0.002, 0.01]))

    # The main thread

    def interrupted(self):
        """Produce and consume in this thread, while signals interrupt it, until all is put in."""
        armed, here.thread = False, None  # signals end calls in this thread, and no call here is cancelled

        def handle(*_):
            nonlocal armed
            if armed:
                armed = False
                raise Interrupted

        before = signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, PERIOD, PERIOD)
        try:
            while block := self.block(self.draw):
                try:
                    armed = self.draw.random() < 0.2
                    stored = put(self.queues[0], block, 0.1)
                    armed = False
                except Interrupted:
                    self.ledger.doubt("enqueues interrupted", block)
                else:
                    self.ledger.note("enqueues", "stored", block[:stored])
                    self.ledger.note("blocks given up", "refused", block[stored:])
                # The arrays show what was taken, however the call ended: a result could be lost on its way.
                keys, numbers = np.full((2, self.draw.choice(SIZES)), -1)
                end = "dequeues"
                try:
                    armed = self.draw.random() < 0.2
                    self.queues[2].dequeue_up_to(len(keys), timeout=self.draw.choice(PATIENCE), out=(keys, numbers))
                    armed = False
                except Interrupted:
                    end = "dequeues interrupted"
                except DeadlineExceededError:
                    end = "dequeues timed out"
                armed = False
                taken = [check(key, number) for key, number in zip(keys, numbers, strict=True) if number >= 0]
                self.ledger.note(end, "delivered", taken)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def run(self):
        """Run the chain to its end, and check the accounts."""
        seeds = iter(lambda: self.draw.random(), None)
        jobs = [(self.produce, 2), (lambda draw: self.move(0, draw), 2), (lambda draw: self.move(1, draw), 2)]
        stages = [[run_in_thread(self.lives, job, next(seeds)) for _ in range(n)] for job, n in jobs]
        consumers = [run_in_thread(self.lives, self.consume, next(seeds)) for _ in range(2)]
        harasser = run_in_thread(self.harass, random.Random(next(seeds)))
        if self.signals:
            self.interrupted()
        for queue, threads in zip(self.queues, stages, strict=True):
            wait_for(threads)
            queue.close()
        if self.draw.random() < 0.5:  # otherwise these leave elements in the queue
            wait_for(consumers)
        self.stop.set()
        harasser.result()
        for queue in self.queues:
            queue.close(cancel_pending_enqueues=True)
        wait_for(consumers)
        self.drain()
        self.ledger.check()
        return self.ledger

    def drain(self):
        for queue in self.queues:
            while queue.size():
                self.ledger.note("elements left", "left", [int(queue.dequeue()[1])])


def last(thread):
    """Wait until a thread has ended, however long it takes."""
    while thread.alive():
        thread.wait(1)


def wait_for(threads):
    """Wait for threads to end, and raise their errors."""
    for thread in threads:
        last(thread)
        thread.result()


def run(seed, count, signals=True):
    """Run a chain; return its checked accounts."""
    began = time.monotonic()
    try:
        ledger = Chain(seed, count, signals).run()
    except BaseException as error:
        raise AssertionError(f"seed {seed}, {count} elements") from error
    ledger.seconds = time.monotonic() - began
    return ledger
