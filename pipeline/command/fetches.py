"""Find program lines that fetch model outputs, such as `sess.run([train_op, loss])`, and what to fetch instead.

A name belongs to the model if the expression assigned to it contains TensorFlow model code, or another such name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

_BATCHES = ("train.batch", "train.batch_join", "train.maybe_batch", "train.maybe_batch_join", "train.shuffle_batch")


class Fetch(NamedTuple):
    """A call that fetches model outputs.

    Attributes:
        line: Its line number.
        call: The call, such as "sess.run".
        names: The model's fetches, as written in the program.
        batch: The batch to fetch instead.
    """

    line: int
    call: str
    names: tuple[str, ...]
    batch: str

    def __str__(self) -> str:
        names = " and ".join(filter(None, [", ".join(self.names[:-1]), self.names[-1]]))
        text = f"{self.call} fetches {names}, made by model code: fetch the batch, as in sess.run({self.batch})"
        return f"{text}, and train on its arrays"


def fetches_of_model(
    tree: ast.AST, name_of: Callable[[ast.AST], str | None], is_model: Callable[[str], bool]
) -> list[Fetch]:
    """Return the calls that fetch model outputs, in program order.

    Args:
        tree: The program.
        name_of: Returns an expression's TensorFlow name; None for others.
        is_model: True if a TensorFlow name is model code.
    """
    nodes = list(ast.walk(tree))
    model = _Model(nodes, name_of, is_model)
    batch = next(_batches(nodes, name_of), "[images, labels]")
    found = []
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and name_of(node.func) is None:
            names = tuple(ast.unparse(each) for each in _fetched(node, node.func) if model.makes(each))
            if names:
                found.append(Fetch(node.lineno, ast.unparse(node.func), names, batch))
    return sorted(found)


class _Model:
    """The values of a program's model code: variables, attributes, and function results."""

    def __init__(
        self, nodes: list[ast.AST], name_of: Callable[[ast.AST], str | None], is_model: Callable[[str], bool]
    ) -> None:
        self._is_model = {id(node) for node in nodes if (name := name_of(node)) is not None and is_model(name)}
        self._names: set[str] = set()
        given = [pair for node in nodes for pair in _given(node)]
        before = -1
        while before < len(self._names):
            before = len(self._names)
            self._names |= {name for name, value in given if name not in self._names and self.makes(value)}

    def makes(self, value: ast.AST) -> bool:
        """Return whether a value is the model's."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "run":
            return False  # arrays
        if id(value) in self._is_model or _key(value) in self._names:
            return True
        return any(self.makes(each) for each in ast.iter_child_nodes(value))


def _given(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names to which a node assigns or returns a value, with the value."""
    if isinstance(node, ast.Assign):
        targets = [each for target in node.targets for each in ast.walk(target)]
        yield from ((key, node.value) for each in targets if (key := _key(each)))
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value is not None and (key := _key(node.target)):
        yield key, node.value
    elif isinstance(node, ast.FunctionDef):
        results = (each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value is not None)
        yield from ((name, value) for value in results for name in (node.name, f".{node.name}"))


def _key(node: ast.AST) -> str:
    """Return a value's name, for a variable or an attribute; "" for others."""
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _fetched(call: ast.Call, function: ast.Attribute) -> list[ast.AST]:
    """Return the fetches in `sess.run(...)`, `tensor.eval()` or `op.run()`."""
    if function.attr == "run":
        given = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "fetches")]
        if given:
            return _parts(given[0])
    return [function.value] if function.attr in ("eval", "run") else []


def _parts(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, (ast.List, ast.Tuple)):
        return list(node.elts)
    return list(node.values) if isinstance(node, ast.Dict) else [node]


def _batches(nodes: list[ast.AST], name_of: Callable[[ast.AST], str | None]) -> Iterator[str]:
    """Yield the names of batches among the fetches."""
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = name_of(node.value.func) or ""
            if name.startswith(_BATCHES):
                targets = [ast.unparse(each) for each in _parts(node.targets[0])]
                yield f"[{', '.join(targets)}]" if len(targets) > 1 else targets[0]
