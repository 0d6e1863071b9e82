"""pipeline.processes and pipeline.threads under full buffers, limits, Ctrl-C, garbage collections and forks.

Private names: a future's lock and a pool's threads, where they are struck.
"""

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from socket import socketpair as pair

import pytest
import worker_functions as functions
from helpers import LIMIT, run_in_thread, run_script, wait_until
from orchestration import fresh_collection, no_thread_left, threads_since

import pipeline
from pipeline.workers import pool
from pipeline.workers.line import Line
from pipeline.workers.shared import unnamed

SUPPORT = os.path.dirname(functions.__file__)


@pytest.fixture(autouse=True)
def _nothing_left():
    with fresh_collection(), no_thread_left():
        yield
    wait_until(functions.no_worker_left, "the workers to end")


def child_of(body):
    """Run a function in a forked process; return its exit status, or -14 if it did not return."""
    pid = os.fork()
    if not pid:
        signal.alarm(int(LIMIT))
        status = 1
        try:
            body()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def program(tmp_path, body):
    """Run a program's body to its end with `pipeline` and `functions` imported; return its output."""
    path = tmp_path / "program.py"
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    imports = (
        f"import os, resource, sys\nsys.path.insert(0, {SUPPORT!r})\nimport pipeline, worker_functions as functions\n"
    )
    path.write_text(f"{imports}\nif __name__ == '__main__':\n{lines}")
    done = run_script(f"import runpy; runpy.run_path({str(path)!r}, run_name='__main__')")
    assert not done.returncode, done.stderr
    return done.stdout.split("\n")[:-1]


class TestBuffers:
    def test_many_segments_while_long_arguments_are_sent(self):
        """Meanwhile the worker has more to send than a socket holds."""
        items = [i.to_bytes(2, "little") + bytes(3000) for i in range(1200)]
        with pipeline.processes(1) as workers:
            sizes = pipeline.dataset(items).map(functions.of_its_size, workers=workers)
            assert run_in_thread(lambda: [len(each) for each in sizes]).result() == [70_000 + i for i in range(1200)]

    def test_both_ends_send(self):
        """Each receives messages, some with descriptors, while there is no room to send."""
        taken, messages = [], [[letter * i * 1_000_000 for i in range(1, 6)] for letter in (b"a", b"b")]

        def talk(end, words):
            line, descriptor = Line(end, lambda number: taken.append(os.fstat(number).st_size)), unnamed(1000)
            try:
                for word in words:
                    line.send(word)
                    for _ in range(100):
                        line.send_descriptor(descriptor)
                line.send(b"end")
                return [*iter(line.receive, b"end")]
            finally:
                os.close(descriptor)

        ends = pair()
        calls = [run_in_thread(talk, *each) for each in zip(ends, messages, strict=True)]
        assert [call.result() for call in calls] == messages[::-1]
        assert taken == [1000] * 1000
        for end in ends:
            end.close()


class TestDescriptors:
    def test_results_that_are_kept_have_none(self):
        with pipeline.processes(1) as workers:
            (pid,) = [workers.submit(os.getpid).result()]
            kept = [workers.submit(functions.large, 0).result()]
            places = ("/proc/self/fd", f"/proc/{pid}/fd")
            before = [len(os.listdir(place)) for place in places]
            kept += [workers.submit(functions.large, i).result() for i in range(1, 30)]
            assert [len(os.listdir(place)) for place in places] == before
            assert [int(each[0, 0]) for each in kept] == list(range(30))

    def test_none_is_left_for_a_result(self, tmp_path):
        """The worker is stopped, and the error explains it. Once descriptors are free, another starts."""
        assert program(tmp_path, OUT_OF_DESCRIPTORS) == [
            "WorkerDied: a worker process was stopped, as its results could not be taken: "
            "OSError: [Errno 24] Too many open files",
            "7",
        ]


OUT_OF_DESCRIPTORS = """
workers = pipeline.processes(1)
workers.submit(abs, 1).result()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
free = os.open("/dev/null", os.O_RDONLY)
os.close(free)
resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
error = workers.submit(functions.large, 5).exception(timeout=120)
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(f"{type(error).__name__}: {error}")
print(workers.submit(functions.large, 7).result(timeout=120)[0, 0])
workers.shutdown()
"""


