"""workers="auto": order, states, errors and counts match any fixed workers, however often these change.

Private names: limits made small, so that the workers change every few elements, and the choices made, visible to users
only in reports.
"""

import contextlib
import functools
import itertools
import logging
import multiprocessing
import os
import random
import sys
import threading
from pathlib import Path

import chains
import numpy as np
import pytest
import worker_functions as functions
from helpers import raises, run_script, wait_until
from orchestration import fresh_collection, no_thread_left

import pipeline
from pipeline.stages import crew
from pipeline.workers import auto
from pipeline.workers.judge import HERE, PROCESSES, THREADS, Choice, Judge
from pipeline.workers.pool import BrokenWorkers

CHANGES = [Choice(THREADS, 2), Choice(PROCESSES, 2), Choice(THREADS, 1), Choice(HERE, 1), Choice(PROCESSES, 1)]


@pytest.fixture(autouse=True)
def _nothing_left():
    with fresh_collection(), no_thread_left():
        yield
    wait_until(functions.no_worker_left, "the workers to end")


@pytest.fixture
def restless(monkeypatch):
    """Have the judge choose other workers every few chunks."""
    chosen = []

    class Restless:
        def __init__(self, chosen, processors, processes):
            self.choice, self._next = chosen.choice, itertools.cycle(CHANGES)

        def after(self, period):
            self.choice = next(self._next)
            chosen.append(self.choice)
            return self.choice

    monkeypatch.setattr(auto, "Judge", Restless)
    monkeypatch.setattr(auto, "_SECONDS", 0.0)
    monkeypatch.setattr(auto, "_CHUNKS", 1)
    monkeypatch.setattr(crew, "_MOST", 4)
    return chosen


def workers_of(iterator):
    """Return the workers in the only step with some; private."""
    (found,) = (each.workers for each in iterator._measured.values() if each.workers is not None)
    return found


def taken(dataset, restless):
    """Return a dataset's elements, taken until every kind of worker was used."""
    with iter(dataset) as iterator:
        found = []
        while len(restless) < 2 * len(CHANGES):
            found.append(next(iterator))
    return found


def test_order_and_states_stay(restless):
    dataset = pipeline.dataset(range(10**8)).map(functions.square, workers="auto")
    count, states = 0, []
    with iter(dataset) as iterator:
        while len(restless) < 3 * len(CHANGES):
            assert next(iterator) == count * count
            count += 1
            if count % 997 == 0:
                states.append((count, iterator.state_dict()))
    for count, state in states[::-1][:5]:
        with iter(dataset) as iterator:
            iterator.load_state_dict(state)
            assert list(itertools.islice(iterator, 10)) == [i * i for i in range(count, count + 10)]


@pytest.mark.parametrize("size", [1, 5, 64])
@pytest.mark.parametrize("what", ["map", "filter", "flat_map"])
def test_states_of_any_workers_continue_in_others(restless, what, size):
    """Whatever the workers are at that moment, and however they were chosen."""

    def made(workers):
        data = pipeline.dataset(range(10**8))
        if what == "map":
            return data.map(functions.square, workers=workers).batch(size)
        if what == "filter":
            return data.filter(functions.is_odd, workers=workers).batch(size)
        return data.flat_map(functions.thrice, workers=workers).batch(size)

    changed = 0
    with iter(made("auto")) as auto_one, iter(made(None)) as plain:
        while len(restless) < 2 * len(CHANGES):
            np.testing.assert_array_equal(next(auto_one), next(plain))
            if len(restless) > changed:
                changed = len(restless)
                with iter(made(None)) as again, iter(made("auto")) as other:
                    again.load_state_dict(auto_one.state_dict())
                    other.load_state_dict(plain.state_dict())
                    here = next(plain)
                    for each in (auto_one, again, other):
                        np.testing.assert_array_equal(next(each), here)
                    assert again.delivered == plain.delivered == auto_one.delivered


