"""Pre-train on three corpora with two hosts, through a kill, and continue on one host and on three.

    python examples/pretrain.py [FOLDER]

JSON Lines and Parquet are tokenized in processes; a Megatron file already contains tokens. Documents are mixed by
tokens, with weights that change during the run, and packed into rows, and the rows are divided between hosts. At the
end each resumed run is compared with an uninterrupted one, row by row. Needs pyarrow.
"""

import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import pipeline

LENGTH = 512  # tokens per row
ROWS = 12  # rows per step, all hosts together
STEPS = 40
SAVE_EVERY = 5
BEGIN = 256  # the token before each document; the others are bytes
CORPORA = ["web", "books", "code"]
SCHEDULE = [  # the start in tokens, and each corpus's share of the tokens from there on
    (0, {"web": 6, "books": 3, "code": 1}),
    (100_000, {"web": 2, "books": 3, "code": 5}),
]
WORDS = ["click", "here", "once", "upon", "a", "time", "return", "None", "the", "weather", "in", "April", "is", "fine"]


def write_corpora(folder):
    """Write web.jsonl, two Parquet files of books, and code.bin with its index code.idx."""
    rng = np.random.default_rng(1)
    texts = {
        name: [" ".join(rng.choice(WORDS, size)) for size in rng.lognormal(3, 1, count).astype(int) + 1]
        for name, count in zip(CORPORA, [1000, 400, 300], strict=True)
    }
    with open(f"{folder}/web.jsonl", "w") as file:
        for text in texts["web"]:
            print(json.dumps({"url": "https://example.org", "text": text}), file=file)
    for part in range(2):
        table = pa.table({"title": ["?"] * 200, "text": texts["books"][part::2]})
        pa.parquet.write_table(table, f"{folder}/books-{part}.parquet", row_group_size=50)
    pipeline.write_tokens(f"{folder}/code.bin", (list(text.encode()) for text in texts["code"]), index=True)


def tokenize(example, corpus):
    """Tokenize a document; here a token is a byte."""
    return with_corpus(np.frombuffer(example["text"].encode(), np.uint8).astype(np.uint16), corpus)


def with_corpus(tokens, corpus):
    """Add the corpus number to each token, for example to log a loss per corpus."""
    return {"tokens": tokens, "corpus": np.full(len(tokens), corpus, np.uint8)}


