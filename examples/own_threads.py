"""Run your own threads: two kinds of producer fill a queue, and a Coordinator stops all, also on errors.

    python examples/own_threads.py [LIMIT]

A third thread counts, and two threads look for primes among its numbers. The main thread takes the primes until it has
enough, or until LIMIT makes the counting thread raise. Leaving the Coordinator's block stops every thread, waits for
them, and raises the counting thread's error.
"""

import sys
import threading

import numpy as np

import pipeline


def count(coord, numbers, limit):
    """Put blocks of numbers into a queue until the Coordinator stops."""
    with coord.stop_on_exception():
        for start in range(2, sys.maxsize, 100):
            if coord.should_stop():
                return
            if limit is not None and start > limit:
                raise RuntimeError(f"no more than {limit} numbers, please")
            numbers.enqueue_many(np.arange(start, start + 100))


def sift(coord, numbers, primes):
    """Put the primes among them into another queue."""
    with coord.stop_on_exception():
        while not coord.should_stop():
            number = int(numbers.dequeue())
            if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
                primes.enqueue(number)


def main(limit=None):
    ends = pipeline.errors.OutOfRangeError, pipeline.errors.CancelledError  # raised by a closed queue
    threads, found = [], set()
    try:
        with pipeline.Coordinator(clean_stop_exception_types=ends) as coord:
            numbers = coord.close_on_stop(pipeline.FIFOQueue(200, np.int64, [()]))
            primes = coord.close_on_stop(pipeline.FIFOQueue(50, np.int64, [()]))
            threads.append(threading.Thread(target=count, args=(coord, numbers, limit)))
            threads += [threading.Thread(target=sift, args=(coord, numbers, primes)) for _ in range(2)]
            for thread in threads:
                coord.register_thread(thread)
                thread.start()
            while len(found) < 500:
                found.update(primes.dequeue_many(50).tolist())
        print(f"{len(found)} primes, {sum(found)} in all")
    except RuntimeError as error:
        print(f"one thread failed: {error}")
    print(f"threads that still run: {sum(thread.is_alive() for thread in threads)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
