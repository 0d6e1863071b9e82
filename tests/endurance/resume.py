"""Kills training runs with -9, again and again, and compares their training batches: `make resume`.

The parent waits for some new batches before each kill, so that every child makes progress. It kills the child
during a step, `state_dict`, `save_state` or a load. The next child has another capacity and thread count. In the end
all batches and the weights must equal those from an uninterrupted run.
"""

import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import resumable

CHILD = pathlib.Path(__file__).with_name("resume_child.py")
SUPPORT = CHILD.parents[1] / "support"
PHASES = ["batch", "state", "save", "saved", "loading"]


class Ended(NamedTuple):
    """A run's outcome.

    Attributes:
        batches: Digest of each batch, in order.
        end: Batch count, weights, and delivered examples.
        kills: Number of kills in each phase.
        resumes: Number of children that began after the first batch.
        state_bytes: Size of the largest state.
    """

    batches: list
    end: list
    kills: dict
    resumes: int
    state_bytes: int


class Child:
    """A process running resume_child.py, within `with`.

    Args:
        plan: Its settings.
    """

    def __init__(self, plan):
        reading, telling = os.pipe()
        answered, self._answering = os.pipe()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SUPPORT), *filter(None, sys.path)])}
        command = [sys.executable, str(CHILD), json.dumps({**plan, "pipes": [telling, answered]})]
        self.process = subprocess.Popen(command, pass_fds=[telling, answered], env=environment)
        os.close(telling)
        os.close(answered)
        self._pipe = os.fdopen(reading)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self._pipe.close()
        os.close(self._answering)

    def hear(self):
        """Yield its messages, as words, until it has ended."""
        for line in self._pipe:
            yield line.split()
        self.process.wait()

    def go_on(self):
        """Answer its last message; it may be dead by now."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._answering, b"g")

    def kill_after(self, seconds):
        """Kill it with -9 in a moment, at any point of its work."""
        moment = time.perf_counter() + seconds
        while time.perf_counter() < moment:
            pass
        os.kill(self.process.pid, signal.SIGKILL)


class Run:
    """A training run, spread over as many processes as it takes.

    Args:
        kind: The loop's; see `resumable.LOOPS`.
        folder: Has the files. The state is stored there too.
        kills: Number of kills.
        seed: For all random choices.
        chaos: Functions and the training wait now and then.
    """

    def __init__(self, kind, folder, kills, seed, chaos=False):
        self._random = random.Random(seed)
        self._plan = {"kind": kind, "folder": str(folder), "state": f"{folder}/{seed}.state", "chaos": chaos}
        self._left = kills
        self._batches = {}
        self._end = None
        self._kills = dict.fromkeys(PHASES, 0)
        self._resumes = self._state_bytes = 0
        self._new = 0  # new batches from the last child

    def result(self, batches):
        """Run to the end, in about `batches` batches."""
        while self._end is None:
            self._child(max(1, 2 * batches // max(1, self._left)))
        count = len(self._batches)
        assert sorted(self._batches) == list(range(count)), "a batch is missing"
        return Ended([self._batches[i] for i in range(count)], self._end, self._kills, self._resumes, self._state_bytes)

    def again(self):
        """Run from the final state; return the child's messages."""
        said = []
        with self._start() as child:
            for words in child.hear():
                said.append(words)
                child.go_on()
        assert child.process.returncode == 0
        return said

    def _start(self):
        return Child({**self._plan, "seed": self._random.randrange(2**32)})

    def _child(self, longest):
        """Run a child until it ends or is killed after one to `longest` new batches."""
        phases = PHASES if self._new else PHASES[:-1]  # nothing to load, or no progress since the one before
        phase = self._random.choice(phases) if self._left else None
        after = 0 if phase == "loading" else self._random.randint(1, longest)
        delay = 10 ** self._random.uniform(-5, -2.3)  # seconds
        self._new = 0
        with self._start() as child:
            for words in child.hear():
                self._hear(*words)
                child.go_on()
                if phase == words[0] and self._new >= after:
                    child.kill_after(delay)
                    self._kills[phase] += 1
                    self._left -= 1
                    phase = None  # its messages meanwhile are still unread
        assert child.process.returncode in (0, -signal.SIGKILL), "the child failed"
        assert child.process.returncode or self._end is not None, "the child said no end"

    def _hear(self, what, *words):
        if what == "batch":
            step, digest = int(words[0]), words[1]
            self._new += step not in self._batches
            assert self._batches.setdefault(step, digest) == digest, f"batch {step} came out different"
        elif what == "saved":
            self._state_bytes = max(self._state_bytes, os.path.getsize(self._plan["state"]))
        elif what == "loading":
            self._resumes += 1
        elif what == "end":
            self._end = list(words)


def check(kind, folder, scale, kills, seed, chaos=False):
    """Kill a run, and compare it with an uninterrupted one and with the oracle; return the first."""
    whole = Run(kind, folder, 0, seed + 1).result(1)
    expected = resumable.expected_digests(kind, scale)
    if expected is not None:
        assert whole.batches == expected, "the run that nobody killed is not what the oracle says"
    run = Run(kind, folder, kills, seed, chaos)
    killed = run.result(len(whole.batches))
    assert killed.batches == whole.batches
    assert killed.end == whole.end
    said = [words for words in run.again() if words[0] in ("batch", "end")]
    assert said == [["end", *whole.end]], "the state at the end gives something"
    return killed


def main():
    kills, scale = int(sys.argv[1]), int(sys.argv[2])
    kinds = sys.argv[3:] or list(resumable.SAVED)
    seed = random.randrange(2**32)
    print("seed", seed)
    for number, kind in enumerate(kinds):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            resumable.write_files(folder, scale)
            done = check(kind, folder, scale, kills, seed + 2 * number, chaos=True)
        total = sum(done.kills.values())
        where = ", ".join(f"{count} at {phase}" for phase, count in done.kills.items())
        print(
            f"{kind}: {len(done.batches):,} batches, {total} kills ({where}), {done.resumes} resumes, "
            f"states of at most {done.state_bytes:,} bytes: as if never killed",
            flush=True,
        )


if __name__ == "__main__":
    main()
