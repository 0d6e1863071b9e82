"""replay: draws with replacement from examples that threads add, by priority, limiting whichever side is ahead."""

import contextlib
import itertools
import pickle
import re
import sys

import ml_dtypes
import numpy as np
import pytest
from helpers import run_in_thread as start
from orchestration import no_thread_left

import pipeline
from pipeline.datasets.replay import ReplayBuffer
from pipeline.stages.sum_tree import SumTree


def raises(cls, text):
    return pytest.raises(cls, match=re.escape(text))


def filled(n, capacity=100, **options):
    buffer = pipeline.replay(capacity, seed=1, **options)
    for i in range(n):
        assert buffer.add({"n": i, "x": np.full((2, 3), i, np.float32)}) == i
    return buffer


def drawn(dataset, batches, size):
    with iter(dataset.batch(size)) as iterator:
        return [next(iterator) for _ in range(batches)]


def test_draws_are_uniform_with_replacement():
    buffer = filled(10)
    batches = drawn(buffer, 20, 500)
    counts = np.bincount(np.concatenate([batch["n"] for batch in batches]), minlength=10)
    assert len(counts) == 10
    assert (abs(counts - 1000) < 200).all()  # about 30 is usual
    for batch in batches:
        assert batch["x"].shape == (500, 2, 3)
        assert batch["x"].dtype == np.float32
        assert (batch["x"] == batch["n"][:, None, None]).all()


def test_draws_follow_from_the_seed():
    first, again, other = (np.concatenate([batch["n"] for batch in drawn(filled(50), 4, 10)]) for _ in range(3))
    assert first.tolist() == again.tolist() == other.tolist()
    buffer = filled(50)
    epochs = [np.concatenate([batch["n"] for batch in drawn(buffer.epoch(i), 4, 10)]).tolist() for i in range(2)]
    assert epochs[0] == first.tolist() != epochs[1]


@pytest.mark.parametrize("priorities", [False, True])
def test_draws_are_the_same_one_by_one_and_in_batches(priorities):
    buffer = filled(250, priorities=priorities)
    [batch] = drawn(buffer, 1, 60)
    with iter(buffer) as samples:
        alone = [next(samples) for _ in range(60)]
    if priorities:
        assert [sample.key for sample in alone] == batch.key.tolist()
    else:
        assert [example["n"] for example in alone] == batch["n"].tolist()


@pytest.mark.parametrize(
    ("first", "others"),
    [
        (1.5, [2, True, np.float32(3), np.float64(4), np.array(5.0), np.array([6.0])[0]]),
        (7, [True, np.int8(1), np.int64(-2), np.array(3)]),
        (np.float32(1), [0.5, 2, np.float16(3), np.array(4, np.float32)]),
        (np.array(1.0), [2.5, 3, np.array(4.0)]),
        (1j, [2.0, 3, np.complex64(4j), np.complex128(5j)]),
        (True, [False, np.True_, np.array(False)]),
        (np.arange(4.0)[::2], [np.arange(4.0)[::-2], np.ones(2, ">f8"), np.ones(2, np.float32), [3.0, 4.0]]),
    ],
)
@pytest.mark.parametrize("structure", ["value", "dict", "tuple", "nested"])
def test_examples_of_other_types_than_the_first_become_its_dtype(first, others, structure):
    buffer = pipeline.replay(10)
    for x in [first, *others]:
        buffer.add({"value": x, "dict": {"b": x, "a": 1}, "tuple": (x, 1), "nested": {"a": (x,)}}[structure])
    found = buffer.state_dict()["examples"]
    while isinstance(found, (dict, tuple)):
        found = found[0] if isinstance(found, tuple) else found.get("b", found["a"])
    assert found.dtype == np.asarray(first).dtype
    assert found.tolist() == np.array([first, *others], found.dtype).tolist()


