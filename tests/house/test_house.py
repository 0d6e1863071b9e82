"""The rules in docs/architecture.md hold: no import cycles, empty faces, and a correct map.

`make lint` checks the layers, by import-linter; these are the other rules.
"""

import re
import sys
from pathlib import Path

import house_rules as rules
import pytest

ROOT = Path(__file__).parents[2]
FILES = ROOT / "docs" / "files.md"
PICTURE = ROOT / "docs" / "architecture.md"


def test_no_import_circle():
    """In types, an operation knows its graph and its definition, and both know operations, as in TensorFlow."""
    graph = "pipeline.compat.graph"
    allowed = [(f"{graph}.tensor", f"{graph}.graph"), (f"{graph}.definitions", f"{graph}.tensor")]
    assert rules.circle(ROOT, allowed) == []


def test_no_circle_in_the_core():
    assert rules.core_circle(ROOT) == []


def test_imports_stand_at_the_head_of_their_file():
    assert rules.hidden_imports(ROOT) == [], "move it to the head, or say why in a comment on its line or above"


def test_faces_of_rooms_are_docstrings():
    assert rules.full_faces(ROOT) == [], "a room's __init__.py is a docstring: code goes into a file of its own"


def test_tests_say_why_they_look_at_private_names():
    private = rules.unexplained_private_names(ROOT)
    assert private == [], "test what users see; else say why in a comment, or in a docstring with the name or `private`"


def test_with_takes_no_lock_that_ctrl_c_may_leave_locked():
    assert rules.foreign_locks(ROOT) == [], "use pipeline.locks.Lock or pipeline.conditions.ReentrantCondition"


def test_the_map_has_every_room():
    told = set(re.findall(r"^\s*[-|] `(\w[\w/]*/)`", FILES.read_text(), re.MULTILINE))
    missing = {room for room in rules.rooms(ROOT) if room != "pipeline/"} - told
    assert missing == set(), "give it a row in the table of docs/files.md"


def test_the_picture_has_the_layers_that_lint_holds():
    """Line by line, from top to bottom."""
    tomllib = pytest.importorskip("tomllib")
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["name"] == "native rooms")
    picture = PICTURE.read_text().split("```")[1].splitlines()[2:]  # after the command
    drawn = [line[24:] for line in picture if line.strip()]
    assert drawn == [layer for layer in layers if layer not in ("__main__", "command")]


def test_every_file_says_its_idea_in_its_first_line():
    """The table in docs/files.md is generated from these lines."""
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    import file_table

    silent = [folder + name for folder, files in file_table.rows(ROOT) for name, idea in files if len(idea) < 15]
    assert silent == [], "begin the docstring of the file with one line that says its idea"


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("docs/architecture.md", 15),
        ("docs/files.md", 40),
        ("docs/inside-queues.md", 40),
        (".github/CONTRIBUTING.md", 9),
    ],
)
def test_what_the_map_names_is_there(page, least):
    """Files are given by path from the root; their functions, classes and methods as `pyx/orders.pxd: put_back`."""
    named = re.findall(r"`((?:pipeline|pyx|tests|docs|bench)/[\w/.]*)(?:: ([\w., ]+))?`", (ROOT / page).read_text())
    assert len(named) > least
    missing = []
    for path, names in named:
        if not (ROOT / path).exists():
            missing.append(path)
            continue
        text = (ROOT / path).read_text() if names else ""
        for name in re.split(r"[., ]+", names):
            if name and not re.search(rf"\b(?:def|class|struct|cdef [\w.\[\]*:, ]+)\s+{name}\b|^{name}\b", text, re.M):
                missing.append(f"{path}: {name}")
    assert missing == []


