"""pipeline.processes: workers are kept for the next loop, and forked by a server with libraries imported."""

import functools
import os
import signal
from concurrent.futures import BrokenExecutor

import pytest
import worker_functions as functions
from helpers import raises, run_script, wait_until

import pipeline
from pipeline.workers import process, spares
from pipeline.workers.judge import PROCESSES, Choice

pytestmark = pytest.mark.usefixtures("nothing_left")
needs_fork = pytest.mark.skipif("fork" not in functions.METHODS, reason="without the GIL nothing is forked")


def pids(workers, epoch=0):
    """Return the processes behind a loop's examples, after it was dropped."""
    dataset = pipeline.dataset(range(40)).map(functions.pid, workers=workers).batch(4)
    with iter(dataset.epoch(epoch)) as batches:
        found = {int(each) for batch in batches for each in batch}
    del batches
    wait_until(lambda: not functions.workers(), "the workers to be free")
    return found


class TestKept:
    def test_for_the_next_epoch(self):
        workers = pipeline.processes(1)
        assert pids(workers) == pids(workers, epoch=1) == set(functions.spare_workers())

    def test_for_another_loop(self):
        assert pids(pipeline.processes(1)) == pids(pipeline.processes(1))

    @pytest.mark.parametrize("workers", ["auto", None])
    def test_where_nobody_has_the_executor_any_more(self, workers):
        """As after `for batch in dataset`: they end with it. `chosen` is private: "auto" begins with none."""
        dataset = pipeline.dataset(range(4)).map(functions.pid, workers=workers or pipeline.processes(1))
        dataset._node.chosen.choice = Choice(PROCESSES, 1)
        found = {*dataset}
        del dataset
        wait_until(lambda: set(functions.spare_workers()) == found, "the worker to be free")
        assert pids(pipeline.processes(1)) == found

    def test_not_where_setup_differs(self):
        first = pids(pipeline.processes(1))
        assert pids(pipeline.processes(1, setup=os.getpid)).isdisjoint(first)

    def test_not_in_another_folder(self, tmp_path, monkeypatch):
        first = pids(pipeline.processes(1))
        monkeypatch.chdir(tmp_path)
        dataset = pipeline.dataset(["."]).map(os.path.realpath, workers=pipeline.processes(1))
        assert [*dataset] == [str(tmp_path)]
        assert pids(pipeline.processes(1)).isdisjoint(first)

    def test_not_in_another_environment(self, monkeypatch):
        """Spawned processes have the program's environment."""
        first = pids(pipeline.processes(1, method="spawn"))
        assert pids(pipeline.processes(1, method="spawn")) == first
        monkeypatch.setenv("SOMETHING", "new")
        dataset = pipeline.dataset(["SOMETHING"]).map(os.getenv, workers=pipeline.processes(1, method="spawn"))
        assert [*dataset] == ["new"]

    def test_until_nobody_has_wanted_them_for_a_while(self, monkeypatch):
        monkeypatch.setattr(spares, "KEPT", 0.01)
        (first,) = pids(pipeline.processes(1))
        wait_until(lambda: first not in functions.descendants(os.getpid()), "the worker to end")
        assert first not in pids(pipeline.processes(1))

    def test_not_beyond_a_with_block(self):
        with pipeline.processes(1) as workers:
            workers.submit(abs, 1).result()
        assert functions.spare_workers() == []

    def test_without_a_large_function(self, monkeypatch):
        monkeypatch.setattr(process, "KEPT_BYTES", 1 << 19)
        data = functions.Carrier(bytearray(1 << 20))
        dataset = pipeline.dataset(range(4))
        workers = pipeline.processes(1)
        assert [*dataset.map(data, workers=workers)] == [1] * 4
        wait_until(lambda: not functions.workers(), "the worker to be free")
        assert [*dataset.map(functions.carried, workers=workers)] == [0] * 4

    def test_with_a_function_that_has_not_changed(self):
        """A process builds it once, and again after its data change."""
        adding, workers = functions.Adding(bytearray(1 << 20)), pipeline.processes(1)
        dataset = pipeline.dataset(range(4)).map(adding, seed=1, workers=workers)
        for epoch in range(3):
            assert [*dataset.epoch(epoch)] == [(i, 1) for i in range(4)]
            wait_until(lambda: not functions.workers(), "the worker to be free")
            assert [*pipeline.dataset(range(2)).map(functions.square, workers=workers)] == [0, 1]
            wait_until(lambda: not functions.workers(), "the worker to be free")
        adding.data[0] = 5
        assert [*dataset.epoch(3)] == [(i + 5, 2) for i in range(4)]

    def test_beside_a_worker_without_the_function(self):
        """The new one gets it too."""
        adding = functions.Adding(bytearray([7]))
        assert [*pipeline.dataset([0]).map(adding, workers=pipeline.processes(1))] == [(7, 1)]
        wait_until(lambda: not functions.workers(), "the worker to be free")
        more = pipeline.dataset(range(100)).map(adding, workers=pipeline.processes(3))
        assert [each for each, _ in more] == [*range(7, 107)]

    @pytest.mark.parametrize("changes", [False, True])
    def test_killed_while_a_function_is_in_use(self, changes):
        """The next worker gets the function that the iterator began with, or an error."""
        adding = functions.Adding(bytearray([7]))
        with pipeline.processes(1) as workers:
            assert workers.submit(functools.partial(adding), 1).result() == (8, 1)
            again = functools.partial(adding)
            assert workers.submit(again, 1).result() == (8, 1)
            number = workers.submit(os.getpid).result()
            os.kill(number, signal.SIGKILL)
            wait_until(lambda: number not in functions.workers(), "its end")
            if not changes:
                assert workers.submit(again, 1).result() == (8, 1)
                return
            adding.data[0] = 9
            with raises(BrokenExecutor, "a worker process started late, and the function has changed in the meantime"):
                workers.submit(again, 1).result()

    def test_with_another_class_of_partial_functions(self):
        with pipeline.processes(1) as workers:
            assert [workers.submit(functions.Doubling(abs), -3).result() for _ in range(2)] == [6, 6]

    def test_with_a_function_that_contains_itself(self):
        adding = functions.Adding(bytearray([7]))
        adding.itself = adding
        dataset = pipeline.dataset([0]).map(adding, workers=pipeline.processes(1))
        for first in (7, 9):
            adding.data[0] = first
            assert [each for each, _ in dataset] == [first]
            wait_until(lambda: not functions.workers(), "the worker to be free")

    def test_with_the_random_numbers_of_each_epoch(self):
        workers = pipeline.processes(1)
        dataset = pipeline.dataset(range(4)).map(functions.drawn, seed=1, workers=workers)
        expected = pipeline.dataset(range(4)).map(functions.drawn, seed=1)
        assert [*expected.epoch(0)] != [*expected.epoch(1)]
        for epoch in range(3):
            assert [*dataset.epoch(epoch)] == [*expected.epoch(epoch)]
            wait_until(lambda: not functions.workers(), "the worker to be free")

    def test_with_large_and_small_functions_at_once(self):
        """Large ones are sent in shared memory, which is closed with them."""
        sizes = [1, 1 << 20, 1 << 10, 1 << 17, 1 << 16] * 4
        many = [functions.Adding(bytearray([number]) * size) for number, size in enumerate(sizes)]
        with pipeline.processes(2) as workers:
            workers.submit(os.getpid).result()
            before = len(os.listdir("/dev/fd"))
            calls = [workers.submit(each, 1) for each in many]
            assert [call.result()[0] for call in calls] == [*range(1, 21)]
            del calls
            wait_until(lambda: len(os.listdir("/dev/fd")) <= before + 8, "the memory to be closed")

    def test_with_many_functions(self):
        """More than a worker holds at once."""
        many = [functions.Adding(bytearray([number])) for number in range(20)]
        with pipeline.processes(1) as workers:
            for _ in range(2):
                assert [workers.submit(each, 1).result()[0] for each in many] == [*range(1, 21)]

    def test_with_a_function_that_could_not_be_made(self, tmp_path):
        """It is built as soon as possible."""
        needs, workers = functions.NeedsFile(tmp_path / "file"), pipeline.processes(1)
        for _ in range(2):
            with raises(pipeline.AbortedError, "a worker process cannot make the function: FileNotFoundError"):
                [*pipeline.dataset([1]).map(needs, workers=workers)]
            wait_until(lambda: not functions.workers(), "the worker to be free")
        (tmp_path / "file").write_text("here")
        assert [*pipeline.dataset([1]).map(needs, workers=workers)] == ["here"]

    def test_with_a_function_whose_name_is_missing(self, monkeypatch):
        monkeypatch.setattr(os, "added", abs, raising=False)
        data = pipeline.dataset([1]).map(functions.NeedsName(), workers=pipeline.processes(1))
        with pytest.raises(pipeline.AbortedError) as caught:
            list(data)
        assert "AttributeError: module 'os' has no attribute 'added'" in str(caught.value)
        assert "__main__" not in str(caught.value)

    @needs_fork
    def test_not_where_they_are_forked(self):
        """Each has the variables set in the program at its start."""
        workers, found = pipeline.processes(1, method="fork"), []
        for number in range(2):
            functions.READY.append(number)
            found += pipeline.dataset([0]).map(functions.ready_ones, workers=workers)
            wait_until(functions.no_worker_left, "the worker to end")
        assert found == [functions.READY[:-1], functions.READY]
        del functions.READY[-2:]

    @needs_fork
    def test_forked_in_a_with_block(self):
        with pipeline.processes(1, method="fork") as workers:
            dataset = pipeline.dataset(range(4)).map(functions.pid, workers=workers)
            assert [*dataset.epoch(0)] == [*dataset.epoch(1)]

    @needs_fork
    def test_forked_without_the_programs_handlers(self):
        before = signal.signal(signal.SIGTERM, lambda *_: None)
        try:
            dataset = pipeline.dataset([0]).map(functions.handles_sigterm, workers=pipeline.processes(1, method="fork"))
            assert [*dataset] == [False]
        finally:
            signal.signal(signal.SIGTERM, before)

    def test_not_if_killed(self):
        (first,) = pids(pipeline.processes(1))
        os.kill(first, 9)
        assert first not in pids(pipeline.processes(1))

    def test_not_in_a_forked_process(self):
        first = pids(pipeline.processes(1))
        child = os.fork()
        if not child:
            status = 1
            try:
                status = int(functions.spare_workers() != [] or not pids(pipeline.processes(1)).isdisjoint(first))
                spares.end_all()
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert pids(pipeline.processes(1)) == first


