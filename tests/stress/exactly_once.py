"""`make stress`, second part: moves a million elements through chained queues and sessions, and accounts for all."""

import argparse
import random
import sys

from stress import chain, session
from stress.histories import Hurried


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="elements")
    parser.add_argument("--each", type=int, default=20_000, help="elements of one chain or session")
    parser.add_argument("--seed", type=int, help="the first seed; by default another one each time")
    options = parser.parse_args()
    first = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    runs = max(1, options.count // options.each)
    print(f"{runs} runs of {options.each:,} elements from seed {first}", flush=True)
    for seed in range(first, first + runs):
        run = session.run if seed % 5 == 0 else chain.run
        try:
            with Hurried():
                ledger = run(seed, options.each)
        except AssertionError as error:
            sys.exit(
                f"{error}: {error.__cause__!r}\nRepeat with --seed {seed} --count {options.each} --each {options.each}"
            )
        print(f"seed {seed}: {ledger.seconds:.1f} s, {ledger.summary()}", flush=True)


if __name__ == "__main__":
    main()