def test_numbers_that_do_not_fit_change_nothing():
    buffer = pipeline.replay(3)
    for step in range(4):
        buffer.add({"n": step, "x": float(step)})
    for odd in (
        {"n": 2**63, "x": 0.0},
        {"n": 1.5, "x": 0.0},
        {"n": 1},
        {"n": 1, "y": 0.0},
        {"n": 1, "x": "1"},
        (1, 0.0),
    ):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            buffer.add(odd)
    assert buffer.inserted == 4
    assert buffer.state_dict()["examples"]["n"].tolist() == [1, 2, 3]


def test_the_oldest_go():
    buffer = filled(250)
    assert (buffer.size, buffer.inserted, buffer.capacity) == (100, 250, 100)
    [batch] = drawn(buffer, 1, 5000)
    assert set(batch["n"]) == set(range(150, 250))
    assert (batch["x"][:, 0, 0] == batch["n"]).all()
    assert buffer.sampled == 5000


def test_priorities_decide_how_often():
    buffer = pipeline.replay(100, priorities=True, seed=1)
    for i in range(120):
        buffer.add(i, priority=i % 3)
    [sample] = drawn(buffer, 1, 30_000)
    assert (sample.example == sample.key).all()
    assert set(sample.key) == {i for i in range(20, 120) if i % 3}
    counts = np.bincount(sample.key, minlength=120)
    weights = np.array([i % 3 if i >= 20 else 0 for i in range(120)])
    assert abs(counts / 30_000 - weights / weights.sum()).max() < 0.005
    assert np.allclose(sample.probability, weights[sample.key] / weights.sum())


def test_priorities_can_be_updated():
    buffer = pipeline.replay(8, priorities=True, seed=1)
    keys = [buffer.add(i) for i in range(12)]
    assert buffer.update(keys, 0) == 8  # four have been removed
    assert buffer.update([5, 7, 7], [1, 9, 3]) == 3
    [sample] = drawn(buffer, 1, 4000)
    assert set(sample.key) == {5, 7}
    assert abs((sample.key == 7).mean() - 0.75) < 0.05
    assert buffer.update(np.array([], np.int64), 1.0) == 0
    assert buffer.update([], []) == 0
    for given, error in (
        ([12], "there was no example with the key 12: the last one is 11"),
        ([-1], "there was no example with the key -1"),
        (np.array([2**63], np.uint64), f"there was no example with the key {2**63}"),
        ([0.5], "keys must be integers, got dtype float64"),
        ([[1]], "keys must be integers"),
    ):
        with raises(ValueError, error):
            buffer.update(given, 1)
    for given in (-1, np.nan, np.inf, "high", "1", 10**400, None):
        with raises(ValueError, "a priority must be a number"):
            buffer.update([5], given)
        if given is not None:
            with raises(ValueError, "a priority must be a number"):
                buffer.add(1, priority=given)
    with raises(ValueError, "expected 2 priorities, one for each key, got shape [3]"):
        buffer.update([5, 6], [1, 2, 3])
    with raises(ValueError, "has no priorities: pass priorities=True"):
        pipeline.replay(5).add(1, priority=2.0)
    with raises(ValueError, "add: None is not an example"):
        pipeline.replay(5).add(None)
    with raises(ValueError, "has no priorities: pass priorities=True"):
        filled(3).update([0], 1)


def test_a_sampler_waits_for_min_size_and_for_a_priority():
    buffer = pipeline.replay(10, priorities=True, min_size=3, seed=1)
    with no_thread_left(), iter(buffer) as samples:
        buffer.add(0)
        buffer.add(1)
        with pytest.raises(pipeline.DeadlineExceededError):
            samples.next(timeout=0)
        call = start(next, samples)
        buffer.add(2)
        assert call.result().example in (0, 1, 2)
        buffer.update([0, 1, 2], 0)
        with pytest.raises(pipeline.DeadlineExceededError):
            samples.next(timeout=0)
        call = start(next, samples)
        buffer.update([1], 2.0)
        assert call.result()[:2] == (1, 1.0)


