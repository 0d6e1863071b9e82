"""sort: runs with n elements, each ordered by a key."""

import gc
import json
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest
from dataset_contract import check, stream

import pipeline

VALUES = [7, 3, 11, 0, 5, 5, 2, 9, 1, 4, 3, 8, 6]
MAKES = {"indexed": pipeline.dataset, "streamed": stream, "filtered": lambda rows: pipeline.dataset(rows).filter(true)}


def true(x):
    return True


def same(x):
    return x


def by_third(x):
    return int(x) % 3


def fails_at_5(x):
    return 60 // (x - 5)


def drawn(x):
    return int(x), int(pipeline.example_rng().integers(1 << 40))


def runs(rows, n, key, reverse=False):
    parts = [sorted(rows[i : i + n], key=key, reverse=reverse) for i in range(0, len(rows), n)]
    return [each for part in parts for each in part]


@pytest.fixture(params=MAKES.values(), ids=MAKES)
def make(request):
    return request.param


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, 13, 14, 10**18])
def test_runs_are_sorted_and_equal_ones_keep_their_order(make, n, reverse):
    data = make(VALUES).sort(n, by_third, reverse=reverse)
    check(data, runs(VALUES, n, by_third, reverse))


def test_nothing_to_sort(make):
    check(make([]).sort(3, same), [])


@pytest.mark.parametrize("count", [127, 128, 129, 300])
def test_runs_longer_than_what_is_taken_at_once(make, count):
    rows = [(37 * i) % 211 for i in range(300)]
    assert list(make(rows).sort(count, same)) == runs(rows, count, same)


