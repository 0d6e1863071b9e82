"""pipeline.processes: endings and leftovers, with real processes and real signals."""

import asyncio
import contextlib
import fcntl
import gc
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import traceback
from concurrent import futures
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest
import worker_functions as functions
from helpers import LIMIT, raises, run_in_thread, run_script, wait_until
from orchestration import fresh_collection, no_thread_left

import pipeline
from pipeline import AbortedError
from pipeline.workers.chunks import WorkerDied
from pipeline.workers.pool import BrokenWorkers
from pipeline.workers.server import Forked

SUPPORT = os.path.dirname(functions.__file__)


@pytest.fixture(autouse=True)
def _nothing_left():
    """Check for leftover processes, descriptors, threads and shared memory."""
    before = functions.memory_left()
    with fresh_collection(), no_thread_left():
        yield
    wait_until(lambda: functions.no_worker_left() and functions.memory_left() <= before, "the workers to end")


def gone(pids):
    return not any(Path(f"/proc/{pid}").exists() and state(pid) != "Z" for pid in pids)


def state(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[0]
    return "Z"


def mapped(function, items, workers, **options):
    """Iterate over the workers' results."""
    return iter(pipeline.dataset(items).map(function, workers=workers, **options))


class TestDeath:
    @pytest.mark.parametrize("size", [1, 7])
    def test_skipped(self, size):
        """Only the item a worker was processing is left out; all others come, in order."""
        dataset = pipeline.dataset(range(40)).map(functions.doomed, workers=pipeline.processes(2), on_error="skip")
        with iter(dataset.batch(size)) as batches:
            got = [int(row[0]) for each in batches for row in each]
            errors = batches.errors
        assert got == [i for i in range(40) if i not in (11, 23, 37)]
        texts = [str(error) for error in errors]
        lack = " (perhaps by the system, for lack of memory)"
        assert texts == [
            f"a worker process was killed by SIGKILL{lack}",
            "a worker process was killed by SIGSEGV",
            "a worker process ended with exit status 3",
        ]
        assert [error.record_key for error in errors] == ["example 11", "example 23", "example 37"]
        assert {type(error) for error in errors} == {AbortedError}

    def test_how_it_ended_where_another_server_forks_since(self):
        """Its server had ended too, and an exit status must not be lost with it (as "exit status 255")."""
        for i in range(5):
            other = pipeline.processes(1, preload=[f"no_such_library_{i}"])
            with pipeline.processes(1) as workers, other:
                workers.submit(functions.pid, 0).result()
                other.submit(functions.pid, 0).result()
                with raises(AbortedError, "a worker process ended with exit status 3"):
                    workers.submit(os._exit, 3).result()

    def test_raised(self):
        got = []
        batches = pipeline.dataset(range(40)).map(functions.doomed, workers=pipeline.processes(2)).batch(3)
        with pytest.raises(AbortedError, match=r"was killed by SIGKILL") as caught:
            got.extend(each[:, 0].tolist() for each in batches)
        assert got == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
        assert caught.value.record_key == "example 11"
        if hasattr(caught.value, "add_note"):
            assert "doomed: example 11" in caught.value.__notes__

    def test_in_a_shuffled_dataset(self, tmp_path):
        """A dead worker's items are recomputed, and the order stays."""
        items = [(i, str(tmp_path)) for i in range(30)]

        def order():
            with pipeline.processes(2) as workers:
                dataset = pipeline.dataset(items).map(functions.once, workers=workers, on_error="skip")
                with iter(dataset.shuffle(11, seed=5).batch(2)) as loop:
                    return [i for each in loop for i in each.tolist()], loop.num_errors

        first, errors = order()
        assert errors == 6
        assert sorted(first) == [i for i in range(30) if i % 5 != 3]
        second, none = order()
        assert none == 0
        assert sorted(second) == list(range(30))

    def test_at_random_moments(self):
        """Each item comes once, in its place, or is left out with its error."""
        over, dice = threading.Event(), random.Random(3)

        def kill():
            while not over.wait(dice.uniform(0.01, 0.3)):
                for pid in [*functions.workers()][:1]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

        with pipeline.processes(2) as workers:
            results = mapped(functions.napping, range(1200), workers, on_error="skip")
            call = run_in_thread(kill)
            seen = [int(each[0]) for each in results]
            over.set()
            call.result()
        assert {type(error) for error in results.errors} <= {AbortedError}
        missing = [int(error.record_key.removeprefix("example ")) for error in results.errors]
        assert missing == sorted(set(missing))
        assert len(missing) == results.num_errors
        assert seen == [i % 251 for i in range(1200) if i not in missing]

    def test_while_nothing_is_to_be_done(self):
        with pipeline.processes(2) as workers:
            assert len(list(mapped(functions.napping, range(8), workers))) == 8
            for pid in functions.workers():
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: not functions.workers(), "the workers to be dead")
            assert len(list(mapped(functions.napping, range(8), workers))) == 8

    def test_of_those_that_hang_once_nobody_has_them(self):
        results = mapped(functions.hanging, range(4), pipeline.processes(2))
        assert next(results) == 0
        del results
        gc.collect()
        wait_until(lambda: not functions.workers(), "the workers to end")

    def test_of_a_plain_call(self):
        with pipeline.processes(1) as workers:
            with raises(AbortedError, "a worker process ended with exit status 5"):
                workers.submit(os._exit, 5).result()
            assert workers.submit(abs, -3).result() == 3

    def test_of_its_descriptors(self):
        with pipeline.processes(1) as workers:
            results = mapped(functions.closing, range(12), workers)
            assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
            with pytest.raises(AbortedError, match="a worker process ended with exit status 1") as caught:
                list(results)
            assert caught.value.record_key == "example 5"