def test_the_rate_holds_back_whoever_is_ahead():
    buffer = pipeline.replay(100, min_size=10, samples_per_insert=2, slack=4, seed=1)
    for i in range(12):  # two may be ahead
        buffer.add(i, timeout=0)
    with raises(pipeline.DeadlineExceededError, "'replay': add timed out: samples_per_insert allows no more"):
        buffer.add(12, timeout=0)
    with iter(buffer) as samples:
        call = start(buffer.add, 12)
        next(samples)
        next(samples)
        call.result()
        for _ in range(8):  # 3 inserts allow 6 samples, and 4 may be ahead
            samples.next(timeout=0)
        with pytest.raises(pipeline.DeadlineExceededError):
            samples.next(timeout=0)
    assert (buffer.inserted, buffer.sampled) == (13, 10)


@pytest.mark.parametrize("priorities", [False, True])
def test_threads_add_while_others_sample(priorities):
    buffer = pipeline.replay(50, priorities=priorities, min_size=20, samples_per_insert=8, seed=1)

    def actor(number):
        for i in range(300):
            buffer.add({"a": np.full(5, number * 1000 + i), "b": number * 1000 + i}, 1 + i % 5 if priorities else None)

    def learner():
        with iter(buffer.batch(16)) as batches:
            for batch in batches:
                found = batch.example if priorities else batch
                assert (found["a"] == found["b"][:, None]).all()  # no half-written rows
                if priorities:
                    buffer.update(batch.key, np.ones(len(batch.key)))  # the last batch may be smaller

    with no_thread_left():
        actors, learners = [start(actor, i) for i in range(3)], [start(learner) for _ in range(2)]
        for call in actors:
            call.result()
        buffer.close()
        for call in learners:
            call.result()
    assert buffer.inserted == 900
    assert 8 * (900 - 20) - 20 <= buffer.sampled <= 8 * (900 - 20) + 20


@pytest.mark.parametrize("seed", range(25))
def test_any_order_of_calls(seed):
    """Compare with a dict of priorities: the examples held, which can be drawn, and how probably."""
    random = np.random.default_rng(seed)
    capacity = int(random.choice([1, 2, 5, 17, 300]))
    buffer = pipeline.replay(capacity, priorities=True, seed=seed)
    held, added = {}, 0
    with iter(buffer.batch(8)) as samples:
        for _ in range(200):
            call = random.choice(["add", "add", "update", "sample"])
            if call == "add":
                held[added] = float(random.choice([0, 0.5, 1, 3]))
                assert buffer.add({"x": added}, held[added]) == added
                held.pop(added - capacity, None)
                added += 1
            elif call == "update" and added:
                keys, priorities = random.integers(added, size=4), random.choice([0, 0.1, 2, 7], 4)
                assert buffer.update(keys, priorities) == sum(key in held for key in keys.tolist())
                held |= {k: p for k, p in zip(keys.tolist(), priorities.tolist(), strict=True) if k in held}
            elif call == "sample" and sum(held.values()):
                sample = next(samples)
                assert sample.key.tolist() == sample.example["x"].tolist()
                expected = [held[key] / sum(held.values()) for key in sample.key.tolist()]
                np.testing.assert_allclose(sample.probability, expected)
                assert min(expected) > 0
            assert (buffer.size, buffer.inserted) == (len(held), added)


def test_a_closed_buffer_ends_everybody():
    buffer = pipeline.replay(10, samples_per_insert=1, slack=1, seed=1)
    for i in range(2):
        buffer.add(i)
    empty = pipeline.replay(10)
    with no_thread_left():
        adding, taking = start(buffer.add, 2), start(lambda: list(empty.batch(2)))
        buffer.close()
        empty.close()
        with raises(pipeline.CancelledError, "'replay' is closed: nothing can be added"):
            adding.result()
        assert taking.result() == []
    assert list(buffer) == []
    with pipeline.replay(3, name="own") as other:
        other.add(1)
    with raises(pipeline.CancelledError, "'own' is closed"):
        other.add(1)


