"""ragged=: rows of varying length, from blocks, functions and single examples; and strings that are decoded."""

import io
import itertools
import json
import tarfile
from typing import NamedTuple

import numpy as np
import pytest
from helpers import raises

import pipeline

pa = pytest.importorskip("pyarrow", reason="the extra arrow is not installed")

WORDS = [["a", "b"], [], ["c"], ["d", "e", "f"], ["g"], ["h", "i"]]
TABLE = pa.table(
    {
        "words": WORDS,
        "n": [[i] * (i % 3) for i in range(6)],
        "pair": pa.array([[i, -i] for i in range(6)], pa.list_(pa.int64(), 2)),
        "row": range(6),
    }
)
PROCESSES = pipeline.processes(1)
WAYS = {
    "block": {},
    "function": {"function": dict},
    "inline": {"function": dict, "num_threads": 0},
    "threads": {"function": dict, "workers": pipeline.threads(2)},
    "processes": {"function": dict, "workers": PROCESSES},
    "ordered": {"function": dict, "deterministic": True},
    "ordered threads": {"function": dict, "workers": pipeline.threads(2), "deterministic": True},
}


class Pair(NamedTuple):
    values: np.ndarray
    number: int


def lists(values, splits):
    return [values[first:last].tolist() for first, last in itertools.pairwise(splits)]


@pytest.mark.parametrize("way", WAYS)
def test_row_splits(way):
    [batch] = pipeline.batch(pipeline.arrow(TABLE), 6, ragged="row_splits", encoding="utf-8", **WAYS[way])
    assert lists(*batch["words"]) == WORDS
    assert lists(*batch["n"]) == TABLE["n"].to_pylist()
    assert batch["n"][0].dtype == np.int64
    assert batch["row"].tolist() == list(range(6))
    pairs = batch["pair"] if way == "block" else np.reshape(lists(*batch["pair"]), (6, 2))
    assert pairs.tolist() == [[i, -i] for i in range(6)]


def not_of_two(example):
    return len(example["words"]) != 2


@pytest.mark.parametrize(
    "options",
    [
        {"on_error": "skip"},
        {"on_error": "skip", "num_threads": 3},
        {"on_error": "skip", "deterministic": True},
        {"on_error": "skip", "num_threads": 0},
        {"keep_input": not_of_two},
        {"keep_input": not_of_two, "deterministic": True},
        {"keep_input": not_of_two, "on_error": "skip"},
    ],
    ids=["skip", "threads", "ordered", "inline", "keep", "ordered keep", "keep and skip"],
)
def test_rows_that_vary_where_each_is_looked_at(options):
    with pipeline.batch(pipeline.arrow(TABLE), 2, allow_smaller_final_batch=True, **options) as batches:
        got = list(batches)
    rows = [row for batch in got for row in zip(batch["words"], batch["n"], batch["row"], strict=True)]
    kept = [1, 2, 3, 4] if "keep_input" in options else range(6)
    assert sorted(int(row) for _, _, row in rows) == list(kept)
    assert all(words.tolist() == [word.encode() for word in WORDS[row]] for words, _, row in rows)
    assert all(numbers.tolist() == [row] * (row % 3) for _, numbers, row in rows)
    assert batches.num_errors == 0