class TestForkServer:
    """The fork server may end too."""

    def test_it_is_killed_while_workers_run(self):
        """They continue; if one is killed, another fork server starts its replacement."""
        with pipeline.processes(2) as workers:
            pids = mapped(functions.pid, range(400), workers, on_error="skip")
            first = next(pids)
            os.kill(functions.fork_server(), signal.SIGKILL)
            assert len({first, *itertools.islice(pids, 99)}) <= 2
            for pid in functions.workers():
                os.kill(pid, signal.SIGKILL)
            got = run_in_thread(list, pids).result()
        assert 295 <= len(got) <= 300
        assert len(got) + pids.num_errors == 300

    def test_it_cannot_fork(self, monkeypatch):
        """It ends, and its caller reads to the end of a pipe."""
        starts = []

        def start(process):
            starts.append(process)
            raise EOFError("unexpected EOF")

        monkeypatch.setattr(Forked, "_Popen", staticmethod(start))  # multiprocessing starts processes by it
        with pipeline.processes(1) as workers:
            error = run_in_thread(next, mapped(abs, range(8), workers)).exception()
        assert type(error) is AbortedError
        assert "worker processes cannot be started: the process that starts them ended 3 times" in str(error)
        assert len(starts) == 3

    def test_it_cannot_fork_for_a_moment(self, monkeypatch):
        starts, popen = [], Forked._Popen  # multiprocessing starts processes by it

        def start(process):
            starts.append(process)
            if len(starts) == 1:
                raise EOFError("unexpected EOF")
            return popen(process)

        monkeypatch.setattr(Forked, "_Popen", staticmethod(start))  # multiprocessing starts processes by it
        with pipeline.processes(1) as workers:
            assert run_in_thread(list, mapped(abs, range(-8, 0), workers)).result() == [*range(8, 0, -1)]