def test_any_structure():
    buffer = pipeline.replay(10, seed=1)
    chat = pipeline.ListValue([{"role": "user"}])
    for i in range(3):
        buffer.add(({"image": np.full((2, 2), i, np.uint8)}, f"text {i}", b"x" * i, chat, True))
    [(images, texts, data, chats, flags)] = drawn(buffer, 1, 20)
    for image, text, each in zip(images["image"], texts, data, strict=True):
        assert text == f"text {image[0, 0]}"
        assert each == b"x" * image[0, 0]
    assert chats[0] == [{"role": "user"}]
    assert flags.dtype == bool
    scalars = pipeline.replay(4, seed=1)
    scalars.add(2.5)
    scalars.add(1)
    assert set(drawn(scalars, 1, 50)[0]) == {1.0, 2.5}


def test_examples_are_copied():
    buffer = pipeline.replay(4)
    given = np.zeros(3)
    buffer.add(given)
    given[:] = 7
    [batch] = drawn(buffer, 1, 2)
    batch[:] = 9
    assert not drawn(buffer, 1, 2)[0].any()


STRUCTURE = np.dtype([("a", np.int32), ("b", np.float32)])
OWN_ROWS = {
    "bfloat16": np.ones(2, ml_dtypes.bfloat16),
    "float8": np.ones(2, ml_dtypes.float8_e4m3fn),
    "text": np.array(["a", "b"]),
    "bytes": np.array([b"a", b"b"]),
    "structure": np.array([(1, 2.0), (3, 4.0)], STRUCTURE),
    "objects": np.array([None, "x"], object),
}


@pytest.mark.parametrize("name", OWN_ROWS)
def test_arrays_of_every_dtype_are_copied_and_checked(name):
    given = OWN_ROWS[name].copy()
    before = given.tolist()
    buffer = pipeline.replay(4)
    buffer.add({"x": given})
    given[:] = given[::-1].copy()
    given[0] = given[1]
    for _ in range(2):  # because `add` copies, and each draw too
        drawn_one = next(iter(buffer))["x"]
        assert drawn_one.tolist() == before
        drawn_one[:] = drawn_one[1]
        batch = next(iter(buffer.batch(2)))["x"]
        assert batch.shape == (2, 2)
        assert batch.tolist() == [before] * 2
        batch[:] = batch[0, 1]
    with raises(pipeline.InvalidArgumentError, "'replay': component 'x' has shape [3], and in the first example [2]"):
        buffer.add({"x": np.zeros(3, given.dtype)})
    if name != "objects":  # they hold anything
        with raises(TypeError, "'replay': component 'x' has dtype complex128, and in the first example"):
            buffer.add({"x": np.zeros(2, complex)})
    assert buffer.inserted == 1


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("a", 5, "has dtype int64, and in the first example dtype str"),
        ("a", b"a", "has dtype |S1, and in the first example dtype str"),
        (np.array(["a"]), np.array([b"a"]), "has dtype |S1, and in the first example dtype str"),
        (5, "a", "has dtype <U1, and in the first example dtype int64"),
        (np.zeros((), STRUCTURE), np.zeros((), "i4,f4"), "has dtype [('f0', '<i4'), ('f1', '<f4')], and in the first"),
        (pipeline.ListValue([1]), 5, "has dtype int64, and in the first example a pipeline.ListValue"),
        (5, pipeline.ListValue([1]), "has a pipeline.ListValue, and in the first example dtype int64"),
    ],
)
def test_texts_structures_and_lists_stay_what_they_are(first, second, said):
    buffer = pipeline.replay(4)
    buffer.add(first)
    with raises(TypeError, f"'replay': the example {said}"):
        buffer.add(second)
    assert buffer.inserted == 1


def test_texts_of_any_length_and_lists():
    buffer = pipeline.replay(4, seed=1)
    chat = pipeline.ListValue([{"text": [1]}])
    for words in (["a", "b"], ["longer", ""]):
        buffer.add((np.array(words), words[0], chat))
    chat[0]["text"].append(2)
    [(arrays, texts, chats)] = drawn(buffer, 1, 20)
    assert {(*words, text) for words, text in zip(arrays.tolist(), texts.tolist(), strict=True)} == {
        ("a", "b", "a"),
        ("longer", "", "longer"),
    }
    chats[0][0]["text"].append(3)
    assert next(iter(buffer))[2] == [{"text": [1]}]


