"""Moves elements through three queues in a session: runs time out, runners work in blocks, coordinators stop.

One round is a session: feeding threads -> queue of text -> runner that parses -> queue -> runner that computes ->
shuffle queue -> consuming threads. A round ends with its input, or sooner: a stop is requested, or an element fails to
parse.
"""

import itertools
import random
import threading
import time

import numpy as np
from helpers import run_in_thread
from stress.chain import wait_for
from stress.ledger import Ledger

import pipeline.compat.v1 as tf

TIMEOUTS = [1, 1, 5, 20]  # milliseconds
THREADS = 2  # per runner
ENDS = ("stop", "error", "input")


class Round:
    """One session; `ends` is "input", "stop" or "error"."""

    def __init__(self, draw, ends, ledger, numbers):
        self.draw, self.ends, self.ledger, self.numbers = draw, ends, ledger, numbers
        self.lock = threading.Lock()

    def build(self):
        draw = self.draw
        self.text = tf.FIFOQueue(draw.choice([5, 50, 300]), tf.string, [[]])
        middle = tf.FIFOQueue(draw.choice([1, 20, 300]), [tf.int64, tf.int64], [[], []])
        capacity = draw.choice([20, 300])
        self.out = tf.RandomShuffleQueue(capacity, draw.randrange(capacity // 2), [tf.int64, tf.int64], [[], []])
        key, number = tf.decode_csv(self.text.dequeue(), [[0], [0]])
        parsed = middle.enqueue([tf.cast(key, tf.int64), tf.cast(number, tf.int64)])
        key, number = middle.dequeue()
        computed = self.out.enqueue([key * 2, number])
        for queue, op in ((middle, parsed), (self.out, computed)):
            tf.train.add_queue_runner(tf.train.QueueRunner(queue, [op] * THREADS))
        self.lines = tf.placeholder(tf.string, [None])
        self.feed, self.close = self.text.enqueue_many([self.lines]), self.text.close()
        self.size = draw.choice([1, 7, 40])
        self.many, self.up_to = self.out.dequeue_many(self.size), self.out.dequeue_up_to(self.size)
        self.queues = [self.text, middle, self.out]

    def run(self):
        with tf.Graph().as_default(), tf.Session() as self.sess:
            self.build()
            self.native = self.sess.run([queue.queue_ref for queue in self.queues])
            self.coord = tf.train.Coordinator()
            runners = tf.train.start_queue_runners(self.sess, self.coord)
            feeders = [run_in_thread(self.feeds, random.Random(self.draw.random())) for _ in range(2)]
            consumers = [run_in_thread(self.consumes, random.Random(self.draw.random())) for _ in range(2)]
            wait_for(feeders)
            if self.ends == "stop":
                self.coord.request_stop()
            self.sess.run(self.close)  # nothing else does so for the first queue, even after a stop
            wait_for(consumers)
            self.coord.request_stop()
            try:
                self.coord.join(runners)
            except tf.errors.InvalidArgumentError as error:
                self.blame(error)
            self.drain()

    def options(self, draw):
        return tf.RunOptions(timeout_in_ms=draw.choice(TIMEOUTS))

    def feeds(self, draw):
        while not self.coord.should_stop():
            with self.lock:
                block = list(itertools.islice(self.numbers, draw.choice([1, 5, 60])))
            if not block:
                return
            lines = [b"%d,%d" % (number % 7, number) for number in block]
            if self.ends == "error" and draw.random() < 0.02:
                spoilt = draw.randrange(len(block))
                lines[spoilt] = b"x" + lines[spoilt]
            while block and not self.coord.should_stop():
                stored = len(block)
                try:
                    self.sess.run(self.feed, {self.lines: lines}, options=self.options(draw))
                except tf.errors.DeadlineExceededError as error:
                    self.ledger.note("enqueues timed out")
                    stored = error.stored
                self.ledger.note("enqueues", "stored", block[:stored])
                block, lines = block[stored:], lines[stored:]
            self.ledger.note("blocks given up", "refused", block)
            if self.ends == "stop" and draw.random() < 0.02:
                return

    def consumes(self, draw):
        while True:
            try:
                batch = self.many if draw.random() < 0.5 else self.up_to
                keys, numbers = self.sess.run(batch, options=self.options(draw))
            except tf.errors.DeadlineExceededError:
                self.ledger.note("dequeues timed out")
            except tf.errors.OutOfRangeError:
                if self.native[-1].size() == 0:
                    return
            else:
                assert np.array_equal(keys, numbers % 7 * 2), "components of different elements"
                self.ledger.note("dequeues", "delivered", numbers.tolist())

    def blame(self, error):
        """Check that the error comes from an element that does not parse."""
        assert "is not a valid int32" in str(error)
        self.ledger.note("runners failed")

    def drain(self):
        for queue in self.native:
            while queue.size():
                value = queue.dequeue()
                number = int(value[1] if isinstance(value, list) else value.split(b",")[1])
                self.ledger.note("elements left", "left", [number])

    def check(self):
        """Raise AssertionError unless every element is accounted for, except those held by stopped runners.

        As in TensorFlow, an element that a runner's op has taken and cannot pass on is lost with the failed run:
        the runner has reported it by ending. At the end of the input nothing may be missing.
        """
        ledger = self.ledger
        found = set(ledger.delivered) | set(ledger.left)
        missing = set(ledger.stored) - found
        allowed = 0 if self.ends == "input" else 2 * THREADS
        assert len(missing) <= allowed, f"{len(missing)} elements are gone, such as {sorted(missing)[:9]}"
        ledger.reported += missing
        ledger.check()


def run(seed, count):
    """Move elements through as many sessions as needed; return the checked accounts."""
    draw, numbers, total = random.Random(seed), iter(range(count)), Ledger()
    began = time.monotonic()
    try:
        for ends in itertools.cycle(ENDS):
            each = Round(draw, ends, Ledger(), numbers)
            each.run()
            each.check()
            total.add(each.ledger)
            if next(numbers, None) is None:
                break
    except BaseException as error:
        raise AssertionError(f"seed {seed}, {count} elements") from error
    total.seconds = time.monotonic() - began
    return total
