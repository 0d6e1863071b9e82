"""mix by tokens, by a schedule and with names, and its reports."""

import numpy as np
import pytest
from dataset_contract import check, stream

import pipeline


def texts(value, seed, count=200, mean=30):
    """Documents with random lengths, each repeating one value."""
    lengths = np.random.default_rng(seed).integers(1, 2 * mean, count)
    return [np.full(n, value) for n in lengths]


SHORT, LONG, REST = texts(0, 1, 200, 10), texts(1, 2, 100, 80), texts(2, 3, 20, 30)


def tokens_of(documents, count=3):
    return np.bincount([int(each[0]) for each in documents], [len(each) for each in documents], count)


def test_shares_of_tokens_are_exact_to_an_example_at_any_time():
    data = pipeline.mix([stream(SHORT).repeat(), stream(LONG).repeat()], [0.3, 0.7], by=len, seed=1)
    found = list(data.take(2000))
    for end in range(1, 2000, 37):
        tokens = tokens_of(found[:end], 2)
        assert abs(tokens[0] / 0.3 - tokens[1] / 0.7) <= 2 * (20 / 0.3 + 160 / 0.7)


@pytest.mark.parametrize("stop", ["all_exhausted", "first_exhausted"])
def test_each_example_comes_once_in_order(stop):
    data = pipeline.mix([stream(SHORT), stream(LONG), stream(REST)], [3, 5, 2], by="tokens", seed=1, stop=stop)
    found = list(data.take(60))
    check(data.take(60), found)
    found = list(data)
    for value, given in enumerate((SHORT, LONG, REST)):
        mine = [each for each in found if each[0] == value]
        assert len(mine) == (len(given) if stop == "all_exhausted" else len(mine))
        assert all(np.array_equal(*pair) for pair in zip(mine, given, strict=False))
    if stop == "first_exhausted":
        assert any(
            sum(each[0] == value for each in found) == len(given) for value, given in enumerate((SHORT, LONG, REST))
        )


def test_equal_lengths_come_in_random_order():
    one, other = (pipeline.dataset([np.full(8, value)]).repeat() for value in (0, 1))
    data = pipeline.mix([one, other], by=len, seed=1)
    first = [int(each[0]) for each in data.shard(0, 2).take(400)]
    assert 120 < sum(first) < 280
    assert [int(each[0]) for each in pipeline.mix([one, other], by=len, seed=2).take(50)] != first[:50]


def test_by_a_field():
    given = [[{"tokens": each} for each in documents] for documents in (SHORT, LONG)]
    by_field = pipeline.mix([stream(each) for each in given], by="tokens", seed=3)
    by_function = pipeline.mix([stream(each) for each in (SHORT, LONG)], by=len, seed=3)
    assert [each["tokens"].tolist() for each in by_field] == [each.tolist() for each in by_function]


def test_empty_examples():
    data = pipeline.mix([stream([np.zeros(0)] * 5 + [np.ones(3)]), stream([np.ones(1)] * 9)], by=len, seed=1)
    assert len(list(data)) == 15
    check(data, list(data))


@pytest.mark.parametrize("by", [None, len], ids=["examples", "tokens"])
def test_a_schedule(by):
    start = 300 if by is None else 9000
    inputs = [stream(SHORT).repeat(), stream(LONG).repeat()]
    data = pipeline.mix(inputs, [(0, [1, 0]), (start, [1, 3]), (2 * start, [0, 1])], by=by, seed=1)
    found = list(data.take(1200))
    sizes = np.cumsum([1 if by is None else len(each) for each in found])
    phases = np.searchsorted([start, 2 * start], sizes - 1, "right")
    shares = []
    for phase in range(3):
        mine = [each for each, at in zip(found, phases, strict=True) if at == phase]
        counts = np.bincount([int(each[0]) for each in mine], minlength=2) if by is None else tokens_of(mine, 2)
        shares.append(counts[1] / counts.sum())
    assert shares[0] < 0.02
    assert abs(shares[1] - 0.75) < 0.08
    assert shares[2] > 0.97
    short = pipeline.mix(inputs, [(0, [1, 0]), (5, [1, 3]), (60, [0, 1])], by=by, seed=1).take(40)
    check(short, list(short))


def test_a_phase_begins_early_if_all_that_it_draws_has_ended():
    data = pipeline.mix([pipeline.dataset([1, 2]), pipeline.dataset([3, 4])], [(0, [1, 0]), (100, [0, 1])], seed=1)
    check(data, [1, 2, 3, 4])


def test_names():
    inputs = {"web": stream(SHORT), "books": stream(LONG)}
    data = pipeline.mix(inputs, {"books": 2, "web": 1}, by=len, seed=1)
    listed = pipeline.mix(list(inputs.values()), [1, 2], by=len, seed=1)
    assert [each.tolist() for each in data] == [each.tolist() for each in listed]
    assert pipeline.mix(inputs, [(0, {"web": 1, "books": 1}), (5, [1, 2])], seed=1)


