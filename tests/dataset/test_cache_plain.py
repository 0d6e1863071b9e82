"""cache(folder): values of any plain class, no pickles by default, and folders that somebody has forged."""

import collections
import contextlib
import dataclasses
import datetime
import decimal
import enum
import json
import os
import pickle
import random
import re
import sys
import types
import uuid
import zlib
from pathlib import Path

import chains
import numpy as np
import pytest
from dataset_contract import stream
from helpers import run_script

import pipeline

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Box:
    corner: Point
    label: str = "none"


@dataclasses.dataclass(slots=True)
class Slotted:
    values: list


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


class Bits(enum.IntFlag):
    A = 1
    B = 2


ZONE = datetime.timezone(datetime.timedelta(hours=5, minutes=30))

VALUES = {
    "none": None,
    "numbers": [True, -0.0, float("inf"), 1 << 70, -5, 1.5 + 2j],
    "texts": ["", "é€", "\ud83d\ude00", "\ud83d", 'a"b\n\\', {"": 1}, [""]],
    "bytes": [b"", b"\x00\xff"],
    "containers": [(), (1, (2, [3])), {1, 2}, frozenset("ab"), {(1, 2): [3], 4: None}, {"a": {"b": ({},)}}, [[]]],
    "lists as one value": [pipeline.ListValue([{"role": "user"}]), pipeline.ListValue([])],
    "times": [
        datetime.datetime(2026, 11, 30, 1, 2, 3, 4),
        datetime.datetime(2026, 11, 30, tzinfo=ZONE),
        datetime.date(1, 1, 1),
        datetime.time(23, 59, 59, 999999),
        datetime.timedelta(-1, 2, 3),
    ],
    "other numbers": [decimal.Decimal("1.50"), decimal.Decimal("NaN"), uuid.UUID(int=5)],
    "NumPy's values": [np.float32(1.5), np.datetime64("2026-01-01", "s"), np.str_("a\0"), np.bytes_(b"a\0")],
    "arrays": [np.arange(6).reshape(2, 3).T, np.zeros((3, 0)), np.array(3), np.array(["a", "bc"])],
    "other byte orders": [np.arange(3, dtype=">i2"), np.array([1.5], ">f4")],
    "records": [np.array([(1, 2.5)], [("a", "i4"), ("b", "f8")]), np.array([(1, 2.5)], [("a", "i4"), ("b", "f8")])[0]],
    "arrays of objects": [np.array([["a", None], [{"b": 1}, (2,)]], object), np.array(["a", "bcd"], object)],
    "named tuples": [Point(1, [2]), Point(Point(1, 2), "x")],
    "dataclasses": [Box(Point(1, 2)), Box(Point(np.arange(2), None), "b"), Slotted([1, "a"])],
    "enumerations": [Colour.RED, Colour.BLUE, Bits.B],
}


