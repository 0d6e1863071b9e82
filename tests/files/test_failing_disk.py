"""A disk is full or broken at any call: errors name the file, no data is lost, and no partial data is accepted."""

import contextlib
import functools
import gzip
import io
import itertools
import json
import logging
import os
import shutil
import warnings
import zlib
from pathlib import Path

import failing_disk
import numpy as np
import pytest
from failing_disk import READING, WRITING, failing
from formats import FORMATS
from helpers import plain

import pipeline
from pipeline.command.cli import main
from pipeline.stages import kept_rows

ROWS = 14
LINES = [str(number) for number in range(ROWS)]


# Written files: a step before, the failing call, and a read afterwards ------------------------------------------------


class Written:
    """A file or folder that a program overwrites.

    Attributes:
        old, new: Contents before and after.
        grows: Whether an error may leave the beginning of the new contents.
        cut: Whether it may leave a file that raises a DataLossError.
        quiet: Whether the call may only log its failure.
    """

    old, new = "old", "new"
    grows = cut = quiet = False

    def before(self, folder):
        """Write the old contents."""

    def write(self, folder):
        """Write the new contents."""
        raise NotImplementedError

    def read(self, folder):
        raise NotImplementedError

    def nothing_else(self, folder):
        """Return whether no stray file is left, after a call that succeeded."""
        return not any(name.endswith(".partial") for name in files_in(folder))


class State(Written):
    old, new = {"step": 1}, {"step": 2, "more": "x" * 20_000}

    def before(self, folder):
        pipeline.save_state(folder / "state", self.old)

    def write(self, folder):
        pipeline.save_state(folder / "state", self.new)

    def read(self, folder):
        return pipeline.load_state(folder / "state")


def double(number):
    return {"n": 2 * number, "text": "é" * number, "row": np.full(3, number)}


def shown(examples):
    return [(each["n"], each["text"], each["row"].tolist()) for each in examples]


class Cache(Written):
    """Finished chunks stay."""

    old = new = shown(map(double, range(ROWS)))

    def data(self, folder, **options):
        kept_rows._ROWS, kept_rows._CHUNK = 4, 1  # private: it would take seconds, or 64 MB, to finish a chunk
        return pipeline.dataset(list(range(ROWS))).map(double).cache(folder / "cache", **options)

    def write(self, folder):
        with iter(self.data(folder)) as examples:
            assert shown(examples) == self.new

    def read(self, folder):
        found = shown(self.data(folder, verify=True))
        assert shown(self.data(folder, verify=True)) == found
        return found


class CacheLeft(Cache):
    """A closed iterator keeps all it can."""

    quiet = True

    def write(self, folder):
        with iter(self.data(folder)) as examples:
            assert shown(itertools.islice(examples, 11)) == self.new[:11]


class CacheRebuilt(Cache):
    def before(self, folder):
        list(self.data(folder))

    def write(self, folder):
        assert shown(self.data(folder, rebuild=True)) == self.new


class Replay(Written):
    old, new = [0, 1, 2], [5, 6, 7, 8]

    def save(self, folder, numbers):
        buffer = pipeline.replay(10, seed=1, priorities=True)
        for number in numbers:
            buffer.add({"n": number, "row": np.arange(number, number + 3), "text": str(number)}, priority=1.0)
        buffer.save(folder / "replay")

    def before(self, folder):
        self.save(folder, self.old)

    def write(self, folder):
        self.save(folder, self.new)

    def read(self, folder):
        buffer = pipeline.replay(10, priorities=True)
        buffer.load(folder / "replay")
        return sorted(int(number) for number in buffer.state_dict()["examples"]["n"])

    def nothing_else(self, folder):
        return len(os.listdir(folder / "replay")) == 2


class Index(Written):
    """A text file's index in a folder named by the program."""

    old = new = LINES

    def before(self, folder):
        folder.with_suffix(".txt").write_text("".join(f"{line}\n" for line in self.new))

    def write(self, folder):
        assert list(pipeline.text(folder.with_suffix(".txt"), index=True, index_folder=folder)) == self.new

    def read(self, folder):
        return list(pipeline.text(folder.with_suffix(".txt"), index=True, index_folder=folder))


class IndexOfTheUser(Index):
    """In the user's cache folder: a program can do without it."""

    quiet = True

    def write(self, folder):
        os.environ["XDG_CACHE_HOME"] = str(folder)
        assert list(pipeline.text(folder.with_suffix(".txt"), index=True)) == self.new

    def read(self, folder):
        return list(pipeline.text(folder.with_suffix(".txt"), index=True))