def test_a_report_shows_what_was_drawn():
    inputs = {"web": stream(SHORT).repeat(), "books": stream(LONG).repeat()}
    for by in (None, len):
        with iter(pipeline.mix(inputs, [1, 3], by=by, seed=1)) as documents:
            found = [next(documents) for _ in range(400)]
            report = documents.report()
            state = documents.state_dict()
        (stage,) = [each for each in report.stages if (each.kind, each.name) == ("step", "mix")]
        tokens = tokens_of(found, 2).tolist()
        examples = np.bincount([int(each[0]) for each in found]).tolist()
        expected = zip(inputs, examples, tokens if by else [None] * 2, strict=True)
        assert stage.settings["drawn"] == {name: {"examples": n, "tokens": size} for name, n, size in expected}
        assert f"drawn: web {examples[0]:,}" in str(report)
        with iter(pipeline.mix(inputs, [1, 3], by=by, seed=1)) as resumed:
            resumed.load_state_dict(state)
            next(resumed)
            (stage,) = [each for each in resumed.report().stages if (each.kind, each.name) == ("step", "mix")]
            assert sum(each["examples"] for each in stage.settings["drawn"].values()) == 401


@pytest.mark.parametrize("by", [None, len], ids=["examples", "tokens"])
def test_shuffles_below_and_above(by):
    below = [pipeline.dataset(each).shuffle(seed=i) for i, each in enumerate((SHORT, LONG))]
    data = pipeline.mix(below, [1, 2], by=by, seed=1).shuffle(20, seed=5)
    found = list(data)
    assert sorted(len(each) for each in found) == sorted(len(each) for each in [*SHORT, *LONG])
    check(data.take(50), found[:50])
    packed = pipeline.mix(below, [1, 2], by=by, seed=1).shuffle(10, seed=5).pack(256, method="best_fit", buffer=16)
    check(packed.take(9), list(packed.take(9)))
    with pytest.raises(ValueError, match=r"shuffle: .*give a buffer_size"):
        pipeline.mix(below, [1, 2], by=by, seed=1).shuffle(seed=1)


@pytest.mark.parametrize(("weights", "options", "text"), [
    ([0, 0], {}, "mix: at least one weight must be above 0"),
    ([1, float("nan")], {}, "mix: weights must be numbers of at least 0"),
    ([1, 2, 3], {}, "mix: expected 2 weights, one for each dataset"),
    ({"a": 1, "b": 2}, {}, "weights by name are for datasets by name"),
    ([(0, [1, 1]), (9, [1, 1]), (9, [1, 2])], {}, r"the phases of a schedule must ascend, got \[0, 9, 9\]"),
    ([(0, [1, 1]), (9, [1, 1]), (5, [1, 2])], {}, r"the phases of a schedule must ascend, got \[0, 9, 5\]"),
    ([(5, [1, 1])], {}, "the first phase of a schedule must start at 0, got 5"),
    ([(0, [1, 1]), (5, [0, 0])], {}, "mix: phase 1: at least one weight must be above 0"),
    ([(0, [1, 1]), (5, [1])], {}, "mix: phase 1: expected 2 weights"),
    ([(0, [1, 1]), (5,)], {}, r"a schedule is a list of \(start, weights\)"),
    ([(0, [1, 1]), (-5, [1, 1])], {}, "mix: the start of a phase must be"),
    ([1, 1], {"by": 5}, "mix: by must be callable"),
    ([1, 1], {"stop": "never"}, "mix: stop must be 'all_exhausted' or 'first_exhausted'"),
])  # fmt: skip
def test_wrong_arguments(weights, options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        pipeline.mix([stream(SHORT), stream(LONG)], weights, seed=1, **options)


def test_weights_of_other_names():
    with pytest.raises(ValueError, match=r"mix: expected weights for \['a', 'b'\], got \['a', 'c'\]"):
        pipeline.mix({"a": stream(SHORT), "b": stream(LONG)}, {"a": 1, "c": 2})


@pytest.mark.parametrize(("by", "text"), [
    (lambda each: -1, "mix: the length of an example must be an integer of at least 0, got -1 for example 0"),
    (lambda each: len(each) / 2, "mix: the length of an example must be an integer of at least 0, got "),
    ("ids", "mix: by: example 0 is a ndarray, and only a dict has a field 'ids'"),
])  # fmt: skip
def test_lengths_that_do_not_work(by, text):
    with pytest.raises(ValueError, match=text):
        list(pipeline.mix([stream(SHORT), stream(LONG)], by=by, seed=1))


def test_lengths_add_up_to_2_to_the_62_at_most():
    """States count no further; the elements before this limit come, and their states load."""
    given = [2**60, 2**60, 2**61, 1]
    data = pipeline.mix([stream(given), stream([0])], [1, 1], by=lambda x: x, seed=1, stop="all_exhausted")
    begun, other = iter(data), iter(data)
    assert sorted(next(begun) for _ in range(4)) == [0, *given[:3]]
    other.load_state_dict(begun.state_dict())
    for each in (begun, other):
        with pytest.raises(ValueError, match=r"mix: by: the lengths .* add up to more than 2\*\*62"):
            next(each)


def test_an_error_comes_after_the_elements_before_it():
    def fail(row):
        if len(row) == len(LONG[3]):
            raise LookupError
        return row

    found = []
    with pytest.raises(LookupError):
        found.extend(pipeline.mix([stream(SHORT), stream(LONG).map(fail)], [1, 8], by=len, seed=1))
    assert sum(each[0] == 1 for each in found) == 3


@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e308])
@pytest.mark.parametrize("by", [None, len], ids=["examples", "tokens"])
def test_weights_of_any_size_are_relative(by, weight):
    inputs = [pipeline.dataset([np.full(8, value)]).repeat() for value in (0, 1)]
    first = [int(each[0]) for each in pipeline.mix(inputs, [weight, weight], by=by, seed=1).take(400)]
    assert 140 < sum(first) < 260
