"""Turns the knobs named by verdicts, and compares predicted and measured gains: `make verdicts`.

Each dataset in `bottlenecks` with a helpful setting runs as it is and with its knob turned, ROUNDS times by turns;
medians count. A gain outside the predicted range, give or take TOLERANCE, is a failure, and so is any verdict except
the known one. For CPU-bound datasets, rates are scaled to all usable processors, because other programs may have used
some.
"""

import logging
import statistics
import sys

import bottlenecks

ROUNDS = 3
SECONDS = 1.5
TOLERANCE = 0.1


def main(names):
    logging.disable(logging.WARNING)  # elements in an incomplete batch
    bad = []
    print(f"{'dataset':<42}{'verdict':<14}{'knob':<20}{'value':>6}{'predicted':>14}{'measured':>10}")
    for name, case in bottlenecks.CASES.items():
        if (names and name not in names) or case.turned is None:
            continue
        if not measured(name, case):
            bad.append(name)
    if bad:
        sys.exit(f"not as predicted: {', '.join(bad)}")


def measured(name, case):
    """Measure one pipeline and print its line; return whether it is as predicted."""
    predicted, gains, verdict = [], [], None
    for _ in range(ROUNDS):
        slow = bottlenecks.watch(case, case.settings, SECONDS)
        verdict = slow.report.verdict
        if (verdict.kind, verdict.knob) != (case.kind, case.knob):
            print(f"{name:<42}{verdict.kind:<14}{verdict.knob or '':<20}  but it is {case.kind}: {case.knob}")
            print(slow.report)
            return False
        if verdict.gain is None:
            print(f"{name:<42}{verdict.kind:<14}{verdict.knob or '':<20}  predicts no gain")
            return True
        predicted.append((verdict.least, verdict.gain))
        turned = bottlenecks.watch(case, case.turn(verdict), SECONDS)
        given = slow.given / turned.given if case.computes else 1
        gains.append(turned.rate / slow.rate * given)
    gain, (least, most) = statistics.median(gains), map(statistics.median, zip(*predicted, strict=True))
    value = "" if verdict.value is None else verdict.value
    wanted = f"{least:.2f} to {most:.2f}"
    print(f"{name:<42}{verdict.kind:<14}{verdict.knob or '':<20}{value:>6}{wanted:>14}{gain:>10.2f}", flush=True)
    return (1 - TOLERANCE) * least <= gain <= (1 + TOLERANCE) * most


if __name__ == "__main__":
    main(sys.argv[1:])