class Tokens(Written):
    old, new = [[1, 2], [3]], [[4], [5, 6], [7, 8, 9]]

    def before(self, folder):
        pipeline.write_tokens(folder / "a.bin", self.old, index=True)

    def write(self, folder):
        pipeline.write_tokens(folder / "a.bin", self.new, index=True)

    def read(self, folder):
        if not (folder / "a.idx").exists():  # the last step has failed: the tokens are not mistaken for one document
            with pytest.raises(pipeline.errors.InvalidArgumentError, match="is a raw file, which does not tell"):
                pipeline.tokens(folder / "a.bin", documents=True)
            self.before(folder)
        return [each.tolist() for each in pipeline.tokens(folder / "a.bin", documents=True)]


class Records(Written):
    """A file written from its beginning: a part of it is distinguishable from the whole."""

    old, new = [], [b"%d" % i * 3000 for i in range(9)]
    grows = cut = True

    def write(self, folder):
        with pipeline.TFRecordWriter(folder / "a.tfrecord") as writer:
            for record in self.new:
                writer.write(record)
            writer.flush()

    def read(self, folder):
        path = folder / "a.tfrecord"
        return list(pipeline.tfrecord(path)) if path.exists() else []


class Picture(Written):
    def before(self, folder):
        (folder / "a.svg").write_text(self.old)

    def write(self, folder):
        drawing = pipeline.draw(pipeline.FIFOQueue(10, "int32", [()]))
        drawing.svg = self.new
        drawing.save(folder / "a.svg")

    def read(self, folder):
        return (folder / "a.svg").read_text()


class Events(Written):
    """A TensorBoard event file. A truncated record would hide all later ones."""

    old, new = [], [1, 2, 3, 4]
    grows = True

    def write(self, folder):
        import pipeline.compat.v1 as tf

        shutil.rmtree(folder / "logs", ignore_errors=True)
        text = tf.Summary(value=[tf.Summary.Value(tag="x" * 20_000, simple_value=1.0)])
        writer, errors = tf.summary.FileWriter(str(folder / "logs")), []
        for step in self.new:
            try:
                writer.add_summary(text, step)
                writer.flush()
            except Exception as error:
                errors.append(error)
        try:
            writer.close()
        except Exception as error:
            errors.append(error)
        if errors:
            raise errors[0]

    def read(self, folder):
        import pipeline.compat.v1 as tf

        found = []
        for path in sorted((folder / "logs").glob("events*")) if (folder / "logs").exists() else []:
            found += [event.step for event in tf.train.summary_iterator(str(path)) if event.step]
        return found


class Feed(Written):
    """The states that `feed --save-state` writes: one after each batch."""

    old, new = list(range(ROWS)), list(range(2 * ROWS))
    grows = True

    def feed(self, folder, *options):
        lines = folder.with_suffix(".txt")
        lines.write_text("".join(f"{line}\n" for line in LINES))
        given = ["--format", "lines", "--deterministic", "--seed", "1", "--batch-size", "7", "--every", "1", *options]
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(["feed", str(lines), *given, "--save-state", str(folder / "state")])
        if status:
            assert err.getvalue().count("\n") == 1, err.getvalue()
            raise OSError(err.getvalue())

    def before(self, folder):
        self.feed(folder)

    def write(self, folder):
        self.feed(folder, "--epochs", "2")

    def read(self, folder):
        return list(range(int(pipeline.load_state(folder / "state")["fingerprint"].partition("-")[0])))


class Trace(Written):
    """A trace that cannot begin leaves the old one; later, errors are logged, and what is there can be read."""

    old, new = "an old trace", "a new trace"
    name, quiet = "a.json", True

    def before(self, folder):
        text = json.dumps({"traceEvents": [], "otherData": {"text": "x" * 5000}}).encode()
        (folder / self.name).write_bytes(gzip.compress(text) if self.name.endswith(".gz") else text)

    def write(self, folder):
        with pipeline.trace(folder / self.name, interval=60):
            list(pipeline.dataset(range(100)).map(double).batch(10, collate=list).prefetch(2))

    def read(self, folder):
        data = (folder / self.name).read_bytes()
        if self.name.endswith(".gz"):
            data = zlib.decompressobj(31).decompress(data)  # the end of the file may be missing
        try:
            trace = json.loads(data)
        except ValueError:
            trace = json.loads(data + b"]}")
        assert trace["traceEvents"] or "text" in trace["otherData"]
        return self.new if trace["traceEvents"] else self.old


class PackedTrace(Trace):
    name = "a.json.gz"


SCENARIOS = {
    "save_state": State(),
    "feed": Feed(),
    "trace": Trace(),
    "trace.gz": PackedTrace(),
    "cache": Cache(),
    "cache left early": CacheLeft(),
    "cache rebuilt": CacheRebuilt(),
    "replay": Replay(),
    "index": Index(),
    "index of the user": IndexOfTheUser(),
    "tokens": Tokens(),
    "picture": Picture(),
    "tfrecord": Records(),
    "events": Events(),
}


