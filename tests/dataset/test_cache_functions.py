"""cache: a folder belongs to the functions before it, including everything they use from their module."""

import os
import subprocess
import sys
import types

import pytest

import pipeline

# Programs with a function f, and two values; each makes a different f.
CHANGES = {
    "code": ("def f(x): return x * {}", "2", "3"),
    "a type": ("def f(x): return (x, {})", "1", "1.0"),
    "a branch": ("def f(x): return x {} 2", "+", "-"),
    "default": ("def f(x, k={}): return x * k", "2", "3"),
    "keyword default": ("def f(x, *, k={}): return x * k", "2", "3"),
    "attribute": ("def f(x): return x * f.k\nf.k = {}", "2", "3"),
    "closure": ("def made(k): return lambda x: x * k\nf = made({})", "2", "3"),
    "closure of a list": ("def made(k): return lambda x: x * k[0]\nf = made([{}])", "2", "3"),
    "lambda in a list": ("f = [lambda x: x * k for k in ({},)][0]", "2", "3"),
    "nested function": ("def f(x):\n    def g(y): return y * {}\n    return g(x)", "2", "3"),
    "global": ("K = {}\ndef f(x): return x * K", "2", "3"),
    "value of a module": ("import types as m\nm.k = {}\ndef f(x): return x * m.k", "2", "3"),
    "callee": ("def g(x): return x * {}\ndef f(x): return g(x)", "2", "3"),
    "default of a callee": ("def g(x, k={}): return x * k\ndef f(x): return g(x)", "2", "3"),
    "callee of a callee": ("def h(x): return x * {}\ndef g(x): return h(x)\ndef f(x): return g(x)", "2", "3"),
    "callees of one name": (
        "def m(k):\n    def g(x): return x * k\n    return g\na, b = m(1), m({})\ndef f(x): return a(x) + b(x)",
        "2",
        "3",
    ),
    "shadowed name": ("{}\ndef f(x): return max(x, 3)", "", "def max(a, b): return 77"),
    "partial": ("import functools\ndef g(x, k): return x * k\nf = functools.partial(g, k={})", "2", "3"),
    "default of a partial": ("import functools\ndef g(x, k={}): return x * k\nf = functools.partial(g)", "2", "3"),
    "lru_cache": ("import functools\n@functools.lru_cache\ndef f(x): return x * {}", "2", "3"),
    "wraps": (
        "import functools\ndef d(g): return functools.wraps(g)(lambda x: g(x))\n@d\ndef f(x): return x * {}",
        "2",
        "3",
    ),
    "state of an object": ("class A:\n    def f(s, x): return x * s.k\na = A()\na.k = {}\nf = a.f", "2", "3"),
    "slots": (
        "class A:\n    __slots__ = ('k',)\n    def f(s, x): return x * s.k\na = A()\na.k = {}\nf = a.f",
        "2",
        "3",
    ),
    "other method": ("class A:\n    def g(s, x): return x * {}\n    def f(s, x): return s.g(x)\nf = A().f", "2", "3"),
    "default of another method": (
        "class A:\n    def g(s, x, k={}): return x * k\n    def f(s, x): return s.g(x)\nf = A().f",
        "2",
        "3",
    ),
    "callee of an object": (
        "def h(x, k={}): return x * k\ndef g(x): return h(x)\nclass A:\n    def __call__(s, x): return g(x)\nf = A()",
        "2",
        "3",
    ),
    "global of an object": ("K = [{}]\nclass A:\n    def __call__(s, x): return x * K[0]\nf = A()", "2", "3"),
    "class attribute": ("class A:\n    K = [{}]\n    def f(s, x): return x * s.K[0]\nf = A().f", "2", "3"),
    "array of a class": (
        "import numpy as np\nclass A:\n    K = np.array([{}])\n    def f(s, x): return int(x * s.K[0])\nf = A().f",
        "2",
        "3",
    ),
    "static method": ("class A:\n    @staticmethod\n    def g(x): return x * {}\ndef f(x): return A.g(x)", "2", "3"),
    "class method": ("class A:\n    K = [{}]\n    @classmethod\n    def f(s, x): return x * s.K[0]\nf = A.f", "2", "3"),
    "property": (
        "class A:\n    @property\n    def k(s): return {}\n    def f(s, x): return x * s.k\nf = A().f",
        "2",
        "3",
    ),
    "base class": ("class B:\n    def f(s, x): return x * {}\nclass A(B): pass\nf = A().f", "2", "3"),
    "metaclass": ("class M(type):\n    def __call__(c, x): return x * {}\nclass A(metaclass=M): pass\nf = A", "2", "3"),
    "enum": ("import enum\nclass E(enum.Enum):\n    A = {}\ndef f(x): return x * E.A.value", "2", "3"),
    "dict with attributes": ("class V(dict): pass\nv = V()\nv.k = {}\ndef f(x): return x * v.k", "2", "3"),
    "deque": ("import collections\nc = collections.deque([{}])\ndef f(x): return x * c[0]", "2", "3"),
    "regular expression": ("import re\nc = re.compile('a', {})\ndef f(x): return bool(c.search('A'))", "0", "re.I"),
    "object with a lock": (
        "import threading\nclass A: pass\na = A()\na.lock, a.k = threading.Lock(), {}\ndef f(x): return x * a.k",
        "2",
        "3",
    ),
    "deep value": (
        "c = {}\nfor _ in range(150): c = [c]\ndef f(x):\n    d = c\n    while type(d) is list: d = d[0]\n    return d",
        "2",
        "3",
    ),
    "circle": (
        "class A:\n    def f(s, x): return g(x)\na = A()\ndef g(x): return x * {} if x else a\ndef f(x): return a.f(x)",
        "2",
        "3",
    ),
}


