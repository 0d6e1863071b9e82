"""map: a function's result for each element. See test_map_calls.py for results, errors and random numbers."""

import pytest
from dataset_contract import check, stream

import pipeline


def double(x):
    return 2 * x


def fails_at_four(x):
    if x == 4:
        raise ValueError(x)
    return x


@pytest.mark.parametrize(
    "workers",
    [None, 1, 3, pipeline.threads(2), pipeline.processes(1)],
    ids=["alone", "one", "three", "threads", "process"],
)
@pytest.mark.parametrize("source", [pipeline.dataset(range(20)), stream(range(20))], ids=["list", "stream"])
def test_map(source, workers):
    check(source.map(double, workers=workers), range(0, 40, 2))
    check(source.batch(8).map_batches(sum, workers=workers), [28, 92, 70])
    assert sorted(source.map(double, workers=workers, ordered=False)) == list(range(0, 40, 2))


@pytest.mark.parametrize("workers", [None, 2])
def test_errors(workers):
    data = stream(range(9))
    with pytest.raises(ValueError, match="4"):
        list(data.map(fails_at_four, workers=workers))
    with iter(data.map(fails_at_four, workers=workers, on_error="skip", max_errors=1)) as kept:
        assert list(kept) == [0, 1, 2, 3, 5, 6, 7, 8]
        assert [str(error) for error in kept.errors] == ["4"]
    with pytest.raises(ValueError, match="4"):
        list(data.map(fails_at_four, workers=workers, on_error="skip", max_errors=0))


def test_without_an_order_there_is_no_state():
    with iter(stream(range(9)).map(double, workers=2, ordered=False)) as elements:
        with pytest.raises(pipeline.FailedPreconditionError, match="ordered=False"):
            elements.state_dict()
