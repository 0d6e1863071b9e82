"""The examples in docstrings give what they say; the names that programs use most have one."""

import doctest
import inspect

import numpy as np
import pytest
from orchestration import fresh_collection

import pipeline

# Of the public names these are used most.
USED_MOST = [
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueRunner",
    "RandomShuffleQueue",
    "TFRecordWriter",
    "TextLineReader",
    "batch",
    "bucket_by_sequence_length",
    "collate",
    "concatenate",
    "decode_csv",
    "decode_raw",
    "freeze",
    "match_filenames_once",
    "pad",
    "parse_example",
    "range_input_producer",
    "save_state",
    "show_config",
    "shuffle_batch",
    "slice_input_producer",
    "stack",
    "string_input_producer",
]
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


def test_what_is_used_most_has_an_example():
    assert set(USED_MOST) - set(WITH_EXAMPLES) == set()


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
    monkeypatch.chdir(tmp_path)
    for test in examples(name):
        report = []
        runner = doctest.DocTestRunner(verbose=False)
        with fresh_collection():
            runner.run(test, out=report.append)
        assert not runner.failures, "".join(report)
