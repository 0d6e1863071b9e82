"""Runs the queue and thread tests with instrumented modules: `make tsan`, `asan`, `ubsan`, `bounds`.

It copies the sources to a folder in build/ and compiles them there with GCC's ThreadSanitizer, with its
AddressSanitizer and UndefinedBehaviorSanitizer, or with bounds checks for every memoryview and span. Any Python can
run it. A sanitizer set up wrongly finds nothing, so each must prove itself first: it has to find faults planted in a
second copy.

No report about our code is suppressed. Arguments after the sanitizer's name go to pytest; files among them replace the
usual ones.

`make tsan-free` does the same without the GIL. There CPython's own atomic operations order threads, so it has to be
compiled with ThreadSanitizer too, as docs/free-threading.md explains. Reports about CPython itself are suppressed by
tsan_free_threaded.txt, next to this file.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[2]
COPIED = ["pyx", "pipeline", "tests", "examples", "setup.py", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"]
STATUS = 66  # exit status after a sanitizer's finding
REPORTS = "reports"  # the folder with the findings
UNANSWERED = re.compile(r"==\d+==WARNING: \w+ failed to allocate 0x[0-9a-f]+ bytes|")
SUPPRESSED = pathlib.Path(__file__).with_name("tsan_free_threaded.txt")

# Tests left out, with the reason.
MEMORY = {"test_queue_memory.py": "measures resident memory, most of which is the sanitizer's own"}
SLOW = {"test_queue_recycling.py": "copies so much that it takes minutes; make asan runs it"}
# The tests for compiled and multi-threaded code.
PATTERNS = [
    "queues/test_queue_*.py",
    "queues/test_*_queue.py",
    "queues/test_lockstep_numbers.py",
    "queues/test_bad_arrays.py",
    "queues/test_histories.py",
    "queues/test_exactly_once.py",
    "batches/test_*.py",
    "images/test_*.py",
    "decode/test_jpeg_parts.py",
    "dataset/test_*.py",
    "runners/test_*.py",
    "producers/test_*.py",
    "ends/test_ends_*.py",
    "ends/test_leaks.py",
    "compat/test_batching_graph.py",
    "compat/test_producers_graph.py",
    "compat/test_queues_waiting.py",
    "compat/test_hand_made_queues.py",
    "compat/test_blocks.py",
    "compat/test_sessions.py",
]
# Without the GIL, also the tests for everything else used by several threads.
MORE = (
    "readers/test_*.py",
    "resume/test_*.py",
    "reports/test_*.py",
    "workers/test_*.py",
    "compat/test_*.py",
)


class Plant(NamedTuple):
    """A fault: a text in a pyx file and its replacement, a script that runs into it, and the report's words."""

    file: str
    text: str
    fault: str
    script: str
    found: str
    place: str = "pyx/"  # in the report's line with the location


class Sanitizer(NamedTuple):
    name: str
    flags: str
    library: str | None
    symbols: list[bytes]  # in every instrumented module
    options: dict[str, str]
    plants: list[Plant]
    left_out: dict[str, str]
    build: tuple[tuple[str, str], ...] = ()  # more variables for setup.py
    support: str = ""  # a folder added to the path
    refused: str = ""  # modules that cannot be imported there
    arguments: tuple[str, ...] = ()  # for pytest
    patterns: tuple[str, ...] = ()  # for more tests
    interpreter: str = ""  # how it must have been configured
    watches: bytes = b""  # in a module with anything to instrument


