"""Shared benchmark fixtures: the plain-Python reference next to the compiled queues, and a table at the end."""

import sys
from pathlib import Path

import pytest

KNOWN = {
    "ours",
    "python",
    "numpy",
    "copyto",
    "take",
    "take clip",
    "take clip out",
    "np.array",
    "SimpleQueue",
    "queue.Queue",
    "free",
    "cold start",
}

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))  # for reference.py


@pytest.fixture
def measure(benchmark):
    """Measure a call with `count` operations; results are also given per operation."""

    def run(group, function, count=1, **options):
        benchmark.group = group
        benchmark.extra_info["count"] = count
        if options:
            return benchmark.pedantic(function, **options)
        return benchmark(function)

    return run


def pytest_terminal_summary(terminalreporter, config):
    """Print medians and minima per operation, and how much faster ours is than each baseline in its group."""
    session = getattr(config, "_benchmarksession", None)
    groups = {}
    for one in session.benchmarks if session else []:
        if one.stats.rounds:
            labels = one.name.partition("[")[2].removesuffix("]").split("-")
            label = next((label for label in labels if label in KNOWN), "")
            count = one.extra_info.get("count", 1)
            groups.setdefault(one.group, {})[label] = one.stats.median / count, one.stats.min / count
    if not groups:
        return
    terminalreporter.section("ours against the baselines: median (minimum) per operation, and times as fast")
    for group, times in sorted(groups.items(), key=lambda item: str(item[0])):
        ours = times.pop("ours", None)
        if ours is None or not times:
            continue
        others = ", ".join(
            f"{label} {show(median)} ({show(least)}): {median / ours[0]:.2f} ({least / ours[1]:.2f}) times"
            for label, (median, least) in times.items()
        )
        terminalreporter.write_line(f"{group}: {show(ours[0])} ({show(ours[1])}); {others}")

    for one in session.benchmarks:
        notes = {key: value for key, value in one.extra_info.items() if key != "count"}
        if notes:
            terminalreporter.write_line(
                f"{one.name}: " + ", ".join(f"{key} {value:.4g}" for key, value in notes.items())
            )


def show(seconds):
    units = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}
    unit = next((unit for unit, scale in units.items() if seconds * scale >= 1), "ns")
    return f"{seconds * units[unit]:.3g} {unit}"
