"""Processes in any program: few descriptors, long paths, standard input, daemonic processes, many processors."""

import os
import subprocess
import sys

import pytest
import worker_functions as functions
from helpers import LIMIT

import pipeline

HEAD = """
import operator
import os
import resource
import sys
import pipeline

def square(x):
    return x * x

def loop(workers):
    return list(pipeline.dataset([1, 2, 3]).map(square, workers=workers))

"""
GUARD = 'if __name__ == "__main__":\n'


def run(tmp_path, body, *, stdin=False, **environment):
    """Run a program with this main part; return the completed process."""
    path = tmp_path / "program.py"
    path.write_text(HEAD + GUARD + "".join(f"    {line}\n" for line in body.strip().split("\n")))
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), **environment}
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    options = {"capture_output": True, "text": True, "timeout": LIMIT, "check": False, "cwd": tmp_path}
    with open(path if stdin else os.devnull) as file:
        command = [sys.executable, "-" if stdin else str(path)]
        return subprocess.run(command, stdin=file, env={**kept, **environment}, **options)


def lines(completed):
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.splitlines()


@pytest.mark.parametrize("free", range(13))
def test_after_a_limit_of_descriptors_was_lifted(tmp_path, free):
    """Wherever a start failed, the next pool starts its workers under the new limit."""
    body = f"""
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
loop(1), pipeline.processes(1)  # which import all that is needed
lowest = os.open(os.devnull, os.O_RDONLY)
os.close(lowest)
resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + {free}, hard))
try:
    print(loop(pipeline.processes(2)))
except pipeline.AbortedError as error:
    print("cannot be started" in str(error) or error)
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
for count in (1, 2, 3):
    print(loop(pipeline.processes(count)))
with pipeline.processes(1) as workers:
    print(workers.submit(resource.getrlimit, resource.RLIMIT_NOFILE).result() == (soft, hard))
"""
    first, *rest = lines(run(tmp_path, body))
    assert first in ("True", "[1, 4, 9]")
    assert free != 0 or first == "True"
    assert rest == ["[1, 4, 9]"] * 3 + ["True"]


@pytest.mark.parametrize("free", range(4, 20))
def test_an_error_says_that_there_are_too_few_descriptors(tmp_path, free):
    """Whichever descriptor is refused first, nothing else is printed."""
    body = f"""
lowest = os.open(os.devnull, os.O_RDONLY)
os.close(lowest)
resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + {free}, lowest + {free}))
try:
    print(loop(pipeline.processes(2)))
except pipeline.AbortedError as error:
    print(str(error).split(": ")[:2])
"""
    done = run(tmp_path, body)
    enough, failed = "[1, 4, 9]", "['a worker process cannot be started', 'OSError']"
    assert lines(done) in ([enough], [failed])
    assert done.stderr == ""


@pytest.mark.parametrize("method", functions.METHODS)
def test_in_a_folder_that_was_deleted(tmp_path, method):
    body = f"""
os.mkdir("gone")
os.chdir("gone")
os.rmdir(os.getcwd())
try:
    loop(pipeline.processes(1, method={method!r}))
except pipeline.AbortedError as error:
    print(str(error).splitlines()[0])
"""
    text = "a worker process cannot be started, as the current directory of this program was deleted: os.chdir to one"
    assert lines(run(tmp_path, body)) == [f"{text} that exists"]


@pytest.mark.parametrize("workers", ["2", "'auto'", "pipeline.threads(2)", "pipeline.processes(1)"])
def test_the_first_loop_of_a_program_whose_main_thread_has_ended(tmp_path, workers):
    """Another thread continues, and Python waits for it. CPython 3.12.0 and 3.12.1 start no thread then."""
    body = f"""
import threading
def later():
    threading.main_thread().join()
    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        print("no thread starts")
    else:
        print(loop({workers}))
threading.Thread(target=later).start()
"""
    (done,) = lines(run(tmp_path, body))
    if done == "no thread starts":
        pytest.skip("this Python starts no thread then")
    assert done == "[1, 4, 9]"


def test_a_long_path_of_temporary_files(tmp_path):
    """Socket paths have at most 107 bytes. The folder used instead is deleted with the program."""
    folder = tmp_path / ("d" * 100)
    folder.mkdir()
    body = """
import multiprocessing.process
import tempfile
before = set(os.listdir("/tmp"))
print(loop(pipeline.processes(2)))
print([os.path.join("/tmp", name) for name in sorted(set(os.listdir("/tmp")) - before) if name.startswith("pymp-")])
print(tempfile.mkdtemp())
"""
    loop, _, own = lines(run(tmp_path, body, TMPDIR=str(folder)))
    assert loop == "[1, 4, 9]"
    assert own.startswith(str(folder))  # the program's own files stay in place


