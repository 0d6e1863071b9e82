"""Examples in docstrings print the output they show, and the most used names have an example."""

import ast
import builtins
import contextlib
import doctest
import functools
import importlib
import inspect
import re
import textwrap

import numpy as np
import pytest
from orchestration import fresh_collection

import pipeline
from pipeline import testing

MODULES = ("errors", "image", "proto", "testing", "types", "cluster", "torch", "jax", "keras")
# Imports for the examples, by public name. A whole module's imports follow below its name.
NEEDS = {
    "LMDBReader": "lmdb",
    "MetricsCollector": "prometheus_client",
    "TFRecordReader": "google_crc32c",
    "array_record": "array_record",
    "arrow": "pyarrow",
    "audio": "soundfile",
    "errors.DataLossError": "google_crc32c",
    "feather": "pyarrow",
    "grain": "grain",
    "huggingface": "datasets",
    "image": "PIL",
    "jax": "jax",
    "keras": "keras",
    "lance": "lance",
    "parquet": "pyarrow",
    "tf_data": "tensorflow",
    "torch": "torch",
    "video": "av",
    "vortex": "vortex",
}
PARSER = doctest.DocTestParser()


def thing(name):
    return functools.reduce(getattr, name.split("."), pipeline)


def documented(name):
    """Return the docstrings of a public name and its methods, read from the source if its library is missing here."""
    found = thing(name)
    texts = {name: inspect.getdoc(found) or ""}
    if inspect.isclass(found):
        texts |= {f"{name}.{each}": inspect.getdoc(getattr(found, each)) or "" for each in dir(found) if each[0] != "_"}
    return texts


def examples(name):
    tests = [
        PARSER.get_doctest(text, {"pipeline": pipeline, "np": np}, path, None, None)
        for path, text in documented(name).items()
    ]
    return [test for test in tests if test.examples]


def public_names():
    """Return all callables of all public modules with installed libraries."""
    yield from (name for name in pipeline.__all__ if callable(getattr(pipeline, name)))
    for module in MODULES:
        with contextlib.suppress(ImportError):  # torch, jax, or Keras, which may lack a backend
            found = importlib.import_module(f"pipeline.{module}")
            yield from (f"{module}.{name}" for name in found.__all__ if callable(getattr(found, name)))


PUBLIC = list(public_names())
# On Ray, so their examples are multi-machine programs.
SHOWN_ONLY = [name for name in PUBLIC if name.startswith("cluster.")]
# tf.errors has these. The first two are never raised, the last only if a worker's error cannot be pickled.
NO_EXAMPLE = ["errors.InternalError", "errors.UnauthenticatedError", "errors.UnknownError"]


def test_each_public_name_has_an_example():
    without = [name for name in PUBLIC if not PARSER.get_examples(inspect.getdoc(thing(name)) or "")]
    assert sorted(without) == sorted([*SHOWN_ONLY, *NO_EXAMPLE])


def test_examples_of_a_cluster_are_python():
    for name in SHOWN_ONLY:
        text = inspect.getdoc(thing(name))
        code = re.search(r"\n\n((?:    .*\n|\n)+)", text)[1]
        assert "pipeline.cluster." in code
        compile(textwrap.dedent(code), name, "exec")


def test_each_method_of_a_dataset_has_an_example():
    methods = [each for each in dir(pipeline.Dataset) if each[0] != "_"]
    without = [each for each in methods if not PARSER.get_examples(inspect.getdoc(getattr(pipeline.Dataset, each)))]
    assert "\n".join(without) == ""


def test_each_parameter_is_described():
    """Functions and dataset methods describe each parameter, unless they refer to another's."""
    without = []
    for name in [*PUBLIC, *(f"Dataset.{each}" for each in dir(pipeline.Dataset) if each[0] != "_")]:
        text = " ".join(documented(name)[name].split())
        if not inspect.isroutine(thing(name)) or re.search(r"\b(?:[Aa]s(?: for)?|[Ss]ee|are those of) `", text):
            continue
        given = set(inspect.signature(thing(name)).parameters) - {"self", "name", "function"}
        without += [f"{name}: {each}" for each in given if not re.search(rf"\b{each}\b", text)]
    assert "\n".join(without) == ""


def members(owner):
    """Return our own members in `dir` of a class or an instance."""
    kind = owner if inspect.isclass(owner) else type(owner)
    for name in (each for each in dir(owner) if each[0] != "_"):
        home = next((each for each in kind.__mro__ if name in vars(each)), kind)
        if home.__module__.startswith("pipeline"):
            yield name


