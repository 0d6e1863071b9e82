"""Run a seed's chain, save its state after each element, and continue there when run again.

    python chain_program.py SEED MODE DIRECTORY MOST

It prints each element's number and value.
"""

import json
import os
import sys
from pathlib import Path

import chains

from pipeline.resume.state_file import load_state, save_state


def main(seed, mode, directory, most):
    os.makedirs(directory, exist_ok=True)
    data = chains.summed(seed, chains.of_seed(seed, Path(directory), chains.workers_of(mode)))
    iterator = iter(data)
    path = os.path.join(directory, "state.json")
    number = 0
    if os.path.exists(path):
        state = load_state(path)
        iterator.load_state_dict(state)
        number = iterator.delivered[0]
    for element in iterator:
        print(json.dumps([number, chains.plain(element)]), flush=True)  # a repeated element is not a loss
        save_state(path, iterator.state_dict())
        number += 1
        if number == most:
            break
    iterator.close()
    print(json.dumps(["end", iterator.fingerprint() if "checksum" in repr(data) else None]), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
