"""The rules of docs/house.md hold: layers without circles, small files and functions, faces that are empty, a true map.

`make lint` holds the layers, by import-linter; here is what it does not look at.
"""

import re
from pathlib import Path

import house_rules as rules
import pytest

ROOT = Path(__file__).parents[2]
MAP = ROOT / "docs" / "house.md"


def test_no_import_circle():
    assert rules.circle(ROOT) == []


def test_no_circle_in_the_core():
    assert rules.core_circle(ROOT) == []


def test_no_file_is_long():
    assert rules.long_files(ROOT) == []


def test_no_function_is_long():
    assert rules.long_functions(ROOT) == []


def test_imports_stand_at_the_head_of_their_file():
    assert rules.hidden_imports(ROOT) == []


def test_faces_of_rooms_are_docstrings():
    assert rules.full_faces(ROOT) == []


def test_the_map_has_every_room():
    told = set(re.findall(r"^\s*[-|] `(\w[\w/]*/)`", MAP.read_text(), re.MULTILINE))
    assert told >= {room for room in rules.rooms(ROOT) if room != "pipeline/"}


def test_the_map_has_every_file_of_the_core():
    told = set(re.findall(r"`(pyx/\w+\.p[yx][xd])`", MAP.read_text()))
    assert told == {path.relative_to(ROOT).as_posix() for path in (ROOT / "pyx").glob("*.p[yx][xd]")}


def test_the_map_has_every_file_of_the_native_rooms():
    """With a few words about each, room by room."""
    section = MAP.read_text().partition("## Files\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(pipeline/.*?)` \|(.*)", section, re.MULTILINE)
    told = {room: sorted(re.findall(r"`(\w+\.py)` ", files)) for room, files in rows}
    native = [room for room in rules.rooms(ROOT) if room != "pipeline/" and not room.startswith("pipeline/compat/")]
    assert told == {
        room: sorted(path.name for path in (ROOT / room).glob("*.py") if path.name != "__init__.py") for room in native
    }


def test_what_the_map_names_is_there():
    """Files by their paths from the root; in them, functions, classes and methods: `pyx/orders.pxd: put_back`."""
    named = re.findall(r"`((?:pipeline|pyx|tests|docs|bench)/[\w/.]*)(?:: ([\w., ]+))?`", MAP.read_text())
    assert len(named) > 100
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


# Each rule finds what breaks it ---------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path):
    """A function that writes a file of a source tree; its attribute `root` is where."""

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
    for rule in (rules.circle, rules.long_files, rules.long_functions, rules.hidden_imports, rules.full_faces):
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


def test_an_import_for_types_is_no_circle(tree):
    tree("pipeline/room/second.py", "if TYPE_CHECKING:\n    from pipeline.room import first\n")
    assert rules.circle(tree.root) == []


@pytest.mark.parametrize("path", ["pipeline/room/long.py", "pyx/long.pxd", "pyx/long.pyx"])
def test_a_long_file_is_found(tree, path):
    tree(path, "#\n" * rules.FILE_LINES)
    assert rules.long_files(tree.root) == []
    tree(path, "#\n" * (rules.FILE_LINES + 1))
    assert rules.long_files(tree.root) == [f"{path}: 451 lines"]


def function(lines, head="def long(\n    a,\n):"):
    """A function of so many lines, a docstring of two apart."""
    return f'{head}\n    """A docstring\n    of two lines."""\n' + "    pass\n\n" + "    pass\n" * (lines - 5)


def test_a_long_function_is_found(tree):
    tree("pipeline/room/long.py", function(40))
    assert rules.long_functions(tree.root) == []
    tree("pipeline/room/long.py", function(41))
    assert rules.long_functions(tree.root) == ["pipeline/room/long.py:1: long has 41 lines"]


@pytest.mark.parametrize("head", ["cdef inline int long(\n    int a,\n) noexcept nogil:", "def long(\n    a,\n):  # x"])
def test_a_long_function_of_cython_is_found(tree, head):
    rest = "\n\ncdef int other(int b) except -1:\n    return b\n"
    tree("pyx/long.pxd", function(40, head) + rest)
    assert rules.long_functions(tree.root) == []
    tree("pyx/long.pxd", function(41, head) + rest)
    assert rules.long_functions(tree.root) == ["pyx/long.pxd:1: long has 41 lines"]


def test_a_hidden_import_is_found(tree):
    tree("pipeline/room/late.py", "def late():\n    import pipeline.room.first\n")
    assert rules.hidden_imports(tree.root) == ["pipeline/room/late.py:2: import pipeline.room.first"]
    tree("pipeline/room/late.py", "def late():\n    import pipeline.room.first  # noqa: PLC0415\n")
    assert len(rules.hidden_imports(tree.root)) == 1
    for reason in ("    # It takes 20 ms.\n    import {}\n", "    import {}  # It takes 20 ms.\n"):
        tree("pipeline/room/late.py", "def late():\n" + reason.format("pipeline.room.first"))
        assert rules.hidden_imports(tree.root) == []


@pytest.mark.parametrize("text", ['"""A room."""\nimport os\n', ""])
def test_a_full_face_is_found(tree, text):
    tree("pipeline/room/__init__.py", text)
    assert rules.full_faces(tree.root) == ["pipeline/room/__init__.py"]
