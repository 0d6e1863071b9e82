"""on_error="skip" with function=: what the source fails to make is left out, nothing else; no end without a word."""

import errno
import functools
import itertools
import re

import numpy as np
import pytest
from orchestration import fresh_collection, no_thread_left
from worker_functions import failing

import pipeline
from pipeline import batch

MODES = pytest.mark.parametrize(
    ("threads", "deterministic", "workers"),
    [*itertools.product((0, 1, 2), (False, True), (None,)), (0, False, 2), (1, True, 2)],
)
BAD = 40, 41, 299
GOOD = [i for i in range(300) if i not in BAD]


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


class Numbers:
    """A sequence that fails for some items; it knows its end by its length alone."""

    def __len__(self):
        return 300

    def __getitem__(self, index):
        if index in BAD:
            raise ValueError(f"bad item {index}")
        return np.int64(index)


def rows(tmp_path):
    lines = [f"{i},{'bad item ' if i in BAD else ''}{i}" for i in range(300)]
    (tmp_path / "rows.csv").write_text("\n".join(["number,value", *lines]))
    return pipeline.csv(tmp_path / "rows.csv", dtypes={"number": "int64", "value": "int64"})


SOURCES = pytest.mark.parametrize(
    ("make", "number"),
    [
        (rows, lambda row: row["number"]),
        (lambda _: pipeline.arrays(Numbers()), int),
        (lambda _: Numbers(), int),
    ],
    ids=["stream", "table", "sequence"],
)


def options(threads, deterministic, workers):
    made = {"num_threads": threads, "deterministic": deterministic, "on_error": "skip"}
    return made if workers is None else {**made, "workers": pipeline.threads(workers)}


def check_named(loop, threads):
    """The errors are those of the bad items, each once; two threads may note them in another order."""
    named = [int(re.search(r"bad item (\d+)", str(error))[1]) for error in loop.errors]
    assert sorted(named) == list(BAD)
    assert threads == 2 or named == list(BAD)


@MODES
@SOURCES
def test_only_what_the_source_fails_to_make_is_left_out(tmp_path, make, number, threads, deterministic, workers):
    more = options(threads, deterministic, workers)
    with batch(make(tmp_path), 10, function=number, allow_smaller_final_batch=True, **more) as loop:
        found = np.concatenate([*loop]).tolist()
    assert sorted(found) == GOOD
    assert threads == 2 or found == GOOD
    assert loop.num_errors == 3
    check_named(loop, threads)


@MODES
def test_only_what_a_call_of_the_source_fails_to_give_is_left_out(threads, deterministic, workers):
    numbers = itertools.count()

    def number():
        index = next(numbers)
        if index in BAD:
            raise ValueError(f"bad item {index}")
        if index == 300:
            raise StopIteration
        return index

    more = {**options(threads, deterministic, workers), "allow_smaller_final_batch": True}
    with batch(number, 10, function=lambda index: -index, **more) as loop:
        found = (-np.concatenate([*loop])).tolist()
    assert sorted(found) == GOOD
    assert threads == 2 or found == GOOD
    assert {str(error) for error in loop.errors} == {f"bad item {bad}" for bad in BAD}
    check_named(loop, threads)


@MODES
def test_slices_of_which_some_have_no_row(threads, deterministic, workers):
    source = pipeline.slice_input_producer([np.arange(30), -np.arange(25)], num_epochs=2, shuffle=False)
    more = {**options(threads, deterministic, workers), "allow_smaller_final_batch": True}
    with batch(source, 10, function=lambda row: row[0] + 2 * row[1], **more) as loop:
        found = (-np.concatenate([*loop])).tolist()
    assert sorted(found) == sorted([*range(25), *range(25)])
    assert threads == 2 or found == [*range(25), *range(25)]
    assert loop.num_errors == 10


