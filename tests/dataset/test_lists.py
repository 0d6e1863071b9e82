"""Lists inside examples: numbers or strings become arrays, and a ListValue is one value, whatever it holds."""

import numpy as np
import pytest

import pipeline


def batch(examples, **options):
    [found] = pipeline.dataset(examples).batch(len(examples), **options)
    return found


@pytest.mark.parametrize(
    ("rows", "dtype"),
    [
        ([[1, 2], [3, 2**62]], np.int64),
        ([[0.1, -0.0], [float("inf"), 1e300]], np.float64),
        ([[2**63, 1], [1, 2**63]], np.uint64),
        ([[True, False], [False, True]], np.bool_),
        ([[1, 0.5], [0.5, 1]], np.float64),
        ([[], []], np.float64),
        ([[[1], [2]], [[3], [4]]], np.int64),
    ],
    ids=str,
)
def test_lists_of_numbers_are_rows(rows, dtype):
    found = batch(rows)
    assert (found.dtype, found.tolist()) == (dtype, rows)


@pytest.mark.parametrize(
    ("other", "said"),
    [([3], "shape"), ([0.5, 1.5], "dtype"), ([2**63, 1], "dtype"), ([True, False], "dtype"), ([None, 1], "None")],
    ids=str,
)
def test_lists_that_differ_from_others_are_an_error_in_any_order(other, said):
    for rows in ([[1, 2], other], [other, [1, 2]]):
        with pytest.raises((TypeError, ValueError), match=said):
            batch(rows)


def test_lists_of_strings_are_arrays():
    found = batch([{"w": ["a", "b\0"]}, {"w": ["c", "d"]}])
    assert found["w"].tolist() == [["a", "b\0"], ["c", "d"]]
    assert batch([["a", "b"], ["c", "d"]]).shape == (2, 2)
    assert batch([[["a"], ["b"]], [["c"], ["d"]]]).shape == (2, 2, 1)
    with pytest.raises(ValueError, match=r"\[1\] in one example and \[2\] in another.*pad=0"):
        batch([["a"], ["b", "c"]])


@pytest.mark.parametrize("empty", ["", b""], ids=["str", "bytes"])
def test_rows_of_strings_are_filled_with_empty_ones(empty):
    a, b = (each if empty == "" else each.encode() for each in "ab")
    examples = [{"w": [a], "n": [1]}, {"w": [a, b], "n": [2, 3]}, {"w": [], "n": []}]
    found = batch(examples, pad=0)
    assert found["w"].tolist() == [[a, empty], [a, b], [empty, empty]]
    assert found["n"].tolist() == [[1, 0], [2, 3], [0, 0]]
    other = type(a)() + a
    assert batch(examples, pad={"w": other, "n": -1})["w"].tolist() == [[a, other], [a, b], [other, other]]
    values, splits = batch(examples, collate="row_splits")["w"]
    assert values.tolist() == [a, a, b]
    assert splits.tolist() == [0, 1, 3, 3]


def test_lists_of_strings_and_others_are_an_error():
    with pytest.raises(TypeError, match=r"component 'x' is a list of strings and other values: \[1, 'a'\]"):
        batch([{"x": [1, "a"]}])


def test_list_values_are_objects():
    for value in ([1, 2], [[1], []], ["a"], [], [{"a": 1}]):
        found = batch([{"x": pipeline.ListValue(value)}, {"x": pipeline.ListValue([0])}], pad=0)
        assert found["x"].tolist() == [value, [0]]
        assert found["x"].dtype == object


def test_buckets_pad_to_the_boundary_by_name():
    examples = [{"a": [1] * n, "b": np.ones(n), "n": n} for n in (1, 3)]
    data = pipeline.dataset(examples).bucket(
        [5], [2, 2], length=lambda each: each["n"], pad={"a": -1, "b": -2}, pad_to_boundary=True
    )
    [found] = data
    assert found["a"].tolist() == [[1, -1, -1, -1, -1], [1, 1, 1, -1, -1]]
    assert found["b"].tolist() == [[1, -2, -2, -2, -2], [1, 1, 1, -2, -2]]
    assert found["n"].tolist() == [1, 3]


def test_buckets_of_dicts_need_a_length():
    with pytest.raises(ValueError, match=r"bucket: an example is a dict, whose len.* pass length="):
        list(pipeline.dataset([{"a": [1, 2]}]).bucket([2], [1, 1]))


def test_a_list_that_becomes_shorter_while_it_is_read():
    numbers = list(range(6))
    iterator = iter(pipeline.dataset(numbers))
    next(iterator)
    del numbers[3:]
    with pytest.raises(ValueError, match="the list became shorter while it was read: it has 3 items now"):
        list(iterator)


def test_spec_of_lists_that_are_one_value():
    for items in ([{"a": 1}], [("a", 1)], [1, 2], []):
        data = pipeline.dataset([{"x": pipeline.ListValue(items), "y": 1}])
        assert data.spec == {"x": (np.dtype(object), ()), "y": (np.dtype(int), ())}


@pytest.mark.parametrize(("value", "spec"), [
    ([[1], [2, 3]], (object, ())),
    ([["a"], ["b", "c"]], (object, ())),
    ([[1, 2], "a"], (object, ())),
    ([1, "a"], (object, ())),
    ([[1, 2], [3, 4]], (int, (2, 2))),
    ([1, 2.5], (float, (2,))),
    ([2**63], (np.uint64, (1,))),
    (["a", "bc"], (object, (2,))),
    ([], (float, (0,))),
])  # fmt: skip
def test_spec_of_lists_is_that_of_their_batch(value, spec):
    spec = np.dtype(spec[0]), spec[1]
    assert pipeline.dataset([{"x": value, "y": (value, "a")}]).spec == {"x": spec, "y": (spec, (np.dtype(object), ()))}


def test_spec_of_a_list_of_components():
    assert pipeline.dataset([[{"a": 1}, {"a": "b"}]]).spec == [
        {"a": (np.dtype(int), ())},
        {"a": (np.dtype(object), ())},
    ]
