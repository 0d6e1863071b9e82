"""Functions in the compiled core declared `noexcept nogil` contain no Python operation.

The compiler refuses most Python operations. The others (taking the GIL again, checking for exceptions) show in the
scores of its annotated source, where 0 means plain C.
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCES = Path(__file__).parents[2] / "pyx"
pytest.importorskip("Cython")
SCORE = re.compile(r'class="cython line score-(\d+)".*?>0*(\d+)</span>')
DIRECTIVES = "boundscheck=False,wraparound=False,initializedcheck=False,cdivision=True"
# NumPy macros that read a struct field: plain C, but by their names the annotator counts them as Python calls.
READS = re.compile(r'"PyArray_(NDIM|DIMS|STRIDES|BYTES|DESCR|ITEMSIZE|IS_C_CONTIGUOUS|ISWRITEABLE|CheckExact)"')
PLANTED = """
cdef int planted(int x) noexcept nogil:
    with gil:
        print(x)
    return x
"""

pytestmark = [
    pytest.mark.skipif(not SOURCES.is_dir(), reason="needs the sources"),
    pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="needs what NumPy 2 declares for Cython"),
]


def bodies(source):
    """Yield the line numbers in the bodies of `noexcept nogil` functions."""
    lines = source.splitlines()
    signature, indent, body = "", None, []
    for number, line in enumerate(lines, 1):
        depth = len(line) - len(line.lstrip())
        if indent is not None and line.strip() and depth <= indent:
            yield body
            indent = None
        if indent is not None:
            body.append(number)
            continue
        if signature or re.match(r"\s*(cdef|cpdef) ", line):
            start = len(signature) - len(signature.lstrip()) if signature else depth
            signature = (signature or " " * start) + line.strip() + " "
            if signature.count("(") > signature.count(")"):
                continue  # continues in the next line
            if re.search(r"\) noexcept nogil:\s*(#.*)?$", signature):
                indent, body = start, []
            signature = ""
    if indent is not None:
        yield body


def annotate(path):
    """Compile to annotated C++; return the score per line."""
    command = [sys.executable, "-m", "cython", "-3", "--cplus", "--annotate", "-X", DIRECTIVES, path.name]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    html = path.with_suffix(".html").read_text()
    return {int(line): int(score) for score, line in SCORE.findall(html)}


def python_lines(path):
    """Return the lines in nogil functions that are not plain C."""
    source = path.read_text()
    scores = annotate(path)
    lines = [number for body in bodies(source) for number in body]
    text = source.splitlines()
    return [text[number - 1] for number in lines if scores.get(number, 0)]


def copy(path, tmp_path, more):
    """Copy a source; a header becomes a module with another name, without including the header itself."""
    for header in SOURCES.glob("*.pxd"):
        (tmp_path / header.name).write_text(READS.sub(r'"array_\1"', header.read_text()))
    target = tmp_path / (path.name if path.suffix == ".pyx" else f"{path.stem}_header.pyx")
    target.write_text(READS.sub(r'"array_\1"', path.read_text()) + more)
    return target


def sources():
    return sorted(SOURCES.glob("_*.pyx")) + sorted(SOURCES.glob("*.pxd"))


def in_turn():
    """One file is compiled whenever tests run, the others every night."""
    for path in sources():
        marks = [] if path.name == "_lines.pyx" else [pytest.mark.slow]
        yield pytest.param(path, id=path.name, marks=marks)


@pytest.mark.parametrize("path", list(in_turn()))
def test_nogil_functions_are_plain_c(path, tmp_path):
    """The check finds the planted Python operations, and no others."""
    planted = PLANTED.splitlines()[2:]
    assert python_lines(copy(path, tmp_path, PLANTED)) == planted[:2]


def test_there_is_something_to_look_at():
    names = {path.name for path in sources()}
    assert {"_queue.pyx", "_batch.pyx"} <= names
    assert sum(len(list(bodies(path.read_text()))) for path in sources()) > 20