KEYS = {
    "floats": float,
    "texts": str,
    "tuples": lambda x: (x % 2, -x),
    "of NumPy": np.float32,
    "arrays of one number": lambda x: np.array([x]),
    "large ones": lambda x: 10**30 - x,
    "mixed numbers": lambda x: x / 2 if x % 2 else x,
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_of_any_kind(name):
    key = KEYS[name]
    check(stream(VALUES).sort(5, key), runs(VALUES, 5, key))


CHAINS = {
    "batch": lambda data: data.sort(5, by_third).batch(2),
    "take, skip": lambda data: data.skip(1).sort(5, by_third).skip(3).take(6),
    "shard": lambda data: data.sort(5, by_third).shard(1, 2),
    "sort of sorted": lambda data: data.sort(5, same).sort(3, by_third),
    "pool": lambda data: data.shuffle(4, seed=1).sort(5, same).shuffle(3, seed=2),
    "repeat": lambda data: data.sort(5, same).repeat(2).sort(4, by_third),
    "zip": lambda data: pipeline.zip(data, data.sort(5, same)),
    "mix": lambda data: pipeline.mix([data.sort(5, same), data], seed=1),
    "flat_map": lambda data: data.flat_map(lambda x: [x] * (x % 3)).sort(5, same).flat_map(lambda x: [x, -x]),
    "skipping": lambda data: data.map(fails_at_5, on_error="skip").sort(5, same).map(fails_at_5, on_error="skip"),
    "batches": lambda data: data.batch(2).sort(3, np.sum).unbatch(),
    "map": lambda data: data.map(drawn, seed=1).sort(5, lambda pair: pair[1]).map(lambda pair: pair[0]),
}


@pytest.mark.parametrize("name", CHAINS)
def test_in_chains(make, name):
    data = CHAINS[name](make(VALUES))
    check(data, list(data))


@pytest.mark.parametrize("workers", [2, pipeline.processes(2)], ids=["threads", "processes"])
def test_workers_and_prefetch_before_and_behind_change_nothing(make, workers):
    def recipe(calls, ahead):
        data = make(VALUES).map(abs, **calls).prefetch(ahead).sort(5, by_third)
        return data.prefetch(ahead).map(drawn, seed=1, **calls).prefetch(ahead)

    alone, together = recipe({}, 0), recipe({"workers": workers}, 3)
    check(together, list(alone))
    with iter(together) as iterator:
        states = [iterator.state_dict(), *(iterator.state_dict() for _ in iterator)]
    for k, state in enumerate(states):
        with iter(alone) as again:
            again.load_state_dict(state)
            assert list(again) == list(alone)[k:]


ROWS = {"x": np.array([[3, 3], [1, 1], [2, 2], [0, 0], [5, 5]], np.int16), "name": np.array(list("dbcaf"), object)}


def test_columns_stay_columns():
    data = pipeline.arrays(ROWS).sort(4, lambda row: row["x"][0])
    names = ["a", "b", "c", "d", "f"]
    check(data, [{"x": [x, x], "name": name} for x, name in zip([0, 1, 2, 3, 5], names, strict=True)])
    (batch,) = data.batch(5)
    assert batch["x"].dtype == np.int16
    assert batch["x"][:, 0].tolist() == [0, 1, 2, 3, 5]
    assert batch["name"].tolist() == names
    records = np.array([(2, 1.0), (1, 2.0)], [("a", "i4"), ("b", "f8")])
    assert [row["b"] for row in pipeline.arrays(records).sort(2, lambda row: row["a"])] == [2.0, 1.0]


def test_examples_of_other_shapes():
    rows = [{"t": [1] * n} for n in (3, 1, 2)] + [{"t": [1], "u": 1}]
    check(stream(rows).sort(4, lambda row: len(row["t"])), [rows[1], rows[3], rows[2], rows[0]])


def test_little_of_a_batch_is_padding():
    rows = [[n] * n for n in (1, 9, 2, 8)]
    assert [batch.shape for batch in pipeline.dataset(rows).sort(4, len).batch(2, pad=0)] == [(2, 2), (2, 9)]


def test_examples_keep_their_numbers(make):
    """Their random numbers depend on these."""
    expected = runs(list(make(VALUES).map(drawn, seed=1)), 5, lambda pair: by_third(pair[0]))
    check(make(VALUES).sort(5, by_third).map(drawn, seed=1), expected)


def test_later_errors_name_the_file_and_line(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"n": 7}\n{"n": 3}\n{"n": 5}\n')
    data = pipeline.jsonl(str(path)).sort(3, lambda row: row["n"]).map(lambda row: fails_at_5(row["n"]))
    with pytest.raises(ZeroDivisionError) as caught:
        list(data)
    assert_notes(caught.value, "lines.jsonl:3")


def assert_notes(error, text):
    """Notes exist from Python 3.11 on."""
    if sys.version_info >= (3, 11):
        assert any(text in note for note in error.__notes__), error.__notes__


def test_the_key_is_called_once_for_each_example():
    seen = []
    list(stream(VALUES).sort(5, lambda x: seen.append(x) or x))
    assert seen == VALUES


def test_the_length_is_known_and_elements_have_no_places():
    data = pipeline.dataset(VALUES).sort(5, same)
    assert len(data) == len(VALUES)
    with pytest.raises(TypeError, match="sort is a stream"):
        data[0]


def test_what_it_is_called():
    data = pipeline.dataset(VALUES)
    assert repr(data.sort(5, by_third)) == "dataset(list of 13).sort(n=5, key='by_third')"
    assert repr(data.sort(5, by_third, reverse=True)).endswith("key='by_third', reverse=True)")
    assert list(pickle.loads(pickle.dumps(data.sort(5, by_third)))) == list(data.sort(5, by_third))


@pytest.mark.parametrize(
    "other",
    [lambda d: d.sort(4, by_third), lambda d: d.sort(5, same), lambda d: d.sort(5, by_third, reverse=True)],
    ids=["n", "key", "reverse"],
)
def test_states_belong_to_one_recipe(other):
    data = pipeline.dataset(VALUES)
    with iter(data.sort(5, by_third)) as iterator:
        next(iterator)
        state = iterator.state_dict()
    with iter(other(data)) as again, pytest.raises(pipeline.errors.StateMismatchError, match="sort"):
        again.load_state_dict(state)


def test_states_are_as_small_for_large_runs(make):
    def size(n):
        with iter(make(list(range(5000))).sort(n, by_third)) as iterator:
            next(iterator)
            return len(json.dumps(iterator.state_dict()))

    assert size(5000) < size(5) + 20


WRONG = {
    "mixed": (
        lambda x: "a" if x == 2 else x,
        r"key_of returned \d+ for .* and 'a' for .*, which cannot be compared: '<'",
    ),
    "in tuples": (lambda x: (0, "a" if x == 2 else x), r"returned \(0, .*\(0, 'a'\).*cannot be compared: '<'"),
    "dicts": (lambda x: {}, r"returned \{\} for .* and \{\} for .*, which cannot be compared"),
    "arrays": (lambda x: np.arange(2), r"returned array\(\[0, 1\]\) for .*cannot be compared: The truth value"),
    "NaN": (lambda x: float("nan") if x == 2 else x, "returned nan for .*: NaN is neither smaller nor larger"),
    "NaN in a tuple": (lambda x: (1, np.float32("nan")), r"returned \(1, .*nan.* for .*: NaN is"),
    "NaT": (lambda x: np.datetime64("NaT", "s"), "returned np.datetime64.*NaT.* for .*: NaN is"),
    "None": (lambda x: None, "key_of returned None, which cannot be sorted"),
    "an error": (fails_at_5, "division"),
    "the end": (lambda x: next(iter(())), "key_of raised StopIteration"),
    "draws": (lambda x: pipeline.example_rng(), "the key of sort must not draw random numbers: draw them in a map"),
}
FIRST = [1, 3, 4, 4]  # the run before
AFTER = [7, 11, 5, 2, 9]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", WRONG)
def test_a_run_whose_keys_cannot_be_had_or_compared(make, name, reverse):
    """The error comes once, after the runs before it, and again if a run resumes there."""
    key, text = WRONG[name]
    at = []

    def key_of(x):
        at.append(x)
        return x if len(at) <= len(FIRST) else key(x)

    iterator = iter(make(FIRST + AFTER).sort(4, key_of, reverse=reverse))
    assert [next(iterator) for _ in FIRST] == sorted(FIRST, reverse=reverse)
    state = iterator.state_dict()
    with pytest.raises(Exception, match=text) as caught:
        next(iterator)
    assert_notes(caught.value, "in .sort(...) written at")
    assert list(iterator) == []
    assert iterator.state_dict()["state"] == state["state"]
    with iter(make(FIRST + AFTER).sort(4, key_of, reverse=reverse)) as again:
        again.load_state_dict(state)
        with pytest.raises(Exception, match=text):
            next(again)


class Moody:
    """A key whose first comparison fails."""

    count = 0

    def __lt__(self, other):
        Moody.count += 1
        if Moody.count == 1:
            raise LookupError("not now")
        return False


def test_keys_that_can_be_compared_the_second_time():
    data = pipeline.dataset([1, 2, 3]).sort(3, lambda x: Moody())
    with pytest.raises(ValueError, match="sort: the values returned by <lambda> cannot be compared: not now"):
        list(data)


def test_errors_name_the_key_and_the_example():
    with pytest.raises(ZeroDivisionError) as caught:
        list(pipeline.dataset(VALUES).skip(1).sort(5, fails_at_5))
    assert_notes(caught.value, "fails_at_5: example 4")
    with pytest.raises(pipeline.errors.InvalidArgumentError, match="nan for example 3: NaN"):
        list(stream(VALUES).sort(5, lambda x: x or float("nan")))


def test_an_error_of_a_key_is_not_one_of_the_function_behind():
    data = pipeline.dataset(VALUES).sort(5, fails_at_5).map(same, on_error="skip")
    with pytest.raises(ZeroDivisionError):
        list(data)


def test_an_example_that_cannot_be_made_comes_after_the_run_before():
    found = []
    with pytest.raises(ZeroDivisionError) as caught:
        found.extend(pipeline.dataset([3, 1, 7, 5, 9]).map(fails_at_5).sort(2, same, reverse=True))
    assert_notes(caught.value, "fails_at_5: example 3")
    iterator = iter(pipeline.dataset([3, 1, 7, 5, 9]).map(fails_at_5).sort(2, same, reverse=True))
    assert [next(iterator), next(iterator)] == [-15, -30]
    with pytest.raises(ZeroDivisionError):
        next(iterator)


class Example:
    def __init__(self, number):
        self.number = number


def test_no_more_than_a_run_is_in_memory():
    alive = weakref.WeakSet()

    def examples():
        for i in range(1000):
            example = Example(i)
            alive.add(example)
            yield example
            del example

    most = 0
    for i, _ in enumerate(pipeline.dataset(examples).sort(100, lambda example: -example.number)):
        if i % 100 in (0, 1, 50, 99):
            gc.collect()
        most = max(most, len(alive))
    assert most <= 102  # this loop's element is in the run before, and the generator holds one


def test_close_does_not_wait_for_a_run():
    """The run has 10**9 examples, each computed in another thread."""
    begun = threading.Event()

    def key(x):
        begun.set()
        return x

    with iter(pipeline.dataset(range(10**9)).map(same).sort(10**9, key).prefetch(1)) as iterator:
        iterator.start()
        assert begun.wait(60)


def test_arguments():
    data = pipeline.dataset(VALUES)
    with pytest.raises(ValueError, match="sort: n must be"):
        data.sort(0, same)
    with pytest.raises(TypeError, match="sort: key must be callable"):
        data.sort(2, "name")
    with pytest.raises(TypeError, match="sort: reverse"):
        data.sort(2, same, reverse="no")
    with pytest.raises(ValueError, match=r"sort: the batches of .* depend on time: write sort before batch"):
        data.batch(2, max_wait=1).sort(2, len)
