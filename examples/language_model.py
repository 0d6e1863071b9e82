"""Pack documents for a language model on two hosts, without losing a token to repeated kills.

    python examples/language_model.py

Every host is a process that reads its part of the files, cuts the documents into tokens and packs these into rows. It
saves its state after each step and is killed without warning after every twentieth. The program restarts it until it is
done, and compares the rows with those from uninterrupted hosts.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import pipeline

HOSTS, LENGTH, BATCH = 2, 64, 4
WORDS = ["queue", "runner", "batch", "shuffle", "thread", "record", "epoch", "host", "worker", "seed"]


def write_documents(folder):
    """Write four files of documents with random lengths."""
    rng = np.random.default_rng(1)
    for part in range(4):
        with open(f"{folder}/part-{part}.jsonl", "w") as file:
            for _ in range(60):
                text = " ".join(rng.choice(WORDS, rng.integers(1, 50)))
                print(json.dumps({"text": text}), file=file)


def tokenize(document):
    """Return a document's bytes and a final 0; two sequences if it is long."""
    tokens = np.frombuffer(document["text"].encode() + b"\0", np.uint8)
    return np.split(tokens, [100]) if len(tokens) > 200 else [tokens]


def batches_of(folder, host):
    documents = pipeline.jsonl(f"{folder}/part-*.jsonl", shuffle=True, seed=1, shard=(host, HOSTS))
    return documents.shuffle(50, seed=2).flat_map(tokenize, workers=2).pack(LENGTH).batch(BATCH, drop_remainder=True)


def train(folder, host, name, steps):
    """Take batches, and save after each; continue where the last run was killed.

    Args:
        folder: Contains the documents.
        host: This host's index.
        name: The file with the state and all rows so far, standing in for a model trained on them.
        steps: The number of steps before a kill; 0 for never.
    """
    with iter(batches_of(folder, host)) as batches:
        rows = []
        if os.path.exists(name):
            saved = pipeline.load_state(name)
            rows = saved["rows"]
            batches.load_state_dict(saved["input"])
        for step, batch in enumerate(batches, 1):
            rows += [bytes(row).hex() for row in batch["tokens"]]
            pipeline.save_state(name, {"rows": rows, "input": batches.state_dict()})
            if step == steps:
                os._exit(9)  # nothing is closed, as with kill -9


def run(folder, host, name, steps):
    """Run a host until it is done; return its rows, and how often it was killed."""
    command = [sys.executable, __file__, folder, str(host), name, str(steps)]
    kills = 0
    while subprocess.run(command, check=False).returncode == 9:
        kills += 1
    return pipeline.load_state(name)["rows"], kills


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_documents(folder)
        for host in range(HOSTS):
            rows, kills = run(folder, host, f"{folder}/killed-{host}.state", 20)
            whole, _ = run(folder, host, f"{folder}/whole-{host}.state", 0)
            print(f"host {host}: {len(rows)} rows, killed {kills} times, the same rows: {rows == whole}")


if __name__ == "__main__":
    if sys.argv[1:]:
        train(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        main()
