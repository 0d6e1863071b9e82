"""A state may be loaded until the first element, even after the iterator returned its own or was started."""

import pytest
from orchestration import no_thread_left

import pipeline


def double(number):
    return 2 * number


NUMBERS = pipeline.dataset(range(50))
CHAINS = {
    "numbers": NUMBERS,
    "a pool": NUMBERS.shuffle(7).batch(3),
    "workers": NUMBERS.map(double, workers=2).batch(3),
    "prefetch": NUMBERS.map(double).batch(3).prefetch(2),
    "all": NUMBERS.shuffle().map(double, workers=2).shuffle(5).batch(3).prefetch(2),
}
OPENED = {"state_dict": lambda iterator: iterator.state_dict(), "start": lambda iterator: iterator.start()}


@pytest.mark.parametrize("opened", OPENED)
@pytest.mark.parametrize("chain", CHAINS)
def test_an_opened_iterator_goes_on_from_a_state(chain, opened):
    dataset = CHAINS[chain]
    with no_thread_left():
        with iter(dataset) as batches:
            first = [next(batches) for _ in range(4)]
            state = batches.state_dict()
            rest = [repr(batch) for batch in batches]
        assert len(first) == 4
        with iter(dataset) as other:
            for _ in range(2):
                OPENED[opened](other)
                other.load_state_dict(state)
                assert other.state_dict() == state
            assert [repr(batch) for batch in other] == rest


def test_not_after_the_first_element():
    with iter(NUMBERS) as numbers:
        state = numbers.state_dict()
        next(numbers)
        with pytest.raises(pipeline.FailedPreconditionError, match="this iterator has already begun"):
            numbers.load_state_dict(state)
        assert next(numbers) == 1


def test_seeds_of_another_dataset_change_nothing():
    """Not even randomly chosen seeds, if a given one is found to differ."""
    state = iter(NUMBERS.shuffle().map(int).shuffle(4, seed=1)).state_dict()
    other = iter(NUMBERS.shuffle().map(int).shuffle(4, seed=2))
    before = other.state_dict()
    with pytest.raises(pipeline.StateMismatchError, match="seed"):
        other.load_state_dict(state)
    assert other.state_dict() == before
