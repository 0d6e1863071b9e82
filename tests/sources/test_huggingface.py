"""huggingface: Hugging Face datasets. `make test-sources` installs them; elsewhere these tests are skipped."""

import io

import numpy as np
import pytest
from helpers import raises, run_script
from source_contract import SourceContract, same

import pipeline

COUNT = 30


@pytest.fixture(autouse=True)
def _datasets(monkeypatch):
    datasets = pytest.importorskip("datasets", reason="datasets is large: make test-sources installs it")
    monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)  # no thread for progress bars
    datasets.disable_progress_bars()


def dataset(count=COUNT):
    import datasets

    features = datasets.Features(
        {
            "n": datasets.Value("int32"),
            "word": datasets.Value("string"),
            "kind": datasets.ClassLabel(names=["even", "odd"]),
            "pair": datasets.List(datasets.Value("float32"), length=2),
            "left": datasets.Value("string"),
        }
    )
    numbers = range(count)
    return datasets.Dataset.from_dict(
        {
            "n": list(numbers),
            "word": [f"{i}é" for i in numbers],
            "kind": [i % 2 for i in numbers],
            "pair": [[i, i / 2] for i in numbers],
            "left": [None] * count,
        },
        features=features,
    )


COLUMNS = ["n", "word", "kind", "pair"]


def check(batch):
    assert sorted(batch) == sorted(COLUMNS)
    numbers = batch["n"].tolist()
    assert batch["n"].dtype in (np.int32, np.int64)  # some formats widen it
    assert batch["pair"].dtype == np.float32
    assert batch["word"].tolist() == [f"{i}é" for i in numbers]
    assert batch["kind"].tolist() == [i % 2 for i in numbers]
    assert batch["pair"].tolist() == [[i, i / 2] for i in numbers]
    return numbers


class TestDataset(SourceContract):
    count = COUNT

    def make(self, **options):
        return pipeline.huggingface(dataset(), COLUMNS, **options)

    def numbers(self, batch):
        return check(batch)

    def test_another_dataset_does_not_take_the_state(self):
        with pipeline.batch(self.make(), 3, deterministic=True) as batches:
            next(batches)
            state = batches.state_dict()
        other = pipeline.huggingface(dataset(COUNT + 1).select(range(1, COUNT + 1)), COLUMNS)
        with pipeline.batch(other, 3, deterministic=True) as batches:
            text = "huggingface: its values have changed since the state was saved"
            with pytest.raises(pipeline.StateMismatchError, match=text):
                batches.load_state_dict(state)


class TestFormatted(TestDataset):
    def make(self, **options):
        return pipeline.huggingface(dataset().with_format("numpy"), COLUMNS, **options)


class TestSelected(TestDataset):
    """Rows from a larger dataset, chosen by its own index."""

    def make(self, **options):
        return pipeline.huggingface(dataset(50).select([*range(20), *range(20, COUNT)]), COLUMNS, **options)