def test_processes_finish_what_they_began_before_many_changes(restless, monkeypatch, tmp_path):
    """One call continues through fourteen executor changes."""
    monkeypatch.setitem(globals(), "CHANGES", [Choice(PROCESSES, 2), Choice(PROCESSES, 3)])
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDWR)  # so that neither end waits for the other
    function, made = functools.partial(functions.waits_once, str(tmp_path)), []

    def numbers():
        while len(restless) < 15:
            made.append(len(made))
            yield made[-1]
        assert (tmp_path / "begun").exists()
        os.write(pipe, b"!")

    found = list(pipeline.dataset(numbers).map(function, workers="auto", ordered=False))
    os.close(pipe)
    assert sorted(found) == made


@pytest.mark.parametrize("seed", range(1, 21))
def test_chains_are_those_without_workers(restless, monkeypatch, seed, tmp_path):
    """Random ones; their states are loaded with and without workers."""
    monkeypatch.setitem(globals(), "CHANGES", [each for each in CHANGES if each.kind != PROCESSES])
    data, other = chains.of_seed(seed, tmp_path).data, chains.of_seed(seed, tmp_path, "auto").data
    with iter(data) as iterator:
        expected = [chains.plain(each) for each in itertools.islice(iterator, 100)]
    rng, found = random.Random(seed), []
    with contextlib.ExitStack() as stack:
        iterator = stack.enter_context(iter(data))
        while len(found) < len(expected):
            found.append(chains.plain(next(iterator)))
            if rng.random() < 0.2:
                state = iterator.state_dict()
                data, other = other, data
                iterator = stack.enter_context(iter(data))
                iterator.load_state_dict(state)
        assert found == expected


def test_examples_that_fail_are_left_out_in_their_places(restless):
    dataset = pipeline.dataset(range(10**8)).map(functions.odd_ones, workers="auto", on_error="skip")
    found = taken(dataset, restless)
    assert found == list(range(1, 2 * len(found), 2))
    with pytest.raises(ValueError, match="even"):
        list(pipeline.dataset(range(1, 4000)).map(functions.odd_ones, workers="auto"))


def test_draws_are_those_of_the_example(restless):
    dataset = pipeline.dataset(range(10**8))
    found = taken(dataset.map(functions.drawn, seed=3, workers="auto"), restless)
    with iter(dataset.map(functions.drawn, seed=3)) as iterator:
        assert found == list(itertools.islice(iterator, len(found)))


def test_the_next_loop_begins_where_the_last_one_was(restless):
    dataset = pipeline.dataset(range(10**8)).map(functions.square, workers="auto")
    with iter(dataset) as iterator:
        while not any(choice.kind == PROCESSES for choice in restless):
            next(iterator)
    last = dataset._node.chosen.choice
    with iter(dataset) as iterator:
        next(iterator)
        assert workers_of(iterator).choice == last


def test_it_says_what_it_chose(restless, caplog):
    caplog.set_level(logging.INFO, "pipeline.workers")
    with iter(pipeline.dataset(range(10**8)).map(functions.square, workers="auto")) as iterator:
        while Choice(THREADS, 2) not in restless:
            next(iterator)
        next(iterator)
        (stage,) = (stage for stage in iterator.report().stages if stage.name == "square")
        assert stage.threads in (1, 2)
    assert "square: workers=pipeline.threads(2)" in caplog.messages


def test_a_function_that_processes_cannot_import():
    lock = threading.Lock()
    assert auto._processes_for(lambda item: (item, lock)) == 0
    assert auto._processes_for(functions.square) > 0
    dataset = pipeline.dataset(range(100)).map(lambda item: (lock.locked(), item)[1], workers="auto")
    assert list(dataset) == list(range(100))


PROGRAM = """
import os, sys
sys.path.insert(0, {support!r})
import worker_functions
from pipeline.workers import auto
{guard}print(auto._processes_for(worker_functions.square) > 0)
"""


@pytest.mark.parametrize(("guard", "may"), [("", False), ("if __name__ == '__main__': ", True)])
def test_a_program_that_would_begin_again_in_each_process(tmp_path, guard, may):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(support=os.path.dirname(functions.__file__), guard=guard))
    done = run_script(f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, {str(program)!r}]))")
    assert done.stdout.split() == [str(may)]


