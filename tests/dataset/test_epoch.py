"""epoch: the recipe, with the orders used in one epoch."""

import pytest
from dataset_contract import check, states_of, stream

import pipeline

DATA = pipeline.dataset(range(10)).shuffle(seed=1).map(lambda x: (x, pipeline.example_rng().random()), seed=1)


@pytest.mark.parametrize("i", [0, 1, 7])
def test_epoch(i):
    data = DATA.epoch(i)
    check(data, list(data))
    check(data.batch(3), list(data.batch(3)))
    assert sorted(x for x, _ in data) == list(range(10))
    assert repr(data).endswith(f".epoch({i})") is bool(i)


def test_epochs_differ():
    assert len({tuple(DATA.epoch(i)) for i in range(4)}) == 4
    assert list(DATA.epoch(0)) == list(DATA)
    assert list(DATA.epoch(3).epoch(1)) == list(DATA.epoch(1))
    assert list(stream(range(3)).epoch(5)) == [0, 1, 2]


def test_the_last_words_count():
    assert list(DATA.epoch(2).take(4)) == list(DATA.take(4).epoch(2))


@pytest.mark.parametrize("count", [2, 3])
def test_a_second_loop_in_the_same_order_is_mentioned(count, caplog):
    data = pipeline.dataset(range(count)).shuffle(seed=1)
    list(data)
    assert caplog.messages == []
    list(data)
    (text,) = caplog.messages
    assert "a second loop over this dataset gives the same order again" in text


def test_a_state_is_of_its_epoch():
    states = states_of(DATA.epoch(1))
    with pytest.raises(pipeline.StateMismatchError, match="epoch"):
        iter(DATA.epoch(2)).load_state_dict(states[3])


def test_less_than_the_first():
    with pytest.raises(ValueError, match="epoch: i must be at least 0"):
        DATA.epoch(-1)
