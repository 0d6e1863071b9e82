"""StateMismatchError: one line for each difference, and the differences as data."""

import copy
import pickle

import numpy as np
import pytest

import pipeline
from pipeline.resume.mismatch import Comparison

SAVED = {"kind": "shuffle_batch", "batch_size": 12345, "seeds": [1, 2], "smaller": False, "old": "x"}
HERE = {"kind": "shuffle_batch", "batch_size": 64, "seeds": [1, 3], "smaller": 0, "new": None}


def compared(*args, **kwargs):
    comparison = Comparison()
    comparison.facts(*args, **kwargs)
    with pytest.raises(pipeline.StateMismatchError) as caught:
        comparison.conclude()
    return caught.value


def test_every_fact_that_differs_is_told():
    error = compared("loop", SAVED, HERE)
    assert error.differences == [
        ("loop: batch_size", 12345, 64),
        ("loop: seeds", [1, 2], [1, 3]),
        ("loop: smaller", False, 0),
        ("loop: old", "x", None),
        ("loop: new", None, None),
    ]
    assert str(error).splitlines() == [
        "loop: batch_size was 12345 when the state was saved and is 64 now",
        "loop: seeds was [1, 2] when the state was saved and is [1, 3] now",
        "loop: smaller was False when the state was saved and is 0 now",
        "loop: old was 'x' when the state was saved and is not given now",
        "loop: new was not given when the state was saved and is not given now",
    ]


@pytest.mark.parametrize(
    ("saved", "here", "line"),
    [
        ([87654321, 5], [87654321, 6], "loop: seed was 5 when the state was saved and is 6 now"),
        ([87654321, 5], [7, 6], "loop: seeds was [87654321, 5] when the state was saved and is [7, 6] now"),
        (None, [87654321, 6], "loop: seeds was not given when the state was saved and is [87654321, 6] now"),
    ],
)
def test_the_seed_is_told_as_it_was_given(saved, here, line):
    """Without a global seed there is one number, so the pair's other entry is meaningless."""
    error = compared("loop", {"seeds": saved}, {"seeds": here})
    assert str(error).splitlines() == [line]
    assert error.differences == [("loop: seeds", saved, here)]


def test_nothing_differs():
    comparison = Comparison()
    comparison.facts("loop", SAVED, dict(reversed(SAVED.items())))
    comparison.conclude()


def test_a_sentence_of_its_own():
    comparison = Comparison()
    comparison.facts("loop", {"shuffle": True}, {"shuffle": False})
    comparison.note("files: 'a.csv'", [1], [2], "files: 'a.csv' had 1 byte when the state was saved and has 2 now")
    with pytest.raises(pipeline.StateMismatchError) as caught:
        comparison.conclude()
    assert str(caught.value).splitlines() == [
        "loop: shuffle was True when the state was saved and is False now",
        "files: 'a.csv' had 1 byte when the state was saved and has 2 now",
    ]
    assert caught.value.differences == [("loop: shuffle", True, False), ("files: 'a.csv'", [1], [2])]


def test_it_is_an_invalid_argument():
    error = pipeline.StateMismatchError([("loop: kind", "batch", "shuffle_batch"), ("loop: shard", None, [0, 2])])
    assert isinstance(error, pipeline.errors.InvalidArgumentError)
    assert isinstance(error, ValueError)
    assert error.error_code == pipeline.errors.INVALID_ARGUMENT
    assert str(error).splitlines() == [
        "loop: kind was 'batch' when the state was saved and is 'shuffle_batch' now",
        "loop: shard was not given when the state was saved and is [0, 2] now",
    ]


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))], ids=["copy", "pickle"])
def test_copies(again):
    error = compared("loop", SAVED, HERE)
    twin = again(error)
    assert (type(twin), str(twin), twin.differences) == (type(error), str(error), error.differences)


def test_a_digest_is_said_in_words():
    comparison = Comparison()
    comparison.facts("source 'ndarray'", {"digest": "ac22"}, {"digest": "5e7c"})
    with pytest.raises(
        pipeline.StateMismatchError, match=r"^source 'ndarray': its values have changed since"
    ) as caught:
        comparison.conclude()
    assert caught.value.differences == [("source 'ndarray': digest", "ac22", "5e7c")]


def test_many_differences_have_a_short_message():
    comparison = Comparison()
    for number in range(200):
        comparison.note(f"files: '{number}'", 1, 2)
    with pytest.raises(pipeline.StateMismatchError) as caught:
        comparison.conclude()
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 180 more: see `differences`"
    assert len(caught.value.differences) == 200


@pytest.mark.parametrize(
    ("seed", "columns", "says"),
    [
        (6, {"x": range(4), "y": range(4)}, "seed was 5 when the state was saved and is 6 now"),
        (5, {"x": range(4), "y": range(1, 5)}, "arrays: the values of 'y' differ from those of the saved run"),
    ],
)
def test_differences_of_datasets_are_told_in_the_words_of_users(seed, columns, says):
    def recipe(seed, columns):
        return pipeline.arrays({name: np.array(each) for name, each in columns.items()}, shuffle=True, seed=seed)

    state = iter(recipe(5, {"x": range(4), "y": range(4)})).state_dict()
    with pytest.raises(pipeline.errors.StateMismatchError) as caught:
        iter(recipe(seed, columns)).load_state_dict(state)
    assert str(caught.value) == says


