"""Loops that give no batch: what shows it, also where nobody has configured logging."""

import logging

import numpy as np
import pytest
from helpers import run_in_thread

import pipeline


def unheard(monkeypatch):
    """As in a program that has not configured logging: to be called in the test, whose handlers pytest sets before."""
    monkeypatch.setattr(logging.getLogger("pipeline"), "propagate", False)


def fails(item):
    raise ValueError(f"no {item}")


@pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"num_threads": 2}, {"deterministic": True}])
@pytest.mark.parametrize(
    ("given", "more", "text"),
    [
        (range(20), {}, "batch: the last 20 of 20 examples fill no batch and are dropped. To get them too pass"),
        ((np.arange(50), np.arange(50)), {}, "for the rows of its arrays pass pipeline.arrays of it"),
        (
            range(20),
            {"function": fails, "on_error": "skip"},
            "on_error='skip' has left out 20, the first because of Val",
        ),
        (range(20), {"keep_input": lambda _: False}, "batch: no example was kept"),
        (iter([]), {}, "batch: the sources gave no example"),
    ],
)
def test_a_round_without_a_batch_is_shown(monkeypatch, given, more, text, options):
    unheard(monkeypatch)
    loop = pipeline.batch(given, 32, **more, **options)
    with pytest.warns(RuntimeWarning) as shown:
        assert list(loop) == []
    assert [text in str(each.message) for each in shown] == [True]
    assert shown[0].filename == __file__
    assert list(loop) == []  # once for a loop


def test_a_round_with_batches_shows_nothing(monkeypatch):
    unheard(monkeypatch)
    assert len(list(pipeline.batch(range(35), 32))) == 1
    assert list(pipeline.batch([], 32)) == []


def test_the_log_says_it_if_somebody_listens(caplog):
    assert list(pipeline.batch(range(20), 32)) == []
    assert [each.getMessage().partition(". ")[0] for each in caplog.records] == [
        "batch: the last 20 of 20 examples fill no batch and are dropped"
    ]


@pytest.mark.parametrize("rows", [11, 20, 31])
def test_examples_that_fill_no_batch_of_all_hosts_are_counted(rows):
    for host in range(2):
        loop = pipeline.batch(np.arange(rows), 10, shard=(host, 2))
        assert sum(map(len, loop)) == rows // 20 * 10
        assert loop.num_dropped == rows % 20


def test_a_source_that_is_used_up_is_shown(monkeypatch):
    unheard(monkeypatch)
    loop = pipeline.batch(iter(range(4)), 2)
    assert len(list(loop)) == 2
    with pytest.warns(RuntimeWarning, match="batch: this loop is at its end, and its source cannot be read again"):
        assert list(loop) == []


@pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"deterministic": True}])
def test_a_closed_loop_is_not_entered_again(options):
    loop = pipeline.batch(range(8), 4, **options)
    with loop:
        assert len(list(loop)) == 2
    with (
        pytest.raises(pipeline.FailedPreconditionError, match="batch: this loop is closed, as the end of a `with`"),
        loop,
    ):
        pass


@pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"deterministic": True}, {"num_threads": 2}])
@pytest.mark.parametrize("failed", [True, False])
def test_a_loop_that_failed_or_is_closed_gives_nothing_and_says_so(monkeypatch, failed, options):
    unheard(monkeypatch)
    loop = pipeline.batch(range(100), 10, function=fails if failed else None, **options)
    if failed:
        with pytest.raises(ValueError, match="no "):
            next(loop)
        text = "batch: this loop ended by an error or a stop, and gives no more batches: make a new one"
    else:
        next(loop)
        loop.close()
        text = "batch: this loop is closed"
    with pytest.warns(RuntimeWarning, match=text) as shown:
        assert list(loop) == []
    assert [each.filename for each in shown] == [__file__]
    assert list(loop) == []  # once for a loop


def test_a_thread_that_comes_late_is_told_nothing(caplog):
    loop = pipeline.batch(range(8), 4)
    assert len(list(loop)) == 2
    assert run_in_thread(list, loop).result() == []
    assert caplog.records == []
