"""The four queues in plain Python: short, obvious and slow. It defines the compiled queues' behaviour.

A call becomes an attempt at the end of either line, enqueues or dequeues; only the first in a line is ever served.
"""

import threading
import time
from collections import deque
from itertools import count
from types import SimpleNamespace

import numpy as np
from reference_values import Values

from pipeline import errors

DONE, PARTIAL, WAIT = "done", "partial", "wait"
_global_seed = None


def set_random_seed(seed):
    global _global_seed
    _global_seed = seed


def philox(seed, seed2):
    """Yield the words from Philox4x32-10: the key is `seed`, the counter starts at `seed2 << 64`."""
    mask = 0xFFFFFFFF
    for counter in count(seed2 << 64):
        c = [counter >> shift & mask for shift in (0, 32, 64, 96)]
        k0, k1 = seed & mask, seed >> 32
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [b >> 32 ^ c[1] ^ k0, b & mask, a >> 32 ^ c[3] ^ k1, a & mask]
            k0, k1 = k0 + 0x9E3779B9 & mask, k1 + 0xBB67AE85 & mask
        yield from c


def seeds(seed):
    """Return a generator's two seeds, from the global seed and the queue's."""
    if _global_seed is None and seed is None:
        return tuple(np.random.default_rng().integers(1, 2**63, 2).tolist())
    pair = (87654321 if _global_seed is None else _global_seed % 2147483647, (seed or 0) % 2147483647)
    return pair if pair != (0, 0) else (0, 2147483647)


class Attempt:
    """A call: its remaining work, the elements taken, and its outcome."""

    def __init__(self, kind, rows=(), missing=0, up_to=False, close=False):
        self.kind, self.rows, self.missing, self.up_to, self.close = kind, deque(rows), missing, up_to, close
        self.taken, self.done, self.error = [], False, None

    def finish(self, error=None):
        self.done, self.error = True, error
        return DONE


class FIFOQueue(Values):
    many_kind = kind = "FIFOQueue"

    def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="fifo_queue"):
        super().__init__(dtypes, shapes, names)
        self.name = name
        self.capacity = 2147483647 if capacity < 0 else int(capacity)
        self.store, self.closed, self.enqueues, self.dequeues = [], False, deque(), deque()
        self.change = threading.Condition()  # notified when an attempt finishes

    # the order of the elements

    def put(self, row):
        self.store.append(row)

    def take(self):
        return self.store.pop(0)

    def put_back(self, rows):
        self.store[:0] = rows

    def available(self):
        return len(self.store)

    # the engine

    def flush(self):
        progress = True
        while progress:
            progress = self.serve(self.enqueues, self.try_enqueue) | self.serve(self.dequeues, self.try_dequeue)
        self.change.notify_all()

    def serve(self, line, attempt):
        progress = False
        while line:
            outcome = attempt(line[0])
            progress |= outcome != WAIT
            if outcome != DONE:
                break
            line.popleft()
        return progress

    def try_enqueue(self, a):
        if self.closed:
            text = f"Queue '{self.name}' is already closed." if a.close else f"{a.kind} '{self.name}' is closed."
            return a.finish(errors.CancelledError(None, None, text))
        self.closed = a.close
        moved = 0
        while a.rows and len(self.store) < self.capacity:
            self.put(a.rows.popleft())
            moved += 1
        return a.finish() if not a.rows else PARTIAL if moved else WAIT

    def out_of_range(self, a, size):
        text = f"{a.kind} '{self.name}' is closed and has insufficient elements"
        text += f" (requested {a.missing}, current size {size})"
        return a.finish(errors.OutOfRangeError(None, None, text))

    def try_dequeue(self, a):
        size = len(self.store)
        if self.closed and size < a.missing:
            self.put_back(a.taken)
            a.taken = []
            if a.up_to and self.store:
                a.missing = len(self.store)
            elif a.up_to and self.enqueues:
                return PARTIAL
            else:
                return self.out_of_range(a, size)
        took = max(0, min(a.missing, self.available()))
        a.taken += [self.take() for _ in range(took)]
        a.missing -= took
        return a.finish() if a.missing == 0 else PARTIAL if took else WAIT

    def call(self, line, a, timeout):
        deadline = None if timeout is None else time.monotonic() + float(timeout)
        with self.change:
            line.append(a)
            self.flush()
            while not a.done:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    line.remove(a)
                    self.put_back(a.taken)
                    a.finish(errors.DeadlineExceededError(None, None, "Timed out waiting for notification"))
                    self.flush()
                    break
                self.change.wait(left)
        if a.error:
            raise a.error
        return a.taken

    # the calls

    def enqueue(self, vals, name=None, *, timeout=None):
        self.call(self.enqueues, Attempt(self.kind, rows=[self.row(vals)]), timeout)

    def enqueue_many(self, vals, name=None, *, timeout=None):
        rows = self.rows(vals)
        if rows:
            self.call(self.enqueues, Attempt(self.kind, rows=rows), timeout)

    def dequeue(self, name=None, *, timeout=None):
        [row] = self.call(self.dequeues, Attempt(self.kind, missing=1), timeout)
        return self.container([a[()] for a in row])

    def dequeue_many(self, n, name=None, *, timeout=None, up_to=False):
        self.check_batch(n, "DequeueUpToOp" if up_to else "DequeueManyOp")
        attempt = Attempt(self.many_kind, missing=n, up_to=up_to)
        rows = self.call(self.dequeues, attempt, timeout) if n else []
        return self.container([self.batch(rows, i) for i in range(len(self.dtypes))])

    def dequeue_up_to(self, n, name=None, *, timeout=None):
        return self.dequeue_many(n, timeout=timeout, up_to=True)

    def close(self, cancel_pending_enqueues=False, name=None, *, timeout=None):
        if not cancel_pending_enqueues:
            self.call(self.enqueues, Attempt(self.kind, close=True), timeout)
            return
        with self.change:
            for a in self.enqueues:
                a.finish(errors.CancelledError(None, None, "Enqueue operation was cancelled"))
            self.enqueues.clear()
            self.closed = True
            self.flush()

    def size(self, name=None):
        with self.change:
            return len(self.store)

    def is_closed(self, name=None):
        return self.closed

    def stats(self):
        with self.change:
            lines = {"waiting_enqueues": len(self.enqueues), "waiting_dequeues": len(self.dequeues)}
            return SimpleNamespace(capacity=self.capacity, size=len(self.store), closed=self.closed, **lines)

    def __iter__(self):
        while True:
            try:
                yield self.dequeue()
            except errors.OutOfRangeError:
                return


