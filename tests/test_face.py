"""The names of `import pipeline`: consistent lists, lazy imports, and guarantees for programs.

The tests read the package's private tables, because the lists must agree with them.
"""

import ast
import difflib
import pathlib
from importlib import import_module

import public_api
import pytest
from helpers import run_script

import pipeline
import pipeline.compat.v1 as tf
from pipeline import errors

MODULES = {"cluster", "errors", "image", "proto", "queues", "types"}  # modules with a public name
SOURCE = ast.parse(pathlib.Path(pipeline.__file__).read_text())


def for_type_checkers():
    """Return the names imported for type checkers, with their modules."""
    (block,) = [node for node in SOURCE.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_every_name_is_there():
    for name in pipeline.__all__:
        assert getattr(pipeline, name) is not None


def test_type_checkers_see_the_same_names_in_the_same_places():
    pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    seen = for_type_checkers()
    assert {seen.pop(module) for module in MODULES} == {"pipeline"}
    now = {name: f"pipeline{room}" for name, room in pipeline._HOMES.items()}
    assert {name: room for name, room in seen.items() if name not in pipeline._OLD} == now, "TYPE_CHECKING and _ROOMS"
    assert sorted([*now, *MODULES]) == sorted(pipeline.__all__), "_ROOMS and __all__ of pipeline/__init__.py"
    assert all(getattr(pipeline, name) is getattr(import_module(seen[name]), name) for name in pipeline._OLD)


def test_the_top_level_has_one_mental_model():
    """`dir` has at most 64 names besides the sources, one per format. docs/api has them in groups."""
    assert pipeline.__all__ == sorted(set(pipeline.__all__))
    others = [name for name in dir(pipeline) if not pipeline._HOMES.get(name, "").startswith(".sources.")]
    assert len(others) <= 64, (
        "a new name takes the place of one that moves to a module, such as pipeline.types: see pipeline._MOVED"
    )
    assert dir(pipeline) == sorted({*pipeline.__all__, "__version__"} - set(pipeline.queues.__all__))


@pytest.mark.parametrize("module", ["errors", "image", "proto", "types"])
def test_names_that_moved_are_where_they_were_too(module):
    if module == "proto":
        pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    for name in pipeline._MOVED[module].split():
        assert name not in dir(pipeline)
        assert name in dir(getattr(pipeline, module))
        assert getattr(pipeline, name) is getattr(getattr(pipeline, module), name)


def test_the_drop_in_needs_no_import_of_its_own():
    done = run_script(
        "import sys, pipeline\nassert 'pipeline.compat' not in sys.modules\n"
        "print(pipeline.compat.v1.train.batch.__name__, 'v1' in vars(pipeline.compat))\n"
        "try:\n    pipeline.compat.train\nexcept AttributeError as error:\n    print(error)"
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "batch True"
    assert second.endswith("no attribute 'train': TensorFlow's names are in pipeline.compat.v1")


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'pipeline' has no attribute 'dequeue'"):
        _ = pipeline.dequeue
    with pytest.raises(ImportError, match="dequeue"):
        from pipeline import dequeue  # noqa: F401


def test_a_name_that_is_misspelt():
    with pytest.raises(AttributeError, match=r"no attribute 'shuffel_batch'\. Similar names: shuffle_batch, "):
        _ = pipeline.shuffel_batch
    with pytest.raises(AttributeError, match=r"no attribute '_stack'$"):
        _ = pipeline._stack


def test_a_name_that_went_says_what_to_write():
    with pytest.raises(AttributeError, match=r"'maybe_batch'\. Write pipeline\.dataset\(\.\.\.\)\.filter"):
        _ = pipeline.maybe_batch
    with pytest.raises(AttributeError, match=r"'DataLoader'\. Write pipeline\.torch\.DataLoader or "):
        _ = pipeline.DataLoader


@pytest.mark.parametrize("owner", [pipeline, pipeline.Dataset])
def test_names_of_other_libraries_say_what_to_write(owner):
    for name, ours in {
        "from_tensor_slices": "pipeline.arrays(x)",
        "from_generator": "pipeline.dataset(function)",
        "TFRecordDataset": "pipeline.tfrecord(paths)",
        "range": "pipeline.dataset(range(n))",
    }.items():
        with pytest.raises(AttributeError) as failed:
            getattr(owner, name)
        assert str(failed.value).endswith(f" has no attribute '{name}': write {ours}")


def test_the_class_of_datasets_is_not_called():
    with pytest.raises(
        TypeError, match=r"^Dataset is made by functions: write pipeline\.dataset\(\[1, 2\]\), or use a s"
    ):
        pipeline.Dataset([1, 2])


def test_methods_of_iterators_are_not_those_of_datasets():
    data = pipeline.dataset([1, 2])
    names = [name for name in dir(pipeline.types.DatasetIterator) if not name.startswith("_")]
    for name in sorted(set(names) - set(dir(data))):
        with pytest.raises(AttributeError) as failed:
            getattr(data, name)
        hint = f"but its iterators do: write iterator = iter(dataset), then iterator.{name}"
        assert str(failed.value) == f"a dataset has no '{name}', {hint}"
    assert {"report", "state_dict"} <= set(names)


def test_queues_gathers_what_threads_fill_queues_with():
    assert set(pipeline.queues.__all__) - set(dir(pipeline.types)) <= set(pipeline.__all__)
    assert dir(pipeline.queues) == sorted(pipeline.queues.__all__)
    assert all(getattr(pipeline.queues, name) is getattr(pipeline, name) for name in pipeline.queues.__all__)
    with pytest.raises(AttributeError, match=r"module 'pipeline\.queues' has no attribute 'Queue'"):
        _ = pipeline.queues.Queue


def test_dir_lists_datasets_and_sources_and_no_rooms():
    listed = dir(pipeline)
    assert {"arrays", "csv", "dataset", "mix", "parquet", "processes", "queues", "report", "text"} <= set(listed)
    assert "FIFOQueue" not in listed
    assert "Coordinator" not in listed
    assert "batches" not in listed
    assert "_HOMES" not in listed


def test_other_public_modules_list_public_names_too():
    assert dir(errors) == sorted([*dir(tf.errors), "StateMismatchError"])
    assert sorted(errors.__all__) == dir(errors)
    internals = {"_attach", "__builtins__", "__dir__", "__getattr__", "__path__"}
    assert not internals & set(dir(tf))
    assert {"train", "constant", "__version__"} <= set(dir(tf))


def test_star_imports_everything():
    names = {}
    exec("from pipeline import *", names)
    assert set(pipeline.__all__) <= set(names)


def test_a_program_loads_what_it_uses():
    script = """
import sys
import pipeline
print(sorted(name for name in sys.modules if name.startswith("pipeline")))
pipeline.FIFOQueue(1, "int32", shapes=[()])
print([name for name in sys.modules if name.startswith(("pipeline.decode", "pipeline.proto", "pipeline.readers"))])
print(pipeline.errors.OutOfRangeError.__name__)
"""
    assert run_script(script).stdout.splitlines() == ["['pipeline', 'pipeline._random']", "[]", "OutOfRangeError"]


def test_a_loop_loads_nothing_that_only_states_and_mistakes_need():
    script = """
import sys
import pipeline
pipeline.shuffle_batch
print({"_hashlib", "difflib"} & set(sys.modules))
"""
    assert run_script(script).stdout.strip() == "set()"


def test_what_programs_rely_on():
    """Names, arguments and members, as listed; `python tests/support/public_api.py` lists them again."""
    pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    told = public_api.LISTED.read_text().splitlines()
    differs = "\n".join(difflib.unified_diff(told, public_api.listing(), "listed", "found", n=0, lineterm=""))
    assert differs == "", f"{differs}\nIf that is meant: .venv/bin/python tests/support/public_api.py"


def test_no_public_name_is_that_of_a_room():
    """Importing a private submodule would replace the package's public attribute with the same name."""
    package = pathlib.Path(pipeline.__file__).parent
    rooms = {path.stem for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    assert rooms & set(pipeline.__all__) == MODULES