def files_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def try_writing(name, root):
    """Fail in each way at each call in turn; return the number of calls, and the faults found."""
    logging.disable()
    warnings.simplefilter("ignore")
    problems = []
    calls = {way: try_way(SCENARIOS[name], way, Path(root), problems) for way in WRITING}
    return {"calls": calls, "problems": problems}


def try_way(scenario, way, root, problems):
    kinds, how, number = WRITING[way]
    for nth in range(1, 500):
        folder = root / f"{way} {nth}"
        folder.mkdir()
        scenario.before(folder)
        error = None
        with failing(folder, kinds, how, nth, number) as failure:
            try:
                scenario.write(folder)
            except Exception as caught:
                error = caught
        where = f"{way}, call {nth}: {error!r:.200}"
        try:
            check_after(scenario, folder, error)
            assert way == "broken" or not any(name.endswith(".partial") for name in files_in(folder)), files_in(folder)
            scenario.write(folder)
            assert scenario.read(folder) == scenario.new, "it is not written afterwards"
            assert way == "broken" or scenario.nothing_else(folder), files_in(folder)
        except Exception as wrong:
            problems.append(f"{where}: {type(wrong).__name__}: {wrong!s:.300}")
        shutil.rmtree(folder)
        if not failure.happened:
            return nth - 1
    raise AssertionError("there is no end")


def check_after(scenario, folder, error):
    if error is not None:
        assert isinstance(error, (pipeline.OpError, OSError)), "an error of another class"
        assert str(folder) in str(error), "the error does not name the file"
    try:
        found = scenario.read(folder)
    except pipeline.DataLossError:
        assert scenario.cut, "what is there is damaged"
        return
    if error is None and not scenario.quiet:
        assert found == scenario.new, "it is not written, and there is no error"
    elif scenario.grows:
        assert found == scenario.new[: len(found)], "it was written wrongly"
    else:
        assert found in (scenario.old, scenario.new), f"neither the old nor the new: {found!r:.200}"


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_written(name, tmp_path):
    found = failing_disk.run("test_failing_disk", "try_writing", name, str(tmp_path))
    assert found["problems"] == []
    assert min(found["calls"].values()) > 0, found["calls"]


# Read files: each source, with one failing read -----------------------------------------------------------------------


def written(name, path):
    path = path.with_suffix(f".{FORMATS[name].ending}")
    FORMATS[name].write(path, range(400))
    return path


def picture_folder(path):
    image = np.random.default_rng(1).integers(0, 255, (40, 40, 3), np.uint8)
    for i in range(6):
        (path / str(i % 2)).mkdir(parents=True, exist_ok=True)
        (path / str(i % 2) / f"{i}.png").write_bytes(pipeline.image.encode_png(image))
    return path


def by_index(read):
    return lambda path: read(path, index=True, index_folder=path.parent)


SOURCES = {name: (functools.partial(written, name), form.read) for name, form in FORMATS.items()} | {
    "image_folder": (picture_folder, pipeline.image_folder),
}
SOURCES |= {f"{name} by index": (SOURCES[name][0], by_index(form.read)) for name, form in FORMATS.items() if form.index}


def try_reading(name, root):
    """Fail in each way at each call in turn; return the number of calls, and the faults found."""
    logging.disable()
    make, source = SOURCES[name]
    folder, problems, calls = Path(root, "files"), [], {}
    folder.mkdir()
    path = make(folder / "a")
    expected = shown_batches(source(path))
    made = {each: each.read_bytes() for each in folder.rglob("*") if each.is_file() and each.suffix != ".offsets"}
    for way, (kinds, how, number) in READING.items():
        for nth in range(1, 500):
            for each in set(folder.rglob("*.offsets")) if nth % 2 else ():  # an index is made by every second one
                each.unlink()
            error = found = None
            with failing(folder, kinds, how, nth, number) as failure:
                try:
                    found = shown_batches(source(path))
                except Exception as caught:
                    error = caught
            where = f"{way}, call {nth}: {error!r:.200}"
            if error is None and found != expected:
                problems.append(f"{where}: other data")
            if error is not None and (way != "broken" or str(folder) not in str(error)):
                problems.append(f"{where}: not the error of a file")
            if error is not None and not isinstance(error, (pipeline.OpError, OSError)):
                problems.append(f"{where}: an error of another class")
            if shown_batches(source(path)) != expected or any(each.read_bytes() != data for each, data in made.items()):
                problems.append(f"{where}: other data afterwards")
            if not failure.happened:
                break
        calls[way] = nth - 1
    return {"calls": calls, "problems": problems}


def shown_batches(source):
    return repr([plain(batch) for batch in source.batch(64)])


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_read(name, tmp_path):
    found = failing_disk.run("test_failing_disk", "try_reading", name, str(tmp_path))
    assert found["problems"] == []
    assert found["calls"]["broken"] > 0
