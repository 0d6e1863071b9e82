"""Each row of the upgrade notes from 0.3 to 0.4 is a program here: it raises the error shown, or has the new result."""

import io
import itertools
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from page_programs import ROOT
from worker_functions import Counting, shared_draws

import pipeline

PAGE = (ROOT / "docs" / "upgrade.md").read_text()
SECTION = PAGE.split("## From 0.3 to 0.4\n")[1].split("\n## ")[0]
PROGRAMS = {}

numbers = pipeline.dataset(range(40))


def rows(title):
    """Return a table's rows: the first cell, and the second."""
    lines = re.findall(r"^\| .*$", SECTION.split(f"### {title}\n")[1].split("\n### ")[0], re.MULTILINE)[1:]
    return dict(line.strip("| ").split(" | ")[:2] for line in lines)


ERRORS, RESULTS = rows("Programs that raise an error"), rows("Programs with other results")


def short(first):
    return "-".join(re.findall(r"\w+", first))[:50]


def row(first):
    def keep(function):
        assert first not in PROGRAMS
        PROGRAMS[first] = function
        return function

    return keep


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_row_has_a_program():
    assert sorted(PROGRAMS) == sorted([*ERRORS, *RESULTS])


@pytest.mark.parametrize("old", ERRORS, ids=short)
def test_an_old_program_gets_the_error(old):
    """The page shows its class and the beginning of its text; `...` there matches anything."""
    kind, _, text = ERRORS[old].strip("`").partition(": ")
    with pytest.raises(Exception, match="^" + ".*".join(map(re.escape, text.split("...")))) as caught:
        PROGRAMS[old]()
    assert type(caught.value).__name__ == kind


@pytest.mark.parametrize("old", RESULTS, ids=short)
def test_an_old_program_has_the_new_result(old):
    PROGRAMS[old]()


# Programs that raise an error -----------------------------------------------------------------------------------------


@row("loading a state saved by 0.3")
def _():
    state = iter(numbers).state_dict() | {"version": 2, "made_by": "0.3.0"}
    iter(numbers).load_state_dict(state)


@row("`iterator.fingerprint()` of any dataset")
def _():
    iter(numbers).fingerprint()


@row("`fingerprint(content=True)`")
def _():
    iter(numbers.checksum()).fingerprint(content=True)


@row("`.checksum()` before other steps than `batch(n)` and `prefetch`")
def _():
    numbers.checksum().map(str)


@row("`next(timeout=)` of any dataset")
def _():
    iter(numbers).next(timeout=1)


@row("`state_dict()` of `batch(f, deterministic=True)`, where `f` reads from a reader or a producer")
def _():
    reader, files = pipeline.TextLineReader(), pipeline.string_input_producer(["a.txt"], num_epochs=1)
    pipeline.batch(lambda: reader.read(files), 2, deterministic=True).state_dict()


@row("an iterator without threads, opened before `os.fork()`, in the child")
def _():
    iterator = iter(numbers)
    next(iterator)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            next(iterator)
        except pipeline.errors.FailedPreconditionError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with open(reading) as text:
        raise pipeline.errors.FailedPreconditionError(None, None, text.read())


@row("the next call after Ctrl-C, over a generator or another one-shot source")
def _():
    def interrupted(x):
        if x == 1:
            raise KeyboardInterrupt
        return x

    iterator = iter(pipeline.dataset(x for x in range(4)).map(interrupted))
    next(iterator)
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    next(iterator)


@row("`next` after `close()`")
def _():
    iterator = iter(numbers)
    iterator.close()
    next(iterator)


@row("a second loop over a generator")
def _():
    once = pipeline.dataset(x for x in range(4))
    list(once)
    list(once)


@row("`pipeline.dataset({1, 2})`, whose order was undefined")
def _():
    pipeline.dataset({1, 2})


@row("`.shard(i, n)` after a source with `shard=`, which left out examples")
def _():
    pipeline.arrays(np.arange(8), shard=(0, 2)).shard(0, 2)


@row("`pack(n, split=False)` or `split=True`")
def _():
    pipeline.dataset([[1, 2]]).pack(4, split=False)


@row("numbers and strings, or str and bytes, in one batch")
def _():
    list(pipeline.dataset([1, "a"]).batch(2))


@row('`pad=b""` for strings, which are str now')
def _():
    list(pipeline.dataset([{"words": ["a", "b"]}, {"words": ["c"]}]).batch(2, pad=b""))


@row('`allow={"batch_size"}` with `take`, `skip`, `repeat` or `concatenate` behind `batch`')
def _():
    state = iter(numbers.batch(4).take(4)).state_dict()
    iter(numbers.batch(2).take(4)).load_state_dict(state, allow={"batch_size"})


@row("`text` over lines that are not UTF-8")
def _():
    Path("a.txt").write_bytes(b"caf\xe9\n")
    list(pipeline.text("a.txt"))


def write_tables(**tables):
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra arrow is not installed")
    arrow = pytest.importorskip("pyarrow", reason="the extra arrow is not installed")
    for name, columns in tables.items():
        parquet.write_table(arrow.table(columns), f"{name}.parquet")
    return pipeline.parquet([f"{name}.parquet" for name in tables])