class TestCtrlC:
    @pytest.mark.parametrize("make", [pipeline.processes, pipeline.threads])
    def test_no_lock_is_taken_in_python(self, make):
        """Ctrl-C in Python code entering a lock leaves it locked, because its handler could raise there."""
        with make(1) as workers:
            assert list(pipeline.dataset(range(4)).map(abs, workers=workers)) == [0, 1, 2, 3]
            struck = []

            def trace(frame, event, arg):
                if frame.f_code.co_name == "__enter__" and "threading" in frame.f_code.co_filename:
                    struck.append(frame.f_back.f_code.co_qualname if sys.version_info >= (3, 11) else "somewhere")

            sys.setprofile(trace)
            try:
                got = list(pipeline.dataset(range(40)).map(abs, workers=workers))
                future = workers.submit(abs, -3)
                future.add_done_callback(got.append)
                got.append(future.result())
                assert future.done()
                assert not future.cancel()
                workers.rest()
                with make(1) as others:  # its thread is starting
                    assert others.submit(abs, -4).result() == 4
            finally:
                sys.setprofile(None)
            assert struck == []
            assert sorted(map(str, got)) == sorted(map(str, [*range(40), 3, future]))

    @pytest.mark.parametrize("make", [pipeline.processes, pipeline.threads])
    def test_before_a_thread_starts(self, make, monkeypatch):
        start, strikes = pool.WorkerThread.start, [KeyboardInterrupt]

        def struck(thread):
            if strikes:
                raise strikes.pop()
            start(thread)

        monkeypatch.setattr(pool.WorkerThread, "start", struck)
        with make(1) as workers:
            with pytest.raises(KeyboardInterrupt):
                workers.submit(abs, -1)
            assert workers.submit(abs, -2).result(LIMIT) == 2

    def test_in_shutdown(self):
        """The next call waits for the threads. Up to Python 3.12 an interrupted `join` marked them as ended."""
        go, done, strikes, aimed = threading.Event(), [], [], []

        def wait():
            go.wait(LIMIT)
            done.append(True)

        def strike(*_):
            if aimed:
                raise aimed.pop()

        workers = pipeline.threads(1)
        workers.submit(wait)
        before = signal.signal(signal.SIGALRM, strike)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
            while not done:
                try:
                    aimed.append(KeyboardInterrupt)
                    workers.shutdown()
                    assert done
                except KeyboardInterrupt:
                    strikes.append(True)
                    if len(strikes) == 20:
                        go.set()
        finally:
            aimed.clear()
            go.set()
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


class TestCollections:
    """A garbage collection runs finalizers anywhere, even in a thread holding a future's lock."""

    @pytest.mark.parametrize("what", ["rest", "stop"])
    def test_while_a_thread_waits_for_a_future(self, tmp_path, what):
        workers = pipeline.processes(1)
        first, second, third = workers.submit(functions.opened, tmp_path), *(workers.submit(abs, i) for i in (1, 2))
        wanted, lock = threading.Event(), third._condition

        class Telling(type(lock)):
            def __enter__(self):
                wanted.set()
                return super().__enter__()

        third._condition = telling = Telling()
        telling.acquire()
        try:
            (tmp_path / "go").touch()
            assert wanted.wait(LIMIT)
            run_in_thread({"rest": workers.rest, "stop": workers._pool.stop}[what]).result()
        finally:
            telling.release()
        workers.shutdown()
        assert first.done()
        assert second.done()
        assert third.done()


class TestForks:
    def test_a_child_that_leaves_the_block_by_an_error_stops_nobody(self):
        def leave():
            try:
                with workers:
                    raise KeyError
            except KeyError:
                workers.rest()
                workers.shutdown()

        with pipeline.processes(1) as workers:
            numbers = iter(pipeline.dataset(range(40)).map(functions.napping, workers=workers))
            assert next(numbers)[0] == 0
            assert child_of(leave) == 0
            assert [int(each[0]) for each in numbers] == list(range(1, 40))

    def test_a_child_that_ends_stops_nobody(self, tmp_path):
        assert program(tmp_path, A_CHILD_ENDS) == ["0", "40"]

    @pytest.mark.parametrize("used", [False, True])
    def test_threads_begin_anew(self, used):
        def use():
            assert workers.submit(abs, -4).result(LIMIT) == 4
            assert list(pipeline.dataset(range(50)).map(abs, workers=workers)) == list(range(50))

        with pipeline.threads(2) as workers:
            if used:
                use()
            assert child_of(use) == 0
            use()


