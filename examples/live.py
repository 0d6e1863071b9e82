"""Collect requests into batches: full ones under load, small but prompt ones otherwise.

    python examples/live.py

Two threads send requests through a queue. A batch is delivered when it has 16 requests, or 20 ms after its first one.
The model is called once per batch, and each request gets its answer.
"""

import queue
import threading

import numpy as np

import pipeline

BATCH, WAIT = 16, 0.02


def model(numbers):
    return numbers**2


def send(requests, answers, numbers, one_by_one):
    """Send numbers; wait for each answer if `one_by_one`."""
    for number in numbers:
        requests.enqueue((number, answers[number]))
        if one_by_one:
            answers[number].get()


def main():
    requests = pipeline.FIFOQueue(100, [np.int64, object], [(), ()], name="requests")
    answers = {number: queue.SimpleQueue() for number in range(200)}
    busy = threading.Thread(target=send, args=(requests, answers, range(160), False), daemon=True)
    slow = threading.Thread(target=send, args=(requests, answers, range(160, 164), True), daemon=True)
    busy.start()

    sizes, served = [], 0
    with iter(pipeline.dataset(requests).batch(BATCH, max_wait=WAIT)) as batches:
        for numbers, waiting in batches:
            for result, answer in zip(model(numbers), waiting, strict=True):
                answer.put(result)
            sizes.append(len(numbers))
            served += len(numbers)
            if served == 160:
                full = len(sizes)
                slow.start()
            elif served == 164:
                requests.close()
    busy.join()
    slow.join()
    print(f"under load: 160 requests in {full} batches of up to {max(sizes)}")
    print(f"one request at a time: batches of {sizes[full:]}")


if __name__ == "__main__":
    main()