def test_arrays_stay_what_they_are(restless):
    rows = np.arange(8000.0).reshape(-1, 4)
    dataset = pipeline.arrays(rows, num_epochs=None).map(functions.doubled, workers="auto").batch(20)
    for i, batch in enumerate(taken(dataset, restless)):
        assert np.array_equal(batch, 2 * rows[20 * (i % 100) :][:20])


@pytest.fixture
def crowded(monkeypatch):
    """Make the system refuse to start worker threads."""
    start = threading.Thread.start

    def starting(thread):
        if thread.name.startswith("pipeline-worker"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starting)
    monkeypatch.setattr(auto, "_SECONDS", 0.0)
    monkeypatch.setattr(auto, "_CHUNKS", 1)


@pytest.mark.parametrize("first", [Choice(THREADS, 2), Choice(PROCESSES, 2)], ids=str)
def test_it_goes_on_where_no_thread_can_be_started(crowded, monkeypatch, caplog, first):
    """As under a user's or container's limit: RLIMIT_NPROC, pids.max."""
    tried = []

    class Trying(Judge):
        def after(self, period):
            if not tried:
                self.choice = first
                tried.append(first)
            return self.choice

    monkeypatch.setattr(auto, "Judge", Trying)
    monkeypatch.setattr(crew, "_MOST", 4)
    with caplog.at_level(logging.WARNING):
        found = list(pipeline.dataset(range(2_000)).map(functions.square, workers="auto"))
    assert tried
    assert found == [number * number for number in range(2_000)]
    if first.kind == THREADS:
        text = (
            "square continues without workers: no worker can start: can't start new thread: the system allows this user"
        )
        assert text in caplog.text


@pytest.fixture
def chosen(monkeypatch):
    """Have the judge make the choices in a list in turn, then repeat the last."""
    given = []

    class Following(Judge):
        def after(self, period):
            self.choice = given.pop(0) if len(given) > 1 else given[0]
            return self.choice

    monkeypatch.setattr(auto, "Judge", Following)
    monkeypatch.setattr(auto, "_SECONDS", 0.0)
    monkeypatch.setattr(auto, "_CHUNKS", 1)
    return given


def test_without_workers_again_nothing_is_made_ahead(chosen):
    """A chunk is made after the one before it was delivered."""
    chosen += [Choice(THREADS, 2), Choice(HERE, 1)]
    called = []
    with iter(pipeline.dataset(range(10**8)).map(lambda item: called.append(item) or item, workers="auto")) as iterator:
        assert list(itertools.islice(iterator, 1000)) == list(range(1000))
        for number in range(1000, 3000):
            before = len(called)
            assert next(iterator) == number
            assert len(called) == before or before == number


def test_workers_that_are_chosen_while_all_is_left_out(chosen):
    chosen += [Choice(THREADS, 2)]
    threads = []

    def is_rare(item):
        threads.append(threading.current_thread())
        return item % 4000 == 3999

    with iter(pipeline.dataset(range(10**8)).filter(is_rare, workers="auto")) as iterator:
        assert next(iterator) == 3999
    assert threading.current_thread() in threads
    assert len(set(threads)) > 1


@pytest.mark.parametrize("ready", [0, 1])
def test_it_goes_on_where_no_process_can_be_started(chosen, monkeypatch, ready):
    """The pool may notice at once, or the process may fail later."""
    chosen += [Choice(PROCESSES, 2), Choice(HERE, 1)]
    submit, count = auto.Processes.submit, itertools.count()

    def submitting(executor, function, /, *args):
        if next(count) >= ready:
            raise BrokenWorkers("a worker process cannot be started")
        return submit(executor, function, *args)

    monkeypatch.setattr(auto.Processes, "submit", submitting)
    assert list(pipeline.dataset(range(500)).map(functions.square, workers="auto")) == [i * i for i in range(500)]


