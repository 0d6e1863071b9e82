"""prefetch: a thread prepares elements ahead, which changes nothing of them."""

import threading

import pytest
from dataset_contract import check, states_of, stream
from orchestration import threads_since

import pipeline


@pytest.mark.parametrize("n", [0, 1, 2, 100])
@pytest.mark.parametrize("source", [pipeline.dataset(range(9)), stream(range(9))], ids=["list", "stream"])
def test_prefetch(source, n):
    check(source.prefetch(n), range(9))
    check(source.batch(2).prefetch(n).unbatch().prefetch(n), range(9))


def test_states_are_those_without():
    with_thread, alone = states_of(stream(range(9)).prefetch(3)), states_of(stream(range(9)))
    assert with_thread == alone


def test_no_more_than_n_are_prepared():
    made, full = [], threading.Event()

    def noted(x):
        made.append(x)
        if len(made) == 4:
            full.set()
        return x

    with iter(stream(range(100)).map(noted).prefetch(2)) as elements:
        assert next(elements) == 0
        assert full.wait(60)  # one is here, two wait, and the thread has one in hand
    assert len(made) <= 5


def test_the_thread_ends_with_the_iterator():
    begun = threads_since()
    with iter(stream(range(100)).prefetch(2)) as elements:
        next(elements)
    assert not begun()


def test_auto_says_what_to_write():
    text = r'prefetch: n cannot be "auto".* Write \.prefetch\(2\), and workers="auto" in map'
    with pytest.raises(ValueError, match=text):
        pipeline.dataset(range(3)).prefetch("auto")