PROGRAM = """
import os, sys
import mine
import pipeline

def run(workers):
    return next(iter(pipeline.dataset([0]).map(mine.found, workers=workers)))

if __name__ == "__main__":
    {body}
"""

MINE = """
import os
import library

NUMBER = 1
PID = os.getpid()

def found(_):
    return {"number": NUMBER, "own": PID == os.getpid(), "forked": library.PID != os.getpid(), "wave": wave()}

def wave():
    import sys
    return "wave" in sys.modules
"""

LIBRARY = """
import os, sys
PID = os.getpid()
"""


def ran(tmp_path, body, library=LIBRARY):
    """Return the output from a program whose module imports a library."""
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "library.py").write_text(library)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "program.py").write_text(PROGRAM.format(body="\n    ".join(body.strip().splitlines())))
    text = f"""
import os, runpy, subprocess, sys
os.environ["PYTHONPATH"] = os.pathsep.join([{str(tmp_path)!r}, {str(packages)!r}, *sys.path])
sys.exit(subprocess.call([sys.executable, {str(tmp_path / "program.py")!r}]))
"""
    return run_script(text).stdout.split("\n")[:-1]


class TestPreload:
    def test_what_the_modules_of_the_function_have_imported(self, tmp_path):
        """A library is imported once, and a user's module in each process."""
        lines = ran(tmp_path, "print(*run(pipeline.processes(1)).values())")
        assert lines == ["1 True True False"]

    def test_by_hand(self, tmp_path):
        lines = ran(tmp_path, "print(*run(pipeline.processes(1, preload=['wave', 'no_such_module'])).values())")
        assert lines == ["1 True False True"]

    def test_more_than_before(self, tmp_path):
        body = """
print(*run(pipeline.processes(1, preload=())).values())
print(*run(pipeline.processes(1, setup=mine.wave)).values())
print(*run(pipeline.processes(1, setup=os.getpid, preload=['wave'])).values())
"""
        assert ran(tmp_path, body) == ["1 True False False", "1 True True False", "1 True True True"]

    def test_of_a_library_that_cannot_be_imported_there(self, tmp_path):
        # The program's child: the fork server.
        library = LIBRARY + "if os.getppid() == int(os.environ.get('MAIN', 0)): raise RuntimeError('not here')\n"
        body = "import os\nos.environ['MAIN'] = str(os.getpid())\nprint(*run(pipeline.processes(1)).values())"
        assert ran(tmp_path, body, library) == ["1 True False False"]

    def test_a_module_that_has_changed_is_imported_again(self, tmp_path):
        body = """
print(*run(pipeline.processes(1)).values())
with open(mine.__file__, "a") as file:
    file.write("NUMBER = 2\\n")
print(*run(pipeline.processes(1)).values())
"""
        assert ran(tmp_path, body) == ["1 True True False", "2 True True False"]

    def test_what_cannot_be_meant(self):
        with raises(TypeError, "processes: preload must be a list of names, got str 'torch'"):
            pipeline.processes(1, preload="torch")
        with raises(TypeError, "processes: preload must be a list of names, and has int 7"):
            pipeline.processes(1, preload=[7])
        with raises(ValueError, "processes: preload is for method='forkserver'"):
            pipeline.processes(1, preload=["torch"], method="spawn")


@needs_fork
def test_preload_is_not_for_fork():
    with raises(ValueError, "processes: preload is for method='forkserver': a forked process has what the program"):
        pipeline.processes(1, preload=["torch"], method="fork")
