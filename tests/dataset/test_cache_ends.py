"""cache: folders survive kill -9, full disks, several processes and interrupts; damage is detected."""

import contextlib
import gc
import os
import random
import re
import resource
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor

import chains
import numpy as np
import pytest
from dataset_contract import stream
from test_cache import Calls

import pipeline
from pipeline.stages import kept_rows


def raises(cls, text):
    return pytest.raises(cls, match=re.escape(text))


def in_child(function):
    """Run a function in a forked process; return its exit status."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
            os._exit(0)
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
    return os.waitpid(pid, 0)[1]


@pytest.fixture
def small_chunks(monkeypatch):
    """Use chunks with four elements, because a full one takes many seconds or 64 MB."""
    for name, value in (("_ROWS", 4), ("_CHUNK", 1)):  # private, because no user needs small chunks
        monkeypatch.setattr(kept_rows, name, value)


@pytest.mark.parametrize("indexed", [False, True])
def test_kill_9_at_every_call_of_the_system(indexed, small_chunks, tmp_path):
    calls, kills = Calls(tmp_path / "calls"), 0
    source = pipeline.dataset(list(range(14))) if indexed else stream(range(14))

    def killed_at(number):
        left = [number]

        def counted(function):
            def call(*args, **options):
                left[0] -= 1
                if left[0] == 0:
                    if function is os.pwrite:  # half the data is written
                        function(args[0], args[1][: len(args[1]) // 2], args[2])
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*args, **options)

            return call

        for name in ("pwrite", "fsync"):
            setattr(os, name, counted(getattr(os, name)))
        list(source.map(calls).cache(tmp_path / "c").batch(2))

    for number in range(1, 200):
        shutil.rmtree(tmp_path / "c", ignore_errors=True)
        status = in_child(lambda number=number: killed_at(number))
        if status == 0:
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        kills += 1
        before = calls.count
        data = source.map(calls).cache(tmp_path / "c", verify=True)
        assert list(data) == list(range(0, 140, 10))
        assert calls.count - before <= 14
        assert list(source.map(calls).cache(tmp_path / "c", verify=True)) == list(range(0, 140, 10))
    assert kills > 12


def test_a_restart_goes_on_after_the_last_whole_chunk(small_chunks, tmp_path):
    calls = Calls(tmp_path / "calls")

    def killed():
        with iter(stream(range(14)).map(calls).cache(tmp_path / "c")) as iterator:
            for _ in range(10):
                next(iterator)
            os.kill(os.getpid(), signal.SIGKILL)

    assert os.WTERMSIG(in_child(killed)) == signal.SIGKILL
    assert calls.count == 10
    data = stream(range(14)).map(calls).cache(tmp_path / "c")
    with raises(TypeError, "have no numbers yet"):
        data[0]
    assert list(data) == list(range(0, 140, 10))
    assert calls.count == 10 + 14 - 8


def test_one_process_writes_and_the_others_compute(small_chunks, tmp_path):
    calls = Calls(tmp_path / "calls")
    data = stream(range(14)).map(calls).cache(tmp_path / "c")
    with iter(data) as iterator:
        assert [next(iterator) for _ in range(9)] == list(range(0, 90, 10))

        def other():
            assert list(stream(range(14)).map(calls).cache(tmp_path / "c")) == list(range(0, 140, 10))
            with raises(pipeline.errors.FailedPreconditionError, "another process fills"):
                stream(range(14)).map(calls).cache(tmp_path / "c", rebuild=True)

        assert in_child(other) == 0
        assert calls.count == 9 + 14 - 8  # two chunks were read
        with ThreadPoolExecutor(2) as threads:  # within this process too
            assert list(threads.map(list, [data] * 2)) == [list(range(0, 140, 10))] * 2
        assert list(iterator) == list(range(90, 140, 10))
    full = stream(range(14)).map(calls).cache(tmp_path / "c", verify=True)
    before = calls.count
    assert full[13] == 130
    assert list(full) == list(range(0, 140, 10))
    assert calls.count == before


@pytest.mark.parametrize("dies", [False, True])
def test_who_needs_all_waits_for_the_writer_and_takes_over_if_it_dies(dies, small_chunks, tmp_path):
    calls, (began, begins), (ends, ended) = Calls(tmp_path / "calls"), os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        iterator = iter(stream(range(14)).map(calls).cache(tmp_path / "c"))
        for _ in range(9):
            next(iterator)
        os.write(begins, b"x")
        os.read(ends, 1)
        if not dies:
            list(iterator)
        os._exit(1)  # without closing anything
    os.read(began, 1)
    data = stream(range(14)).map(calls).cache(tmp_path / "c").shuffle(seed=1)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(list, data)
        os.write(ended, b"x")
        assert waiting.result(60) == list(pipeline.dataset(list(range(0, 140, 10))).shuffle(seed=1))
    os.waitpid(pid, 0)
    assert calls.count == (9 + 14 - 8 if dies else 14)
    for each in (began, begins, ends, ended):
        os.close(each)


@pytest.mark.parametrize("indexed", [False, True])
def test_a_full_disk_keeps_what_is_there(indexed, small_chunks, tmp_path, caplog):
    calls = Calls(tmp_path / "calls")
    rows = np.ones((14, 1000))
    source = pipeline.arrays(rows) if indexed else stream(list(rows))

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, resource.RLIM_INFINITY))
        with iter(source.map(calls_of(calls)).cache(tmp_path / "c")) as iterator:
            with raises(pipeline.errors.ResourceExhaustedError, "The chunks that were finished stay") as found:
                list(iterator)
            assert "cache: " in str(found.value)

    assert in_child(limited) == 0

    def left():
        """Closing an iterator logs the error instead of raising it, because all its work is done."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, resource.RLIM_INFINITY))
        with iter(source.map(calls_of(calls)).cache(tmp_path / "c")) as iterator:
            for _ in range(11):
                next(iterator)
        assert "The chunks that were finished stay" in caplog.text

    assert in_child(left) == 0
    before = calls.count
    assert sum(each.sum() for each in source.map(calls_of(calls)).cache(tmp_path / "c")) == 14_000
    assert calls.count - before == 14 - 8
    assert len(list(source.map(calls_of(calls)).cache(tmp_path / "c", verify=True))) == 14


