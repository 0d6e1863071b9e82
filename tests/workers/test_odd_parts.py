"""If a function cannot be sent to processes, the error names the part rejected by pickle."""

import functools
import sys
import threading

import pytest
from helpers import run_file

import pipeline


class Tokenizer:
    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, text):
        return text


class Outer:
    def __init__(self):
        self.tables = {"a": [Tokenizer()]}

    def encode(self, text):
        return text


def encode(text, tokenizer):
    return text


@pytest.mark.parametrize(
    ("function", "part"),
    [
        (Tokenizer(), "its attribute 'lock' is a threading.Lock"),
        (Outer().encode, "its attribute \"tables['a'][0].lock\" is a threading.Lock"),
        (functools.partial(encode, tokenizer=Tokenizer()), "its argument 'tokenizer.lock' is a threading.Lock"),
        (functools.partial(encode, tokenizer=(i for i in ())), "its argument 'tokenizer' is a generator"),
        (functools.partial(encode, tokenizer=sys.stderr), "its argument 'tokenizer' is an open file"),
    ],
)
def test_the_part_is_named(function, part):
    with pytest.raises(TypeError) as failed:
        list(pipeline.dataset(["a"]).map(function, workers=pipeline.processes(1)))
    said = str(failed.value)
    assert part in said
    assert "make these in setup=" in said


def test_the_variable_of_a_closure_is_named():
    pytest.importorskip("cloudpickle")
    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"\(its variable 'lock' is a threading\.Lock\)"):
        list(pipeline.dataset(["a"]).map(lambda text: (text, lock), workers=pipeline.processes(1)))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there are no notes, and tracebacks show our frames too")
def test_a_program_without_a_guard(tmp_path):
    """Each worker imports it. The error is short: the program's line, the fault, and the fix."""
    path = tmp_path / "program.py"
    path.write_text(
        "import pipeline\n"
        "def double(x):\n    return 2 * x\n"
        "data = pipeline.dataset(range(4)).map(double, workers=pipeline.processes(2))\n"
        "for each in data:\n    print(each)\n"
    )
    done = run_file(path)
    assert done.stdout == ""
    told = "".join(line for line in done.stderr.splitlines(keepends=True) if set(line.strip()) != {"^"})
    assert told == (
        "Traceback (most recent call last):\n"
        f'  File "{path}", line 5, in <module>\n'
        "    for each in data:\n"
        f'pipeline.errors.AbortedError: {path} has no `if __name__ == "__main__":`, so each worker '
        "process runs the whole program once more, and would start workers in turn. Put everything except imports and "
        "definitions under that line:\n"
        '\n    if __name__ == "__main__":\n        main()\n'
        f"\nin .map(double) written at {path}:4\n"
    )
