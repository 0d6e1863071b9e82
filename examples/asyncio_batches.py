"""Take batches in an asyncio program, while other tasks run.

    python examples/asyncio_batches.py

One task trains and another counts the time. A third one is cancelled while it waits for a batch. The next task gets
this batch, so nothing is lost.
"""

import asyncio
import threading

import pipeline


def slowly(number, gate):
    """Return a number, but number 20 only once the gate is open, as if a disk or a network were slow."""
    if number == 20:
        gate.wait()
    return number


async def tick(ticks):
    while True:
        ticks.append(1)
        await asyncio.sleep(0.001)


async def train(batches, seen):
    async for batch in batches:
        seen += batch.tolist()
        await asyncio.sleep(0)  # one model step
        if len(seen) == 20:
            return


async def main():
    gate = threading.Event()
    dataset = pipeline.dataset(range(50)).map(lambda number: slowly(number, gate)).batch(5)
    ticks, seen = [], []
    with iter(dataset) as batches:
        clock = asyncio.create_task(tick(ticks))
        await train(batches, seen)
        print(f"after 4 batches: {seen[-1]}")

        waiting = asyncio.create_task(anext(batches))
        before = len(ticks)
        while len(ticks) < before + 3:  # others run while it waits
            await asyncio.sleep(0)
        waiting.cancel()
        gate.set()
        async for batch in batches:
            seen += batch.tolist()
        clock.cancel()
    print(f"a task was cancelled: {waiting.cancelled()}; all there: {seen == list(range(50))}")


if __name__ == "__main__":
    asyncio.run(main())
