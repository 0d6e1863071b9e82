"""collate: batches from nested examples."""

import pickle
from collections import OrderedDict, namedtuple
from types import MappingProxyType

import numpy as np
import pytest

from pipeline import ListValue, collate
from pipeline.errors import InvalidArgumentError

Example = namedtuple("Example", "image label")


def same(got, expected):
    assert type(got) is type(expected)
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(got, expected, strict=True)
    elif isinstance(expected, dict):
        assert list(got) == list(expected)
        for key in expected:
            same(got[key], expected[key])
    elif isinstance(expected, (list, tuple)):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            same(one, other)
    else:
        assert got == expected


class Tensor:
    """Accepted by numpy.asarray, like a PyTorch tensor."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype or "f4")


@pytest.mark.parametrize(
    ("examples", "batch"),
    [
        ([1, 2], np.array([1, 2])),
        ([True, False], np.array([True, False])),
        (iter([0.5, 1.5]), np.array([0.5, 1.5])),
        ([1j], np.array([1j])),
        ([2**63, 2**63 + 1], np.array([2**63, 2**63 + 1], "u8")),
        ([np.array(1.0), 2.0], np.array([1.0, 2.0])),
        ([np.float32(1), np.float32(2)], np.array([1, 2], "f4")),
        (np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3)),
        ([np.ones((2, 3), "u1")] * 4, np.ones((4, 2, 3), "u1")),
        ([Tensor([1, 2]), Tensor([3, 4])], np.array([[1, 2], [3, 4]], "f4")),
        ([(1, 2.0), (3, 4.0)], (np.array([1, 3]), np.array([2.0, 4.0]))),
        ([[1, 2.0], [3, 4.0]], [np.array([1, 3]), np.array([2.0, 4.0])]),
        ([(), ()], ()),
        ([{}, {}], {}),
        ([Example(1, "a"), Example(2, "b")], Example(np.array([1, 2]), ["a", "b"])),
        ([{"b": 1, "a": 2}, {"a": 4, "b": 3}], {"b": np.array([1, 3]), "a": np.array([2, 4])}),
        ([MappingProxyType({"a": 1}), OrderedDict(a=2)], {"a": np.array([1, 2])}),
        ([b"a", b"bc"], [b"a", b"bc"]),
        ([np.str_("a"), np.str_("bc")], [np.str_("a"), np.str_("bc")]),
        (["a", None, 3, np.int64], ["a", None, 3, np.int64]),
        (
            [{"pair": ([1, b"x"], None)}, {"pair": ([2, b"yz"], None)}],
            {"pair": ([np.array([1, 2]), [b"x", b"yz"]], [None, None])},
        ),
    ],
)
def test_batches(examples, batch):
    same(collate(examples), batch)


@pytest.mark.parametrize(
    ("examples", "kind", "text"),
    [
        ([], InvalidArgumentError, "expected at least one example, got none"),
        (
            [{"image": np.zeros(3)}] * 3 + [{"image": np.zeros(2)}],
            InvalidArgumentError,
            "examples[3]['image']: shape (2,), expected (3,)",
        ),
        ([(0, [1, 2]), (0, [3, 4.5])], TypeError, "examples[1][1][1]: dtype float64, expected int64"),
        ([1, 2**63], TypeError, "examples[1]: dtype uint64, expected int64"),
        ([(1, 2), (1,)], InvalidArgumentError, "examples[1]: length 1, expected 2"),
        ([[1], [1, 2]], InvalidArgumentError, "examples[1]: length 2, expected 1"),
        ([{"a": 1}, {"a": 1, "b": 2}], InvalidArgumentError, "examples[1]: keys ['a', 'b'], expected ['a']"),
        ([{"a": {"b": 1}}, {"a": {"c": 1}}], InvalidArgumentError, "examples[1]['a']: keys ['c'], expected ['b']"),
        ([{"a": 1}, (1,)], TypeError, "examples[1]: tuple, expected dict like examples[0]"),
        ([(1,), [1]], TypeError, "examples[1]: list, expected tuple like examples[0]"),
        ([(1,), ("a",)], TypeError, "examples[1][0]: str, expected int like examples[0][0]"),
        ([Example(1, 2), Example(None, 2)], TypeError, "examples[1][0]: NoneType, expected int like examples[0][0]"),
    ],
)
def test_errors_name_the_path(examples, kind, text):
    with pytest.raises(kind) as caught:
        collate(examples)
    assert str(caught.value) == f"collate: {text}"


def test_batches_share_no_memory_with_examples():
    example = np.zeros(3)
    batch = collate([example])
    batch[:] = 1
    assert not example.any()


def test_it_can_go_to_worker_processes():
    assert pickle.loads(pickle.dumps(collate)) is collate


def test_torch_data_loader():
    data = pytest.importorskip("torch.utils.data")
    loader = data.DataLoader([(np.full(2, k, "f4"), k) for k in range(5)], batch_size=2, collate_fn=collate)
    same(list(loader)[-1], (np.full((1, 2), 4, "f4"), np.array([4])))


def test_a_list_that_is_a_value():
    lists = [ListValue([{"a": 1}]), ListValue([])]
    assert collate([{"x": each} for each in lists]) == {"x": lists}
