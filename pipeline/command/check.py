"""Find the TensorFlow names used by a program, and those the drop-in lacks: `python -m pipeline check`.

Names come from `pipeline/compat/names.py`, and advice for the others from `pipeline/compat/hints.py`.
"""

from __future__ import annotations

import ast
import warnings
from typing import NamedTuple

from pipeline.command.fetches import Fetch, fetches_of_model
from pipeline.compat.hints import REORDERED, reason
from pipeline.compat.names import MODULES

DROP_IN = "pipeline.compat.v1"


class Use(NamedTuple):
    """A TensorFlow name used in a program."""

    line: int
    name: str  # without the leading `tf.`


class Change(NamedTuple):
    """An import line to change."""

    line: int
    old: str
    new: str


class Checked(NamedTuple):
    """The names needed by a program.

    Attributes:
        changes: Import lines to change.
        here, missing: Uses of names, present in the drop-in or missing there.
        fetches: Session calls that fetch model outputs.
    """

    changes: list[Change]
    here: list[Use]
    missing: list[Use]
    fetches: list[Fetch]


def check(source: str | bytes, filename: str = "<program>") -> Checked:
    """Find the TensorFlow names in a program's source, without running it.

    Raises:
        SyntaxError: The source is not Python 3.
        ValueError: The source contains a null byte.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as invalid escapes, which do not matter here
        tree = ast.parse(source, filename)
    finder = _Finder()
    finder.visit(tree)
    uses = _Uses(finder.roots)
    uses.visit(tree)
    found = sorted(set(finder.uses + uses.found))
    here = [use for use in found if known(use.name)]
    fetches = fetches_of_model(tree, lambda node: _dotted(node, finder.roots), _is_model)
    return Checked(finder.changes, here, [use for use in found if not known(use.name)], fetches)


def known(name: str) -> bool:
    """Return whether the drop-in has a dotted name: in the table, an attribute, or a module."""
    parts = name.split(".")
    return name in _PACKAGES or any(".".join(parts[:count]) in _NAMES for count in range(1, len(parts) + 1))


def _is_model(name: str) -> bool:
    return not known(name) and reason(name).startswith("model code")


def hint(name: str) -> str:
    """Return advice for a missing name; "" for none."""
    last = name.rpartition(".")[2]
    namesakes = sorted(other for other in _NAMES if other.rpartition(".")[2] == last)
    return reason(name) or (f"the drop-in has tf.{namesakes[0]}" if namesakes else "")


def report(filename: str, checked: Checked) -> str:
    """Return the report for people; lines about a place start with `FILE:LINE:`, as in compilers."""
    lines = [f"{filename}:{change.line}: change `{change.old}` to `{change.new}`" for change in checked.changes]
    places: dict[str, list[int]] = {}
    for use in checked.missing:
        places.setdefault(use.name, []).append(use.line)
    for name, numbers in places.items():
        also = f" (also in line {', '.join(map(str, numbers[1:]))})" if numbers[1:] else ""
        what = hint(name)
        lines.append(f"{filename}:{numbers[0]}: tf.{name} is missing{also}{': ' if what else ''}{what}")
    lines += [f"{filename}:{fetch.line}: {fetch}" for fetch in checked.fetches]
    here = len({use.name for use in checked.here})
    total = here + len(places)
    if total or checked.changes:
        lines.append(f"{filename}: the drop-in has {here} of the {total} TensorFlow names that it uses")
    else:
        lines.append(f"{filename}: does not use TensorFlow")
    return "\n".join(lines)


class _Finder(ast.NodeVisitor):
    """Finds the variables bound to TensorFlow and its modules: imports, and `flags = tf.app.flags`."""

    def __init__(self) -> None:
        self.roots: dict[str, str] = {}  # variable -> TensorFlow name; "" for TensorFlow itself
        self.uses: list[Use] = []
        self.changes: list[Change] = []

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            inside = _inside(alias.name)
            if inside is None:
                continue
            ours = alias.name.startswith("pipeline")
            if alias.asname:
                self.roots[alias.asname] = inside
            elif not ours:
                # `import tensorflow.x` binds `tensorflow`.
                self.roots["tensorflow"] = ""
            if inside:
                self.uses.append(Use(node.lineno, inside))
            if not ours and (not inside or known(inside)):
                target = f"from {DROP_IN} import {inside}" if inside else f"import {DROP_IN}"
                old = f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
                self.changes.append(Change(node.lineno, old, f"{target} as {alias.asname or 'tensorflow'}"))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = None if node.level else node.module
        # `from tensorflow.compat import v1 as tf` imports TensorFlow itself.
        for alias in node.names:
            inside = _inside(f"{module}.{alias.name}") if module else None
            if inside is None or module is None:
                continue
            star = alias.name == "*"
            if not star:
                self.roots[alias.asname or alias.name] = inside
                if inside:
                    self.uses.append(Use(node.lineno, inside))
            if not module.startswith("pipeline") and (star or not inside or known(inside)):
                name = f" as {alias.asname}" if alias.asname else ""
                old = f"from {module} import {alias.name}{name}"
                self.changes.append(Change(node.lineno, old, _from_drop_in(inside, alias)))

    def visit_Assign(self, node: ast.Assign) -> None:
        name = _dotted(node.value, self.roots)
        if name is not None and name not in _NAMES:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.roots[target.id] = name
        self.generic_visit(node)


class _Uses(ast.NodeVisitor):
    """Finds the dotted names that start with one of `roots`."""

    def __init__(self, roots: dict[str, str]) -> None:
        self._roots = roots
        self.found: list[Use] = []

    def visit_Call(self, node: ast.Call) -> None:
        old, _ = REORDERED.get(_dotted(node.func, self._roots) or "", ("", ""))
        # Before TensorFlow 1.0 the axis came first.
        first = node.args[0] if node.args else None
        if old and (
            (isinstance(first, ast.Constant) and isinstance(first.value, int))
            or any(keyword.arg in ("concat_dim", "split_dim") for keyword in node.keywords)
        ):
            self.found.append(Use(node.lineno, old))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = _dotted(node, self._roots)
        if name is None:
            self.generic_visit(node)
        elif name:
            # the last part's line, as the expression may span several lines
            self.found.append(Use(node.end_lineno or node.lineno, _leaf(name)))


def _dotted(node: ast.AST, roots: dict[str, str]) -> str | None:
    """Return the TensorFlow name of an expression such as `tf.train.batch`; None for others."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in roots:
        return None
    return _public(".".join([roots[node.id], *reversed(parts)]).strip("."))


