"""Plants faults in deterministic loops, one at a time; each must make its test fail: `make resume`.

They are planted in a copy of the sources in build/planted, where the core is recompiled for its own faults.
"""

import os
import pathlib
import shutil
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[2]
COPY = ROOT / "build" / "planted"
COPIED = ["pyx", "pipeline", "tests", "examples", "docs", "setup.py", "pyproject.toml", "README.md", "LICENSE"]


class Plant(NamedTuple):
    """A fault: a text in a file and its replacement, and the test that must fail."""

    name: str
    file: str
    text: str
    fault: str
    test: str


MOMENTS = "tests/resume/test_every_moment.py::test_from_each_moment"
CHAOS = "tests/resume/test_chaos.py::test_one_order"
LOCKSTEP = "tests/queues/test_lockstep_queue.py"

PLANTS = [
    Plant(
        "results come as workers make them",
        "pipeline/stages/functions.py",
        "ordered=all(each.ordered for each in nodes),",
        "ordered=not all(each.ordered for each in nodes),",
        f"{CHAOS}[mapped]",
    ),
    Plant(
        "draws before the pool is full",
        "pyx/orders.pxd",
        "cdef size_t first = min(n, places - p.count)",
        "cdef size_t first = min(n, max(places, <size_t>2) - 1 - p.count)",
        LOCKSTEP,
    ),
    Plant(
        "what is put back comes in reverse",
        "pyx/state.pxd",
        "        ring_push_front(&q.outlet, a.slots, n)\n",
        "        for i in range(n):\n            ring_push_front(&q.outlet, span(&a.slots[i], 1), 1)\n",
        f"{LOCKSTEP}::test_a_failed_out_puts_back_in_order",
    ),
    Plant(
        "an element of the pool twice",
        "pipeline/stages/pool.py",
        "    return lockstep_pool(*pair, places, draws)",
        "    pool = lockstep_pool(*pair, places, draws)\n    pool[0] = pool[-1]\n    return pool",
        f"{MOMENTS}[lines]",
    ),
    Plant(
        "the journal is one element late",
        "pipeline/stages/pool.py",
        "self._journal.note(self._arrivals, self.source.state(), ",
        "self._journal.note(self._arrivals + 1, self.source.state(), ",
        f"{MOMENTS}[lines]",
    ),
    Plant(
        "example_rng belongs to the thread",
        "pipeline/stages/draws.py",
        "    seed, seed2, number, *more = draw\n",
        "    seed, seed2, _, *more = draw\n    number = threading.get_native_id()\n",
        f"{CHAOS}[augmented]",
    ),
    Plant(
        "the state is that of what was read, not of what was delivered",
        "pipeline/stages/prefetch.py",
        "        return self._state if self._begun else self.source.state()",
        "        return self.source.state()",
        "tests/dataset/test_prefetch.py",
    ),
]


def run(test):
    """Run a test in the copy; return whether it passed, and pytest's last line."""
    environment = {**os.environ, "PYTHONPATH": str(COPY)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{test} could not be run:\n{done.stdout}{done.stderr}")
    return done.returncode == 0, done.stdout.splitlines()[-1]


def compile_core():
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(command, cwd=COPY, check=True, capture_output=True)


def put(plant, text, fault):
    path = COPY / plant.file
    source = path.read_text()
    if source.count(text) != 1:
        raise SystemExit(f"{plant.name}: its text is not once in {plant.file}")
    path.write_text(source.replace(text, fault))
    if plant.file.startswith("pyx/"):
        compile_core()


def main():
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, COPY / name)
    missed = []
    for plant in PLANTS:
        sound, said = run(plant.test)
        if not sound:
            raise SystemExit(f"{plant.test} fails without a fault: {said}")
        put(plant, plant.text, plant.fault)
        passed, said = run(plant.test)
        put(plant, plant.fault, plant.text)
        if passed:
            missed.append(plant.name)
        print(f"{plant.name}: {'NOT FOUND' if passed else 'found'} by {plant.test}", flush=True)
    print(f"{len(PLANTS)} faults planted, {len(missed)} not found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
