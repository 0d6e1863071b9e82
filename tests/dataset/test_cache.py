"""cache: elements are computed once, return unchanged, and belong to the chain before the cache."""

import collections
import os
import pickle
import re
import shutil
import types

import chains
import numpy as np
import pytest
from dataset_contract import check, stream

import pipeline


def raises(cls, text):
    return pytest.raises(cls, match=re.escape(text))


Point = collections.namedtuple("Point", "x y")

STREAMS = {
    "numbers": lambda: stream(range(7)),
    "floats": lambda: stream([0.5, float("inf"), -0.0]),
    "truths": lambda: stream([True, False, True]),
    "large numbers": lambda: stream([1, 1 << 70, -5]),
    "texts": lambda: stream(["a", "", "b\u00e9\u20ac", "\ud800", "ascii"]),
    "bytes": lambda: stream([b"a", b"", b"\xff\x00"]),
    "arrays": lambda: stream([np.full((2, 3), i, np.float32) for i in range(4)]),
    "ragged": lambda: stream([np.arange(i, dtype=np.int16) for i in (3, 0, 5)]),
    "ragged images": lambda: stream([np.ones((i, 2, 3), np.uint8) * i for i in (1, 0, 3)]),
    "lists": lambda: stream([[1, 2], [], [3]]),
    "empty lists": lambda: stream([[], []]),
    "lists of large numbers": lambda: stream([[1, 1 << 70], [2]]),
    "NumPy's numbers": lambda: stream([np.float32(1.5), np.float32(2)]),
    "dicts": lambda: stream([{"a": i, "b": str(i), "c": np.arange(i)} for i in range(4)]),
    "nested": lambda: stream([{"a": (i, {"b": b"x" * i})} for i in range(4)]),
    "other structures": lambda: stream([1, "x", {"a": [1, "s"]}, (1, 2), Point(1, 2)]),
    "other dtypes": lambda: stream([np.zeros(2), np.zeros(2, np.int8), np.zeros((2, 2))]),
    "batches": lambda: stream(range(7)).batch(2),
    "rows": lambda: pipeline.arrays({"x": np.arange(12.0).reshape(4, 3), "y": np.arange(4)}),
    "rows of texts": lambda: pipeline.arrays((np.array(["a", "bcd", ""], object), np.arange(3))),
    "big-endian": lambda: pipeline.arrays(np.arange(5, dtype=">i4")),
    "records": lambda: pipeline.arrays(np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")])),
    "no bytes": lambda: pipeline.arrays(np.zeros((3, 0))),
    "none": lambda: stream([]),
    "a list": lambda: pipeline.dataset(list(range(9))),
    "workers": lambda: pipeline.dataset(list(range(9))).map(lambda x: x * 2, workers=2),
    "a pool": lambda: pipeline.dataset(list(range(9))).shuffle(4, seed=3),
    "pairs": lambda: pipeline.arrays((np.arange(6.0).reshape(3, 2), np.arange(3))),
    "an order": lambda: pipeline.dataset(list(range(9))).shuffle(seed=3),
}

BEHIND = {
    "nothing": lambda data: data,
    "batch": lambda data: data.enumerate().map(str).batch(2),
    "repeat": lambda data: data.repeat(2),
    "prefetch": lambda data: data.prefetch(2),
    "pool": lambda data: data.shuffle(3, seed=5),
}


def as_told(element):
    """Return an element together with the types of everything in it."""
    if isinstance(element, dict):
        return {key: as_told(value) for key, value in element.items()}
    if isinstance(element, (tuple, list)):
        return type(element), [as_told(each) for each in element]
    told = np.asarray(element).dtype.str if isinstance(element, (np.ndarray, np.generic)) else None
    return type(element), told, repr(chains.plain(element))


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("name", STREAMS)
def test_what_comes_back_is_what_was_computed(name, behind, tmp_path):
    make, then, folder = STREAMS[name], BEHIND[behind], tmp_path / "cache"
    expected = list(then(pipeline.dataset(list(make()))))
    for data in (then(make().cache()), then(make().cache(folder)), then(make().cache(folder, verify=True))):
        for _ in range(2):
            assert list(map(as_told, data)) == list(map(as_told, expected))
    check(then(make().cache()), expected)
    check(then(make().cache(tmp_path / "other")), expected)


class Calls:
    """A function counting its calls in a file shared by processes; a cache ignores the count in its identity."""

    def __init__(self, path, bad=None):
        self.path, self.bad = str(path), bad

    def __call__(self, x):
        with open(self.path, "a") as file:
            file.write("x")
        if x == self.bad:
            raise ValueError("a bad one")
        return x * 10

    @property
    def count(self):
        return os.path.getsize(self.path) if os.path.exists(self.path) else 0


@pytest.mark.parametrize("folder", [None, "cache"])
@pytest.mark.parametrize("indexed", [False, True])
def test_each_is_computed_once(folder, indexed, tmp_path):
    path = None if folder is None else tmp_path / folder
    calls, source = Calls(tmp_path / "calls"), pipeline.dataset(list(range(9))) if indexed else stream(range(9))
    data = source.map(calls).cache(path)
    for _ in range(3):
        assert list(data) == list(range(0, 90, 10))
    assert list(data.repeat(2).batch(4))[1].tolist() == [40, 50, 60, 70]
    assert calls.count == 9
    if folder is not None:
        assert list(source.map(calls).cache(path)) == list(range(0, 90, 10))
        assert calls.count == 9


def test_a_full_cache_is_indexed(tmp_path):
    data = stream(range(20)).filter(lambda x: x % 2).cache(tmp_path / "c")
    with raises(TypeError, "the number of elements after cache is not known yet: a cache before it is not full"):
        len(data)
    with raises(TypeError, "the elements of cache have no numbers yet: a cache before it is not full"):
        data[3]
    assert list(data) == list(range(1, 20, 2))
    assert (len(data), data[3], data[-1]) == (10, 7, 19)
    assert list(data.shuffle(seed=1)) == list(pipeline.dataset(list(range(1, 20, 2))).shuffle(seed=1))
    assert len(list(data.sample([1.0] * 10, 30, seed=1))) == 30
    assert [list(data.shard(i, 3)) for i in range(3)] == [[1, 7, 13, 19], [3, 9, 15], [5, 11, 17]]
    check(data.shuffle(seed=1).batch(3), list(data.shuffle(seed=1).batch(3)))


@pytest.mark.parametrize("folder", [None, "cache"])
def test_a_shuffle_of_everything_fills_it_first(folder, tmp_path):
    calls, path = Calls(tmp_path / "calls"), None if folder is None else tmp_path / folder
    data = stream(range(9)).map(calls).cache(path).shuffle(seed=1).batch(2)
    with iter(data) as iterator:
        next(iterator)
        assert calls.count == 9
    check(data, list(pipeline.dataset(list(range(0, 90, 10))).shuffle(seed=1).batch(2)))
    assert calls.count == 9


def test_elements_by_number_are_computed_without_the_others(tmp_path):
    calls = Calls(tmp_path / "calls")
    data = pipeline.dataset(list(range(50))).map(calls).cache(tmp_path / "c").map(chains.plus_draw, seed=1)
    seventh = data[7]
    assert calls.count == 1
    assert list(data)[7] == data[7] == seventh
    assert calls.count == 51


def test_stored_elements_by_number_are_read(tmp_path):
    """Also while the cache is not full."""
    calls = Calls(tmp_path / "calls")
    data = pipeline.dataset(list(range(50))).map(calls).cache(tmp_path / "c")
    with iter(data) as iterator:
        first = [next(iterator) for _ in range(5)]
    computed = calls.count
    assert [data[i] for i in range(5)] == first == [0, 10, 20, 30, 40]
    assert calls.count == computed
    assert data[49] == 490
    assert calls.count == computed + 1


def test_copies_share_what_is_in_memory_and_pickles_do_not():
    data = pipeline.dataset(chains.Generator(5)).cache()
    sent = pickle.loads(pickle.dumps(data))
    first, *_ = data.batch(2)
    assert first.tolist() == [0, 1]
    assert data[4] == data.epoch(2)[4] == 4
    assert list(sent) == [0, 1, 2, 3, 4]


def test_draws_before_it_are_frozen_and_those_behind_it_fresh(tmp_path):
    source = stream(range(8)).shuffle(8, seed=1).map(chains.plus_draw)
    for path in (None, tmp_path / "c"):
        data = source.cache(path).map(chains.plus_draw, seed=2)
        first, second = list(data.epoch(0)), list(data.epoch(1))
        assert first != second
        assert [int(each) for each in first] == [int(each) for each in second] == [int(each) for each in source]
        assert list(source.cache(path).map(chains.plus_draw, seed=2)) == first
        assert list(source.cache(path).epoch(3)) == list(source)
    drawn = pipeline.dataset(list(range(50))).shuffle()
    kept = list(drawn.cache(tmp_path / "d"))
    assert list(pipeline.dataset(list(range(50))).shuffle().cache(tmp_path / "d")) == kept
    assert list(source.epoch(2).cache(tmp_path / "e").epoch(0)) == list(source.epoch(2))


def test_errors_are_not_kept(tmp_path):
    for source in (pipeline.dataset(list(range(9))), stream(range(9))):
        shutil.rmtree(tmp_path / "c", ignore_errors=True)
        bad = Calls(tmp_path / "calls", 5)
        data = source.map(bad).cache(tmp_path / "c")
        with iter(data) as iterator:
            assert [next(iterator) for _ in range(5)] == [0, 10, 20, 30, 40]
            with raises(ValueError, "a bad one"):
                next(iterator)
        bad.bad, before = None, bad.count  # the same function object, because the recipe was written before
        assert list(data) == list(range(0, 90, 10))
        assert bad.count - before == 4


def test_what_is_skipped_is_left_out(tmp_path):
    source = stream(range(6)).map(chains.not_rare, on_error="skip")
    with iter(source.cache(tmp_path / "c")) as iterator:
        assert list(iterator) == [0, 1, 2, 4, 5]
        assert iterator.num_errors == 1
    assert list(source.cache(tmp_path / "c")) == [0, 1, 2, 4, 5]


def offset(x):
    return x + OFFSET


def caller(x):
    return offset(x) * 2


OFFSET = 1


def test_what_differs_is_named(tmp_path, monkeypatch):
    file = tmp_path / "numbers.txt"
    file.write_text("1\n2\n3\n")

    def made(seed=1, by=2, batch=2, **options):
        data = pipeline.text(str(file)).map(int).map(lambda x: x * by).map(caller).shuffle(3, seed=seed)
        return data.batch(batch).cache(tmp_path / "c", **options)

    expected = [each.tolist() for each in made()]
    assert [each.tolist() for each in made()] == expected
    with raises(pipeline.errors.StateMismatchError, "option 'n' of .batch(3) was 2, and is 3 now") as found:
        made(batch=3)
    assert "Pass rebuild=True, or another folder" in str(found.value)
    with raises(pipeline.errors.StateMismatchError, "the seed of .shuffle(...) has changed"):
        made(seed=2)
    with raises(pipeline.errors.StateMismatchError, "by of the function of .map(<lambda>) was 2, and is 3 now"):
        made(by=3)
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "OFFSET", 5)
        with raises(pipeline.errors.StateMismatchError, "offset(), OFFSET of the function of .map(caller) was 1"):
            made()
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "offset", lambda x: x - OFFSET)
        with raises(pipeline.errors.StateMismatchError, "offset() of the function of .map(caller) has changed"):
            made()
    status = os.stat(file)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with raises(pipeline.errors.StateMismatchError, "numbers.txt' of pipeline.text(...) has changed"):
        made()
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert [each.tolist() for each in made()] == expected
    assert sum(each.sum() for each in made(by=3, rebuild=True)) != sum(map(sum, expected))
    with raises(pipeline.errors.StateMismatchError, "by of the function"):
        made()