def test_a_loop_that_begins_with_processes_that_cannot_be_started(caplog):
    """A recipe sent to a daemon, which may have no processes, carries the best choice from its origin."""
    dataset = pipeline.dataset(range(500)).map(functions.square, workers="auto")
    dataset._node.chosen.choice = Choice(PROCESSES, 2)
    multiprocessing.current_process()._config["daemon"] = True
    try:
        assert list(dataset) == [i * i for i in range(500)]
    finally:
        del multiprocessing.current_process()._config["daemon"]
    assert "square continues without workers: a worker process cannot be started, as this process" in caplog.text


FORKED = """
import os, signal, sys, warnings
sys.path.insert(0, {support!r})
import worker_functions as functions
import pipeline
from pipeline.workers import auto
from pipeline.workers.judge import PROCESSES, Choice, Judge

warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads is forked: just that is tested
Judge.after = lambda judge, period: Choice(PROCESSES, 2)
auto._SECONDS = 0.0
dataset = pipeline.dataset(range(10**8)).map(functions.square, workers="auto")


def of_the_child(state, count):
    try:
        next(iterator)
    except pipeline.errors.FailedPreconditionError as error:
        assert "os.fork()" in str(error), error
    else:
        raise AssertionError("the iterator of the parent goes on")
    with iter(dataset) as again:
        again.load_state_dict(state)
        return [next(again) for _ in range(200)] == [i * i for i in range(count, count + 200)]


with iter(dataset) as iterator:
    count = 0
    for is_there in (
        lambda executor: executor._getting_ready is not None,
        lambda executor: executor.choice.kind == PROCESSES,
    ):
        while True:
            assert next(iterator) == count * count
            count += 1
            (executor,) = {{each.workers for each in iterator._measured.values()}} - {{None}}
            if is_there(executor):
                break
        state = iterator.state_dict()
        process = os.fork()
        if process == 0:
            signal.alarm(60)  # ends a child that hangs
            os._exit(not of_the_child(state, count))
        assert os.waitpid(process, 0)[1] == 0
    assert [next(iterator) for _ in range(200)] == [i * i for i in range(count, count + 200)]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_process_continues_at_a_state_without_the_processes_of_its_parent():
    done = run_script(FORKED.format(support=os.path.dirname(functions.__file__)))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("workers", [2, pipeline.threads(2), pipeline.processes(2)], ids=["2", "threads", "processes"])
def test_other_workers_say_that_none_can_be_started(crowded, workers):
    with pytest.raises(
        pipeline.errors.ResourceExhaustedError, match=r"^no worker can start: can't start new thread: the"
    ):
        list(pipeline.dataset(range(10)).map(functions.square, workers=workers))


def test_fewer_workers_where_no_more_threads_can_be_started(monkeypatch):
    start, started = threading.Thread.start, []

    def starting(thread):
        if thread.name.startswith("pipeline-worker"):
            if started:
                raise RuntimeError("can't start new thread")
            started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starting)
    found = list(pipeline.dataset(range(500)).map(functions.square, workers=4))
    assert found == [number * number for number in range(500)]
    assert len(started) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the free memory is only known on Linux")
def test_processes_need_free_memory(monkeypatch):
    """Half of the memory must hold them all, if each is as large as this process."""
    rooms, free, read = [], [0], Path.read_text

    class Asking(Judge):
        def __init__(self, chosen, processors, processes):
            rooms.append(processes())
            super().__init__(chosen, processors, processes)

    def read_text(path, *args, **options):
        return f"MemAvailable: {free[0]} kB\n" if str(path) == "/proc/meminfo" else read(path, *args, **options)

    monkeypatch.setattr(auto, "Judge", Asking)
    monkeypatch.setattr(Path, "read_text", read_text)
    for free[0] in (0, 1 << 36):
        assert set(pipeline.dataset(range(4)).map(functions.pid, workers="auto")) == {os.getpid()}
    own = int(read(Path("/proc/self/statm")).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    assert rooms[0] == 0
    assert rooms[1] == pytest.approx((free[0] << 10) / 2 / own, rel=0.3)


def test_no_other_word():
    text = "map: workers must be a number of threads, 'auto' or an executor such as pipeline.processes(4), not 'many'"
    with raises(TypeError, text):
        pipeline.dataset([1]).map(abs, workers="many")