# A thread waits in a dequeue; another hands it an element, having forgotten to take the lock.
HAND_OVER = """
import threading
from pipeline import FIFOQueue

queue = FIFOQueue(1, "int64", shapes=())
queue.enqueue(0)  # so that there is a slot
queue.dequeue()
for _ in range(50):
    thread = threading.Thread(target=queue.dequeue)
    thread.start()
    while not queue.stats().waiting_dequeues:
        pass
    queue.enqueue(1)
    thread.join()
"""
LOCKED = """
    if not q.lock.try_lock():
        return False
    stored = put_now(q, columns, parts)
    q.lock.unlock()
"""
UNLOCKED = """
    stored = put_now(q, columns, parts)
"""
OVERRUN = """
from pipeline import FIFOQueue

queue = FIFOQueue(1000, "int64", shapes=())
queue.enqueue_many([range(100)])
"""
OVERFLOW = """
from pipeline import FIFOQueue

queue = FIFOQueue(1, "int64", shapes=())
queue.enqueue(1, timeout=1)
"""
# The last slot in a ring of 4,096 numbers is used.
AROUND = """
from pipeline import FIFOQueue

queue = FIFOQueue(10000, "int64", shapes=())
for i in range(10000):
    queue.enqueue(i)
"""
STACK = """
import numpy, pipeline

pipeline.stack([numpy.zeros(4, numpy.float32)] * 3)
"""

SANITIZERS = {
    "thread": Sanitizer(
        "tsan",
        # Otherwise ld.so allocates thread_local variables, and frees them in another thread under a lock invisible to
        # TSan.
        "-fsanitize=thread -g -O1 -ftls-model=initial-exec",
        "libtsan.so",
        [b"__tsan_read8"],
        # A child forked while threads run must raise our error, not die.
        {
            # A test requests more memory than there is, and must get NULL from malloc, not the end of the process.
            "TSAN_OPTIONS": f"halt_on_error=1:exitcode={STATUS}:die_after_fork=0:allocator_may_return_null=1",
            "OPENBLAS_NUM_THREADS": "1",  # its threads are not instrumented, and hand over memory invisibly
        },
        [
            Plant(
                "fastpath.pxd",
                LOCKED,
                UNLOCKED,
                HAND_OVER,
                "data race",
            ),
        ],
        MEMORY | SLOW,
        support="tests/support/tsan",
        refused="pyarrow",
    ),
    "address": Sanitizer(
        "asan",
        "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1",
        "libasan.so",
        [b"__asan_report_store", b"__ubsan_handle"],
        {
            # Leaks are counted by make leaks: memory kept by Python and NumPy to the end is no leak of ours.
            "ASAN_OPTIONS": f"detect_leaks=0:exitcode={STATUS}:allocator_may_return_null=1",
            "UBSAN_OPTIONS": f"print_stacktrace=1:exitcode={STATUS}",
            "PYTHONMALLOC": "malloc",  # so that each object is a separate block
        },
        [
            Plant(
                "limits.pxd",
                "<slot_t*>malloc(n * sizeof(slot_t))",
                "<slot_t*>malloc((n - 1) * sizeof(slot_t))",
                OVERRUN,
                "heap-buffer-overflow",
            ),
            Plant(
                "waiting.pxd",
                "<int64_t>(min(seconds, 1e9) * 1e9)\n\n\ncdef inline int64_t instant_after",
                "<int64_t>0x7fffffffffffffff\n\n\ncdef inline int64_t instant_after",
                OVERFLOW,
                "signed integer overflow",
            ),
        ],
        MEMORY,
        support="tests/support/asan",
        # It ends a program while threads are in the core. CPython ends these by unwinding their stacks.
        # AddressSanitizer mistakes this for an overflow in its own function, in most runs.
        arguments=("--deselect=tests/queues/test_queue_recycling.py::test_processes[exit]",),
        patterns=("decode/test_*.py", "images/test_*.py", "sources/test_csv*.py", "sources/test_text.py"),
    ),
    "bounds": Sanitizer(
        "bounds",
        "-O1",
        None,
        [b"Out of bounds on buffer access"],
        {},
        [
            Plant(
                "orders.pxd",
                "    r.slots[(r.head + r.count) & r.mask] = slot\n",
                "    r.slots[((r.head + r.count) & r.mask) + 1] = slot\n",
                AROUND,
                "Out of bounds",
                "an item of a span",
            ),
            Plant(
                "stacking.pxd",
                "memcpy(rows.at(i), data_of(arrays[i])",
                "memcpy(rows.at(i + 1), data_of(arrays[i])",
                STACK,
                "Out of bounds",
                "a row",
            ),
        ],
        MEMORY,
        (("PIPELINE_BOUNDS", "1"),),
        "tests/support/bounds",
        ("-p", "no:unraisableexception"),
        watches=b"View.MemoryView",
    ),
}