A_CHILD_ENDS = """
workers = pipeline.processes(1)
numbers = iter(pipeline.dataset(range(40)).map(functions.napping, workers=workers))
got = [next(numbers)]
pid = os.fork()
if not pid:
    sys.exit()
print(os.waitpid(pid, 0)[1])
print(len([*got, *numbers]))
"""


def test_a_thread_that_has_taken_a_call_is_not_idle(monkeypatch):
    take, taken, go = pool.WorkerPool.take, threading.Event(), threading.Event()

    def slow(self, thread):
        call = take(self, thread)
        taken.set()
        assert go.wait(LIMIT)
        return call

    monkeypatch.setattr(pool.WorkerPool, "take", slow)
    with pipeline.processes(2) as workers:
        first = workers.submit(abs, -1)
        try:
            assert taken.wait(LIMIT)
            second = workers.submit(abs, -2)
            assert len(workers._pool._threads) == 2
        finally:
            go.set()
        assert [first.result(), second.result()] == [1, 2]


def test_a_bell_that_rings_for_two_calls(monkeypatch):
    """A woken thread looks idle until it takes its call; then it wakes another for the next call."""
    clear, woken, go = pool.StopFlag.clear, threading.Event(), threading.Event()
    monkeypatch.setattr(pool, "_CHECK_INTERVAL", 10 * LIMIT)  # no thread is woken by the clock
    with pipeline.threads(2) as workers:
        meeting = threading.Barrier(2)
        for call in [workers.submit(meeting.wait, LIMIT) for _ in range(2)]:
            call.result()
        first, _ = workers._pool.threads
        wait_until(lambda: not any(each.sent or each.bell.is_set() for each in workers._pool.threads), "two idle ones")

        def slow(bell):
            clear(bell)
            if bell is first.bell and not woken.is_set():
                woken.set()
                assert go.wait(LIMIT)

        monkeypatch.setattr(pool.StopFlag, "clear", slow)
        calls = [workers.submit(meeting.wait, LIMIT)]
        try:
            assert woken.wait(LIMIT)
            calls.append(workers.submit(meeting.wait, LIMIT))
        finally:
            go.set()
        assert sorted(call.result(LIMIT) for call in calls) == [0, 1]


class TestThreads:
    def test_setup_that_fails(self):
        """It ends the loop, and later calls to submit raise too."""

        def fails():
            raise KeyError("no model")

        workers = pipeline.threads(2, setup=fails)
        with pytest.raises(
            pipeline.AbortedError, match="setup failed in a worker thread: KeyError: 'no model'"
        ) as caught:
            list(pipeline.dataset(range(8)).map(abs, workers=workers).batch(2))
        assert isinstance(caught.value.__cause__, KeyError)
        with pytest.raises(RuntimeError, match="setup failed"):
            workers.submit(abs, 1)

    def test_threads_end_if_setup_fails(self):
        def fails():
            raise KeyError("no model")

        with pipeline.threads(1, setup=fails) as workers:
            begun = threads_since()
            with pytest.raises(RuntimeError, match="setup failed"):
                workers.submit(abs, 1).result(LIMIT)
            wait_until(lambda: not begun(), "the thread to end")
            assert repr(workers) == "<pipeline.threads(1): shut down>"

    def test_threads_end_with_the_loop_except_in_a_with_block(self):
        def thread_of(workers):
            data = pipeline.dataset([0]).map(lambda _: threading.current_thread(), workers=workers)
            return next(iter(data))

        workers = pipeline.threads(1)
        thread = thread_of(workers)
        thread.join(LIMIT)
        assert not thread.is_alive()
        with pipeline.threads(1) as workers:
            assert thread_of(workers) is thread_of(workers)

    def test_the_executor_is_garbage(self):
        """Its threads finish the submitted calls and end."""
        go = threading.Event()
        workers = pipeline.threads(1)
        calls = [workers.submit(go.wait, LIMIT), workers.submit(abs, -5)]
        threads = workers._pool.threads
        del workers
        gc.collect()
        go.set()
        assert [call.result(LIMIT) for call in calls] == [True, 5]
        for each in threads:
            each.join(LIMIT)
            assert not each.is_alive()

    def test_nothing_of_a_call_is_kept(self):
        """An idle thread keeps neither the function nor its arguments, result or exception."""

        class Thing:
            def __call__(self, argument, error):
                if error:
                    raise ValueError
                return argument

        with pipeline.threads(1) as workers:
            for error in (False, True):
                thing, argument = Thing(), Thing()
                known = [weakref.ref(each) for each in (thing, argument)]
                future = workers.submit(thing, argument, error)
                future.exception(LIMIT)
                del thing, argument, future
                wait_until(lambda refs=known: not any(each() for each in refs), "all to be forgotten")

    def test_a_thread_shuts_down_its_own_executor(self):
        workers = pipeline.threads(2)
        assert workers.submit(workers.shutdown).result(LIMIT) is None
        assert repr(workers) == "<pipeline.threads(2): shut down>"

    def test_a_function_may_use_its_own_executor(self):
        """Otherwise no thread would be left for the call it waits for."""
        workers = pipeline.threads(1)

        def total(n):
            return sum(pipeline.dataset(range(n)).map(abs, workers=workers))

        data = pipeline.dataset(range(5)).map(total, workers=workers)
        assert run_in_thread(list, data).result() == [0, 0, 1, 3, 6]

    def test_what_was_submitted_is_done_before_the_program_ends(self):
        program = "import pipeline; w = pipeline.threads(1); [w.submit(print, i, flush=True) for i in range(30)]"
        assert run_script(program).stdout == "".join(f"{i}\n" for i in range(30))

    @pytest.mark.parametrize("made", ["threads", "processes"])
    def test_a_program_ends_while_a_thread_makes_executors(self, made):
        script = f"""
import sys, threading
import pipeline
made = [pipeline.{made}(1) for _ in range(500)]
sys.setswitchinterval(1e-6)
def make():
    while True:
        made.append(pipeline.{made}(1))
threading.Thread(target=make, daemon=True).start()
"""
        done = run_script(script)
        # Python's own finalizer list may break the same way, because weakref.finalize iterates over a growing dict.
        assert done.returncode == 0
        assert "/pipeline/" not in done.stderr