@pytest.mark.parametrize(
    ("example", "cls", "said"),
    [
        ({"n": 1}, ValueError, "'replay': the example differs from the first"),
        (5, ValueError, "'replay': the example differs from the first"),
        ({"n": 1, "x": np.zeros((3, 2))}, ValueError, "component 'x' has shape [3,2], and in the first example [2,3]"),
        (
            {"n": 1.5, "x": np.zeros((2, 3))},
            TypeError,
            "component 'n' has dtype float64, and in the first",
        ),
        ({"n": "one", "x": np.zeros((2, 3))}, TypeError, "component 'n' has dtype <U3"),
    ],
)
def test_examples_that_do_not_fit(example, cls, said):
    buffer = filled(2)
    with raises(cls, said):
        buffer.add(example)
    assert buffer.inserted == 2
    single = pipeline.replay(3)
    single.add(1)
    with raises(ValueError, "the first example was one value, and this is {'a': 1}"):
        single.add({"a": 1})


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (np.int8(1), 300, "300 is out of the range of int8"),
        (np.int8([1]), np.array([300]), "300 is out of the range of int8"),
        (np.int8(1), -129, "-129 is out"),
        (np.int32(1), 2**31, "int32"),
        (1, 2**63, "9223372036854775808 is out of the range of int64"),
        (1, np.uint64(2**63), "int64"),
        (np.float32(1), 1e300, "1e\\+300 is out of the range of float32"),
        ({"x": np.int8(1)}, {"x": 128}, "component 'x': 128 is out"),
    ],
)
def test_numbers_do_not_wrap(first, second, said):
    buffer = pipeline.replay(4, seed=1)
    buffer.add(first)
    with pytest.raises(OverflowError, match=said):
        buffer.add(second)
    assert buffer.inserted == 1


def test_times_are_not_cut():
    buffer = pipeline.replay(4, seed=1)
    buffer.add(np.datetime64("2020-01-01"))
    with pytest.raises(TypeError, match=r"dtype datetime64\[h\], and in the first .* datetime64\[D\], which does not"):
        buffer.add(np.datetime64("2020-01-01T05", "h"))
    buffer.add(np.datetime64("2020-01-02T00", "h"))
    buffer.add(np.datetime64("NaT", "h"))
    assert buffer.inserted == 3


def test_priorities_have_a_sum():
    buffer = pipeline.replay(4, priorities=True, seed=1)
    buffer.add(0, priority=4e307)
    for change in (lambda: buffer.add(1, priority=1e308), lambda: buffer.update([0], 1e308)):
        with pytest.raises(ValueError, match=r"a priority must be at most 4\.49e\+307, got 1e\+308"):
            change()
    buffer.add(1, priority=4e307)
    assert {*next(iter(buffer.batch(40))).example.tolist()} == {0, 1}


def test_numbers_that_fit_are_cast():
    buffer = pipeline.replay(4, seed=1)
    for value in (np.float32(1), np.float64(0.5), np.float64(np.inf)):
        buffer.add(value)
    assert sorted({*next(iter(buffer.batch(40))).tolist()}) == [0.5, 1.0, np.inf]
    buffer = pipeline.replay(4, seed=1)
    for value in (np.int8(1), 127, -128):
        buffer.add(value)
    assert sorted({*next(iter(buffer.batch(40))).tolist()}) == [-128, 1, 127]


def test_it_has_no_states_and_does_not_pickle():
    buffer = filled(5)
    samples = iter(buffer)
    next(samples)
    with raises(pipeline.FailedPreconditionError, "'replay' is a replay buffer, which cannot be rewound"):
        samples.state_dict()
    with raises(TypeError, "'replay' cannot be pickled"):
        pickle.dumps(buffer)
    with raises(TypeError, "has no end"):
        len(buffer)