@row("a column with strings in one file and binaries in another")
def _():
    list(write_tables(a={"city": ["Oslo"]}, b={"city": [b"Oslo"]}))


@row("a column that the first Parquet or Feather file lacks, which was left out")
def _():
    list(write_tables(a={"x": [1]}, b={"x": [1], "y": [2]}))


def tar(*names, link=None):
    with tarfile.open("a.tar", "w") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"1"))
        if link is not None:
            member = tarfile.TarInfo(link)
            member.type, member.linkname = tarfile.SYMTYPE, names[0]
            archive.addfile(member)
    list(pipeline.webdataset("a.tar"))


@row("`webdataset` over a shard in which a sample's files are not neighbours")
def _():
    tar("a.txt", "b.txt", "a.cls")


@row("`webdataset` over a shard with links")
def _():
    tar("a.txt", link="b.txt")


@row("`tfrecord` with `default_value=` of a `FixedLenSequenceFeature`, which was ignored")
def _():
    feature = pipeline.FixedLenSequenceFeature([], "int64", allow_missing=True, default_value=0)
    pipeline.tfrecord("a.tfrecord", {"x": feature})


@row("an object whose `state_dict` has tuples or other values that JSON changes")
def _():
    class Source:
        def __iter__(self):
            return self

        def __next__(self):
            return 1

        def state_dict(self):
            return {"place": (1, 2)}

        def load_state_dict(self, state):
            pass

    iterator = iter(pipeline.dataset(Source()))
    next(iterator)
    iterator.state_dict()


def without_protobuf(code):
    script = f"import sys\nsys.modules['google.protobuf.descriptor_pb2'] = None  # as if not installed\n{code}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    kind, _, text = done.stderr.splitlines()[-1].partition(": ")
    assert kind == "ImportError", done.stderr
    raise ImportError(text)


@row("`Example` and other messages without a library")
def _():
    without_protobuf("import pipeline\npipeline.proto.Example()")


@row("`tf.Summary`, `tf.ConfigProto`, `tf.summary.FileWriter` and `tf.train.MonitoredSession` without a library")
def _():
    without_protobuf("import pipeline.compat.v1 as tf\ntf.train.MonitoredSession()")


@row("`Example.FromString` of damaged bytes, an `InvalidArgumentError`")
def _():
    pytest.importorskip("google._upb._message", reason="the message is that of compiled protobuf")
    pipeline.proto.Example.FromString(b"\xff\xff")


@row("`doing`, `alive` and `longest` of a report's stages")
def _():
    _ = iter(numbers).report().stages[0].doing


def of_torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@row("torch's `DataLoader(dataset)` over batches, which stacked them")
def _():
    list(of_torch().utils.data.DataLoader(numbers.batch(4)))


@row("torch's `DataLoader` over `pipeline.torch.IterableDataset`, which stacked batches")
def _():
    list(of_torch().utils.data.DataLoader(pipeline.torch.IterableDataset(numbers.batch(4))))


@row("`pipeline.torch.DataLoader` over examples of a source, or after `shuffle` or `take`")
def _():
    of_torch()
    pipeline.torch.DataLoader(numbers.shuffle(seed=1))


@row("`pipeline.torch.DataLoader(data=x)`")
def _():
    of_torch()
    pipeline.torch.DataLoader(data=numbers.batch(4))


# Programs with other results ------------------------------------------------------------------------------------------


@row("strings of `text`, `csv`, tables, `arrays`, `grain`, `torch.dataset` and `webdataset` are bytes")
def _():
    Path("a.csv").write_text("city\nOslo\n")
    assert list(pipeline.csv("a.csv")) == [{"city": "Oslo"}]
    assert list(pipeline.csv("a.csv", dtypes={"city": bytes})) == [{"city": b"Oslo"}]
    assert list(pipeline.text("a.csv", encoding=None)) == [b"city", b"Oslo"]


@row("`text` keeps a byte order mark in front of the first line")
def _():
    Path("a.txt").write_text("a\n", encoding="utf-8-sig")
    assert list(pipeline.text("a.txt")) == ["a"]
    assert list(pipeline.text("a.txt", encoding=None)) == [b"\xef\xbb\xbfa"]


@row("lists of lists or objects in JSON, CBOR and MessagePack of `webdataset` are arrays")
def _():
    with tarfile.open("a.tar", "w") as archive:
        member, data = tarfile.TarInfo("a.json"), b'{"boxes": [[1, 2], [3, 4]]}'
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    (sample,) = pipeline.webdataset("a.tar")
    assert isinstance(sample["json"]["boxes"], pipeline.ListValue)
    assert np.array(sample["json"]["boxes"]).tolist() == [[1, 2], [3, 4]]


