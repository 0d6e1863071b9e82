"""Shared code for benches that write results: the machine, Markdown tables, and their position in the docs."""

import contextlib
import os
import platform
import re
import signal
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/img"
RESULTS = ROOT / "bench/results"


def machine():
    """Return the machine's processor, cores, memory and load, as far as available."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists() and (found := re.search(r"model name\s*: (.*)", info.read_text())):
        model = found[1]
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gib": round(gib),
        "system": platform.system(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def machine_line(known):
    """Return the machine as a line of text."""
    return (
        f"{known['processor']}, {known['cores']} cores, {known['memory_gib']} GiB, {known['system']}, "
        f"CPython {known['python']}; load average {known['load_before']} when the run began"
    )


def run_apart(command, environment, timeout):
    """Run a command in its own session, and kill everything left there.

    After its parent has ended, a Grain worker runs on at full speed and takes a processor from the next measurement.

    Raises:
        subprocess.TimeoutExpired: The command took longer than `timeout`.
    """
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def table(head, rows, words=(0,)):
    """Return a Markdown table; all columns are right-aligned except text columns, given by index in `words`."""
    lines = [head, ["---" if i in words else "---:" for i in range(len(head))], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def number(value):
    """Return a number with three significant digits, in thousands or millions if it is large."""
    for scale, unit in ((1e6, " M"), (1e3, " k")):
        if value >= scale:
            return f"{value / scale:.3g}{unit}" if value < 1000 * scale else f"{value / scale:.0f}{unit}"
    return f"{value:.3g}"


def put_in_page(name, text):
    """Replace the text between a name's markers in README.md and every docs/ page with them."""
    begin, end = f"<!-- {name}: written by the bench -->", f"<!-- end of {name} -->"
    found = [page for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")) if begin in page.read_text("utf-8")]
    if not found:
        raise ValueError(f"no page has a place for {name}: lines {begin} and {end}")
    for path in found:
        before, _, rest = path.read_text("utf-8").partition(begin)
        _, _, after = rest.partition(end)
        path.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", encoding="utf-8")