class TestStandardInput:
    def test_functions_of_modules(self, tmp_path):
        body = "print(list(pipeline.dataset([1, 2]).map(operator.neg, workers=pipeline.processes(1))))"
        assert lines(run(tmp_path, body, stdin=True)) == ["[-1, -2]"]

    def test_functions_of_the_program(self, tmp_path):
        pytest.importorskip("cloudpickle")
        assert lines(run(tmp_path, "print(loop(pipeline.processes(1)))", stdin=True)) == ["[1, 4, 9]"]

    def test_without_cloudpickle(self, tmp_path):
        body = """
sys.modules["cloudpickle"] = None
try:
    loop(pipeline.processes(1))
except ImportError as error:
    print(error)
"""
        [text] = lines(run(tmp_path, body, stdin=True))
        assert "a program from standard input defines need cloudpickle (pip install cloudpickle)" in text

    def test_spawned(self, tmp_path):
        body = """
try:
    list(pipeline.dataset([1, 2]).map(operator.neg, workers=pipeline.processes(1, method="spawn")))
except pipeline.AbortedError as error:
    print(error)
"""
        [text] = lines(run(tmp_path, body, stdin=True))
        assert "<stdin> cannot be read again: put the program into a file, or use method='forkserver'" in text


@pytest.mark.parametrize("method", functions.METHODS)
@pytest.mark.parametrize("command", [["-m", "package"], ["package"]])
def test_functions_of_the_main_file_of_a_package(tmp_path, command, method):
    """Workers do not run that file, so its functions are sent by their code."""
    pytest.importorskip("cloudpickle")
    (tmp_path / "package").mkdir()
    program = f"{HEAD}{GUARD}    print(loop(pipeline.processes(1, method={method!r})))\n"
    (tmp_path / "package" / "__main__.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    options = {"capture_output": True, "text": True, "timeout": LIMIT, "check": False, "cwd": tmp_path}
    assert lines(subprocess.run([sys.executable, *command], env=environment, **options)) == ["[1, 4, 9]"]


def test_a_function_under_the_guard(tmp_path):
    body = """
def double(x):
    return 2 * x
try:
    list(pipeline.dataset([1]).map(double, workers=pipeline.processes(1)))
except pipeline.AbortedError as error:
    print(error)
"""
    text = lines(run(tmp_path, body))[0]
    assert "attribute 'double'" in text
    assert text.endswith("define functions and classes above that line")


@pytest.mark.parametrize("method", functions.METHODS)
def test_in_a_daemonic_process(tmp_path, method):
    body = f"""
import multiprocessing
with multiprocessing.get_context("spawn").Pool(1) as pool:
    try:
        pool.apply(loop, [pipeline.processes(1, method={method!r})])
    except pipeline.AbortedError as error:
        print(error)
    print(pool.apply(loop, [pipeline.threads(1)]))
"""
    text, *rest = lines(run(tmp_path, body))
    assert "as this process is daemonic: it may have no children" in text
    assert "use pipeline.threads(n), or start it by concurrent.futures.ProcessPoolExecutor" in text
    assert text.count("cannot be started") == 1
    assert rest[-1] == "[1, 4, 9]"


def test_workers_have_no_workers():
    data = pipeline.dataset([-1]).map(functions.in_another_process, workers=pipeline.processes(1))
    with pytest.raises(pipeline.AbortedError, match="as this process is daemonic: it may have no children"):
        list(data)


class Odd:
    """Its pickled form does not restore it."""

    def __init__(self, number):
        self.number = number

    def __reduce__(self):
        return int, (f"no number {self.number}",) if self.number == 3 else (self.number,)


def same(number):
    return number


@pytest.mark.parametrize("method", functions.METHODS)
def test_an_example_that_does_not_unpickle(method):
    """Only this example is at fault, not the function."""
    data = pipeline.dataset([Odd(i) for i in range(6)])
    with pipeline.processes(1, method=method) as workers:
        with iter(data.map(same, workers=workers)) as got:
            assert [next(got) for _ in range(3)] == [0, 1, 2]
            with pytest.raises(pipeline.InvalidArgumentError) as error:
                next(got)
        assert "a worker process cannot unpickle an example: ValueError: invalid literal" in str(error.value)
        if sys.version_info >= (3, 11):
            assert any("example 3" in note for note in error.value.__notes__)
        with iter(data.map(same, workers=workers, on_error="skip")) as got:
            assert list(got) == [0, 1, 2, 4, 5]
            assert got.num_errors == 1


THREADS = """
def count(_):
    import ctypes
    import numpy
    library = ctypes.CDLL(sys.modules["numpy._core._multiarray_umath"].__file__)
    names = "scipy_openblas_get_num_threads64_", "openblas_get_num_threads64_"
    found = [library[name]() for name in names if hasattr(library, name)]
    torch = sys.modules.get("torch")
    return found, torch and torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]
"""


@pytest.mark.parametrize("method", functions.METHODS)
@pytest.mark.parametrize("given", [None, "2"])
@pytest.mark.parametrize("library", [None, "torch"])
def test_threads_of_blas_and_torch(tmp_path, method, given, library):
    """One in each worker, unless the environment sets a number."""
    if library is not None:
        pytest.importorskip(library, reason="needs PyTorch: make test-torch")
    (tmp_path / "counting.py").write_text(f"import os, sys\n{'import torch' if library else ''}\n{THREADS}")
    body = f"""
import counting
print(*pipeline.dataset([1]).map(counting.count, workers=pipeline.processes(1, method={method!r})))
print("OMP_NUM_THREADS" in os.environ)
"""
    environment = {} if given is None else {"OMP_NUM_THREADS": given}
    found, mine = lines(run(tmp_path, body, **environment))
    blas, torch, variable = eval(found)
    assert variable == (given or "1")
    assert torch == (None if library is None else int(variable))
    assert given is not None or set(blas) <= {1}
    assert mine == str(given is not None)  # the program's own environment stays