@row("folders such as `year=2024/` have no effect on `parquet` and `feather`")
def _():
    os.mkdir("year=2024")
    write_tables(**{"year=2024/a": {"x": [1]}})
    assert list(pipeline.parquet("year=*/a.parquet")) == [{"x": 1, "year": 2024}]
    assert list(pipeline.parquet("year=*/a.parquet", columns=["x"])) == [{"x": 1}]


@row("`**` in a pattern matches one folder")
def _():
    for name in ("a.txt", "one/a.txt", "one/two/a.txt"):
        path = Path("data", name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{name}\n")
    assert list(pipeline.text("data/**/a.txt")) == ["a.txt", "one/a.txt", "one/two/a.txt"]
    assert list(pipeline.text("data/*/a.txt")) == ["one/a.txt"]


@row("a batch of a dict of arrays has sorted keys")
def _():
    (batch,) = pipeline.arrays({"b": np.arange(2), "a": np.arange(2)}).batch(2)
    assert list(batch) == ["b", "a"]


def draws(_):
    return float(pipeline.example_rng().random())


@row("`example_rng()` draws the same numbers in two functions of a dataset")
def _():
    both = pipeline.dataset([0]).map(lambda x: [draws(x)]).map(lambda first: [*first, draws(first), draws(first)])
    assert len({*next(iter(both))}) == 3


@row("`sample` repeats an example with equal random numbers")
def _():
    assert len({*pipeline.dataset([0]).map(draws).sample([1.0], 3, seed=1)}) == 3


@row("a replay buffer's draws, for a seed")
def _():
    def drawn(n):
        buffer = pipeline.replay(10, seed=1)
        for number in range(10):
            buffer.add(number)
        return list(itertools.islice(iter(buffer.batch(n).unbatch()), 12))

    assert drawn(2) == drawn(3)


@row("the order of rows of `pack(n, split=False)`")
def _():
    packed = pipeline.dataset([[1] * 3, [2] * 2, [3]]).pack(4, method="first_fit", long="error")
    assert [row["tokens"].tolist() for row in packed] == [[1, 1, 1, 3], [2, 2, 0, 0]]


@row("`image.resize` to a smaller size takes the nearest 4 or 16 pixels")
def _():
    image = np.arange(64.0, dtype="float32").reshape(8, 8, 1)
    smooth, sharp = (pipeline.image.resize(image, (2, 2), antialias=each)[..., 0] for each in (True, False))
    assert sharp.tolist() == [[13.5, 17.5], [45.5, 49.5]]
    assert abs(smooth - sharp).min() > 2


@row("a counter in a function for processes begins at 0 in each epoch")
def _():
    with pipeline.processes(1) as workers:
        counted = pipeline.dataset(range(3)).map(Counting(), workers=workers)
        assert [list(counted), list(counted)] == [[1, 2, 3], [4, 5, 6]]


@row("numbers from `random`, `np.random` and `torch.rand` in processes")
def _():
    drawn = pipeline.dataset(range(3)).map(shared_draws, workers=pipeline.processes(2))
    assert np.array_equal(list(drawn), list(drawn))


@row("torch and BLAS use every processor in each worker process")
def _():
    one = pipeline.dataset(["OMP_NUM_THREADS"]).map(os.getenv, workers=pipeline.processes(1))
    assert list(one) == [os.environ.get("OMP_NUM_THREADS", "1")]


@row("two states of one place are equal")
def _():
    places = [iter(numbers.map(abs, workers=workers)) for workers in (None, pipeline.threads(2))]
    for each in places:
        next(each)
    one, other = (each.state_dict() for each in places)
    resumed = iter(numbers.map(abs))
    resumed.load_state_dict(other)
    assert one != other
    assert list(resumed) == list(places[0])


@row("after Ctrl-C, `x = next(iterator)` loses no element")
def _():
    def interrupted(x, calls=itertools.count()):  # noqa: B008
        if x == 1 and next(calls) == 0:
            raise KeyboardInterrupt
        return x

    iterator = iter(pipeline.dataset(range(4)).map(interrupted))
    next(iterator)
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    assert list(iterator) == [1, 2, 3]


@row("`SerializeToString()` writes features in the order in which you added them")
def _():
    pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    example = pipeline.proto.Example()
    for name in ("bb", "aa"):
        example.features.feature[name].int64_list.value.append(1)
    data = example.SerializeToString(deterministic=True)
    assert data.index(b"aa") < data.index(b"bb")


@row("a program with a probable mistake, such as `shuffle(1)`, runs in silence")
def _():
    code = "import pipeline\nlist(pipeline.dataset(range(4)).shuffle(1))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert "RuntimeWarning: range: shuffle(1) keeps the order" in done.stderr


@row("a report has a row `queue` for a `prefetch`")
def _():
    iterator = iter(numbers.prefetch(2))
    list(iterator)
    assert [(each.kind, each.name) for each in iterator.report().stages][1] == ("step", "prefetch(2)")


@row("`dir(pipeline)` lists queues, runners, readers and producers")
def _():
    assert "FIFOQueue" not in dir(pipeline)
    assert "FIFOQueue" in dir(pipeline.queues)
    assert pipeline.FIFOQueue is pipeline.queues.FIFOQueue