class TestIterable(SourceContract):
    count = COUNT
    known = False
    shuffles = False
    shards = 4

    def dataset(self):
        return dataset().to_iterable_dataset(num_shards=4)

    @pytest.fixture(autouse=True)
    def _small_pieces(self, monkeypatch):
        monkeypatch.setattr("pipeline.sources.huggingface._PIECE", 7)  # so that a few rows span several pieces

    def make(self, **options):
        return pipeline.huggingface(self.dataset(), COLUMNS, **options)

    def numbers(self, batch):
        return check(batch)

    def test_orders_are_random(self):
        orders = [self.in_order(self.make(shuffle=True, num_epochs=3)) for _ in range(2)]
        assert orders[0] == orders[1]
        epochs = [orders[0][i : i + COUNT] for i in range(0, 3 * COUNT, COUNT)]
        assert all(sorted(epoch) == list(range(COUNT)) for epoch in epochs)
        assert epochs[0] != epochs[1] != epochs[2]
        with raises(ValueError, "huggingface: an IterableDataset takes its seed itself: dataset.shuffle(seed=...)"):
            self.make(shuffle=True, seed=1)

    def test_loops_at_once_have_places_of_their_own(self):
        """A dataset remembers only one position, shared with its copies."""
        source = self.make(num_epochs=2)

        def loop():
            return pipeline.batch(source, 4, deterministic=True)

        with loop() as first, loop() as second:
            for _ in range(COUNT // 8):
                next(first)
            taken = [self.numbers(next(second)) for _ in range(2)]
            state = second.state_dict()
            for _ in range(3):
                next(first)
            rest = [self.numbers(each) for each in second]
        assert [i for each in taken + rest for i in each][: 2 * COUNT] == 2 * list(range(COUNT))
        resumed = loop()
        resumed.load_state_dict(state)
        assert self.taken(resumed) == rest


class TestMappedIterable(TestIterable):
    """With Python code per example, like most streams."""

    def dataset(self):
        return super().dataset().map(lambda example: {"n": example["n"] + 0})


class TestTypedIterable(TestIterable):
    """Like most streams with known features: rows made in Python."""

    def dataset(self):
        data = super().dataset()
        return data.map(lambda example: {"n": example["n"] + 0}, features=data.features)


class TestFormattedIterable(TestIterable):
    def dataset(self):
        return super().dataset().with_format("numpy")


def test_a_shuffled_stream_gets_its_epochs():
    source = pipeline.huggingface(
        dataset().to_iterable_dataset(num_shards=4).shuffle(seed=1, buffer_size=10), COLUMNS, num_epochs=2, shuffle=True
    )
    got = [example["n"].item() for example in source]
    assert sorted(got[:COUNT]) == sorted(got[COUNT:]) == list(range(COUNT))
    assert got[:COUNT] != got[COUNT:]


def test_images_are_decoded():
    import datasets

    images = [np.full((4, 4, 3), i, np.uint8) for i in range(6)]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    data = datasets.Dataset.from_dict({"image": images, "label": range(6)}, features=features)
    for source in (data, data.to_iterable_dataset()):
        [got] = pipeline.batch(pipeline.huggingface(source), 6)
        assert got["image"].dtype == np.uint8
        assert np.array_equal(got["image"], images)
        assert got["label"].tolist() == list(range(6))


def beside_images(count=6):
    """Images, and columns without decoding next to them."""
    import datasets

    def image(number, side):
        return {"bytes": pipeline.encode_png(np.full((side, side, 3), number, np.uint8)), "path": None}

    value = datasets.Value
    features = {
        "image": datasets.Image(),
        "count": value("int32"),
        "score": value("float64"),
        "ids": datasets.List(value("int16")),
        "words": datasets.List(value("string")),
        "box": {"side": value("int8"), "name": value("string"), "crop": datasets.Image()},
        "grid": datasets.Array2D((2, 2), "int16"),
        "track": datasets.Array2D((None, 2), "uint8"),
        "frames": datasets.List(datasets.Image()),
    }
    columns = {
        "image": [image(i, 4) for i in range(count)],
        "count": list(range(count)),
        "score": [i + 2.0**-40 for i in range(count)],
        "ids": [[i, i] for i in range(count - 1)] + [[7]],
        "words": [["é"]] * count,
        "box": [{"side": i, "name": "x", "crop": image(i, 2)} for i in range(count)],
        "grid": [[[i, 2], [3, 4]] for i in range(count)],
        "track": [[[i, i]] * 2 for i in range(count - 1)] + [[]],
        "frames": [[image(i, 2)] * (i % 2) for i in range(count)],
    }
    return datasets.Dataset.from_dict(columns, features=datasets.Features(features))


def as_it_is(data):
    return data


def streamed(data):
    return data.to_iterable_dataset()


def filtered(data):
    """A stream whose images are decoded, because its function may look at them."""
    return data.to_iterable_dataset().filter(lambda row: True)


def columns_of(rows):
    """Return the values in rows, by column."""
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.parametrize("form", [as_it_is, streamed, filtered])
def test_columns_beside_images_are_what_their_features_say(form):
    data = form(beside_images())
    for batch in pipeline.huggingface(data).batch(2, collate=columns_of):
        assert np.stack(batch["image"]).shape == (2, 4, 4, 3)
        assert [row.dtype for row in batch["count"]] == 2 * [np.int32]
        assert batch["score"] == [i + 2.0**-40 for i in batch["count"]]
        assert [row.dtype for row in batch["ids"]] == 2 * [np.int16]
        assert batch["words"][0].tolist() == ["é"]
        assert [box["side"].dtype for box in batch["box"]] == 2 * [np.int8]
        assert [box["name"] for box in batch["box"]] == ["x", "x"]
        assert [box["crop"].shape for box in batch["box"]] == 2 * [(2, 2, 3)]
        assert np.stack(batch["grid"]).dtype == np.int16
        assert np.stack(batch["grid"]).shape == (2, 2, 2)
        assert [row.dtype for row in batch["track"]] == 2 * [np.uint8]
        assert [len(row) for row in batch["frames"]] == [0, 1]
    *_, batch = pipeline.huggingface(data, ["image", "ids", "track", "words"]).batch(2, pad=0)
    assert batch["ids"].tolist() == [[4, 4], [7, 0]]
    assert batch["track"].tolist() == [[[4, 4], [4, 4]], [[0, 0], [0, 0]]]
    assert batch["words"].tolist() == [["é"]] * 2


@pytest.mark.parametrize("form", [as_it_is, streamed, filtered])
def test_missing_values_beside_images(form):
    import datasets

    image = np.zeros((2, 2, 3), np.uint8)
    features = datasets.Features({"image": datasets.Image(), "n": datasets.Value("int32")})
    data = form(datasets.Dataset.from_dict({"image": [image] * 3 + [None], "n": [1, None, 3, 4]}, features=features))
    source = pipeline.huggingface(data)
    with raises(ValueError, "huggingface: column 'n' of type int32 has missing values, 1 of 1: see defaults="):
        list(pipeline.batch(source, 4))
    [batch] = pipeline.batch(source, 2, on_error="skip")
    assert batch["n"].tolist() == [1, 3]
    filled = pipeline.huggingface(data, defaults={"n": -1})
    kind = "" if form is filtered else " of type struct<bytes: binary, path: string>"
    with raises(
        ValueError, f"huggingface: column 'image'{kind} has missing values, 1 of 1: leave out their rows, such"
    ):
        list(pipeline.batch(filled, 4))
    [batch] = pipeline.batch(filled, 3, on_error="skip")
    assert batch["n"].tolist() == [1, -1, 3]


@pytest.mark.parametrize("form", [as_it_is, streamed, filtered])
def test_images_of_several_sizes(form):
    """The first ones have equal size."""
    import datasets

    images = [np.full((4 + (i == 5), 4, 3), i, np.uint8) for i in range(6)]
    data = datasets.Dataset.from_dict({"image": images}, features=datasets.Features({"image": datasets.Image()}))
    source = pipeline.huggingface(form(data))
    with raises(ValueError, "batch: component 'image' has shape [4, 4, 3] in one example and [5, 4, 3] in another"):
        list(source.batch(6))
    for batches in (
        pipeline.batch(source, 3, dynamic_pad=True),
        source.batch(3, pad=0),
        source.batch(3, pad={"image": 0}),
    ):
        assert [batch["image"].shape for batch in batches] == [(3, 4, 4, 3), (3, 5, 4, 3)]
    for options in ({}, {"on_error": "skip"}, {"workers": 2}):
        [batch] = source.map(lambda row: row["image"][-4:], **options).batch(6)
        assert batch[:, 0, 0, 0].tolist() == list(range(6))
    assert [example["image"].shape[0] for example in source] == [4] * 5 + [5]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", ["numpy", "arrow"])
def test_columns_of_a_format_vary_if_their_features_say_so(kind, streamed):
    """All rows in the first block, and all in the second, have equal length."""
    import datasets

    features = {
        "ids": datasets.List(datasets.Value("int32")),
        "pair": datasets.List(datasets.Value("int32"), length=2),
        "box": {"ids": datasets.List(datasets.Value("string")), "n": datasets.Value("int64")},
    }
    rows = [[1, 2]] * 70 + [[3]] * 70
    columns = {"ids": rows, "pair": [[1, 2]] * 140, "box": [{"ids": list(map(str, row)), "n": 1} for row in rows]}
    data = datasets.Dataset.from_dict(columns, features=datasets.Features(features)).with_format(kind)
    source = pipeline.huggingface(data.to_iterable_dataset() if streamed else data)
    for batch, length in zip(source.batch(70), (2, 1), strict=True):
        assert batch["ids"].shape == (70, length)
        assert batch["box"]["ids"][0].tolist() == ["1", "2"][:length] or length == 1
        assert batch["pair"].shape == (70, 2)
        assert batch["box"]["n"].tolist() == [1] * 70
    for each in (source, source.map(dict), source.map(dict, workers=2)):
        [batch] = each.batch(140, pad={"ids": 0, "box/ids": ""})
        assert batch["ids"].tolist() == [[1, 2]] * 70 + [[3, 0]] * 70
        assert batch["box"]["ids"].tolist() == [["1", "2"]] * 70 + [["3", ""]] * 70
        [batch] = each.batch(140, collate="row_splits")
        assert batch["box"]["ids"][0].tolist() == ["1", "2"] * 70 + ["3"] * 70
    [batch] = pipeline.huggingface(data, ["ids", "pair"]).batch(140, pad=0)
    assert batch["ids"].tolist() == [[1, 2]] * 70 + [[3, 0]] * 70
    assert batch["pair"].tolist() == [[1, 2]] * 140


def test_rows_of_a_stream_are_what_their_features_say():
    """An empty list or a missing value has no type by itself; an image is not encoded again."""
    import datasets
    import PIL.Image

    jpeg = pipeline.encode_jpeg(np.random.default_rng(1).integers(0, 255, (8, 8, 3)).astype(np.uint8))

    def rows():
        for i in range(6):
            yield {"ids": [i] * (i % 3), "kind": ["a", "b"][i % 2], "image": {"bytes": jpeg, "path": None}} | (
                {"score": i / 2} if i % 3 else {}
            )

    values = datasets.Value("int16"), datasets.ClassLabel(names=["a", "b"])
    features = {"ids": datasets.List(values[0]), "kind": values[1], "score": datasets.Value("float32")}
    features = datasets.Features({**features, "image": datasets.Image()})
    stream = datasets.IterableDataset.from_generator(rows, features=features)
    for data in (stream, stream.filter(lambda row: True), stream.with_format("arrow")):
        [batch] = pipeline.huggingface(data, defaults={"score": -1}).batch(6, pad={"ids": 0})
        assert batch["ids"].dtype == np.int16
        assert batch["ids"].tolist() == [[0, 0], [1, 0], [2, 2], [0, 0], [4, 0], [5, 5]]
        assert batch["kind"].tolist() == [0, 1] * 3
        assert batch["score"].dtype == np.float32
        assert batch["score"].tolist() == [-1, 0.5, 1, -1, 2, 2.5]
        assert (batch["image"] == np.asarray(PIL.Image.open(io.BytesIO(jpeg)))).all()


def test_rows_of_a_stream_that_do_not_fit_its_features():
    """The library does not check the rows a `map` returns."""
    import datasets

    def mapped(row):
        data = dataset().to_iterable_dataset()
        features = datasets.Features({"n": datasets.Value("int32"), "score": datasets.Value("int8")})
        return pipeline.huggingface(data.map(row, features=features, remove_columns=["word", "kind", "pair", "left"]))

    for wrong in (300, "x"):
        with raises(ValueError, "huggingface: column 'score' has a value that does not fit its Value('int8'): "):
            list(pipeline.batch(mapped(lambda row, score=wrong: {"score": score}), 4))
    with raises(ValueError, "huggingface: column 'score' of type int8 has missing values, "):
        list(pipeline.batch(mapped(lambda row: {}), 4))


def made(source, how):
    return source if how is None else source.map(dict, **how)


HOW = [None, {}, {"workers": 2}]
FORMS = {"list": {"collate": columns_of}, "pad": {"pad": 0}, "splits": {"collate": "row_splits"}}


@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_stream_whose_features_nobody_knows(how, monkeypatch):
    """All rows in its first pieces have equal length."""
    monkeypatch.setattr("pipeline.sources.huggingface._PIECE", 7)  # so that a few rows span several pieces
    stream = dataset().to_iterable_dataset().map(lambda row: {"ids": [1] * (2 if row["n"] < 20 else 3)})
    batches = made(pipeline.huggingface(stream, ["n", "ids"]), how).batch(10, pad=0)
    assert [batch["ids"].shape for batch in batches] == [(10, 2), (10, 2), (10, 3)]


@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_structs_of_a_stream_whose_features_nobody_knows(form, how):
    stream = dataset().to_iterable_dataset()
    stream = stream.map(lambda row: {"box": {"n": row["n"], "word": row["word"], "ids": [row["n"]] * (row["n"] % 3)}})
    for batch in made(pipeline.huggingface(stream, ["n", "box"]), how).batch(10, **form):
        numbers = [int(n) for n in batch["n"]]
        box = batch["box"] if isinstance(batch["box"], dict) else columns_of(batch["box"])
        assert [int(n) for n in box["n"]] == numbers
        assert list(box["word"]) == [f"{i}é" for i in numbers]
        ids = box["ids"]
        if "pad" in form:
            assert ids.shape == (10, 2)
        elif form["collate"] == "row_splits":
            assert ids[0].tolist() == [i for i in numbers for _ in range(i % 3)]
        else:
            assert [row.tolist() for row in ids] == [[i] * (i % 3) for i in numbers]


def test_a_transform():
    data = dataset().with_transform(lambda rows: {"double": [np.array([n, n]) for n in rows["n"]]})
    [got] = pipeline.batch(pipeline.huggingface(data), COUNT)
    assert got["double"].tolist() == [[i, i] for i in range(COUNT)]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_transform_whose_rows_vary(how):
    rows = [list(range(i % 5)) for i in range(COUNT)]
    data = dataset().with_transform(lambda asked: {"ids": [list(range(n % 5)) for n in asked["n"]]})
    source = made(pipeline.huggingface(data), how)
    [got] = source.batch(COUNT, pad=0)
    assert got["ids"].tolist() == [row + [0] * (4 - len(row)) for row in rows]
    [got] = source.batch(COUNT, collate="row_splits")
    values, splits = got["ids"]
    assert values.tolist() == [each for row in rows for each in row]
    assert splits.tolist() == np.cumsum([0, *map(len, rows)]).tolist()


def test_two_loops_share_a_stream():
    source = pipeline.huggingface(dataset().to_iterable_dataset(), COLUMNS)
    first, second = pipeline.batch(source, 5), pipeline.batch(source, 5)
    with first, second:
        assert [check(got) for pair in zip(first, second, strict=True) for got in pair] == [
            list(range(i, i + 5)) for i in range(0, COUNT, 5) for _ in range(2)
        ]


def test_errors():
    import datasets

    with raises(ValueError, "huggingface: there is no column 'x'; the columns are 'n', 'word', 'kind', 'pair', 'left'"):
        pipeline.huggingface(dataset(), ["x"])
    with raises(TypeError, "huggingface: columns must be a list of names, such as ['n'], not 'n'"):
        pipeline.huggingface(dataset(), "n")
    with raises(TypeError, "huggingface: a list is not a Dataset or IterableDataset"):
        pipeline.huggingface([1])
    splits = datasets.DatasetDict({"train": dataset()})
    with raises(
        TypeError, "huggingface: a DatasetDict is not a Dataset or IterableDataset: choose a split, such as datas"
    ):
        pipeline.huggingface(splits)
    with raises(ValueError, "huggingface: column 'left' of type string has miss"):
        list(pipeline.batch(pipeline.huggingface(dataset()), 5))
    failing = dataset().to_iterable_dataset().map(lambda example: {"n": 1 // (7 - example["n"])})
    with pytest.raises(ZeroDivisionError):
        list(pipeline.batch(pipeline.huggingface(failing, COLUMNS), 5, on_error="skip"))


def test_without_datasets():
    script = """
import sys
sys.modules["datasets"] = None
import pipeline
try:
    pipeline.huggingface([])
except ImportError as error:
    print(error)
"""
    assert run_script(script).stdout == "huggingface needs datasets: pip install datasets\n"


@pytest.mark.parametrize("streamed", [False, True])
def test_defaults(streamed):
    """A stream has its own pieces, and a piece may have no missing value."""
    import datasets

    data = datasets.Dataset.from_dict(
        {
            "n": [1, None, 3] * 100,
            "word": ["x", None, "z"] * 100,
            "box": [{"size": 1}, None, {"size": None}] * 100,
            "words": [["a"], None, []] * 100,
        }
    )
    data = data.to_iterable_dataset() if streamed else data
    source = pipeline.huggingface(data, defaults={"n": -1, "word": "none", "box/size": 0, "words": ["q"]})
    [batch] = source.batch(300, collate="row_splits")
    assert batch["n"].tolist() == [1, -1, 3] * 100
    assert batch["n"].dtype == np.int64
    assert batch["word"].tolist() == ["x", "none", "z"] * 100
    assert batch["box"]["size"].tolist() == [1, 0, 0] * 100
    words, splits = batch["words"]
    assert words.tolist() == ["a", "q"] * 100
    assert np.diff(splits).tolist() == [1, 1, 0] * 100
    with raises(ValueError, "huggingface: column 'word' of type string has missing values,"):
        list(pipeline.batch(pipeline.huggingface(data, ["n", "word"], {"n": -1}), 300))


def test_defaults_that_do_not_fit():
    with raises(ValueError, "huggingface: 'a' is not a valid default for column 'n' of int32"):
        pipeline.huggingface(dataset(), COLUMNS, {"n": "a"})
    with raises(ValueError, "huggingface: defaults: there is no column 'left'; the columns are 'n', 'word', 'kind'"):
        pipeline.huggingface(dataset(), COLUMNS, {"left": ""})
    with raises(TypeError, "huggingface: defaults must be a dict of values by column, not ['left']"):
        pipeline.huggingface(dataset(), defaults=["left"])
    for data in (dataset().with_format("numpy"), dataset().to_iterable_dataset().map(dict)):
        with raises(ValueError, "huggingface: defaults= is for datasets that are read as Arrow; this one has a format"):
            pipeline.huggingface(data, defaults={"left": ""})


def test_a_state_knows_its_defaults():
    loops = [
        pipeline.batch(pipeline.huggingface(dataset(), ["left"], {"left": text}), 5, deterministic=True)
        for text in ("", "x")
    ]
    with loops[0], loops[1]:
        next(loops[0])
        state = loops[0].state_dict()
        with pytest.raises(pipeline.errors.StateMismatchError, match="defaults"):
            loops[1].load_state_dict(state)


@pytest.mark.parametrize("form", [as_it_is, streamed, filtered])
class TestFeatures:
    def batch(self, form, feature, values, **options):
        import datasets

        data = datasets.Dataset.from_dict({"x": values}, features=datasets.Features({"x": feature}))
        [batch] = pipeline.huggingface(form(data), **options).batch(len(values))
        return batch["x"]

    def rows(self, form, feature, values, **options):
        import datasets

        data = datasets.Dataset.from_dict({"x": values}, features=datasets.Features({"x": feature}))
        return [row["x"].tolist() for row in pipeline.huggingface(form(data), **options)]

    def test_chats(self, form):
        import datasets

        chats = [[{"role": "user", "content": "é"}, {"role": "assistant", "content": None}], []]
        feature = datasets.List({"role": datasets.Value("string"), "content": datasets.Value("string")})
        got = self.batch(form, feature, chats)
        assert got.tolist() == chats
        assert {type(each) for each in got} == {pipeline.ListValue}

    def test_lists_of_lists(self, form):
        import datasets

        lists = [[[1, 2], []], [], [[3]]]
        assert self.batch(form, datasets.List(datasets.List(datasets.Value("int64"))), lists).tolist() == lists

    def test_string_views(self, form):
        import datasets

        feature = datasets.Value("string_view")
        assert self.batch(form, feature, ["a", "a longer string"], shuffle=form is as_it_is).dtype == object
        assert self.batch(form, feature, ["a", "a longer string"]).tolist() == ["a", "a longer string"]
        assert self.rows(form, datasets.List(feature), [["a"], ["b", "c"]]) == [["a"], ["b", "c"]]

    def test_images_that_are_not_decoded(self, form):
        """Their path or their bytes are often missing."""
        import datasets

        feature, files = datasets.Image(decode=False), [{"bytes": b"x", "path": None}, {"bytes": None, "path": "y.png"}]
        got = self.batch(form, feature, files)
        assert got["bytes"].tolist() == [b"x", b""]
        assert got["path"].tolist() == ["", "y.png"]
        got = self.batch(form, feature, files, defaults={"x/bytes": b"none"})
        assert got["bytes"].tolist() == [b"x", b"none"]
        with raises(ValueError, "huggingface: column 'x' of type struct<"):
            self.batch(form, feature, [*files, None])

    def test_missing_values_in_lists(self, form):
        import datasets

        feature, lists = datasets.List(datasets.Value("int64")), [[1, None], [2]]
        with raises(ValueError, "huggingface: column 'x/item' of type int64 has missing values, 1 of 2: see defaults="):
            self.batch(form, feature, lists)
        assert self.rows(form, feature, lists, defaults={"x/item": -1}) == [[1, -1], [2]]


@pytest.mark.parametrize("form", ["mapped", "transform"])
def test_chats_whose_features_nobody_knows(form):
    import datasets

    chats = [[], [{"role": "user", "tags": ["a", "b"], "n": 1}], [{"role": "é", "tags": [], "n": 2}] * 2]
    data = datasets.Dataset.from_dict({"chat": chats})
    data = data.to_iterable_dataset().map(same) if form == "mapped" else data.with_transform(same)
    [batch] = pipeline.batch(pipeline.huggingface(data), 3)
    assert batch["chat"].tolist() == chats
    assert {type(each) for each in batch["chat"]} == {pipeline.ListValue}