def batches_of(folder, host, hosts):
    """Return one host's batches; every host makes all rows and keeps its own, so all hosts get equally full rows."""
    workers = pipeline.processes(2)  # one pool for both corpora
    web = pipeline.jsonl(f"{folder}/web.jsonl", columns=["text"], index=True, index_folder=f"{folder}/index")
    books = pipeline.parquet(f"{folder}/books-*.parquet", columns=["text"], shuffle=True, seed=2)
    code = pipeline.tokens(f"{folder}/code.bin", documents=True).shuffle(seed=3)
    documents = {
        "web": web.shuffle(seed=1).repeat().map(functools.partial(tokenize, corpus=1), workers=workers),
        "books": books.repeat().map(functools.partial(tokenize, corpus=2), workers=workers),
        "code": code.repeat().map(functools.partial(with_corpus, corpus=3)),
    }
    mixed = pipeline.mix(documents, SCHEDULE, by=lambda document: len(document["tokens"]), seed=4)
    rows = mixed.pack(
        LENGTH,
        method="best_fit",
        long="split",
        begin={"tokens": BEGIN, "corpus": 0},
        labels="tokens",
        cu_seqlens=True,
        max_sequences=32,
        buffer=50,
    )
    return rows.take(STEPS * ROWS).shard(host, hosts).batch(ROWS // hosts).prefetch(2)


def train(folder, run, host, hosts, begin, hang):
    """Train as one host.

    Args:
        folder: Contains the corpora and the checkpoints.
        run: This run's name.
        host, hosts: This host's index, and the number of hosts.
        begin: The step after which to resume the run "killed"; 0 begins a new run.
        hang: The step at which this host hangs until it is killed; 0 for never.
    """
    rows, counts = {}, []  # in place of a model: digests of all rows, and each corpus's tokens per step
    with iter(batches_of(folder, host, hosts)) as batches:
        if begin:  # all hosts load the same host's state, because they must agree
            saved = pipeline.load_state(checkpoint(folder, "killed", begin, 0))
            batches.load_state_dict(saved["input"], allow={"batch_size"})
        for step, batch in enumerate(batches, begin + 1):
            for i in range(len(batch["tokens"])):
                content = b"".join(batch[field][i].tobytes() for field in sorted(batch))
                rows[str((step - 1) * ROWS + i * hosts + host)] = hashlib.sha256(content).hexdigest()
            counts.append(np.bincount(batch["corpus"].ravel(), batch["segment_ids"].ravel() > 0, minlength=4).tolist())
            if step % SAVE_EVERY == 0:
                saved = {"rows": rows, "counts": counts, "input": batches.state_dict()}
                pipeline.save_state(checkpoint(folder, run, step, host), saved)
            if step == hang:
                print("hangs", flush=True)
                sys.stdin.read()


def checkpoint(folder, run, step, host):
    return f"{folder}/{run}-step-{step}-host-{host}.json"


def start(*args):
    """Start a host as a separate process."""
    command = [sys.executable, __file__, "--train", *map(str, args)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def kill_two_hosts(folder):
    """Kill both hosts of a run at different steps; return the last step saved by both."""
    hosts = [start(folder, "killed", host, 2, 0, hang) for host, hang in enumerate([18, 23])]
    for host in hosts:
        host.stdout.readline()
        host.kill()
        host.communicate()
    steps = range(0, STEPS + 1, SAVE_EVERY)
    return max(n for n in steps if all(os.path.exists(checkpoint(folder, "killed", n, host)) for host in range(2)))


def run_to_the_end(folder, run, hosts, begin=0):
    """Run all hosts; return the states they saved at the end."""
    processes = [start(folder, run, host, hosts, begin, 0) for host in range(hosts)]
    for each in processes:
        each.communicate()
        assert each.returncode == 0
    return [pipeline.load_state(checkpoint(folder, run, STEPS, host)) for host in range(hosts)]


def in_order(parts):
    """Return row digests in global order."""
    rows = [(int(number), digest) for part in parts for number, digest in part["rows"].items()]
    return [digest for _, digest in sorted(rows)]


def compare(title, rows, expected):
    lost, doubled = Counter(expected) - Counter(rows), Counter(rows) - Counter(expected)
    print(f"{title}: {len(rows)} rows, {lost.total()} lost, {doubled.total()} doubled, same order: {rows == expected}")


def describe(counts):
    """Print how full the rows are, and each corpus's share at both ends of the run."""
    counts = np.array(counts)
    print(f"rows: {counts.sum() / (len(counts) * ROWS * LENGTH):.1%} full")
    for title, part in {"first": counts[:10], "last": counts[-10:]}.items():
        shares = part[:, 1:].sum(axis=0) / part[:, 1:].sum()
        print(f"{title} steps:", ", ".join(f"{n:.0%} {name}" for n, name in zip(shares, CORPORA, strict=True)))


def main(folder):
    write_corpora(folder)
    [whole] = run_to_the_end(folder, "whole", 1)
    describe(whole["counts"])
    step = kill_two_hosts(folder)
    killed = [pipeline.load_state(checkpoint(folder, "killed", step, host)) for host in range(2)]
    print(f"2 hosts were killed; both have saved step {step} of {STEPS}")
    for hosts in (1, 3):
        resumed = run_to_the_end(folder, f"resumed-on-{hosts}", hosts, begin=step)
        compare(f"resumed on {hosts}", in_order(killed + resumed), in_order([whole]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        folder, run, *numbers = sys.argv[2:]
        train(folder, run, *map(int, numbers))
    elif sys.argv[1:]:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(folder)
