"""The examples in docstrings give what they say; the names that programs use most have one."""

import doctest
import inspect

import numpy as np
import pytest
from orchestration import fresh_collection

import pipeline

# Functions and classes without an example that runs, and why. Nothing is added here.
WITHOUT = {
    "grain": "needs grain",
    "huggingface": "needs datasets",
    "tf_data": "needs TensorFlow",
    "processes": "its processes import the program; the example in its text is run by the guides",
    "LMDBReader": "needs a file by lmdb",
    "MetricsCollector": "registers in the whole process",
    "trace": "one runs at a time in the whole process",
    "parse_single_example": "as parse_example",
}
NEEDS = {"arrow": "pyarrow", "feather": "pyarrow", "parquet": "pyarrow", "TFRecordReader": "google_crc32c"}
PARSER = doctest.DocTestParser()


def examples(name):
    """The docstring of a public name, and those of its methods, as tests."""
    thing = getattr(pipeline, name)
    documented = {name: thing}
    if inspect.isclass(thing):
        documented |= {f"{name}.{each}": getattr(thing, each) for each in dir(thing) if not each.startswith("_")}
    found = []
    for path, each in documented.items():
        text = inspect.getdoc(each) or ""
        test = PARSER.get_doctest(text, {"pipeline": pipeline, "np": np}, path, None, None)
        if test.examples:
            found.append(test)
    return found


WITH_EXAMPLES = [name for name in pipeline.__all__ if examples(name)]


def test_each_public_name_has_an_example_or_a_reason():
    own = {name for name in pipeline.__all__ if callable(getattr(pipeline, name))}
    assert own - set(WITH_EXAMPLES) == set(WITHOUT)


def test_each_public_name_has_a_summary_in_one_line():
    """The reference lists these lines."""
    modules = [pipeline, pipeline.image, pipeline.proto, pipeline.types, pipeline.cluster]
    things = {name: getattr(module, name) for module in modules for name in module.__all__}
    first = {name: (inspect.getdoc(each) or "").partition("\n")[0] for name, each in things.items() if callable(each)}
    assert [name for name, line in first.items() if not line.endswith(".") or len(line) > 116] == []


def test_help_for_what_is_used_most_fits_a_screen():
    names = [
        "dataset",
        "arrays",
        "csv",
        "parquet",
        "image_folder",
        "processes",
        "threads",
        "report",
        "monitor",
        "Coordinator",
    ]
    assert [name for name in names if len(inspect.getdoc(getattr(pipeline, name)).split("\n")) > 40] == []


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples(name, tmp_path, monkeypatch):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    monkeypatch.chdir(tmp_path)
    for test in examples(name):
        report = []
        runner = doctest.DocTestRunner(verbose=False)
        with fresh_collection():
            runner.run(test, out=report.append)
        assert not runner.failures, "".join(report)