def shown(value):
    """Return a value with all classes in it."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.flags.writeable, shown(value.tolist())
    if dataclasses.is_dataclass(value):
        return type(value), [shown(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, dict):
        return [(shown(key), shown(each)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [shown(each) for each in value]
    return type(value), sorted(value) if isinstance(value, (set, frozenset)) else ascii(value)


@pytest.mark.parametrize("options", [{}, {"allow_pickle": True}], ids=["plain", "pickle"])
@pytest.mark.parametrize("name", VALUES)
def test_values_come_back(name, options, tmp_path):
    value = VALUES[name]
    examples = [{"odd": each, "n": i} for i, each in enumerate(value if isinstance(value, list) else [value])]
    examples.append({"odd": [value, "of another class"], "n": -1})
    for _ in range(2):
        found = list(stream(examples).cache(tmp_path / "c", **options))
        assert [shown(each) for each in found] == [shown(each) for each in examples]
    assert b"pickle" not in (tmp_path / "c" / "log").read_bytes() or options


def test_numbers_of_other_libraries(tmp_path):
    """bfloat16 arrays of one shape are fixed rows, as others are."""
    kinds = pytest.importorskip("ml_dtypes")
    rows = [np.array([i, 0.5], kinds.bfloat16) for i in range(3)]
    for examples in (rows, [*rows, np.zeros(3)], [rows[0][0], "x"]):
        for _ in range(2):
            found = list(stream(examples).cache(tmp_path / str(len(examples))))
            assert [shown(each) for each in found] == [shown(each) for each in examples]


class Odd:
    def __init__(self):
        self.x = 1


def local():
    return collections.namedtuple("Local", "x")(1)


@dataclasses.dataclass
class Extra:
    x: int = 1


def extra():
    made = Extra()
    made.y = 2
    return made


REFUSED = {
    "an object": (Odd, "a value of the class Odd"),
    "a function": (lambda: local, "a value of the class function"),
    "a class within a function": (local, "a value of the class Local"),
    "a dataclass with more attributes": (extra, "a value of the class Extra"),
    "several flags": (lambda: Bits.A | Bits.B, "a value of the class Bits"),
    "a masked array": (lambda: np.ma.array([1, 2]), "a value of the class MaskedArray"),
    "a slice within a dict": (lambda: {"a": [slice(3)]}, "a value of the class slice"),
    "a number of 5,000 digits": (lambda: [10**5000, "x"], "Exceeds the limit"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_classes_are_refused_by_name(name, tmp_path):
    make, text = REFUSED[name]
    data = stream([1, 2]).map(lambda x: (x, make()) if x == 2 else (x, None))
    with iter(data.cache(tmp_path / "c")) as examples:
        with pytest.raises(TypeError, match=rf"^cache: {re.escape(text)}.* is not kept in a folder.*allow_pickle=True"):
            list(examples)


def test_in_memory_every_class_is_kept():
    """Nobody else can write to it."""
    data = stream([1, 2]).map(lambda x: [x, Odd()]).cache()
    assert [[each[1].x for each in data] for _ in range(2)] == [[1, 1]] * 2


def test_pickles_are_read_only_where_they_are_allowed(tmp_path):
    def made(**options):
        return stream([1, 2]).map(lambda x: [x, Odd()]).cache(tmp_path / "c", **options)

    assert [each[1].x for each in made(allow_pickle=True)] == [1, 1]
    assert [each[1].x for each in made(allow_pickle=True)] == [1, 1]
    with pytest.raises(ValueError, match=r"holds pickles, which can run any code .*allow_pickle=True .*rebuild=True"):
        made()
    with pytest.raises(TypeError, match="cache: a value of the class Odd is not kept in a folder"):
        list(made(rebuild=True))
    with pytest.raises(ValueError, match="cache: allow_pickle=True is for a folder"):
        stream([1]).cache(allow_pickle=True)
    with pytest.raises(TypeError, match="cache: allow_pickle must be a bool"):
        stream([1]).cache(tmp_path / "d", allow_pickle="yes")


def test_a_class_that_is_not_imported(tmp_path, monkeypatch):
    module = types.ModuleType("module_of_a_user")
    module.Point = collections.namedtuple("Point", "x y", module=module.__name__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    made = module.Point(1, 2)
    data = lambda: stream([1]).map(lambda x: [made, x]).cache(tmp_path / "c")  # noqa: E731
    assert list(data()) == [[made, 1]]
    full = data()
    monkeypatch.delitem(sys.modules, module.__name__)
    text = "values of the class Point of module_of_a_user, which is not imported here: import it, or pass rebuild=True"
    with pytest.raises(pipeline.FailedPreconditionError, match=text):
        list(full)


# Forged folders -------------------------------------------------------------------------------------------------------


class Runs:
    """Makes a folder when it is unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


EXAMPLES = [
    {"x": np.full(3, i, np.float32), "s": str(i), "r": np.arange(i % 4), "l": [i] * (i % 3), "o": (i, {i})}
    for i in range(14)
]


def lines_of(folder):
    return [json.loads(line[9:]) for line in (folder / "log").read_bytes().splitlines()]