def test_a_process_whose_program_is_killed_while_it_begins_says_nothing():
    script = """
import socket, sys
from pipeline.workers.worker import work
work(socket.socket(fileno=int(sys.argv[1])), None)
"""
    ours, theirs = pair()
    ours.close()
    with theirs:
        command = [sys.executable, "-c", script, str(theirs.fileno())]
        done = subprocess.run(command, pass_fds=[theirs.fileno()], capture_output=True, timeout=LIMIT, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


class TestForkedWithCallsUnderWay:
    """A child gets no results from calls in progress in its parent's workers; it needs its own iterator."""

    def test_map_with_threads_continues_in_both(self):
        with pipeline.threads(2) as workers:
            dataset = pipeline.dataset(range(400)).map(functions.napping, workers=workers)
            numbers = iter(dataset)
            assert next(numbers)[0] == 0
            state = numbers.state_dict()

            def check(numbers):
                assert [int(each[0]) for each in numbers] == [i % 251 for i in range(1, 400)]

            def rest():
                with pytest.raises(pipeline.errors.FailedPreconditionError, match=r"opened before os\.fork\(\)"):
                    next(numbers)
                again = iter(dataset)
                again.load_state_dict(state)
                check(again)

            assert child_of(rest) == 0
            check(numbers)

    def test_map_with_processes_says_so(self):
        with pipeline.processes(2) as workers:
            dataset = pipeline.dataset(range(400)).map(functions.napping, workers=workers)
            numbers = iter(dataset)
            next(numbers)

            def rest():
                with pytest.raises(pipeline.errors.FailedPreconditionError, match=r"opened before os\.fork\(\)"):
                    next(numbers)
                with pytest.raises(pipeline.AbortedError, match="belong to the process that this one was forked from"):
                    list(dataset)

            assert child_of(rest) == 0
            assert len(list(numbers)) == 399

    @pytest.mark.parametrize("pool", [pipeline.threads, pipeline.processes])
    def test_futures_count_as_cancelled(self, tmp_path, pool):
        with pool(1) as workers:
            futures = [workers.submit(functions.opened, str(tmp_path)) for _ in range(4)]
            wait_until(futures[0].running, "the first call to begin")

            def check():
                assert all(future.cancelled() for future in futures)

            assert child_of(check) == 0
            (tmp_path / "go").touch()
            assert [future.result() for future in futures] == [None] * 4