@pytest.mark.parametrize(
    ("options", "cls", "said"),
    [
        ({"capacity": 0}, ValueError, "replay: capacity must be at least 1, got 0"),
        ({"capacity": 1.5}, TypeError, "replay: capacity"),
        ({"min_size": 11}, ValueError, "replay: min_size must be 1 to the capacity of 10, got 11"),
        ({"min_size": 0}, ValueError, "replay: min_size must be 1"),
        ({"samples_per_insert": 0}, ValueError, "replay: samples_per_insert must be a number above 0, got 0"),
        ({"samples_per_insert": "2"}, TypeError, "replay: samples_per_insert must be a number, not '2'"),
        ({"samples_per_insert": float("nan")}, ValueError, "replay: samples_per_insert must be a number above 0"),
        (
            {"samples_per_insert": 8, "slack": 4},
            ValueError,
            "replay: slack must be at least 4.5 with samples",
        ),
        ({"slack": 4}, ValueError, "replay: slack needs samples_per_insert"),
        ({"seed": "x"}, TypeError, "replay: seed"),
        ({"priorities": "no"}, TypeError, "replay: priorities"),
    ],
)
def test_bad_arguments(options, cls, said):
    with raises(cls, said):
        pipeline.replay(**{"capacity": 10, **options})


def test_a_closed_iterator_stops_waiting():
    with no_thread_left():
        samples = iter(pipeline.replay(3).batch(2).prefetch(1))
        samples.start()
        samples.close()
        with pytest.raises(pipeline.errors.FailedPreconditionError, match="this iterator is closed"):
            list(samples)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 300, 5000])
def test_sum_trees(size):
    rng = np.random.default_rng(size)
    tree, weights = SumTree(size), np.zeros(size)
    for _ in range(20):
        places = rng.integers(0, size, 30)
        values = rng.random(30) * (rng.random(30) < 0.7) * 10.0 ** rng.integers(-8, 8, 30)
        tree.set(places, values)
        weights[places] = values
        place = int(rng.integers(size))
        tree.set_one(place, 0.5)
        weights[place] = 0.5
        assert (tree.get(np.arange(size)) == weights).all()
        assert np.isclose(tree.total, weights.sum())
        fractions = np.concatenate([rng.random(100), [0, np.nextafter(1, 0)]])
        found = tree.draw(fractions)
        assert (weights[found] > 0).all()
        ends = weights.cumsum()
        near = np.minimum(np.searchsorted(ends, fractions * ends[-1], "right"), size - 1)
        assert np.allclose(ends[found], ends[near], rtol=1e-9, atol=1e-9 * ends[-1])


@pytest.mark.parametrize("example", [1.5, np.zeros((2, 3), np.int8), "text"])
def test_a_capacity_that_no_memory_holds_is_an_error_of_the_first_example(example):
    with pytest.raises(pipeline.errors.ResourceExhaustedError, match="replay: capacity: there is no memory for"):
        pipeline.replay(2**60).add(example)


def test_a_capacity_whose_priorities_no_memory_holds():
    with pytest.raises(pipeline.errors.ResourceExhaustedError, match="replay: capacity: there is no memory for"):
        pipeline.replay(2**60, priorities=True)


def test_masked_values():
    masked = np.ma.masked_array([1.0, 2.0], mask=[True, False])
    buffer = pipeline.replay(3, priorities=True)
    for call in (
        lambda: buffer.add({"a": masked}),
        lambda: buffer.add(np.ma.masked),
        lambda: buffer.update([], masked),
        lambda: pipeline.dataset([1, 2]).sample(masked, 5, seed=1),
        lambda: pipeline.mix([pipeline.dataset([1])] * 2, masked, seed=1),
    ):
        with pytest.raises(pipeline.InvalidArgumentError, match="values missing: fill them in first"):
            call()
    assert buffer.size == 0