def test_dir_lists_only_what_is_documented():
    """Each public member has a docstring, or its class's docstring names it."""
    queue, names = pipeline.RandomShuffleQueue(2, 1, "int64", [()]), pipeline.FIFOQueue(1, "string", [()])
    made = [queue, pipeline.TextLineReader(), pipeline.QueueRunner(names, [names.close]), pipeline.Coordinator()]
    modules = [pipeline, pipeline.errors, pipeline.image, pipeline.types, pipeline.cluster]
    things = [getattr(module, name) for module in modules for name in module.__all__]
    unsaid = set()
    for owner in [*made, *filter(inspect.isclass, things)]:
        kind = owner if inspect.isclass(owner) else type(owner)
        texts = " ".join(each.__doc__ or "" for each in kind.__mro__)
        for name in members(owner):
            member = getattr(kind, name, None)
            own = inspect.getdoc(member) if callable(member) or inspect.isdatadescriptor(member) else None
            if not own and not re.search(rf"\b{name}\b", texts):
                unsaid.add(f"{kind.__name__}.{name}")
    assert sorted(unsaid) == []


ERRORS = r"[A-Z]\w*(?:, [A-Z]\w*)*"


def raises(text):
    """Return the lines in a docstring's "Raises" section."""
    found = re.search(r"^Raises:\n((?:    .*\n?|\n)+)", inspect.cleandoc(text or ""), re.MULTILINE)
    return [line[4:] for line in found[1].split("\n") if re.match(r"    \S", line)] if found else []


def callables():
    """Return all callables, including methods of classes."""
    for name in PUBLIC:
        yield name, thing(name)
        if inspect.isclass(thing(name)):
            yield from ((f"{name}.{each}", getattr(thing(name), each)) for each in members(thing(name)))


def test_the_errors_of_docstrings_are_public():
    for name, each in callables():
        for line in raises(getattr(each, "__doc__", "")):
            assert re.match(rf"{ERRORS}: ", line), f"{name}: {line}"
            for error in line.partition(":")[0].split(", "):
                homes = [each for each in (pipeline.errors, testing, builtins) if hasattr(each, error)]
                found = getattr(homes[0], error)
                assert issubclass(found, BaseException), f"{name}: {error}"


def test_what_raises_says_so():
    """Functions that raise an error themselves have a "Raises" section; for `__init__` the class may have it."""
    without = []
    for name, each in callables():
        owners = [kind for kind in getattr(each, "__mro__", ()) if "__init__" in vars(kind)]
        function = inspect.unwrap(owners[0].__init__ if owners else each)
        module = getattr(function, "__module__", None) or ""
        if not inspect.isfunction(getattr(function, "__func__", function)) or "pipeline" not in module:
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        raised = any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))
        if raised and not any(raises(text.__doc__) for text in [each, *owners[:1]]):
            without.append(name)
    assert without == []


def test_each_public_name_has_a_summary_in_one_line():
    """The reference lists these lines."""
    modules = [pipeline, pipeline.image, pipeline.proto, pipeline.types, pipeline.cluster]
    things = {name: getattr(module, name) for module in modules for name in module.__all__}
    first = {name: (inspect.getdoc(each) or "").partition("\n")[0] for name, each in things.items() if callable(each)}
    assert [name for name, line in first.items() if not line.endswith(".") or len(line) > 116] == []


MOST_USED = [
    *("dataset", "arrays", "csv", "parquet", "image_folder", "text", "Dataset.map", "Dataset.filter"),
    *("Dataset.batch", "Dataset.shuffle", "Dataset.prefetch", "processes", "threads", "report", "monitor"),
    "Coordinator",
]


@pytest.mark.parametrize("name", MOST_USED)
def test_help_for_what_is_used_most_fits_a_screen(name):
    """Docstrings fit a terminal with 24 rows of 80 columns; `help` uses 4 columns for indentation."""
    lines = inspect.getdoc(thing(name)).split("\n")
    assert sum(max(1, -(-len(line) // 76)) for line in lines) <= 24


@pytest.mark.parametrize("name", [name for name in PUBLIC if examples(name)])
def test_examples(name, tmp_path, monkeypatch):
    """Examples print the output they show."""
    needed = NEEDS.get(name) or NEEDS.get(name.partition(".")[0])
    if needed is not None:
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    monkeypatch.chdir(tmp_path)
    for test in examples(name):
        report = []
        runner = doctest.DocTestRunner(verbose=False)
        with fresh_collection():
            runner.run(test, out=report.append)
        assert not runner.failures, "".join(report)
