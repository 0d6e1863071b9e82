"""Records the results of threads with a small queue, and checks that one order of steps explains them.

A seed fixes the queue, the threads and their calls. In every other history it also fixes their schedule: one call at a
time starts, as soon as every other has ended or is blocked, so the order of arrival is known and the seed repeats the
history exactly. In the rest the threads run freely: the seed repeats the calls, and a failing history is printed in
full.
"""

import argparse
import itertools
import random
import sys
import threading
import time

from helpers import run_in_thread, wait_until
from stress.check import explain
from stress.queues import Subject, calls, here, plan
from stress.words import Call, Record

FREE = [None, None, 0, 0.0002, 0.001]  # timeouts for threads that run freely
ORDERED = [None, None, None, 0]


class Recorder:
    """Makes calls and keeps their outcomes, with tickets for the order of beginnings and ends."""

    def __init__(self, subject):
        self.subject, self.tickets, self.records = subject, itertools.count(), []

    def call(self, thread, call):
        here.thread = thread
        began = next(self.tickets)
        outcome = self.subject.make(call)
        record = Record(thread, call, began, next(self.tickets), outcome)
        self.records.append(record)
        return record

    def history(self):
        return sorted(self.records, key=lambda record: record.began)


def scripts(draw, subject, total, patience):
    """Return the calls of two to six threads, `total` in all."""
    threads = draw.randint(2, 6)
    return [
        calls(subject.plan, draw, total // threads, threads, each, patience, subject.hooked) for each in range(threads)
    ]


def freely(seed, subject):
    """Record a history with threads running freely."""
    draw, recorder = random.Random(seed), Recorder(subject)
    todo = scripts(draw, subject, 24, FREE)
    ready = threading.Barrier(len(todo))

    def work(thread):
        ready.wait()
        for call in todo[thread]:
            if call.method == "cancel":
                subject.queue.cancel(call.n)
            else:
                recorder.call(thread, call)

    running = [run_in_thread(work, i) for i in range(len(todo))]
    stuck = lambda: sum(call.alive() for call in running) <= waiting_calls(subject)  # noqa: E731
    wait_until(stuck, "threads that have ended or are blocked")
    finish(recorder, running, len(todo))
    return recorder.history()


def one_by_one(seed, subject):
    """Record a history with known order of arrival: each call has ended or waits before the next starts."""
    draw, recorder = random.Random(seed), Recorder(subject)
    todo = scripts(draw, subject, 24, ORDERED)
    running = {}

    def settle():
        # Left to right: a call first seen alive and then waiting is blocked.
        settled = lambda: sum(call.alive() for call in running.values()) == waiting_calls(subject)  # noqa: E731
        wait_until(settled, "calls that have ended or are blocked")
        for thread in [i for i, call in running.items() if not call.alive()]:
            running.pop(thread).result()
        recorder.call(len(todo), Call("stats"))

    while any(todo[i] for i in range(len(todo)) if i not in running):
        thread = draw.choice([i for i in range(len(todo)) if i not in running and todo[i]])
        call = todo[thread].pop(0)
        if call.method != "cancel":
            running[thread] = started = run_in_thread(recorder.call, thread, call)
            if call.timeout is not None:
                started.result()
        elif call.n in running:
            cancelled = running[call.n]
            subject.queue.cancel(call.n)
            wait_until(lambda cancelled=cancelled: not cancelled.alive(), "a cancelled call to end")
        settle()
    finish(recorder, running.values(), len(todo))
    return recorder.history()


def waiting_calls(subject):
    stats = subject.queue.stats()
    return stats.waiting_enqueues + stats.waiting_dequeues


def finish(recorder, running, thread):
    """End every waiting call, and take the remaining elements."""
    recorder.call(thread, Call("close_now"))
    for call in running:
        call.result()
    while recorder.call(thread, Call("dequeue_up_to", n=3)).outcome.end == "ok":
        pass
    recorder.call(thread, Call("stats"))


def record(seed, classes=None):
    """Record a seed's history; return it with its queue's plan."""
    subject = Subject(plan(seed), classes)
    return (one_by_one if seed % 2 else freely)(seed, subject), subject.plan


def check(seed, classes=None, model=None):
    """Return None if a seed's history is possible, else a text with the reason."""
    history, made = record(seed, classes)
    problem = explain(history, made.model() if model is None else model(made))
    return None if problem is None else f"seed {seed}, {made}\n{problem}"


class Hurried:
    """Lets threads take turns as often as possible."""

    def __enter__(self):
        self.before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)

    def __exit__(self, *_):
        sys.setswitchinterval(self.before)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="histories")
    parser.add_argument("--seed", type=int, help="the first seed; by default another one each time")
    parser.add_argument("--repeat", type=int, default=1, help="how often each seed is tried")
    options = parser.parse_args()
    first = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    print(f"{options.count} histories from seed {first}", flush=True)
    began, made = time.monotonic(), 0
    with Hurried():
        for seed in range(first, first + options.count):
            for _ in range(options.repeat):
                problem = check(seed)
                made += 1
                if problem is not None:
                    sys.exit(f"{problem}\nRepeat with --seed {seed} --count 1 --repeat 1000")
    print(f"{made} histories explained in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