def test_the_values_of_one_array_have_no_name():
    state = iter(pipeline.arrays(np.arange(4))).state_dict()
    with pytest.raises(
        pipeline.errors.StateMismatchError, match=r"^arrays: its values differ from those of the saved run$"
    ):
        iter(pipeline.arrays(np.arange(1, 5))).load_state_dict(state)


def refused(saved, here, **options):
    """Return the message for one iterator's state loaded into another."""
    iterator = iter(saved)
    next(iterator)
    with pytest.raises(pipeline.errors.StateMismatchError) as caught:
        iter(here).load_state_dict(iterator.state_dict(), **options)
    return str(caught.value)


def shuffled(min_after_dequeue=30, **options):
    given = {"batch_size": 4, "capacity": 100, "seed": 1, **options}
    return pipeline.shuffle_batch(np.arange(100), min_after_dequeue=min_after_dequeue, **given)


@pytest.mark.parametrize("fixed", [False, True])
def test_batch_functions_are_told_in_the_words_of_their_arguments(fixed):
    end = "when the state was saved and is"
    assert refused(shuffled(deterministic=fixed), shuffled(20, deterministic=fixed)) == (
        f"shuffle: min_after_dequeue was 30 {end} 20 now"
    )
    told = refused(shuffled(deterministic=fixed), shuffled(deterministic=fixed, batch_size=8)).splitlines()
    assert told[0] == f"batch: batch_size was 4 {end} 8 now"
    assert told[1:] == ([] if fixed else ["shuffle: examples are drawn from min_after_dequeue + batch_size, unless de"
                                          "terministic=True"])  # fmt: skip
    given = {"allow_smaller_final_batch": True}
    told = refused(pipeline.batch(np.arange(8), 3), pipeline.batch(np.arange(8), 3, **given))
    assert told == f"batch: allow_smaller_final_batch was False {end} True now"
    told = refused(pipeline.batch(np.arange(8), 3, dynamic_pad=True), pipeline.batch(np.arange(8), 3))
    assert told == f"batch: dynamic_pad was True {end} not given now"


def test_a_state_of_other_draws_is_refused():
    """The pools have the same size, by other arguments."""
    assert "shuffle: deterministic was not given" in refused(shuffled(33), shuffled(36, deterministic=True))


def test_batches_of_a_function_and_of_a_dataset_differ():
    data = pipeline.arrays(np.arange(8))
    assert "allow_smaller_final_batch was False" in refused(pipeline.batch(data, 3), data.batch(3))
    assert "drop_remainder was True" in refused(data.batch(3, drop_remainder=True), pipeline.batch(data, 3))


def test_other_steps_are_told_as_they_are_written():
    data = pipeline.arrays(np.arange(8))
    told = refused(data.map(abs).batch(2), data.batch(2).map(abs))
    assert told == ("the recipe was arrays().map().batch() when the state was saved and is arrays().batch().map() now")
    told = refused(pipeline.mix([data, data.skip(1)], seed=1), pipeline.mix([data, data, data], seed=1))
    assert told.startswith("the recipe was mix(arrays(), arrays().skip()) when the state was saved and is mix(arrays()")
    many = [data] * 40
    told = refused(pipeline.mix(many, seed=1), pipeline.mix([*many[1:], data.take(8)], seed=1))
    assert told == "the recipe had arrays when the state was saved and has take instead now"


def test_weights_are_said_in_words():
    data = pipeline.arrays(np.arange(3))
    told = refused(data.sample([1, 2, 3], seed=1), data.sample([3, 2, 1], seed=1))
    assert told == "sample: its weights differ from those of the saved run"


@pytest.mark.parametrize(
    ("form", "version", "maker", "hint"),
    [
        ("queue-runner/state", 1, "queue-runner 0.2.0", "finish the run with queue-runner 0.2.0, or start it again"),
        ("queue-runner/dataset", 2, "queue-runner 0.3.0", "finish the run with queue-runner 0.3.0, or start it again"),
        ("queue-runner/dataset", 99, "queue-runner 9.9.9", "update queue-runner"),
        ("queue-runner/dataset", None, "queue-runner 0.1", "finish the run with queue-runner 0.1, or start it again"),
    ],
)
def test_states_of_other_versions_are_told_by_the_name_of_the_version(form, version, maker, hint):
    state = {"format": form, "version": version, "made_by": maker.split()[1]}
    with pytest.raises(pipeline.errors.InvalidArgumentError) as caught:
        iter(pipeline.arrays(np.arange(3))).load_state_dict(state)
    here = pipeline.__version__
    which = f"and {here} cannot load it (version {version!r} of states)"
    assert str(caught.value) == f"load_state_dict: {maker} saved this state, {which}: {hint}"


@pytest.mark.parametrize(
    ("parts", "call"), [(("loader",), "checkpoint['loader']"), (("data", "train"), "checkpoint['data']['train']")]
)
def test_a_whole_checkpoint_is_no_state(parts, call):
    data = pipeline.dataset(range(20)).batch(5)
    with iter(data) as loop:
        next(loop)
        whole = loop.state_dict()
    for part in reversed(parts):
        whole = {part: whole}
    whole = {"model": {"weights": [1.0]}} | whole
    said = (
        f"load_state_dict: this is a whole checkpoint (its keys are 'model', '{parts[0]}'), not the iterator's state "
        f"in it: pass {call}"
    )
    with pytest.raises(pipeline.InvalidArgumentError) as failed, iter(data) as loop:
        loop.load_state_dict(whole)
    assert str(failed.value) == said