SANITIZERS["undefined"] = SANITIZERS["address"]._replace(
    name="ubsan",
    flags="-fsanitize=undefined -fno-sanitize-recover=undefined -g -O1",
    library="libubsan.so",
    symbols=[b"__ubsan_handle"],
    options={"UBSAN_OPTIONS": f"print_stacktrace=1:exitcode={STATUS}"},
    plants=SANITIZERS["address"].plants[1:],
    left_out={},
    support="",
)
SANITIZERS["thread-free"] = SANITIZERS["thread"]._replace(
    name="tsan-free",
    library=None,  # it is in CPython
    options={
        "PYTHON_GIL": "0",  # not even for a module that requires the GIL
        "TSAN_OPTIONS": f"exitcode={STATUS}:die_after_fork=0:allocator_may_return_null=1:suppressions={SUPPRESSED}",
    },
    build=(("TSAN_OPTIONS", "report_bugs=0:die_after_fork=0"),),  # Cython forks while threads run
    patterns=MORE,
    interpreter="--with-thread-sanitizer",
)


def copy(where: pathlib.Path) -> None:
    """Copy the sources with their times, so that unchanged ones are not recompiled."""
    ignore = shutil.ignore_patterns("*.so", "__pycache__")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, where / name, dirs_exist_ok=True, ignore=ignore)
        else:
            where.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, where / name)


def compile_in(where: pathlib.Path, sanitizer: Sanitizer) -> None:
    flags = dict.fromkeys(("CFLAGS", "CXXFLAGS", "LDFLAGS"), sanitizer.flags)
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    variables = {**os.environ, **flags, **dict(sanitizer.build), "PIPELINE_LINES": "1"}
    subprocess.run(command, cwd=where, env=variables, check=True)
    for module in (where / "pipeline").glob("_*.so"):
        code = module.read_bytes()
        if sanitizer.watches in code and not all(symbol in code for symbol in sanitizer.symbols):
            sys.exit(f"{module} was compiled without {sanitizer.name}")


def environment(where: pathlib.Path, sanitizer: Sanitizer) -> dict[str, str]:
    """Return an instrumented process's environment.

    Reports go to files, because pytest captures the output of tests and their children; see `reports`.
    """
    path = os.pathsep.join([str(where)] + [str(where / sanitizer.support)] * bool(sanitizer.support))
    variables = {**os.environ, **sanitizer.options, "PYTHONPATH": path}
    for name in reporting(sanitizer):
        variables[name] += f":log_path={where / REPORTS / 'report'}"
    shutil.rmtree(where / REPORTS, ignore_errors=True)
    (where / REPORTS).mkdir()
    return {**variables, "LD_PRELOAD": library(sanitizer)} if sanitizer.library else variables


def reporting(sanitizer: Sanitizer) -> list[str]:
    """Return the environment with a sanitizer's reporting options; none if the program itself reports."""
    return [name for name in sanitizer.options if name.endswith("SAN_OPTIONS")]


def reports(where: pathlib.Path) -> str:
    """Return the sanitizer's reports since `environment` was called, except failed large allocations: tests request too
    much memory, and get NULL by `allocator_may_return_null`.
    """
    lines = [
        line for file in sorted((where / REPORTS).iterdir()) for line in file.read_text(errors="replace").splitlines()
    ]
    return "\n".join(line for line in lines if not UNANSWERED.fullmatch(line))