class PaddingFIFOQueue(FIFOQueue):
    many_kind = "PaddingFIFOQueue"  # single calls are FIFOQueue's, including the name in their errors

    def __init__(self, capacity, dtypes, shapes, names=None, shared_name=None, name="padding_fifo_queue"):
        super().__init__(capacity, dtypes, shapes, names, shared_name, name)


class RandomShuffleQueue(FIFOQueue):
    many_kind = kind = "RandomShuffleQueue"

    def __init__(self, capacity, min_after_dequeue, dtypes, shapes=None, names=None, seed=None, shared_name=None,
                 name="random_shuffle_queue", *, deterministic=False):  # fmt: skip
        super().__init__(capacity, dtypes, shapes, names, shared_name, name)
        self.min_after_dequeue, self.words = min_after_dequeue, philox(*seeds(seed))
        self.deterministic, self.again = deterministic, 0  # deterministic: this many stored elements were drawn already

    def take(self):
        if self.again:
            self.again -= 1
            return self.store.pop(0)
        pool = min(len(self.store), self.min_after_dequeue + 1) if self.deterministic else len(self.store)
        i = next(self.words) % pool
        self.store[i], self.store[pool - 1] = self.store[pool - 1], self.store[i]
        return self.store.pop(pool - 1)

    def put_back(self, rows):
        if self.deterministic:
            self.again += len(rows)
            self.store[:0] = rows
        else:
            self.store += rows[::-1]

    def available(self):
        held = 0 if self.closed else min(self.min_after_dequeue, len(self.store) - self.again)
        return len(self.store) - held


class PriorityQueue(FIFOQueue):
    """The lowest number first; ties are ordered by this heap."""

    many_kind = kind = "PriorityQueue"

    def __init__(self, capacity, types, shapes=None, names=None, shared_name=None, name="priority_queue"):
        super().__init__(capacity, types, shapes, names, shared_name, name)
        self.dtypes, self.shapes = [np.dtype(np.int64), *self.dtypes], [(), *self.shapes]

    def sift_up(self, hole, item):
        heap = self.store
        while hole and heap[(hole - 1) // 2][0] > item[0]:
            heap[hole] = heap[(hole - 1) // 2]
            hole = (hole - 1) // 2
        heap[hole] = item

    def put(self, row):
        self.store.append(row)
        self.sift_up(len(self.store) - 1, row)

    def take(self):
        heap, first, last = self.store, self.store[0], self.store.pop()
        n, hole, c = len(heap), 0, 0
        while c < (n - 1) // 2:
            c = 2 * (c + 1)
            if heap[c][0] > heap[c - 1][0]:
                c -= 1
            heap[hole] = heap[c]
            hole = c
        if n and n % 2 == 0 and c == (n - 2) // 2:
            c = 2 * (c + 1)
            heap[hole] = heap[c - 1]
            hole = c - 1
        if n:
            self.sift_up(hole, last)
        return first

    def try_dequeue(self, a):  # takes everything requested or, while the queue is open, nothing
        size = len(self.store)
        if self.closed and (size == 0 or (size < a.missing and not a.up_to)):
            return self.out_of_range(a, size)
        if not self.closed and size < a.missing:
            return WAIT
        a.taken = [self.take() for _ in range(min(a.missing, size))]
        return a.finish()