@pytest.mark.parametrize("threads", [0, 1])
@SOURCES
def test_too_many_errors_are_raised(tmp_path, make, number, threads):
    more = options(threads, False, None)
    with pytest.raises(ValueError, match="bad item 299"):
        list(batch(make(tmp_path), 10, function=number, max_errors=2, **more))


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize("taken", [2, 4])
def test_a_state_counts_what_was_left_out(tmp_path, threads, taken):
    def loop():
        more = options(threads, True, None)
        return batch(rows(tmp_path), 10, function=lambda row: row["number"], **more)

    with loop() as first:
        head = [next(first).tolist() for _ in range(taken)]
        state = first.state_dict()
    with loop() as second:
        second.load_state_dict(state)
        tail = [part.tolist() for part in second]
    assert [*itertools.chain(*head, *tail)] == GOOD[:290]


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("threads", [0, 1])
def test_what_an_iterator_raises_is_raised(tmp_path, threads, many):
    (tmp_path / "lines").write_text("1\n2\n3\n4\n")
    files = pipeline.string_input_producer([str(tmp_path / "lines")], num_epochs=1)
    reader = pipeline.TextLineReader()

    def numbers():
        yield np.arange(8) if many else 1
        reader.read_up_to(files, 4)
        raise ValueError("the generator is at its end")

    with pytest.raises(ValueError, match="the generator"):
        list(batch(numbers, 1, num_threads=threads, enqueue_many=many, function=lambda n: n, on_error="skip"))


class TestNothingLeft:
    def said(self, caplog, loop):
        caplog.clear()
        with caplog.at_level("WARNING"):
            assert list(loop) == []
        return [record.getMessage() for record in caplog.records]

    @pytest.mark.parametrize(("threads", "deterministic"), [(0, False), (0, True), (1, False)])
    def test_the_log_says_so(self, caplog, threads, deterministic):
        def fail(number):
            raise ValueError(f"never {number}")

        loop = batch(range(12), 4, function=fail, **options(threads, deterministic, None))
        why = "on_error='skip' has left out 12, the first because of ValueError: never 0"
        assert self.said(caplog, loop) == [f"batch: the sources gave no example; {why}"]

    def test_the_log_says_so_of_a_later_round(self, caplog):
        rounds = itertools.count()

        def numbers():
            fails = next(rounds) > 0
            yield from ((number, fails) for number in range(4))

        def first_time(item):
            if item[1]:
                raise ValueError(f"again {item[0]}")
            return item[0]

        loop = batch(numbers, 4, function=first_time, on_error="skip")
        assert len(list(loop)) == 1
        why = "on_error='skip' has left out 4, the first because of ValueError: again 0"
        assert self.said(caplog, loop) == [f"batch: the sources gave no example when they were read again; {why}"]

    def test_no_word_of_skipping_if_there_was_nothing(self, caplog):
        assert self.said(caplog, batch([], 4, on_error="skip")) == []


ERRORS_OF = {
    "the machine": [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ENOSPC, errno.ESTALE],
    "the record": [0, errno.ENOENT, errno.EACCES, errno.EISDIR, errno.EINVAL, errno.ECONNRESET],
}


@pytest.mark.parametrize(("of", "code"), [(of, code) for of, codes in ERRORS_OF.items() for code in codes])
@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize("options", [{}, {"deterministic": True}, {"num_threads": 0}], ids=str)
def test_only_errors_that_may_be_of_the_record_are_skipped(of, code, chained, options):
    items = [(code, i, chained) for i in range(6)]
    check_errors_of(of, batch(items, 1, function=failing, on_error="skip", **options))
    check_errors_of(of, batch(functools.partial(failing_next, iter(items)), 1, on_error="skip", **options))


@pytest.mark.parametrize("of", ERRORS_OF)
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("chained", [False, True])
def test_errors_of_the_machine_in_worker_processes(of, deterministic, chained):
    """The error that was the cause stays in the other process."""
    items = [(ERRORS_OF[of][0], i, chained) for i in range(6)]
    options = {"deterministic": deterministic, "on_error": "skip"}
    with pipeline.processes(1) as workers:
        check_errors_of(of, batch(items, 1, function=failing, workers=workers, **options))


def failing_next(items):
    item = next(items)
    return failing(item)


def check_errors_of(of, loop):
    got, error = [], None
    with loop:
        try:
            for each in loop:
                got.append(each.item())
        except (OSError, ValueError) as raised:
            error = raised
    if of == "the record":
        assert (got, error, loop.num_errors) == ([0, 1, 2, 4, 5], None, 1)
    else:
        assert error is not None
        assert (got, loop.num_errors) == ([0, 1, 2], 0)


@pytest.mark.parametrize("kind", [MemoryError, ImportError, ModuleNotFoundError])
def test_no_memory_and_a_missing_library_are_not_skipped(kind):
    def fail(number):
        raise kind("none")

    with pytest.raises(kind, match="none"):
        list(batch(range(3), 1, function=fail, on_error="skip"))
