"""Kill examples/resume.py five times with -9, and draw its losses over those of an uninterrupted run.

python bench/runs/killed.py docs/img/resume.png
"""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
KILLS = 5


def run(state, threads, until=None):
    """Run the example; kill it after it has printed the loss for step `until`. Return the losses by step, as
    printed."""
    command = [sys.executable, "examples/resume.py", state, str(threads)]
    losses = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        for line in process.stdout:
            if found := re.match(r"step (\d+): loss (.*)", line):
                step = int(found[1])
                losses[step] = found[2]
                if step == until:
                    os.kill(process.pid, signal.SIGKILL)
            else:
                losses["order"] = line
    if process.returncode not in (0, -signal.SIGKILL):
        raise SystemExit("examples/resume.py failed")
    return losses


def killed_run(state, steps, rng):
    """Return the losses for each run that one training took."""
    moments = sorted(rng.sample(range(10, steps - 10), KILLS))
    return [run(state, rng.randint(1, 8), until) for until in [*moments, None]]


def draw(path, whole, parts):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5.5, 3.4), constrained_layout=True)  # readable on phones, too
    steps = [step for step in whole if step != "order"]
    axes.plot(steps, [float(whole[step]) for step in steps], color="0.75", linewidth=5, label="never killed")
    for number, part in enumerate(parts):
        steps = [step for step in part if step != "order"]
        axes.plot(steps, [float(part[step]) for step in steps], linewidth=1.2, label=f"run {number + 1}")
        if number < KILLS:
            axes.axvline(steps[-1], color="0.5", linewidth=0.8, linestyle=":")
    axes.set(xlabel="step", ylabel="loss", yscale="log", title="Softmax regression, killed with -9 five times")
    axes.legend(ncols=2, frameon=False)
    figure.savefig(path, dpi=160)


def main():
    seed = random.randrange(2**32)
    print("seed", seed)
    with tempfile.TemporaryDirectory() as folder:
        whole = run(f"{folder}/whole.state", 3)
        parts = killed_run(f"{folder}/killed.state", len(whole) - 1, random.Random(seed))
    together = {step: loss for part in parts for step, loss in part.items()}
    differing = [step for part in parts for step, loss in part.items() if whole[step] != loss]
    if together != whole or differing:
        raise SystemExit(f"these steps differ: {differing}")
    print(f"{len(whole) - 1} losses equal to the last digit; {whole['order']}")
    draw(sys.argv[1], whole, parts)


if __name__ == "__main__":
    main()