# Each rule finds a planted fault --------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path):
    """Write files into a source tree; the attribute `root` is its folder."""

    def write(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    write.root = tmp_path
    write("pipeline/__init__.py", "from pipeline.room import first\n")
    write("pipeline/room/__init__.py", '"""A room."""\n')
    write("pipeline/room/first.py", "import pipeline.room.second\n")
    write("pipeline/room/second.py", "import os\n")
    return write


def test_a_sound_tree(tree):
    for rule in (rules.circle, rules.hidden_imports, rules.full_faces):
        assert rule(tree.root) == []
    assert rules.rooms(tree.root) == ["pipeline/", "pipeline/room/"]


@pytest.mark.parametrize(
    "text",
    [
        "from pipeline.room import first\n",
        "from pipeline.room.first import name\n",
        "def late():\n    import pipeline.room.first  # because\n",
        "class A:\n    from pipeline import first\n",
        "if DEBUG:\n    import pipeline.room.first as other\n",
    ],
)
def test_a_circle_is_found(tree, text):
    tree("pipeline/room/second.py", text)
    assert rules.circle(tree.root)


def test_a_circle_through_a_compiled_module_is_found(tree):
    tree("pipeline/room/second.py", "from pipeline import _core\n")
    tree("pyx/_core.pyx", "from libc.string cimport memcpy\n")
    assert rules.circle(tree.root) == []
    tree("pyx/_core.pyx", "from pipeline.room.first import thing\n")
    assert "pipeline._core" in rules.circle(tree.root)


def test_a_circle_in_the_core_is_found(tree):
    tree("pyx/state.pxd", "from steps cimport locked\n")
    tree("pyx/steps.pxd", "from libc.string cimport memcpy\n")
    assert rules.core_circle(tree.root) == []
    tree("pyx/steps.pxd", "from libc.string cimport memcpy\nfrom state cimport (\n    start,\n)\n")
    assert set(rules.core_circle(tree.root)) == {"state.pxd", "steps.pxd"}


def test_an_import_for_types_counts_except_in_the_face_of_the_package(tree):
    for_types = "if TYPE_CHECKING:\n    from pipeline.room import first\n"
    tree("pipeline/__init__.py", for_types)
    tree("pipeline/room/second.py", "import pipeline\n")
    assert rules.circle(tree.root) == []
    tree("pipeline/room/second.py", for_types)
    assert rules.circle(tree.root)
    assert rules.circle(tree.root, [("pipeline.room.second", "pipeline.room.first")]) == []


def test_a_hidden_import_is_found(tree):
    tree("pipeline/room/late.py", "def late():\n    import pipeline.room.first\n")
    assert rules.hidden_imports(tree.root) == ["pipeline/room/late.py:2: import pipeline.room.first"]
    tree("pipeline/room/late.py", "def late():\n    import pipeline.room.first  # noqa: PLC0415\n")
    assert len(rules.hidden_imports(tree.root)) == 1
    for reason in ("    # It takes 20 ms.\n    import {}\n", "    import {}  # It takes 20 ms.\n"):
        tree("pipeline/room/late.py", "def late():\n" + reason.format("pipeline.room.first"))
        assert rules.hidden_imports(tree.root) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("assert thing._hidden", "_hidden"),
        ("assert self.thing._hidden.value", "_hidden"),
        ("from pipeline._core import name", "_core"),
        ("from pipeline.room import _core", "_core"),
        ('monkeypatch.setattr("pipeline.room._LIMIT", 3)', "_LIMIT"),
        ('mock.patch.object(Thing, "_LIMIT", 3)', "_LIMIT"),
    ],
)
def test_a_private_name_without_a_reason_is_found(tree, text, name):
    def found(source):
        tree("tests/room/test_first.py", source)
        return rules.unexplained_private_names(tree.root)

    assert found(f"\n{text}\n") == [f"tests/room/test_first.py:2: {name}"]
    assert len(found(f'"""Of room."""\n{text}  # noqa: SLF001\n')) == 1
    for head in (f"`{name}` is the core.", "Private names: what the loop calls."):
        assert found(f'"""{head}"""\n{text}\n') == []
        assert found(f'def test():\n    """{head}"""\n    {text}\n') == []
    assert found(f"\n{text}  # the loop calls it\n") == found(f"# The loop calls it.\n{text}\n") == []


@pytest.mark.parametrize(
    "text", ["self._own", "super()._own()", "sys._getframe()", "x.__len__", "row._replace(a=1)", "x._repr_html_()"]
)
def test_names_that_tests_may_use(tree, text):
    tree("tests/room/test_first.py", f"\n{text}\n")
    assert rules.unexplained_private_names(tree.root) == []


@pytest.mark.parametrize("text", ['"""A room."""\nimport os\n', ""])
def test_a_full_face_is_found(tree, text):
    tree("pipeline/room/__init__.py", text)
    assert rules.full_faces(tree.root) == ["pipeline/room/__init__.py"]
