"""prefetch: a thread prepares elements ahead, without changing them."""

import sys
import threading

import chains
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
        if len(made) == 3:
            full.set()
        return x

    with iter(stream(range(100)).map(noted).prefetch(2)) as elements:
        assert next(elements) == 0
        assert full.wait(60)  # one is here, and two wait
    assert made == [0, 1, 2]


def test_the_thread_ends_with_the_iterator():
    begun = threads_since()
    with iter(stream(range(100)).prefetch(2)) as elements:
        next(elements)
    assert not begun()


def test_auto_says_what_to_write():
    text = r'prefetch: n cannot be "auto".* Write \.prefetch\(2\), and workers="auto" in map'
    with pytest.raises(ValueError, match=text):
        pipeline.dataset(range(3)).prefetch("auto")


class Items:
    """Items recording the thread asking for them; one may fail."""

    def __init__(self, fails=None):
        self.fails, self.threads = fails, set()

    def __len__(self):
        return 20

    def __getitem__(self, i):
        self.threads.add(threading.current_thread())
        if i == self.fails:
            raise ValueError(f"item {i}")
        return i


CHAINS = {
    "sequence": lambda data: data,
    "shuffle": lambda data: data.shuffle(seed=1),
    "batches": lambda data: data.batch(2).shuffle(seed=1),
    "zip": lambda data: pipeline.zip(data, data),
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_the_thread_makes_items_not_the_consumer(chain):
    items = Items()
    expected = [chains.plain(each) for each in chain(pipeline.dataset(range(20)))]
    assert [chains.plain(each) for each in chain(pipeline.dataset(items)).prefetch(16)] == expected
    assert threading.current_thread() not in items.threads
    assert len(items.threads) == 1


def test_an_item_that_fails_comes_after_those_before_it():
    data = pipeline.dataset(Items(fails=13)).prefetch(40)
    with iter(data) as iterator:
        assert [next(iterator) for _ in range(13)] == list(range(13))
        state = iterator.state_dict()
        with pytest.raises(ValueError, match="item 13"):
            next(iterator)
        assert iterator.state_dict() == state
    with iter(pipeline.dataset(Items()).prefetch(40)) as again:
        again.load_state_dict(state)
        assert list(again) == list(range(13, 20))


def test_errors_behind_it_name_the_line(tmp_path):
    (tmp_path / "lines.txt").write_text("1\n2\nx\n")
    with pytest.raises(ValueError, match="invalid literal") as caught:
        list(pipeline.text(str(tmp_path / "lines.txt")).prefetch(2).map(int))
    if sys.version_info >= (3, 11):
        assert "lines.txt:3" in "".join(caught.value.__notes__)


def quits(number):
    if number == 3:
        sys.exit("a bad example")
    return number


class Quits(Items):
    def __getitem__(self, index):
        return quits(index)


ENDINGS = {
    "element": lambda: pipeline.dataset(range(20)).map(quits).batch(1, collate=lambda given: given[0]),
    "block": lambda: pipeline.dataset(range(20)).map(quits),
    "row": lambda: pipeline.dataset(Quits()),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_system_exit_in_the_thread_is_as_without_it(ending):
    """It is not an error in the data: the next call continues after the last element, and calls the function again."""
    for n in (0, 2):
        with iter(ENDINGS[ending]().prefetch(n)) as iterator:
            assert [next(iterator) for _ in range(3)] == [0, 1, 2]
            for _ in range(2):
                with pytest.raises(SystemExit, match="a bad example"):
                    next(iterator)
            assert iterator.delivered == (3, 3)
