"""Train an agent to walk a corridor from a replay buffer: two actors add steps, and a learner samples them.

    python examples/replay.py

The learner sets a step's priority to its error, and each step is sampled eight times on average. The side that is ahead
waits: the actors until the learner has sampled, or the learner until there are steps.
"""

import threading

import numpy as np

import pipeline

CELLS, LEFT, RIGHT = 12, 0, 1
STEPS, BATCH, DISCOUNT = 3000, 32, 0.9


def act(buffer, values, seed):
    """Walk the corridor repeatedly, mostly following the values, until the buffer is closed."""
    rng = np.random.default_rng(seed)
    cell = 0
    while True:
        action = rng.integers(2) if rng.random() < 0.3 else values[cell].argmax()
        then = min(cell + 1, CELLS - 1) if action == RIGHT else max(cell - 1, 0)
        done = then == CELLS - 1
        try:
            buffer.add(
                {"cell": cell, "action": action, "reward": float(done), "then": then, "done": done}, priority=1.0
            )
        except pipeline.CancelledError:
            return
        cell = 0 if done else then


def learn(values, batch):
    """Move the values of some steps towards their returns; return the errors."""
    steps = batch.example
    worth = steps["reward"] + DISCOUNT * values[steps["then"]].max(axis=1) * ~steps["done"]
    errors = worth - values[steps["cell"], steps["action"]]
    sums, counts = np.zeros_like(values), np.zeros_like(values)
    np.add.at(sums, (steps["cell"], steps["action"]), errors)
    np.add.at(counts, (steps["cell"], steps["action"]), 1)
    values += 0.2 * sums / np.maximum(counts, 1)  # each cell's mean, because a sum over many samples would diverge
    return np.abs(errors)


def main():
    values = np.ones((CELLS, 2))  # for each action in each cell: high at first, so that each is tried
    buffer = pipeline.replay(1000, priorities=True, min_size=100, samples_per_insert=8, seed=1)
    actors = [threading.Thread(target=act, args=(buffer, values, seed), daemon=True) for seed in range(2)]
    for actor in actors:
        actor.start()
    with buffer, iter(buffer.batch(BATCH).take(STEPS)) as batches:
        for batch in batches:
            buffer.update(batch.key, learn(values, batch) + 0.01)
    for actor in actors:
        actor.join()

    ratio = buffer.sampled / (buffer.inserted - 100)
    print(f"{buffer.sampled:,} samples, {ratio:.1f} for each step that was added")
    walk = "".join("<>"[action] for action in values[:-1].argmax(axis=1))
    print(f"which way to go in each cell: {walk}")


if __name__ == "__main__":
    main()