class TestFutures:
    """None stays open, whatever happens to the thread responsible for its result."""

    @pytest.mark.parametrize(
        "error",
        [SystemExit(3), futures.CancelledError(), asyncio.CancelledError(), KeyboardInterrupt(), GeneratorExit()],
        ids=lambda error: f"{type(error).__module__}.{type(error).__name__}",
    )
    def test_a_result_whose_unpickling_raises(self, error):
        with pipeline.processes(1) as workers:
            future = workers.submit(functions.explosive, (1, error))
            assert type(run_in_thread(future.exception).result()) is type(error)
            items = [(i, error) for i in range(8)]
            results = mapped(functions.explosive, items, workers, on_error="skip")
            assert run_in_thread(list, results).result() == [0, 2, 4, 6]
            assert results.num_errors == 4

    def test_a_process_that_the_function_has_forked_outlives_the_worker(self, tmp_path):
        """It has the connection open, so its end never shows."""
        with pipeline.processes(1) as workers:
            future = workers.submit(functions.forking, str(tmp_path))
            try:
                error = run_in_thread(future.exception).result()
            finally:
                os.kill(int((tmp_path / "forked").read_text()), signal.SIGKILL)
            assert type(error) is WorkerDied
            assert "was killed by SIGKILL" in str(error)
            assert workers.submit(abs, -3).result() == 3

    def test_a_process_forked_by_an_item(self, tmp_path):
        with pipeline.processes(1) as workers:
            try:
                error = run_in_thread(next, mapped(functions.forking, [str(tmp_path)], workers)).exception()
            finally:
                os.kill(int((tmp_path / "forked").read_text()), signal.SIGKILL)
            assert type(error) is AbortedError
            assert "was killed by SIGKILL" in str(error)

    @pytest.mark.parametrize("error", [MemoryError, SystemExit])
    def test_the_thread_fails(self, monkeypatch, error):
        """No error is known to do this. If there is one, all callers get it."""

        def fail(*args):
            raise error("for a test")

        monkeypatch.setattr(pipeline.workers.process.Worker, "result", fail)
        monkeypatch.setattr(pipeline.workers.processes, "FailedItem", fail)
        with pipeline.processes(1) as workers:
            waiting = [workers.submit(abs, 0)]
            with contextlib.suppress(BrokenExecutor):  # the thread may have ended by then
                waiting.extend(workers.submit(abs, i) for i in range(1, 4))
            errors = [run_in_thread(future.exception).result() for future in waiting]
            assert {type(each) for each in errors} == {BrokenWorkers}
            assert {type(each.__cause__) for each in errors} == {error}
            with raises(BrokenExecutor, f"the thread that manages a worker ended: {error.__name__}: for a test"):
                workers.submit(abs, 1)