def write_lines(folder, lines):
    """Write a log with checksums that fit its lines and the columns."""
    text = b""
    for line in lines:
        if isinstance(line, dict) and isinstance(line.get("crcs"), dict):
            for name in line["crcs"]:
                with contextlib.suppress(OSError, ValueError):
                    line["crcs"][name] = zlib.crc32((folder / f"{name}.column").read_bytes())
        data = json.dumps(line).encode() + b"\n"
        text += b"%08x %s" % (zlib.crc32(data), data)
    (folder / "log").write_bytes(text)


def test_a_pickle_in_a_forged_folder_does_not_run(tmp_path):
    marker, folder = tmp_path / "it ran", tmp_path / "c"
    made = lambda **options: stream([[1, "a"], [2, "b"]]).cache(folder, **options)  # noqa: E731
    list(made())
    data = pickle.dumps(Runs(marker))
    data = zlib.crc32(data).to_bytes(4, "little") + data
    (folder / "0-0-values.column").write_bytes(data * 2)
    np.array([len(data), 2 * len(data)]).tofile(folder / "0-0-ends.column")
    lines = lines_of(folder)
    lines[1]["ends"]["0-0-values"] = 2 * len(data)
    write_lines(folder, lines)
    with pytest.raises(pipeline.DataLossError, match="rebuild=True"):
        list(made(verify=True))
    lines[1]["segments"][0][2][1] = [["pickle"]]
    write_lines(folder, lines)
    for options in ({}, {"verify": True}):
        with pytest.raises(ValueError, match="holds pickles, which can run any code"):
            list(made(**options))
    assert not marker.exists()
    with contextlib.suppress(FileExistsError):  # from the second value
        list(made(allow_pickle=True))
    assert marker.exists(), "the forged folder would not have run anything"


# Descriptions for `{"": ...}` in a forged record, with 8 bytes after it.
FORGED = [
    ["array", "|O", [1], 0],
    ["array", "O8", [1], 0],
    ["array", [["a", "O"]], [1], 0],
    ["array", "[('a', '|O')]", [1], 0],
    ["array", "<i8", [2], 0],
    ["array", "<i8", [1], -8],
    ["array", "<i8", [1 << 62, 4], 0],
    ["array", "<i8", [0, 1 << 62], 0],
    ["array", "(" * 5000, [1], 0],
    ["array", "__import__('os').system('x')", [1], 0],
    ["array", "ml_dtypes.finfo", [1], 0],
    ["array", "<U2", [1], 0],
    ["scalar", "<U2", 0],
    ["bytes", 0, 1 << 62],
    ["dataclass", "os:system", ["ls"]],
    ["dataclass", "os:path", []],
    ["dataclass", "subprocess:Popen", [["ls"]]],
    ["dataclass", "builtins:type", []],
    ["namedtuple", "subprocess:Popen", "ls"],
    ["namedtuple", "os:stat_result", 1, 2],
    ["namedtuple", "builtins:tuple", 1],
    ["enum", "os:environ", "PATH"],
    ["enum", "re:RegexFlag", "NO"],
    ["module that is missing", 1],
    [["a list"]],
    [],
    "text",
    5,
    None,
    ["set", [1]],
    ["dict", 1],
    ["timedelta", 1e300],
    ["complex", "1", []],
]


@pytest.mark.parametrize("description", FORGED, ids=range(len(FORGED)))
def test_a_forged_description_is_damage(description, tmp_path):
    folder = tmp_path / "c"
    made = lambda: stream([[1, "a"], [2, "b"]]).cache(folder)  # noqa: E731
    list(made())
    text = json.dumps([{"": description}]).encode().replace(b": [", b":[", 1).replace(b'"": ', b'"":')
    data = len(text).to_bytes(8, "little") + text + b"\xff" * 8
    data = zlib.crc32(data).to_bytes(4, "little") + data
    (folder / "0-0-values.column").write_bytes(data * 2)
    np.array([len(data), 2 * len(data)]).tofile(folder / "0-0-ends.column")
    lines = lines_of(folder)
    lines[1]["ends"]["0-0-values"] = 2 * len(data)
    write_lines(folder, lines)
    with contextlib.suppress(pipeline.DataLossError, pipeline.FailedPreconditionError):
        repr(list(made()))


