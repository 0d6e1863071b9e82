"""A training run that survives kills at any moment: `endurance.resume` kills it.

It announces each step on a pipe, and waits for the answer. It hashes each batch itself, and trains a logistic
regression on it.
"""

import json
import os
import random
import sys

import numpy as np
import resumable

import pipeline


def main(plan):
    told, answers = plan["pipes"]
    with os.fdopen(told, "w", buffering=1) as pipe:

        def say(*words):
            print(*words, file=pipe)
            assert os.read(answers, 1) == b"g"

        train(plan, say)


def train(plan, say):
    chance = random.Random(plan["seed"])
    run = {"input": None, "step": 0, "weights": [0.0] * 3}
    loop = resumable.make(plan["kind"], plan["folder"], **resumable.random_settings(chance, plan["chaos"]))
    if os.path.exists(plan["state"]):
        run = pipeline.load_state(plan["state"])
        say("loading")
        loop.load_state_dict(run["input"])
    else:
        save(plan["state"], run, loop, say)
    wait = resumable.Chaos(plan["chaos"])
    with loop:
        for batch in loop:
            say("batch", run["step"], resumable.digest(batch))
            wait()
            run["weights"] = stepped(run["weights"], batch)
            run["step"] += 1
            if chance.random() < 0.5:
                save(plan["state"], run, loop, say)
        save(plan["state"], run, loop, say)
        say("end", run["step"], np.array(run["weights"]).tobytes().hex(), *loop.delivered)


def save(path, run, loop, say):
    say("state")
    run["input"] = loop.state_dict()
    say("save")
    pipeline.save_state(path, run)
    say("saved", run["step"])


def stepped(weights, batch):
    """Return the weights after a gradient descent step. The model learns whether a number is even."""
    *_, numbers, rows = resumable.components(batch)
    rows = rows / (1 + np.abs(rows))
    weights = np.array(weights)
    error = 1 / (1 + np.exp(-rows @ weights)) - numbers % 2
    return (weights - 0.1 * error @ rows / len(rows)).tolist()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