def calls_of(calls):
    """A function over arrays, counting its calls."""

    class Function:
        def __init__(self):
            self.path = calls.path

        def __call__(self, x):
            with open(self.path, "a") as file:
                file.write("x")
            return x

    return Function()


def test_a_fork_leaves_it_to_its_parent(small_chunks, tmp_path):
    data = stream(range(14)).cache(tmp_path / "c")
    with iter(data) as iterator:
        for _ in range(6):
            next(iterator)

        def child():
            iterator.close()

        assert in_child(child) == 0
        assert list(iterator) == list(range(6, 14))
    assert list(stream(range(14)).cache(tmp_path / "c", verify=True)) == list(range(14))


def damage(path):
    """Damage the file in many ways; yield a name for each, including every byte of a checksum in the log."""
    whole = path.read_bytes()
    first = [8 * i + i % 8 for i in range(10)] if path.name == "log" else []
    for name, data in (
        ("empty", b""),
        ("cut", whole[: len(whole) // 2]),
        ("cut at the end", whole[:-1]),
        *(
            (f"bit {i}", whole[: i // 8] + bytes([whole[i // 8] ^ 1 << i % 8]) + whole[i // 8 + 1 :])
            for i in first + random.Random(1).sample(range(8 * len(whole)), min(40, 8 * len(whole)))
        ),
    ):
        path.write_bytes(data)
        yield name
    path.write_bytes(whole)


def outcome(made):
    """Return the elements, or the error about the damage."""
    try:
        return chains.plain(list(made(verify=True)))
    except pipeline.errors.DataLossError as error:
        return error


def test_damage_is_found(small_chunks, tmp_path):
    made = lambda **options: stream(EXAMPLES).cache(tmp_path / "c", **options)  # noqa: E731
    expected = chains.plain(list(made()))
    for file in sorted((tmp_path / "c").iterdir()):
        if file.name == "lock":
            continue
        for name in damage(file):
            before = {each: each.read_bytes() for each in (tmp_path / "c").iterdir()}
            found = outcome(made)
            if isinstance(found, pipeline.errors.DataLossError):
                assert "pass rebuild=True" in str(found), (file, name)
            else:
                assert found == expected, (file, name)
                assert file.name == "log", (file, name)  # an unfinished line is written again
            for each, data in before.items():
                each.write_bytes(data)
            with contextlib.suppress(pipeline.errors.DataLossError):  # values may be wrong, but the process survives
                list(made())
            for each, data in before.items():
                each.write_bytes(data)
    assert chains.plain(list(made(verify=True))) == expected
    assert chains.plain(list(made(rebuild=True))) == expected


EXAMPLES = [
    {"x": np.full(3, i, np.float32), "s": str(i), "b": b"a" * i, "r": np.arange(i % 4), "l": [i] * (i % 3), "o": {i}}
    for i in range(14)
]


def test_a_message_says_what_is_damaged(small_chunks, tmp_path):
    list(stream(range(14)).cache(tmp_path / "c"))
    path = tmp_path / "c" / "0-0-values.column"
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    with raises(pipeline.errors.DataLossError, f"chunk 1 of '{path}' has another checksum"):
        stream(range(14)).cache(tmp_path / "c", verify=True)
    path.write_bytes(data[:50])
    with raises(pipeline.errors.DataLossError, f"'{path}' has 50 bytes, and should have 112"):
        list(stream(range(14)).cache(tmp_path / "c"))
    path.unlink()
    with raises(pipeline.errors.DataLossError, f"'{path}' is missing"):
        list(stream(range(14)).cache(tmp_path / "c"))
    log = tmp_path / "c" / "log"
    log.write_bytes(log.read_bytes().replace(b"segments", b"segmentz", 1))
    with raises(pipeline.errors.DataLossError, f"line 2 of '{log}' has another checksum"):
        stream(range(14)).cache(tmp_path / "c")


class Interrupt(Exception):
    """Raised by a signal handler."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # from a file between open and close
@pytest.mark.parametrize("seed", range(12))
def test_interrupts_at_random_moments(seed, small_chunks, tmp_path):
    source, rng = (stream(range(200)) if seed % 2 else pipeline.dataset(list(range(200)))), random.Random(seed)
    whole, found = list(range(0, 400, 2)), []

    def interrupt(*_):
        raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with iter(source.map(chains.double).cache(tmp_path / "c")) as iterator:
            while len(found) < 199:  # one may be lost at its assignment
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.01 * rng.random())
                    found.extend(iterator)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    break
                except Interrupt:
                    pass
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    gc.collect()  # free everything kept alive by the interrupts' tracebacks
    assert [each for each in whole if each in set(found)] == found
    assert list(source.map(chains.double).cache(tmp_path / "c")) == whole
    full = source.map(chains.double).cache(tmp_path / "c", verify=True)
    assert (len(full), full[199], list(full)) == (200, 398, whole)


@pytest.mark.parametrize("indexed", [False, True])
def test_several_processes_begin_at_once(indexed, small_chunks, tmp_path):
    source = pipeline.dataset(list(range(200))) if indexed else stream(range(200))
    pids = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            right = list(source.map(chains.double).cache(tmp_path / "c")) == list(range(0, 400, 2))
            os._exit(0 if right else 1)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
    full = source.map(chains.double).cache(tmp_path / "c", verify=True)
    assert list(full) == list(range(0, 400, 2))