# A function referring to many objects with a different order or address in each process.
VARIED = """
import collections, logging, threading
import numpy as np
import pipeline
log, lock, words = logging.getLogger("a"), threading.Lock(), {"a", "b", "c", "d"}
class Base:
    made = {}
    @property
    def words(self): return {"x", "y", "z"} | words
class Held(Base, collections.UserDict):
    pass
held = Held({word: len(word) for word in sorted(words)})
def f(x):
    log.debug("%s %s", x, np.max(x))
    with lock:
        return [x in words, x in {"p", "q", "r"}, len(held.words), held["a"], pipeline.image is None]
"""


def test_the_same_function_is_known_in_other_processes(program, tmp_path):
    path = str(tmp_path / "c")
    expected = list(program(VARIED).cache(path))
    main = f"import pipeline\nprint(list(pipeline.dataset([1, 2, 5]).map(f).cache({path!r})) == {expected!r})"
    for seed in ("1", "2"):
        made = subprocess.run(
            [sys.executable, "-c", f"__name__ = 'program_of_a_user'\n{VARIED}\n{main}"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
        )
        assert made.stdout == "True\n", made.stderr


@pytest.fixture
def program(monkeypatch):
    """Run a program as a separate module and return its function's dataset."""

    def run(text):
        module = types.ModuleType("program_of_a_user")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(text, "program.py", "exec"), module.__dict__)
        return pipeline.dataset([1, 2, 5]).map(module.f)

    return run


@pytest.mark.parametrize("name", CHANGES)
def test_another_function_is_refused(name, program, tmp_path):
    text, one, other = CHANGES[name]
    expected, changed = list(program(text.format(one))), list(program(text.format(other)))
    assert expected != changed or name == "a type"
    assert list(program(text.format(one)).cache(tmp_path / "c")) == expected
    assert list(program("\n\n" + text.format(one)).cache(tmp_path / "c")) == expected  # moved within its file
    with pytest.raises(pipeline.errors.StateMismatchError, match=r"of the function of .map.*rebuild=True"):
        program(text.format(other)).cache(tmp_path / "c")
    assert list(program(text.format(other)).cache(tmp_path / "c", rebuild=True)) == changed