def test_only_the_rows_without_a_value_are_left_out_of_those_that_vary():
    table = TABLE.append_column("name", pa.array(["a", None, "c", "d", None, "f"]))
    joined = pipeline.batch_join([pipeline.arrow(table)] * 2, 8, on_error="skip", deterministic=True)
    for batches in (pipeline.batch(pipeline.arrow(table), 4, on_error="skip"), joined):
        [batch] = batches
        assert sorted(batch["row"].tolist()) == sorted([0, 2, 3, 5] * (len(batch["row"]) // 4))
        assert all(numbers.tolist() == [row] * (row % 3) for numbers, row in zip(batch["n"], batch["row"], strict=True))
        assert batches.num_errors == len(batch["row"]) // 2


@pytest.mark.parametrize("way", WAYS)
def test_padded(way):
    [batch] = pipeline.batch(pipeline.arrow(TABLE), 6, ragged="pad", **WAYS[way])
    assert batch["words"].tolist() == [[w.encode() for w in words] + [b""] * (3 - len(words)) for words in WORDS]
    assert batch["n"].tolist() == [[i] * (i % 3) + [0] * (2 - i % 3) for i in range(6)]
    assert batch["pair"].tolist() == [[i, -i] for i in range(6)]


@pytest.mark.parametrize("way", WAYS)
def test_by_name(way):
    kinds = {"words": "pad", "n": "row_splits"}
    [batch] = pipeline.batch(pipeline.arrow(TABLE), 6, ragged=kinds, encoding="utf-8", **WAYS[way])
    assert batch["words"].tolist() == [words + [""] * (3 - len(words)) for words in WORDS]
    assert lists(*batch["n"]) == TABLE["n"].to_pylist()
    assert batch["pair"].tolist() == [[i, -i] for i in range(6)]


EXAMPLES = [{"n": np.arange(i, dtype=np.int16), "words": ["w"] * i, "row": i} for i in range(6)]
SOURCES = {
    "list": lambda: EXAMPLES,
    "generator": lambda: lambda: (yield from EXAMPLES),
    "callable": lambda: iter(EXAMPLES).__next__,
}


@pytest.mark.parametrize(
    "options",
    [{}, {"num_threads": 0}, {"deterministic": True}, {"num_threads": 3, "deterministic": True}, {"on_error": "skip"}],
    ids=str,
)
@pytest.mark.parametrize("source", ["list", "generator", "callable"])
def test_single_examples(source, options):
    [batch] = pipeline.batch(SOURCES[source](), 6, ragged={"n": "row_splits", "words": "pad"}, **options)
    assert lists(*batch["n"]) == [list(range(i)) for i in range(6)]
    assert batch["n"][0].dtype == np.int16
    assert batch["words"].tolist() == [[b"w"] * i + [b""] * (5 - i) for i in range(6)]
    assert batch["row"].tolist() == list(range(6))


def itself(example):
    return example


class Items:
    """A dataset of examples."""

    def __init__(self, examples):
        self.examples = examples

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, number):
        return self.examples[number]


def shards(folder):
    examples = [{"json": {"w": ["w"] * i}, "npy": np.arange(i)} for i in range(8)]
    with tarfile.open(folder / "a.tar", "w") as archive:
        for i, example in enumerate(examples):
            np.save(data := io.BytesIO(), example["npy"])
            for kind, content in (("npy", data.getvalue()), ("json", json.dumps(example["json"]).encode())):
                member = tarfile.TarInfo(f"{i}.{kind}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return (
        pipeline.webdataset(folder / "a.tar", columns=["json", "npy"]),
        examples,
        {"npy": "row_splits", "json/w": "pad"},
    )


def images(folder):
    examples = [(np.full((i + 1, 2, 3), i, np.uint8), i // 4) for i in range(8)]
    for i, (image, label) in enumerate(examples):
        place = folder / f"class{label}"
        place.mkdir(exist_ok=True)
        (place / f"{i}.png").write_bytes(pipeline.encode_png(image))
    return pipeline.image_folder(folder), examples, {0: "pad"}


def items(folder):
    examples = [{"a": {"n": list(range(i)), "w": ["w"] * i}, "pair": np.arange(2), "row": i} for i in range(8)]
    return pipeline.arrays(Items(examples)), examples, {"a/n": "row_splits", "a/w": "pad"}


def beside_an_array(folder):
    rows, pairs = [np.ones((i, 2), np.float32) for i in range(8)], np.arange(16).reshape(8, 2)
    examples = [{"rows": row, "pairs": pair} for row, pair in zip(rows, pairs, strict=True)]
    return pipeline.arrays({"rows": Items(rows), "pairs": pairs}), examples, {"rows": "pad"}


def plain(value):
    """Batches, with the dtype and the values of each array."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return list(map(plain, value)) if isinstance(value, (list, tuple)) else (value.dtype, value.tolist())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_threads": 0},
        {"deterministic": True},
        {"function": itself},
        {"function": itself, "num_threads": 0},
        {"function": itself, "workers": pipeline.threads(2), "deterministic": True},
    ],
    ids=lambda options: " ".join(options),
)
@pytest.mark.parametrize("made", [shards, images, items, beside_an_array])
def test_examples_that_are_made_one_by_one(tmp_path, made, options):
    source, examples, named = made(tmp_path)
    for ragged in ("pad", "row_splits", named):
        options = {**options, "ragged": ragged}
        expected = plain(list(pipeline.batch(examples, 4, **options)))
        assert len(expected) == 2
        assert plain(list(pipeline.batch(source, 4, **options))) == expected
        if "workers" not in options:
            shuffled = {**options, "capacity": 20, "min_after_dequeue": 4, "seed": 1, "deterministic": True}
            expected = plain(list(pipeline.shuffle_batch(examples, 4, **shuffled)))
            assert plain(list(pipeline.shuffle_batch(source, 4, **shuffled))) == expected


def test_an_array_that_a_function_changes_afterwards():
    row = np.zeros(3, np.int64)

    def count():
        row[0] += 1
        return {"n": row[: 1 + row[0] % 3]}

    batches = pipeline.batch(count, 3, ragged="row_splits", num_threads=1)
    with batches:
        assert lists(*next(batches)["n"]) == [[1, 0], [2, 0, 0], [3]]


def test_components_without_names():
    pairs = [(np.arange(i), i) for i in range(4)]
    [(values, row)] = pipeline.batch(pairs, 4, ragged={0: "row_splits"})
    assert lists(*values) == [list(range(i)) for i in range(4)]
    assert row.tolist() == list(range(4))
    [batch] = pipeline.batch([np.arange(i) for i in range(4)], 4, ragged="pad")
    assert batch.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]]
    named = [Pair(np.arange(i), i) for i in range(4)]
    [batch] = pipeline.batch(named, 4, ragged={"values": "row_splits"})
    assert lists(*batch.values) == [list(range(i)) for i in range(4)]
    with raises(ValueError, "ragged: there is no component 0; the components are 'values', 'number'"):
        next(pipeline.batch(named, 4, ragged={0: "pad"}))
    nested = [{"a": {"b": np.arange(i), "c": i}} for i in range(4)]
    [batch] = pipeline.batch(nested, 4, ragged={"a/b": "row_splits"})
    assert lists(*batch["a"]["b"]) == [list(range(i)) for i in range(4)]
    assert batch["a"]["c"].tolist() == list(range(4))
    nested = [{"pair": each} for each in named]
    [batch] = pipeline.batch(nested, 4, ragged={"pair/values": "row_splits"})
    assert lists(*batch["pair"].values) == [list(range(i)) for i in range(4)]


@pytest.mark.parametrize("rows", [[[], ["a"], ["b", "c"]], [[], [1], [2, 3]], [[], [], [0.5]]])
def test_lists_of_which_the_first_is_empty(rows):
    examples = [{"a": row} for row in rows]
    sources = examples, pipeline.arrays(Items(examples)), [{"a": np.array(row)} for row in rows]
    for source, options in itertools.product(sources, ({}, {"function": dict}, {"deterministic": True})):
        [batch] = pipeline.batch(source, 3, ragged="row_splits", encoding="utf-8", **options)
        assert lists(*batch["a"]) == rows
        [batch] = pipeline.batch(source, 3, ragged="pad", **options)
        assert batch["a"].dtype == (np.array(rows[2]).dtype if rows[2] != ["b", "c"] else object)


def test_the_first_row_decides_the_dtype():
    rows = [np.zeros(2, np.float32), [1, 2, 3], np.ones(1)]
    [batch] = pipeline.batch([{"a": row} for row in rows], 3, ragged="row_splits")
    assert batch["a"][0].dtype == np.float32
    for bad, error in ((["x"], TypeError), (np.zeros((2, 2)), ValueError), (1.5, ValueError)):
        with pytest.raises(error, match="component 'a'"):
            list(pipeline.batch([{"a": row} for row in [*rows, bad]], 4, ragged="row_splits"))
        with pipeline.batch([{"a": row} for row in [*rows, bad, *rows]], 6, ragged="pad", on_error="skip") as batches:
            assert next(batches)["a"].shape == (6, 3)
            assert batches.num_errors == 1


def counted(number):
    return {"n": np.arange(number), "row": number}


@pytest.mark.parametrize("numbers", [range(6), [2] * 6], ids=["varying", "alike"])  # which are one block
@pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"deterministic": True}], ids=str)
def test_what_map_ahead_makes(numbers, options):
    def made():
        return pipeline.map_ahead(counted, numbers, workers=pipeline.threads(2), chunksize=4)

    [batch] = pipeline.batch(made(), 6, ragged="row_splits", **options)
    assert lists(*batch["n"]) == [list(range(number)) for number in numbers]
    [batch] = pipeline.batch(made(), 6, ragged="pad", **options)
    assert batch["n"].shape == (6, max(numbers))


def test_a_join_of_blocks_and_functions():
    sources = [[{"a": np.arange(i)} for i in (1, 2)], [{"a": np.arange(i)} for i in (3, 4)]]
    with pipeline.batch_join(sources, 4, ragged="row_splits") as batches:
        assert sorted(lists(*next(batches)["a"])) == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    sources[1] = [{"a": np.arange(3.0)}] * 2
    with pytest.raises(TypeError, match="component 'a' of source 1 is float64"):
        list(pipeline.batch_join(sources, 4, ragged="row_splits"))


def test_buckets():
    with pipeline.bucket_by_sequence_length(
        lambda each: len(each["n"]), EXAMPLES, 3, [3], ragged={"n": "row_splits", "words": "pad"}
    ) as batches:
        got = [(lengths.tolist(), lists(*batch["n"]), batch["words"].shape) for lengths, batch in batches]
    assert got == [
        ([0, 1, 2], [list(range(i)) for i in range(3)], (3, 2)),
        ([3, 4, 5], [list(range(i)) for i in range(3, 6)], (3, 5)),
    ]


@pytest.mark.parametrize("deterministic", [False, True])
def test_buckets_whose_rows_are_joined(deterministic):
    with pipeline.bucket_by_sequence_length(
        lambda each: each["row"], map(counted, range(4)), 2, [2], ragged="row_splits", deterministic=deterministic
    ) as batches:
        assert [lists(*batch["n"]) for _, batch in batches] == [[[], [0]], [[0, 1], [0, 1, 2]]]


def test_states():
    def loop():
        options = {"ragged": "row_splits", "function": dict, "deterministic": True, "seed": 1}
        return pipeline.shuffle_batch(pipeline.arrow(TABLE, num_epochs=3), 2, 20, 4, **options)

    got, states = [], []
    with loop() as batches:
        for batch in batches:
            got.append(lists(*batch["words"]))
            states.append(json.dumps(batches.state_dict()))
    for i, state in enumerate(states):
        with loop() as batches:
            batches.load_state_dict(json.loads(state))
            assert [lists(*batch["words"]) for batch in batches] == got[i + 1 :]


def test_shapes_that_are_given_stay():
    """A queue pads what it knows to vary; and what has a shape is no ragged row."""
    source = [{"a": np.arange(4), "b": i} for i in range(2)]
    for options in ({"shapes": [(4,), ()]}, {"dynamic_pad": True}):
        [batch] = pipeline.batch(source, 2, ragged="row_splits", **options)
        assert batch["a"].tolist() == [[0, 1, 2, 3]] * 2


def test_errors():
    for bad in ("padded", {"a": "padded"}, {"a": None}, 3, ["a"]):
        kind = bad["a"] if isinstance(bad, dict) else bad
        with raises(ValueError, f"ragged must be 'pad', 'row_splits', a dict of these, or None, got {kind!r}"):
            pipeline.batch(EXAMPLES, 2, ragged=bad)
    with raises(ValueError, "ragged: there is no component 'm'; the components are 'n', 'row', 'words'"):
        next(pipeline.batch(EXAMPLES, 2, ragged={"m": "pad"}))


@pytest.mark.parametrize("ragged", [None, "pad", "row_splits"])
def test_text_that_is_not_of_the_encoding(ragged):
    """It is found when it is read: the error comes once, and "skip" leaves out this example alone."""
    names = [b"a", b"b", b"\xff\xfe", b"d"]
    options = {"encoding": "utf-8", "ragged": ragged}
    for examples in ([{"name": name, "n": 1} for name in names], [{"name": [name, b"x"]} for name in names]):
        with pipeline.batch(examples, 4, **options) as batches:
            with pytest.raises(UnicodeDecodeError, match=r"in component 'name': b'\\xff\\xfe'$"):
                next(batches)
            assert next(batches, None) is None
        with pipeline.batch(examples, 3, on_error="skip", **options) as batches:
            [_] = batches
        assert batches.num_errors == 1
