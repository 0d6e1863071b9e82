"""The rules in docs/architecture.md as checks on a source tree: each returns one line per violation.

Every check takes a tree's root, so tests can also plant faults in a tree they make.
"""

import ast
import graphlib
import re

# The project's sources: Python below pipeline/, Cython in pyx/.
_CYTHON_IMPORT = re.compile(r"^\s*(?:from (pipeline[\w.]*) c?import (\w+)|import (pipeline[\w.]*))", re.MULTILINE)

_REASON = re.compile(r"#(?! *(?:noqa|type: ignore)\b)")  # a comment for people


def hidden_imports(root):
    """Return the package's imports inside functions without a comment on the line or just above it."""
    found = []
    for path in (root / "pipeline").rglob("*.py"):
        text = path.read_text()
        lines = text.splitlines()
        functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        inside = {id(node): node for function in functions for node in ast.walk(function)}.values()
        for node in inside:
            if any(module.split(".")[0] == "pipeline" for module in _named_modules(node)):
                written = " ".join(lines[node.lineno - 1 : node.end_lineno])
                above = lines[node.lineno - 2].lstrip()
                if not above.startswith("#") and not _REASON.search(written):
                    found.append(f"{path.relative_to(root)}:{node.lineno}: {lines[node.lineno - 1].strip()}")
    return sorted(found)


def full_faces(root):
    """Return packages whose `__init__.py` contains more than a docstring; public ones are exempt."""
    found = []
    for path in sorted((root / "pipeline").rglob("__init__.py")):
        room = path.parent.relative_to(root)
        faces = "", "cluster", "compat", "compat/v1", "proto", "queues"
        if str(room) in {f"pipeline/{face}".rstrip("/") for face in faces}:
            continue
        module = ast.parse(path.read_text())
        if len(module.body) != 1 or ast.get_docstring(module) is None:
            found.append(str(path.relative_to(root)))
    return found


def circle(root, allowed=()):
    """Return the modules in one import circle of the package, compiled ones included, or nothing.

    Imports for types count too, except in `pipeline/__init__.py`, where they name the members of all packages.
    `allowed` are pairs of modules; the first may import the second.
    """
    modules = _modules(root)
    graph = {name: _imports(name, path, modules) for name, path in modules.items()}
    for name, imported in allowed:
        graph[name].remove(imported)
    return _circle(graph)


def core_circle(root):
    """Return the files in one circle in `pyx/`, or nothing."""
    files = {path.name: path.read_text() for path in (root / "pyx").glob("*.p[yx][xd]")}
    graph = {
        name: {f"{stem}.pxd" for stem in re.findall(r"^from (\w+) cimport", text, re.MULTILINE)} & files.keys()
        for name, text in files.items()
    }
    return _circle(graph)


def _circle(graph):
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def _modules(root):
    """Return the package's module paths by name."""
    found = {f"pipeline.{path.stem}": path for path in (root / "pyx").glob("*.pyx")}
    for path in (root / "pipeline").rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _imports(name, path, modules):
    """Return a module's imports from the package, at any depth, ignoring type-only imports for the package itself."""
    text = path.read_text()
    if path.suffix == ".pyx":
        named = {module for found in _CYTHON_IMPORT.findall(text) for module in (f"{found[0]}.{found[1]}", *found)}
        # `from a import b`: the module b if it exists, else a.
        return {_module(module, modules) for module in named if module.startswith("pipeline")} - {name, None}
    tree = ast.parse(text)
    skipped = set()
    for node in ast.walk(tree) if name == "pipeline" else ():
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            skipped |= {id(each) for statement in node.body for each in ast.walk(statement)}
    found = {module for node in ast.walk(tree) if id(node) not in skipped for module in _named_modules(node)}
    return {_module(module, modules) for module in found} - {name, None}


def _named_modules(node):
    """Return the dotted names in an import; for `from a import b` it is `a.b`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        assert not node.level, f"line {node.lineno}: a relative import, which nobody here writes"
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _module(name, modules):
    """Return the module containing a dotted name, or None if it is outside the package."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


_MADE = re.compile(r"^.*\bthreading\.(Lock|RLock|Condition)\(.*$", re.MULTILINE)


def foreign_locks(root):
    """Return the places in the package that make a lock of `threading` for a `with` statement."""
    found = []
    for path in sorted((root / "pipeline").rglob("*.py")):
        text = path.read_text()
        for made in _MADE.finditer(text):
            name = made[0].partition("=")[0].strip()
            if made[1] != "Lock" or re.search(rf"\bwith {re.escape(name)}\b", text):
                found.append(f"{path.relative_to(root)}: {made[0].strip()}")
    return found


def rooms(root):
    """Return all folders below `pipeline/`."""
    return sorted(
        str(path.parent.relative_to(root)) + "/" for path in (root / "pipeline").rglob("__init__.py") if path.parent
    )


_PRIVATE = re.compile(r"(?:.*\.)?(_[a-zA-Z](?:\w*[^\W_])?)(?:\..*)?")  # in a dotted name; `_repr_html_` is public
_OF_PYTHON = ("_asdict", "_fields", "_make", "_replace")
_OWN = ("self", "cls", "super()")
_MODULES = ("os", "sys", "threading")  # of Python


def unexplained_private_names(root):
    """Return the places in tests that use another object's private name without a reason.

    A reason is a comment, on the line or just above it, or the docstring of the file or of an enclosing class or
    function, if it contains the name or the word "private".
    """
    found = []

    def look(node, told):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            told += ast.get_docstring(node) or ""
        for name in _private_names(node):
            above, here = lines[node.lineno - 2].lstrip(), lines[node.lineno - 1]
            said = re.search(rf"(?i)\bprivate\b|(?<!\w){name}\b", told)
            if not (said or above.startswith("#") or _REASON.search(here)):
                found.append(f"{path.relative_to(root)}:{node.lineno}: {name}")
        for child in ast.iter_child_nodes(node):
            look(child, told)

    for path in sorted((root / "tests").rglob("*.py")):
        lines = path.read_text().split("\n")
        look(ast.parse("\n".join(lines)), "")
    return found


def _private_names(node):
    """Return the private names in a node: an attribute, an import, or the name of an attribute to patch."""
    if isinstance(node, ast.Attribute):
        owner = ast.unparse(node.value)
        named = [] if owner in _OWN or owner.partition(".")[0] in _MODULES else [node.attr]
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("attr", "patch", ".object")):
        texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
        named = [text for text in texts if isinstance(text, str) and ast.unparse(node.args[0]) not in _MODULES]
    else:
        named = [name for name in _named_modules(node) if name.startswith("pipeline.")]
    found = [match[1] for match in map(_PRIVATE.fullmatch, named) if match]
    return [name for name in found if name not in _OF_PYTHON]
