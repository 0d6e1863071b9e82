"""Runs deterministic loops with random waits in functions and consumers; the order must not change: `make resume`."""

import collections
import pathlib
import random
import sys
import tempfile

import resumable


def ends(kind, folder, threads, rng):
    """Run a loop; return everything that must not depend on time: its batches' digests and delivered examples."""
    wait = resumable.Chaos(True)
    digests = []
    settings = resumable.random_settings(rng, chaos=True)
    with resumable.make(kind, folder, **{**settings, "threads": threads}) as loop:
        for batch in loop:
            digests.append(resumable.digest(batch))
            wait()
    return tuple(digests), tuple(loop.delivered)


def main():
    runs = int(sys.argv[1])
    kinds = sys.argv[2:] or list(resumable.LOOPS)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        resumable.write_files(folder)
        for kind in kinds:
            rng = random.Random()
            seen = collections.Counter(
                ends(kind, folder, threads, rng) for threads in (1, 2, 4, 8) for _ in range(runs)
            )
            expected = resumable.expected_digests(kind)
            right = expected is None or list(next(iter(seen))[0]) == expected
            failed += len(seen) > 1 or not right
            print(
                f"{kind}: {seen.total()} runs, {len(seen)} order" + ("" if right else ", not that of the oracle"),
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
