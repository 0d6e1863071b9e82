"""What the benches that write results share: what machine this is, tables in Markdown, and their place in the docs."""

import os
import platform
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/performance.md"
IMAGES = ROOT / "docs/img"
RESULTS = ROOT / "bench/results"


def machine():
    """Processor, cores, memory and how busy the machine was, as far as the system tells."""
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
    """The machine in a line of text."""
    return (
        f"{known['processor']}, {known['cores']} cores, {known['memory_gib']} GiB, {known['system']}, "
        f"CPython {known['python']}; load average {known['load_before']} when the run began"
    )


def table(head, rows):
    """A table in Markdown; all columns but the first are aligned to the right."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def number(value):
    """Three digits that count, in thousands or millions where it is that large."""
    for scale, unit in ((1e6, " M"), (1e3, " k")):
        if value >= scale:
            return f"{value / scale:.3g}{unit}" if value < 1000 * scale else f"{value / scale:.0f}{unit}"
    return f"{value:.3g}"


def put_in_page(name, text):
    """Replace what stands between the marks of a name in the page about performance."""
    begin, end = f"<!-- {name}: written by the bench -->", f"<!-- end of {name} -->"
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{PAGE.name} has no place for {name}: lines {begin} and {end}")
    PAGE.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", encoding="utf-8")
