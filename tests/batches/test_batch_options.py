"""The batch functions take TensorFlow's arguments in TensorFlow's order; defaults and keyword additions differ."""

import inspect
import typing

import numpy as np
import pytest
from helpers import raises

import pipeline
from pipeline.batches import buckets
from pipeline.batches import functions as batching
from pipeline.batches import functions as joining

BATCH = "capacity=None, enqueue_many=False, shapes=None, dynamic_pad=False, allow_smaller_final_batch=False"
SHUFFLE = "seed=None, enqueue_many=False, shapes=None, allow_smaller_final_batch=False"
POOL = "capacity=None, min_after_dequeue=1000"
NAMES = "shared_name=None, name=None"
POSITIONAL = {
    batching.batch: f"tensors, batch_size, num_threads=1, {BATCH}, {NAMES}",
    joining.batch_join: f"tensors_list, batch_size, {BATCH}, {NAMES}",
    batching.shuffle_batch: f"tensors, batch_size, {POOL}, num_threads=1, {SHUFFLE}, {NAMES}",
    joining.shuffle_batch_join: f"tensors_list, batch_size, {POOL}, {SHUFFLE}, {NAMES}",
    buckets.bucket_by_sequence_length: (
        "input_length, tensors, batch_size, bucket_boundaries, num_threads=1, capacity=32, dynamic_pad=True, "
        "allow_smaller_final_batch=False"
    ),
}


@pytest.mark.parametrize("function", POSITIONAL, ids=lambda function: function.__name__)
def test_order_and_defaults(function):
    parameters = inspect.signature(function).parameters.values()
    positional = [each.replace(annotation=each.empty) for each in parameters if each.kind != each.KEYWORD_ONLY]
    assert ", ".join(map(str, positional)) == POSITIONAL[function]
    by_name = {each.name for each in parameters if each.kind == each.KEYWORD_ONLY}
    assert {"on_error", "max_errors", "coord"} <= by_name
    assert ("dynamic_pad" in by_name) == ("shuffle" in function.__name__)


@pytest.mark.parametrize("function", list(POSITIONAL)[:4], ids=lambda function: function.__name__)
def test_names(function):
    required = {
        "tensors": [[1, 2]],
        "tensors_list": [[[1, 2]]],
        "batch_size": 1,
        "capacity": 5,
        "min_after_dequeue": 1,
    }
    given = {key: value for key, value in required.items() if key in inspect.signature(function).parameters}
    if "tensors" in given:
        given["tensors"] = [1, 2]
    for name in (None, "mine"):
        with function(**given, name=name) as batches:
            next(batches)
            assert batches.report().stages[-1].name == (name or function.__name__)


@pytest.mark.parametrize("function", POSITIONAL, ids=lambda function: function.__name__)
def test_a_queue_without_room_is_refused_at_the_call(function):
    given = {
        "input_length": len,
        "tensors": [1, 2],
        "tensors_list": [[1, 2]],
        "batch_size": 1,
        "bucket_boundaries": [3],
        "capacity": 0,
        "min_after_dequeue": 0,
    }
    parameters = inspect.signature(function).parameters
    with pytest.raises(ValueError, match=r"capacity.*0"):
        function(**{name: value for name, value in given.items() if name in parameters})


OPTIONS = {"deterministic": None, "on_error": "raise", "max_errors": None, "coord": None}


@pytest.mark.parametrize("function", POSITIONAL, ids=lambda function: function.__name__)
def test_every_function_has_the_shared_options(function):
    parameters = inspect.signature(function).parameters
    assert {name: parameters[name].default for name in OPTIONS} == OPTIONS
    assert typing.get_type_hints(function).keys() == parameters.keys() | {"return"}


@pytest.mark.parametrize("function", POSITIONAL, ids=lambda function: function.__name__)
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("on_eror", "Did you mean 'on_error'?"),
        ("cap", "Did you mean 'capacity'?"),
        ("zzz", "It takes "),
        ("foo", "It takes "),
    ],
)
def test_unknown_option(function, name, hint):
    positional = [[]] * sum(
        each.default is each.empty and each.kind == each.POSITIONAL_OR_KEYWORD
        for each in inspect.signature(function).parameters.values()
    )
    with raises(TypeError, f"{function.__name__}() got an unexpected keyword argument '{name}'. {hint}"):
        function(*positional, **{name: 1})


def test_options_by_position_are_refused():
    with raises(TypeError, "batch() takes from 2 to 10 positional arguments but 11 were given"):
        batching.batch([1], 1, 1, 32, False, None, False, False, None, "b", True)


@pytest.mark.parametrize("name", ["batch_size", "num_threads"])
def test_errors_of_numbers_name_the_argument(name):
    with raises(TypeError, f"{name} must be an integer, got float 4.0"):
        batching.batch([1, 2], **({"batch_size": 2} | {name: 4.0}))


@pytest.mark.parametrize("function", [batching.shuffle_batch, batching.shuffle_batch_join])
@pytest.mark.parametrize("name", ["capacity", "min_after_dequeue"])
@pytest.mark.parametrize("value", ["5", [1]])
def test_errors_of_pools_name_the_argument(function, name, value):
    with raises(TypeError, f"{name} must be a number, got {value!r}"):
        function([[1, 2]], 2, **({"capacity": 20, "min_after_dequeue": 10} | {name: value}))


def test_what_is_no_coordinator():
    with raises(TypeError, "coord must be a Coordinator or None, got 5"):
        batching.batch([1, 2], 2, coord=5)


@pytest.mark.parametrize("seed", ["a", 1.5])
def test_a_seed_is_an_integer(seed):
    with raises(TypeError, f"shuffle: seed must be an integer, got {type(seed).__name__} {seed!r}"):
        pipeline.shuffle_batch([1, 2], 2, seed=seed)


def test_a_batch_size_that_no_batch_can_have():
    with raises(ValueError, f"batch_size must be less than 2**31, got {2**70}"):
        pipeline.batch([1, 2], 2**70)


@pytest.mark.parametrize("function", [pipeline.shuffle_batch, pipeline.shuffle_batch_join])
def test_a_wrong_batch_size_is_not_taken_for_a_wrong_capacity(function):
    with raises(ValueError, "batch_size must be >= 1, got -1"):
        function([[1, 2]], -1)


@pytest.mark.parametrize("option", ["enqueue_many", "dynamic_pad", "allow_smaller_final_batch"])
@pytest.mark.parametrize("value", ["no", b"", np.zeros(2)], ids=repr)
def test_options_that_are_on_or_off(option, value):
    with raises(TypeError, f"{option} must be a bool, got {value!r}"):
        pipeline.batch([1, 2], 2, **{option: value})


def test_a_scalar_of_numpy_is_no_source():
    with raises(ValueError, "arrays: the input must have rank 1 or more, got the scalar"):
        pipeline.batch(np.float32(3), 2)