def changed(value, rng):
    """Return JSON data with one leaf changed."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = rng.choice(list(value))
        return {**value, key: changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.95:
        at = rng.randrange(len(value))
        return [*value[:at], changed(value[at], rng), *value[at + 1 :]]
    kinds = [["pickle"]], ["plain"], ["str"], ["list", "<i8"], ["array", "<f8", [3]], ["ragged", "|O", 1]
    odd = 0, -1, 1, 7, 1 << 40, 1 << 70, 0.5, None, True, "", "x", [], {}, ["number", "<U9"]
    return rng.choice([*kinds, *odd, ["array", "|V0", [2, 1 << 60]]])


def try_forged(root, seeds):
    """Read forged folders: each gives elements or one of our errors. A crash ends this process."""
    folder = Path(root)
    made = lambda: stream(EXAMPLES).cache(folder)  # noqa: E731
    expected = chains.plain(list(made()))
    before = {each: each.read_bytes() for each in folder.iterdir()}
    counts = collections.Counter()
    for seed in range(seeds):
        rng, lines = random.Random(seed), lines_of(folder)
        if seed % 3:
            at = rng.randrange(len(lines))
            lines[at] = changed(lines[at], rng)
        else:
            column = rng.choice(sorted(folder.glob("*.column")))
            data = bytearray(column.read_bytes())
            at = rng.randrange(len(data) // 8 or 1) * 8
            data[at : at + 8] = rng.choice([-1, 1 << 40, 3, -(1 << 63)]).to_bytes(8, "little", signed=True)
            column.write_bytes(data)
        write_lines(folder, lines)
        try:
            counts[repr(chains.plain(list(made()))) == repr(expected)] += 1
        except pipeline.OpError as error:
            counts[type(error).__name__] += 1
        for each, data in before.items():
            each.write_bytes(data)
    print(dict(counts))


def test_forged_folders_never_crash(tmp_path):
    call = f"import test_cache_plain; test_cache_plain.try_forged({str(tmp_path / 'c')!r}, 150)"
    paths = [os.path.dirname(each.__file__) for each in (chains, sys.modules[__name__])]
    done = run_script(f"import sys; sys.path[:0] = {paths!r}; {call}")
    assert done.returncode == 0, done.stderr
    assert "DataLossError" in done.stdout


@pytest.mark.parametrize("name", ["log", "lock", "0-0-values.column"])
def test_a_link_in_the_folder_is_not_followed(name, tmp_path):
    """Somebody may have put it there before the first run."""
    victim, folder = tmp_path / "victim", tmp_path / "c"
    victim.write_text("precious")
    folder.mkdir()
    (folder / name).symlink_to(victim)
    if name.endswith(".column"):  # an old one without a log is removed
        assert list(stream(range(5)).cache(folder)) == list(range(5))
    else:
        text = f"cache: '{folder / name}' is a symbolic link, and links are not followed"
        with pytest.raises(pipeline.FailedPreconditionError, match=text):
            list(stream(range(5)).cache(folder))
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("name", ["log", "lock", "0-0-values.column"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
@pytest.mark.parametrize("is_full", [True, False])
def test_something_else_in_the_folder_is_an_error(name, make, is_full, tmp_path):
    """No pipe lets a program wait."""
    folder = tmp_path / "c"
    if is_full:
        list(stream(range(5)).cache(folder))
        (folder / name).unlink()
    else:
        folder.mkdir()
    make(folder / name)
    if (name == "lock" and is_full) or (name.endswith(".column") and not is_full and make is os.mkfifo):
        # Only writers need the lock, and an old column without a log is removed.
        assert list(stream(range(5)).cache(folder)) == list(range(5))
    else:
        with pytest.raises(pipeline.FailedPreconditionError, match=f"'{folder / name}' is not a regular file"):
            list(stream(range(5)).cache(folder))