def library(sanitizer: Sanitizer) -> str:
    """Return the libraries to load first.

    AddressSanitizer ends the process at a C++ exception, such as pyarrow's, unless the C++ library was loaded at its
    start.
    """
    names = [sanitizer.library] + ["libstdc++.so.6"] * (sanitizer.name == "asan")
    compiler = (sysconfig.get_config_var("CXX") or "g++").split()[0]
    paths = []
    for name in names:
        command = [compiler, f"-print-file-name={name}"]
        path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        if not os.path.isabs(path):
            sys.exit(f"{compiler} has no {name}")
        paths.append(path)
    return " ".join(paths)


def plant(where: pathlib.Path, fault: Plant) -> None:
    source = where / "pyx" / fault.file
    text = source.read_text()
    if text.count(fault.text) != 1:
        sys.exit(f"{fault.file} has changed: where can the fault be planted now?")
    source.write_text(text.replace(fault.text, fault.fault))


def prove(sanitizer: Sanitizer) -> None:
    """Plant faults in our own code and check that each is found."""
    where = ROOT / "build" / f"{sanitizer.name}-planted"
    shutil.rmtree(where, ignore_errors=True)
    copy(where)
    for fault in sanitizer.plants:
        plant(where, fault)
    compile_in(where, sanitizer)
    for fault in sanitizer.plants:
        done = subprocess.run(
            [sys.executable, "-c", fault.script],
            cwd=where,
            env=environment(where, sanitizer),
            capture_output=True,
            text=True,
            check=False,
        )
        report = reports(where) if reporting(sanitizer) else done.stderr
        if done.returncode == 0 or fault.found not in report or fault.place not in report:
            told = f"{done.stdout}{done.stderr}{report}"
            sys.exit(f"{sanitizer.name} did not find the fault in {fault.file}, but:\n{told}")
        line = next(line for line in report.splitlines() if fault.place in line)
        print(f"{sanitizer.name} finds what is planted: {fault.found}: {line.strip()}", flush=True)


def tests_for(where: pathlib.Path, sanitizer: Sanitizer) -> list[str]:
    tests = where / "tests"
    found = {pattern: list(tests.rglob(pattern)) for pattern in (*PATTERNS, *sanitizer.patterns)}
    gone = [pattern for pattern, matching in found.items() if not matching]
    if gone:
        sys.exit(f"no tests are called {', '.join(gone)}: a room was renamed?")
    for name, reason in sanitizer.left_out.items():
        print(f"left out: {name}, which {reason}")
    files = {file for matching in found.values() for file in matching if file.name not in sanitizer.left_out}
    for file in sorted(files):
        if sanitizer.refused and re.search(rf"^(import|from) {sanitizer.refused}\b", file.read_text(), re.MULTILINE):
            print(f"left out: {file.name}, which needs {sanitizer.refused}")
            files.remove(file)
    return [str(file.relative_to(where)) for file in sorted(files)]


def run_tests(where: pathlib.Path, sanitizer: Sanitizer, arguments: list[str]) -> int:
    """Run pytest, then print the reports."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *sanitizer.arguments, *arguments]
    status = subprocess.run(command, cwd=where, env=environment(where, sanitizer), check=False).returncode
    found = reports(where)
    if found:
        print(found)
    return status or STATUS * bool(found)


def main() -> int:
    sanitizer = SANITIZERS[sys.argv[1]]
    if sanitizer.interpreter not in (sysconfig.get_config_var("CONFIG_ARGS") or ""):
        sys.exit(f"{sys.executable} was configured without {sanitizer.interpreter}")
    where = ROOT / "build" / sanitizer.name
    prove(sanitizer)
    copy(where)
    compile_in(where, sanitizer)
    arguments = sys.argv[2:]
    if not any(argument.partition("::")[0].endswith(".py") for argument in arguments):
        arguments += tests_for(where, sanitizer)
    status = run_tests(where, sanitizer, arguments)
    if status == 0:
        print(f"{sanitizer.name}: nothing found")
    return status


if __name__ == "__main__":
    sys.exit(main())