class TestStart:
    def test_setup_fails(self):
        loop = mapped(abs, [1], pipeline.processes(1, setup=functions.fails_to_get_ready))
        with pytest.raises(AbortedError, match="setup failed in a worker process: ValueError: no such model") as caught:
            next(loop)
        error = caught.value
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        assert "in fails_to_get_ready" in text

    def test_setup_dies(self):
        workers = pipeline.processes(2, setup=functions.dies_while_it_gets_ready)
        results = mapped(abs, range(100), workers)
        with pytest.raises(AbortedError, match="a worker process ended with exit status 7 while it started"):
            next(results)
        assert list(results) == []

    def test_setup_is_killed(self):
        """No item caused it, so none is left out."""
        workers = pipeline.processes(1, setup=functions.is_killed_while_it_gets_ready)
        with mapped(abs, range(100), workers, on_error="skip") as loop:
            with pytest.raises(AbortedError, match="cannot get ready: the last of 3 was killed by SIGKILL"):
                next(loop)
        assert loop.num_errors == 0

    @pytest.mark.parametrize(
        ("program", "text"),
        [
            ("loop()", "program.py has no `if __name__ =="),
            (
                'if __name__ == "__main__":\n    f = lambda i: i\n    f.__qualname__ = f.__name__ = "f"\n    loop()',
                "make the function",
            ),
            ('if __name__ == "__main__":\n    loop()', "the end"),
        ],
    )
    def test_programs(self, tmp_path, program, text):
        own = "" if "lambda" in program else "def f(i): return i\n"
        loop = "def loop():\n    print(list(pipeline.dataset([1, 2]).map(f, workers=pipeline.processes(1))))\n"
        (tmp_path / "program.py").write_text(f"import pipeline\n{own}{loop}{program}\nprint('the end')\n")
        done = subprocess.run(
            [sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, timeout=60
        )
        assert text in (done.stdout if text == "the end" else done.stderr)
        assert (done.returncode == 0) is (text == "the end")

    def test_a_forked_process_has_none(self):
        with pipeline.processes(1) as workers:
            workers.submit(abs, 1).result()
            pid = os.fork()
            if not pid:
                with contextlib.suppress(RuntimeError):
                    workers.submit(abs, 1)
                    os._exit(1)
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
            assert workers.submit(abs, -2).result() == 2

    def test_after_shutdown(self):
        workers = pipeline.processes(1)
        future = workers.submit(abs, -4)
        workers.shutdown()
        assert future.result() == 4
        with raises(RuntimeError, "cannot schedule new futures after shutdown"):
            workers.submit(abs, 1)
        assert repr(workers) == "<pipeline.processes(1): shut down>"


class TestEnd:
    def test_with_the_loop(self):
        with mapped(functions.napping, range(100), pipeline.processes(2)) as results:
            next(results)
        wait_until(lambda: not functions.workers(), "the workers to end")

    def test_with_the_block(self):
        with pipeline.processes(2) as workers:
            for _ in range(2):
                with mapped(functions.napping, range(8), workers) as results:
                    assert len(list(results)) == 8
                assert functions.workers()
        assert not functions.workers()

    def test_as_garbage(self):
        results = mapped(functions.napping, range(1000), pipeline.processes(2))
        next(results)
        del results
        wait_until(lambda: not functions.workers(), "the workers to end")

    def test_of_many_leaves_no_descriptor(self):
        def open_files():
            return len(os.listdir("/proc/self/fd"))

        def run():
            with mapped(functions.large, range(8), pipeline.processes(2)) as results:
                return len(list(results))

        run()  # multiprocessing's helpers stay
        wait_until(functions.no_worker_left, "the workers to end")
        before = open_files()
        for _ in range(5):
            assert run() == 8
        wait_until(lambda: functions.no_worker_left() and open_files() <= before, "the descriptors to be closed")

    def test_arrays_outlive_the_workers(self):
        with pipeline.processes(2) as workers:
            kept = list(mapped(functions.large, range(9), workers))
        assert [int(each[0, 0]) for each in kept] == list(range(9))
        assert not functions.workers()

    @pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
    def test_stops_workers_in_the_middle_of_an_item(self, tmp_path, error):
        with contextlib.suppress(error), pipeline.processes(2) as workers:
            futures = [workers.submit(functions.stuck, tmp_path) for _ in range(5)]
            wait_until(lambda: len(list(tmp_path.iterdir())) == 2, "both to be at work")
            raise error
        assert gone([int(path.name) for path in tmp_path.iterdir()])
        assert all(future.done() for future in futures)


PROGRAM = """
import sys
sys.path.insert(0, {support!r})
import os, pipeline, worker_functions

if __name__ == "__main__":
    workers = pipeline.processes(2, method={method!r})
    with iter(pipeline.dataset([{directory!r}] * 9).map(worker_functions.stuck, workers=workers).batch(1)) as batches:
        next(batches)
"""


@pytest.mark.skipif(not hasattr(fcntl, "F_SETSIG"), reason="elsewhere workers end after their current item")
@pytest.mark.parametrize("method", functions.METHODS)
class TestParent:
    """Workers are in a function that holds the GIL and never returns."""

    def start(self, request, method, **options):
        tmp_path = request.getfixturevalue("tmp_path")
        work = tmp_path / "work"
        work.mkdir()
        program = PROGRAM.format(support=SUPPORT, directory=str(work), method=method)
        (tmp_path / "program.py").write_text(program)
        command = [sys.executable, str(tmp_path / "program.py")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        request.addfinalizer(process.communicate)
        request.addfinalizer(process.kill)
        wait_until(lambda: len(list(work.iterdir())) == 2 or process.poll() is not None, "both to be at work")
        found = functions.descendants(process.pid) - {process.pid}
        return process, found

    def test_is_killed(self, request, method):
        process, found = self.start(request, method)
        assert len(found) >= 2 + (method != "fork")  # and one or two multiprocessing helpers
        process.kill()
        process.communicate(timeout=LIMIT)  # every pipe is closed
        wait_until(lambda: gone(found), "its processes to end")

    def test_ends_by_ctrl_c(self, request, method):
        process, found = self.start(request, method, start_new_session=True)
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=LIMIT)
        assert process.returncode == -signal.SIGINT
        assert stderr.count("Traceback") == 1
        assert stderr.rstrip().endswith("KeyboardInterrupt")
        wait_until(lambda: gone(found), "its processes to end")

    def test_is_terminated(self, request, method):
        process, found = self.start(request, method)
        process.terminate()
        process.communicate(timeout=LIMIT)
        wait_until(lambda: gone(found), "its processes to end")


def test_a_program_ends_whose_idle_worker_was_stopped():
    """It is asked to report its memory, and does not answer."""
    script = """
import os, signal
import pipeline
workers = pipeline.processes(1)
workers.submit(abs, -1).result()
[pid] = workers.numbers()
os.kill(pid, signal.SIGSTOP)
workers.rest()
while workers.numbers():
    pass
"""
    done = run_script(script)
    assert (done.returncode, done.stderr) == (0, "")
