"""Signal handlers that ask a loop for batches, at every moment of a call of `next`: each example comes once."""

import itertools
import sys

import pytest
from endurance.interrupts import Striker, codes
from helpers import run_in_thread
from orchestration import no_thread_left

import pipeline
from pipeline.batches import counting, gathering
from pipeline.batches import ordered as in_their_order
from pipeline.batches.crew import Crew, Opening
from pipeline.batches.feed import Feed
from pipeline.batches.inline import Inline
from pipeline.batches.loop import Batches
from pipeline.batches.ordered import OrderedFeed
from pipeline.explain.live import LoopTimes
from pipeline.sources import text as text_files
from pipeline.sources.stream import PartsCursor

LOOKED_AT = codes(Batches, Feed, OrderedFeed, Crew, Opening, Inline, in_their_order, counting, gathering)
ITEMS = list("012345")


class Asker(Striker):
    """A trace function that asks a loop for some batches at the `number`-th moment, as a signal handler may."""

    def __init__(self, number, loop, most):
        super().__init__(number, LOOKED_AT)
        self.batches = []
        self._loop, self._most = loop, most

    def strike(self):
        for _ in range(self._most):
            try:
                self.batches += next(self._loop).tolist()
            except (pipeline.FailedPreconditionError, StopIteration):
                return


def asked(make, ordered, number, most):
    """Whether there was such a moment, the examples that a handler and others got of a loop, and its fingerprint."""
    with make() as loop:
        asker, rest = Asker(number, loop, most), []
        sys._getframe().f_trace_opcodes = True  # 3.12 traces opcodes only if some frame asked for it before
        sys.settrace(asker)
        try:
            while (batch := next(loop, None)) is not None:  # `for` would begin a round of its own
                rest += batch.tolist()
        finally:
            sys.settrace(None)
        return asker.struck, sorted(asker.batches + rest), loop.fingerprint() if ordered else None


def free():
    return pipeline.batch(ITEMS, 2, encoding="ascii")


def inline():
    return pipeline.batch(ITEMS, 2, num_threads=0, encoding="ascii")


def in_order():
    return pipeline.batch(ITEMS, 2, deterministic=True, encoding="ascii")


def mixed():
    return pipeline.shuffle_batch(ITEMS, 2, 9, 3, num_threads=2, seed=1, deterministic=True, encoding="ascii")


@pytest.mark.parametrize("most", [1, 9], ids=["one", "all"])
@pytest.mark.parametrize(("make", "ordered"), [(free, False), (inline, False), (in_order, True), (mixed, True)])
def test_each_example_comes_once(make, ordered, most):
    _, *undisturbed = asked(make, ordered, 0, most)
    assert undisturbed[0] == ITEMS
    with no_thread_left():
        for number in itertools.count(1):
            struck, *found = asked(make, ordered, number, most)
            assert found == undisturbed, number
            if not struck:
                break
    assert number > 50


class Closer(Striker):
    """A trace function that closes a loop at the `number`-th moment, as a signal handler or a finalizer may."""

    def __init__(self, number, loop):
        super().__init__(number, LOOKED_AT | codes(LoopTimes, PartsCursor, text_files))
        self._loop = loop

    def strike(self):
        self._loop.close()


def check_closed_by_a_handler(make):
    with no_thread_left():
        for number in itertools.count(1):
            loop = make()
            sys._getframe().f_trace_opcodes = True
            sys.settrace(closer := Closer(number, loop))
            try:
                batches = [*loop]
            finally:
                sys.settrace(None)
            loop.close()
            if not closer.struck:
                break
            assert len(batches) <= 3
    assert number > 50
    assert sorted(row for batch in batches for row in batch.tolist()) == ITEMS


@pytest.mark.parametrize("make", [free, inline, in_order, mixed])
def test_a_loop_that_a_handler_closes_ends(make):
    check_closed_by_a_handler(make)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("num_threads", [0, 1])
def test_a_loop_over_a_file_that_a_handler_closes_ends(num_threads, deterministic, tmp_path):
    """Also while the file is read, which the end of the loop closes."""
    file = tmp_path / "lines.txt"
    file.write_text("\n".join(ITEMS))
    options = {"num_threads": num_threads, "deterministic": deterministic, "encoding": "ascii"}
    check_closed_by_a_handler(lambda: pipeline.batch(pipeline.text(file), 2, **options))


@pytest.mark.parametrize("call", [2, 30])
def test_a_thread_that_asks_for_what_it_makes(call):
    """As a finalizer does that runs there: it would wait for itself."""
    calls = itertools.count(1)

    def source():
        while next(calls) >= call:
            next(loop)
        return 1

    loop = pipeline.batch(source, 4, capacity=8)
    with pytest.raises(pipeline.FailedPreconditionError, match=r"asks for what it makes|while it makes examples"):
        list(loop)


@pytest.mark.parametrize("run", [lambda take: take(), lambda take: run_in_thread(take).result()], ids=["main", "other"])
@pytest.mark.parametrize("ask", [next, Batches.close])
def test_a_finalizer_while_the_threads_begin(run, ask, monkeypatch):
    """The thread that starts them has a lock, or its starter waits for it with one."""
    found = []

    def create_threads(crew, **options):
        try:
            found.append(ask(loop))
        except pipeline.FailedPreconditionError as error:
            found.append(error)
        return original(crew, **options)

    original = Crew.create_threads
    monkeypatch.setattr(Crew, "create_threads", create_threads)
    loop = pipeline.batch(ITEMS, 2)
    with no_thread_left():
        taken = run(lambda: list(loop))
        loop.close()
    assert len(taken) == (3 if ask is next else 0)
    assert [type(each) for each in found] == [pipeline.FailedPreconditionError if ask is next else type(None)]