def test_a_signal_handler_may_close_it_anywhere_in_add():
    def add_and_close(line):
        """Call `close` at a line within `add`, in its own thread, as a handler does; return whether the line ran."""
        buffer, lines = pipeline.replay(2), itertools.count()

        def step(frame, event, _):
            if event == "line" and next(lines) == line:
                buffer.close()
            return step

        sys.settrace(lambda frame, event, _: step if frame.f_code is ReplayBuffer.add.__code__ else None)
        try:
            with contextlib.suppress(pipeline.CancelledError):
                buffer.add(1)
        finally:
            sys.settrace(None)
        came = next(lines) > line
        assert list(buffer) == [] if came else len(list(itertools.islice(buffer, 3))) == 3
        return came

    line = 0
    while start(add_and_close, line).result():
        line += 1
    assert line > 10


# Saving and loading ---------------------------------------------------------------------------------------------------


def example(number):
    return {
        "obs": np.full((2, 3), number, np.float32),
        "next": (number, float(number) / 2),
        "day": np.datetime64("2024-01-01") + np.timedelta64(number, "D"),
        "text": f"é{number}\0",
        "half": np.full(2, number, ml_dtypes.bfloat16),
    }


def nested(capacity=10, count=17, **options):
    buffer = pipeline.replay(capacity, seed=1, **options)
    weights = {"priority": 2.0} if options.get("priorities") else {}
    for number in range(count):
        buffer.add(example(number), **weights)
    return buffer


def contents(buffer):
    """Check the examples for completeness and return their numbers, oldest first."""
    found = buffer.state_dict()["examples"]
    numbers = found["next"][0].tolist()
    wanted = [example(number) for number in numbers]
    assert found["obs"].tolist() == [each["obs"].tolist() for each in wanted]
    assert found["day"].tolist() == [each["day"].item() for each in wanted]
    assert found["text"].tolist() == [each["text"] for each in wanted]
    assert found["half"].dtype == ml_dtypes.bfloat16
    assert found["half"][:, 0].astype(int).tolist() == numbers
    return numbers


def by_state(buffer, again, folder):
    again.load_state_dict(pickle.loads(pickle.dumps(buffer.state_dict())))


def by_files(buffer, again, folder):
    buffer.save(folder / "replay")
    again.load(folder / "replay")


@pytest.fixture(params=[by_state, by_files])
def copied(request):
    return request.param


@pytest.mark.parametrize("capacity", [10, 4, 30])
def test_contents_are_saved_and_loaded(copied, capacity, tmp_path):
    buffer = nested()
    next(iter(buffer))
    again = pipeline.replay(capacity)
    copied(buffer, again, tmp_path)
    assert contents(again) == list(range(17))[-min(10, capacity) :]
    assert (again.inserted, again.sampled, again.size) == (17, 1, min(10, capacity))
    assert again.add(example(17)) == 17
    assert contents(again)[-1] == 17
    drawn = {int(each["next"][0]) for each in itertools.islice(iter(again), 300)}
    assert drawn == set(contents(again))


def test_priorities_are_saved_and_loaded(copied, tmp_path):
    buffer = nested(priorities=True)
    assert buffer.update(np.arange(7, 16), 0.0) == 9
    again = pipeline.replay(10, priorities=True)
    copied(buffer, again, tmp_path)
    for sample in itertools.islice(iter(again), 5):
        assert (sample.key, sample.probability, sample.example["next"][0]) == (16, 1.0, 16)
    assert again.update(np.arange(7, 17), [1.0 if key == 9 else 0.0 for key in range(7, 17)]) == 10
    for sample in itertools.islice(iter(again), 5):
        assert (sample.key, sample.probability, sample.example["next"][0]) == (9, 1.0, 9)
    with pytest.raises(pipeline.InvalidArgumentError, match="the state has priorities, or the buffer"):
        copied(buffer, pipeline.replay(10), tmp_path)


def test_an_empty_buffer_is_saved_and_loaded(copied, tmp_path):
    again = pipeline.replay(5)
    copied(pipeline.replay(3), again, tmp_path)
    assert (again.size, again.inserted) == (0, 0)
    again.add(1.5)
    assert next(iter(again)) == 1.5