def _leaf(name: str) -> str:
    """Return a name without trailing attributes: `float32` for `float32.name`."""
    parts = name.split(".")
    for count in range(1, len(parts)):
        if ".".join(parts[:count]) in _NAMES and name not in _NAMES and name not in _PACKAGES:
            return ".".join(parts[:count])
    return name


def _inside(module: str) -> str | None:
    """Return an imported module's TensorFlow name: "" for TensorFlow itself, None for any other module."""
    for top in ("tensorflow", DROP_IN):
        if module == top:
            return ""
        if module.startswith(f"{top}."):
            return _public(module.removeprefix(f"{top}."))
    return None


def _public(name: str) -> str:
    """Return a name without `compat.v1`, where TensorFlow repeats all names."""
    while name == "compat.v1" or name.startswith("compat.v1."):
        name = name[len("compat.v1.") :]
    return name


def _from_drop_in(inside: str, alias: ast.alias) -> str:
    if not inside:
        return f"import {DROP_IN} as {alias.asname or alias.name}"
    package, _, last = inside.rpartition(".")
    name = f" as {alias.asname}" if alias.asname else ""
    return f"from {DROP_IN}{'.' if package else ''}{package} import {last}{name}"


_NAMES = frozenset(entry.partition("=")[0] for names in MODULES.values() for entry in names.split()) | {"__version__"}
_PACKAGES = frozenset(
    ".".join(parts[:count]) for parts in (name.split(".") for name in _NAMES) for count in range(1, len(parts))
)