def test_other_steps_and_other_sources(tmp_path):
    list(stream(range(3)).cache(tmp_path / "c"))
    with raises(
        pipeline.errors.StateMismatchError, "it was pipeline.dataset(stream), and is pipeline.dataset(stream) ->"
    ):
        stream(range(3)).map(abs).cache(tmp_path / "c")
    np.save(tmp_path / "x.npy", np.arange(4))
    assert len(list(pipeline.arrays(str(tmp_path / "x.npy")).cache(tmp_path / "d"))) == 4
    os.utime(tmp_path / "x.npy", ns=(0, 0))
    with raises(pipeline.errors.StateMismatchError, "x.npy' of pipeline.arrays(...) has changed"):
        pipeline.arrays(str(tmp_path / "x.npy")).cache(tmp_path / "d")


def test_a_replaced_file_of_the_same_size_and_time(tmp_path):
    """As after `cp -p`, `rsync -t` or tar."""
    file = tmp_path / "a.txt"
    file.write_text("1\n2\n")
    os.utime(file, ns=(5, 5))
    made = lambda: pipeline.text(file).map(int).cache(tmp_path / "c")  # noqa: E731
    assert list(made()) == [1, 2]
    file.write_text("3\n4\n")
    os.utime(file, ns=(5, 5))
    with raises(pipeline.errors.StateMismatchError, "a.txt' of pipeline.text(...) has changed"):
        made()
    file.write_text("1\n2\n")
    os.utime(file, ns=(5, 5))
    assert list(made()) == [1, 2]


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by