@pytest.mark.parametrize("given", [np.arange(3.0), 2.5, (1, np.ones(2)), b"a", {"x": {"y": 1}}])
def test_examples_of_any_structure(copied, given, tmp_path):
    buffer, again = pipeline.replay(2), pipeline.replay(2)
    buffer.add(given)
    copied(buffer, again, tmp_path)
    again.add(given)
    assert again.size == 2
    one, other = next(iter(buffer)), next(iter(again))
    assert type(one) is type(other)
    assert repr(one) == repr(other)


def test_saving_again_replaces_what_was_saved(tmp_path):
    for count in (3, 5):
        nested(count=count).save(tmp_path)
    again = pipeline.replay(10)
    again.load(tmp_path)
    assert contents(again) == list(range(5))
    assert len(list(tmp_path.glob("columns-*"))) == 1


def test_examples_unlike_those_of_the_buffer_are_not_loaded():
    buffer, other = nested(), pipeline.replay(10)
    other.add({"obs": 1})
    for state in (other.state_dict(), {**buffer.state_dict(), "examples": np.ones((4, 3))}):
        with pytest.raises(pipeline.InvalidArgumentError):
            buffer.load_state_dict(state)
    assert contents(buffer) == list(range(7, 17))


CHANGES = [
    {"inserted": 3},
    {"examples": None},
    {"examples": [1]},
    {"sampled": -1},
    {"examples": {"a": np.ones(2), "b": np.ones(3)}},
]


@pytest.mark.parametrize("change", CHANGES)
def test_states_of_something_else(change):
    for given in ({**nested().state_dict(), **change}, {}, None):
        with pytest.raises(pipeline.InvalidArgumentError, match="load_state_dict"):
            pipeline.replay(10).load_state_dict(given)


def test_files_that_are_damaged_or_missing(tmp_path):
    with pytest.raises(pipeline.NotFoundError):
        pipeline.replay(10).load(tmp_path)
    nested().save(tmp_path)
    for file in sorted(tmp_path.glob("columns-*/*.npy")):
        whole = file.read_bytes()
        middle, last = len(whole) // 2, len(whole) - 1
        flipped = [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in (0, 20, middle, last)]
        for damaged in (b"", whole[:-1], whole + b"x", *flipped):
            file.write_bytes(damaged)
            with pytest.raises(pipeline.DataLossError):
                pipeline.replay(10).load(tmp_path)
        file.write_bytes(whole)
    file.unlink()
    with pytest.raises(pipeline.DataLossError):
        pipeline.replay(10).load(tmp_path)


def test_objects_have_no_place_in_files(tmp_path):
    buffer = pipeline.replay(2)
    buffer.add({"chat": pipeline.ListValue([{"role": "user"}])})
    with pytest.raises(pipeline.InvalidArgumentError, match=r"component 'chat' holds objects.*state_dict\(\)"):
        buffer.save(tmp_path)
    again = pipeline.replay(2)
    again.load_state_dict(buffer.state_dict())
    assert next(iter(again))["chat"] == [{"role": "user"}]


def test_examples_whose_types_are_those_of_the_first_and_others():
    """Examples with the first one's types are stored as they are; all give the same."""
    buffer = pipeline.replay(10)
    alike = [{"a": 1, "b": 2.5}, {"b": 2.5, "a": 1}, {"a": np.int8(1), "b": np.float16(2.5)}, {"a": True, "b": 2.5}]
    for given in alike:
        buffer.add(given)
    found = buffer.state_dict()["examples"]
    assert {name: column.tolist() for name, column in found.items()} == {"a": [1] * 4, "b": [2.5] * 4}
    odd = [
        {"a": 1},
        {"a": 1, "c": 2.5},
        {"a": 1, "b": 2.5, "c": 1},
        {"a": 1, "b": "x"},
        {"a": 2**70, "b": 2.5},
        (1, 2.5),
    ]
    for given in odd:
        with pytest.raises((ValueError, TypeError, OverflowError)):
            buffer.add(given)
    assert buffer.size == 4
