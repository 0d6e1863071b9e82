"""The modules work in one interpreter per process. In any other, the import raises an error and has no other effect."""

import importlib.util
import sys

import pytest
from helpers import run_script

SCRIPT = """
import warnings
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

warnings.simplefilter("ignore")  # of NumPy, which does not care for sub-interpreters either
CODE = '''
import warnings
warnings.simplefilter("ignore")
try:
    import pipeline
    queue = pipeline.FIFOQueue(1, "int32")
    queue.enqueue(1)
    print("works", queue.dequeue())
except ImportError as error:
    assert "`pipeline` works in only one interpreter per process" in str(error), error
    print("error")
'''

def use():
    try:
        import pipeline
        queue = pipeline.FIFOQueue(1, "int32")
        queue.enqueue(7)
        print("works", queue.dequeue(), flush=True)
    except ImportError as error:
        assert "`pipeline` works in only one interpreter per process" in str(error), error
        print("error", flush=True)

{before}
for _ in range(2):
    one = interpreters.create({kind})
    failed = getattr(interpreters, "exec", interpreters.run_string)(one, CODE)
    assert failed is None, failed
    interpreters.destroy(one)
use()
"""


LEGACY = importlib.util.find_spec("_interpreters") is not None  # from 3.13 on: subinterpreters with a shared GIL
KINDS = ["", "'legacy'"] if LEGACY else [""]

pytestmark = pytest.mark.skipif(
    not LEGACY and importlib.util.find_spec("_xxsubinterpreters") is None,
    reason="this Python has no module for sub-interpreters",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("before", ["", "use()"], ids=["first there", "first here"])
def test_import(before, kind):
    done = run_script(SCRIPT.format(before=before, kind=kind))
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.split("\n")[:-1]
    assert len(said) == 3 + bool(before)
    if before:
        assert said == ["works 7", "error", "error", "works 7"]


POOL = """
from concurrent.futures import InterpreterPoolExecutor

def size(batch):
    import pipeline
    return len(pipeline.stack(batch))

if __name__ == "__main__":
    with InterpreterPoolExecutor(2) as executor:
        for future in [executor.submit(size, [1, 2]) for _ in range(2)]:
            error = future.exception()
            assert type(error) is ImportError, error
            print(error)
"""


@pytest.mark.skipif(sys.version_info < (3, 14), reason="no concurrent.interpreters before Python 3.14")
def test_a_pool_of_interpreters_gets_the_error():
    done = run_script(POOL)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(set(done.stdout.splitlines())) == 1
    assert "use workers=pipeline.processes()" in done.stdout
