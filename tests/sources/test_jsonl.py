"""jsonl: lines from JSON Lines files, plain and compressed, and damaged ones."""

import json
import pickle
import re

import numpy as np
import pytest
from source_contract import SourceContract
from test_text import COMPRESS, COUNT, ENDS

import pipeline
from pipeline.files.read_buffer import ReadBuffer


def raises(cls, text):
    return pytest.raises(cls, match=re.escape(text))


@pytest.fixture
def _small_chunks(monkeypatch):
    monkeypatch.setattr(ReadBuffer, "CHUNK", 64)


def row(i):
    return {"id": i, "text": "naïve " * (i % 4), "box": {"at": [i, i / 2]}, "flag": i % 2 == 0}


def dumped(i):
    """Return a line with blanks, escapes or neither; an empty line follows some."""
    text = json.dumps(row(i), ensure_ascii=i % 3 == 0)
    return (f"  {text}\t" if i % 5 == 0 else text).encode() + (b"\r\n" if i % 4 else b"\n") + b" \n\n" * (i % 7 == 3)


@pytest.mark.usefixtures("_small_chunks")
class TestJsonl(SourceContract):
    count = COUNT
    known = False
    ending = ""

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.pattern = tmp_path / f"*.jsonl{self.ending}"
        for number, (first, end) in enumerate(ENDS):
            data = b"\xef\xbb\xbf" * (number == 1) + b"".join(map(dumped, range(first, end)))
            (tmp_path / f"{number}.jsonl{self.ending}").write_bytes(COMPRESS[self.ending](data))

    def make(self, **options):
        return pipeline.jsonl(self.pattern, **options)

    def numbers(self, batch):
        found = batch["id"].tolist()
        assert batch["text"].tolist() == [row(i)["text"].encode() for i in found] or batch["text"].tolist() == [
            row(i)["text"] for i in found
        ]
        assert batch["box"]["at"].tolist() == [row(i)["box"]["at"] for i in found]
        assert batch["flag"].dtype == bool
        return found


class TestCompressedJsonl(TestJsonl):
    ending = ".gz"


def written(path, *lines):
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return path


def test_values_are_what_json_says(tmp_path):
    text = '{"a": 1, "b": 2.5, "c": null, "d": "\\u00e9", "e": [1, 2], "f": [], "g": true, "h": 1234567890123456789}'
    [example] = pipeline.jsonl(written(tmp_path / "a.jsonl", text))
    assert example == json.loads(text)
    assert list(example) == list(json.loads(text))


def test_rows_may_differ(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"a": 1}', '{"b": [1, 2]}', "{}", '{"b": [1]}')
    assert list(pipeline.jsonl(path)) == [{"a": 1}, {"b": [1, 2]}, {}, {"b": [1]}]
    batches = pipeline.jsonl(path, ["b"], defaults={"b": []}).batch(4, pad=0)
    assert next(iter(batches))["b"].tolist() == [[0, 0], [1, 2], [0, 0], [1, 0]]
    with pytest.raises(pipeline.InvalidArgumentError, match=r"the keys of the first one.*a\.jsonl:1 and .*a\.jsonl:2"):
        next(pipeline.batch(pipeline.jsonl(path), 2))


def test_columns_and_defaults(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"a": 1, "b": null, "c": 3}', '{"a": 2}')
    assert list(pipeline.jsonl(path, ["c", "a"], defaults={"c": 0})) == [{"c": 3, "a": 1}, {"c": 0, "a": 2}]
    assert list(pipeline.jsonl(path, defaults={"b": 7, "d": 9})) == [
        {"a": 1, "b": 7, "c": 3, "d": 9},
        {"a": 2, "b": 7, "d": 9},
    ]
    assert list(pipeline.jsonl(path, ["b"]).take(1)) == [{"b": None}]
    with raises(pipeline.InvalidArgumentError, "line 2: it has no 'c'; it has 'a'. See defaults="):
        list(pipeline.jsonl(path, ["c"]))