FUNCTIONS = {
    "ufuncs": (np.square, np.negative),
    "objects": (Scale(2), Scale(3)),
    "methods": (Scale(2).__call__, Scale(3).__call__),
    "methods of compiled objects": ({1: 2}.get, {1: 3}.get),
    "defaults": (lambda x, by=2: x * by, lambda x, by=3: x * by),
    "constants": (lambda x: x * 2, lambda x: x * 3),
    "names": (lambda x: np.sin(x), lambda x: np.cos(x)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_differ_a_little(name, tmp_path):
    one, other = FUNCTIONS[name]
    list(pipeline.dataset([1, 1]).map(one).cache(tmp_path / "c"))
    pipeline.dataset([1, 1]).map(one).cache(tmp_path / "c")
    with raises(pipeline.errors.StateMismatchError, "cache: "):
        pipeline.dataset([1, 1]).map(other).cache(tmp_path / "c")


# Programs with a function `f`; {} stands for a number.
PROGRAMS = {
    "a method's default": "class C:\n def __call__(self, x, by={}): return x * by\nf = C()",
    "a method's keyword": "class C:\n def __call__(self, x, *, by={}): return x * by\nf = C()",
    "a list": "T = [{}]\nclass C:\n def __call__(self, x): return x * T[0]\nf = C()",
    "an array": "import numpy\nT = numpy.array({})\nclass C:\n def __call__(self, x): return x * T\nf = C()",
    "a helper": "def h(x): return x * {}\ndef g(x): return h(x)\nclass C:\n def __call__(_, x): return g(x)\nf = C()",
    "a helper's default": "def g(x, by={}): return x * by\nclass C:\n def __call__(self, x): return g(x)\nf = C()",
    "a list of the class": "class C:\n T = [{}]\n def __call__(self, x): return x * self.T[0]\nf = C()",
    "an object of the class": (
        "class H:\n def m(self): return {}\nclass C:\n h = H()\n def __call__(self, x): return x * self.h.m()\nf = C()"
    ),
    "a class": "class H:\n by = {}\nclass C:\n def __call__(self, x): return x * H.by\nf = C()",
    "a property": (
        "import functools\nclass C:\n @functools.cached_property\n def by(self): return {}\n"
        " def __call__(self, x): return x * self.by\nf = C()"
    ),
    "a partial method": (
        "import functools\nclass C:\n def m(self, by, x): return x * by\n n = functools.partialmethod(m, {})\n"
        " def __call__(self, x): return self.n(x)\nf = C()"
    ),
    "a partial of the class": (
        "import functools\ndef g(by, x): return x * by\nclass C:\n h = staticmethod(functools.partial(g, {}))\n"
        " def __call__(self, x): return self.h(x)\nf = C()"
    ),
    "an object of the class with a function": (
        "class H:\n def __init__(self, func, by): self.func, self.by = func, by\n"
        "class C:\n h = H(lambda x, by: x * by, {})\n def __call__(self, x): return self.h.func(x, self.h.by)\nf = C()"
    ),
    "an enumeration": "import enum\nclass E(enum.Enum):\n A = {}\ndef f(x): return x * E.A.value",
    "a named tuple": "import collections as c\nP = c.namedtuple('P', 'k', defaults=[{}])\ndef f(x): return x * P().k",
    "a metaclass": "class M(type):\n by = {}\nclass C(metaclass=M): pass\ndef f(x): return x * C.by",
    "a circle": "class C:\n by = {}\n def __call__(self, x): return x * f.by\nf = C()\nf.same = lambda: f",
}


def function_of(program):
    """Return the function defined by a program, as if from a user's module."""
    made = types.ModuleType("program")
    exec(compile(program, "program.py", "exec"), vars(made))
    return made.f


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_functions_and_methods_refer_to(name, tmp_path):
    two, again, three = (function_of(PROGRAMS[name].replace("{}", str(by))) for by in (2, 2, 3))
    assert list(pipeline.dataset([1, 2]).map(two).cache(tmp_path / "c")) == [2, 4]
    assert list(pipeline.dataset([1, 2]).map(again).cache(tmp_path / "c")) == [2, 4]
    with raises(pipeline.errors.StateMismatchError, "cache: "):
        pipeline.dataset([1, 2]).map(three).cache(tmp_path / "c")


def test_a_function_that_refers_to_nothing_yet(tmp_path):
    def early(x):
        return x if x < 5 else late

    data = stream(range(5)).map(early).cache(tmp_path / "c")
    assert repr(data).endswith(f".cache({str(tmp_path / 'c')!r})")
    assert repr(stream(range(5)).map(early).cache()).endswith(".cache()")
    assert list(data) == list(range(5))
    late = 7
    with raises(pipeline.errors.StateMismatchError, "late of the function of .map("):
        list(stream(range(5)).map(early).cache(tmp_path / "c"))


def test_data_that_differs_a_little(tmp_path):
    numbers, rows = list(range(1000)), np.arange(1000.0)
    list(pipeline.dataset(numbers).cache(tmp_path / "c"))
    list(pipeline.arrays(rows).cache(tmp_path / "d"))
    numbers[501], rows[501] = 0, 0
    with raises(pipeline.errors.StateMismatchError, "the data of pipeline.dataset(list of 1,000) has changed"):
        pipeline.dataset(numbers).cache(tmp_path / "c")
    with raises(pipeline.errors.StateMismatchError, "pipeline.arrays(...)"):
        pipeline.arrays(rows).cache(tmp_path / "d")


def test_a_folder_that_was_removed_is_filled_again(tmp_path):
    made = lambda: stream(range(5)).cache(tmp_path / "c")  # noqa: E731
    old = made()
    assert list(old) == list(range(5))
    shutil.rmtree(tmp_path / "c")
    assert list(made()) == list(old) == list(range(5))
    assert os.listdir(tmp_path / "c")
    assert list(made()) == list(range(5))


def test_wrong_arguments(tmp_path):
    data = pipeline.dataset(list(range(3)))
    with raises(TypeError, "cache: folder must be a path"):
        data.cache(5)
    with raises(ValueError, "cache: rebuild=True is for a folder: pass one, or leave it out"):
        data.cache(rebuild=True)
    with raises(ValueError, "cache: verify=True is for a folder: pass one, or leave it out"):
        data.cache(verify=True)
    with raises(ValueError, "cache: the dataset has no end: write cache before repeat"):
        data.repeat().cache()
    with raises(ValueError, "cache: the batches of batch(max_wait=...) depend on time"):
        data.batch(2, max_wait=1).cache()
    (tmp_path / "mine.txt").write_text("x")
    with raises(pipeline.errors.FailedPreconditionError, f"'{tmp_path}' holds something else, such as 'mine.txt'"):
        data.cache(tmp_path, rebuild=True)
    assert (tmp_path / "mine.txt").read_text() == "x"
    with raises(TypeError, "cache: a function cannot be kept, as it cannot be pickled"):
        list(stream([lambda: 1]).cache(tmp_path / "c", allow_pickle=True))
    assert list(stream([test_wrong_arguments]).cache()) == [test_wrong_arguments]


def test_reports_say_fill_or_hit(tmp_path):
    def report():
        with iter(stream(range(5)).map(chains.double).cache(tmp_path / "c")) as iterator:
            list(iterator)
            return str(iterator.report())

    filled, hit = report(), report()
    assert "cache (fill)" in filled
    assert "double" in filled
    assert "cache (hit)" in hit
    assert "double" not in hit
    assert "\nstream " in filled
    assert "\nstream " not in hit


def test_elements_may_be_changed(tmp_path):
    for path in (None, tmp_path / "c"):
        data = stream([{"x": np.zeros(3), "y": [1, "a"]} for _ in range(3)]).cache(path)
        for _ in range(3):
            for each in data:
                each["x"] += 1
                each["y"].append(2)
        assert [each["x"].tolist() for each in data] == [[0.0] * 3] * 3
        assert [each["y"] for each in data] == [[1, "a"]] * 3