def test_a_list_of_objects_is_one_value(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"chat": [{"role": "user"}, {}], "n": [1]}', '{"chat": [[1], []], "n": [2]}')
    [batch] = pipeline.jsonl(path).batch(2)
    assert batch["chat"].tolist() == [[{"role": "user"}, {}], [[1], []]]
    assert batch["n"].tolist() == [[1], [2]]
    [batch] = pipeline.batch(pipeline.jsonl(path), 2)
    assert batch["chat"].tolist() == [[{"role": "user"}, {}], [[1], []]]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{'a': 1}", "it is not JSON: Expecting property name enclosed in double quotes at character 1"),
        ('{"a": 1} {"a": 2}', "it is not JSON: Extra data at character 8"),
        ('{"a": ', "it is not JSON: Expecting value at character 5"),
        ("nothing", "it is not JSON: Expecting value at character 0"),
        (b'{"a": "\xff"}', "is not UTF-8: "),
        ('{"a": 1}'.encode("utf-16"), "is not UTF-8: "),
        ('[{"a": 1}]', 'expected a JSON object, got [{"a": 1}]. A file that is one JSON array is not JSON Lines'),
        ("1", "expected a JSON object, got 1"),
        ("[" * 200_000, "it is not JSON"),
        ('{"a": ' + "1" * 5000 + "}", "it is not JSON"),
    ],
)
@pytest.mark.parametrize("way", ["dataset", "batch"])
def test_errors_name_file_and_line(tmp_path, line, said, way):
    path = written(tmp_path / "bad.jsonl", '{"a": 0}', "", line, '{"a": 9}')
    with pytest.raises(pipeline.DataLossError if "UTF-8" in said else pipeline.InvalidArgumentError) as failed:
        list(pipeline.jsonl(path) if way == "dataset" else pipeline.batch(pipeline.jsonl(path), 1))
    assert str(failed.value).startswith(f"jsonl: {path}, line 3: ")
    assert said in str(failed.value)
    assert failed.value.record_key == b"%b:3" % bytes(path)


def test_bad_lines_are_left_out(tmp_path):
    path = written(tmp_path / "bad.jsonl", *(str(i) if i % 10 == 3 else f'{{"a": {i}}}' for i in range(40)))
    good = [i for i in range(40) if i % 10 != 3]
    iterator = iter(pipeline.jsonl(path).map(lambda example: example["a"], on_error="skip"))
    assert list(iterator) == good
    assert iterator.num_errors == 4
    with pipeline.batch(pipeline.jsonl(path), 4, on_error="skip") as batches:
        assert [i for batch in batches for i in batch["a"].tolist()] == good
    assert batches.num_errors == 4


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize("length", [30, 1000])
def test_long_lines_are_refused(tmp_path, length):
    path = written(tmp_path / "a.jsonl", '{"a": 1}', json.dumps({"a": "x" * length}), '{"a": 2}')
    with pytest.raises(pipeline.ResourceExhaustedError, match=r"a\.jsonl.* has more than the limit of 20 bytes"):
        list(pipeline.jsonl(path, max_record_bytes=20))
    assert len(list(pipeline.jsonl(path, max_record_bytes=length + 20))) == 3


def test_strings_with_half_a_pair_are_an_error_not_a_crash(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"a": "\\ud800"}')
    assert list(pipeline.jsonl(path)) == [{"a": "\ud800"}]
    [batch] = pipeline.jsonl(path).batch(1)
    assert batch["a"].tolist() == ["\ud800"]


def test_bad_arguments(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"a": 1}')
    with raises(TypeError, "columns must be a list of names, such as ['a']"):
        pipeline.jsonl(path, "a")
    with raises(ValueError, "no columns are chosen"):
        pipeline.jsonl(path, [])
    with raises(TypeError, "defaults must be a dict"):
        pipeline.jsonl(path, defaults=[1])
    with raises(ValueError, "defaults has 'b', which is not in columns"):
        pipeline.jsonl(path, ["a"], defaults={"b": 1})
    with raises(pipeline.NotFoundError, "No such file"):
        pipeline.jsonl(tmp_path / "none.jsonl")
    with raises(ValueError, "max_record_bytes"):
        pipeline.jsonl(path, max_record_bytes=-1)


def test_sources_pickle_before_and_after_use(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6))
    path = written(tmp_path / "a.jsonl", *(f'{{"a": {i}}}' for i in range(6)))
    (tmp_path / "b.csv").write_text("a\n1\n2\n")
    for source in (
        pipeline.jsonl(path, shuffle=True),
        pipeline.text(path).batch(2),
        pipeline.csv(tmp_path / "b.csv"),
        pipeline.arrays(np.arange(6.0), shuffle=True),
        pipeline.arrays((tmp_path / "x.npy",), num_epochs=2),
    ):
        there = pickle.loads(pickle.dumps(source))
        assert str(list(there)) == str(list(source))
        iterator = iter(source)
        next(iterator)
        resumed = iter(pickle.loads(pickle.dumps(source)))
        resumed.load_state_dict(iterator.state_dict())
        assert str(list(resumed)) == str(list(iterator))
