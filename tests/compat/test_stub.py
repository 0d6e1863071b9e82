"""Editors see the same names as programs."""

import ast
import sys

import compat_stub
import pytest

import pipeline.compat.v1 as tf

STUBS = compat_stub.stubs()


def test_the_stubs_are_those_of_the_table():
    written = compat_stub.written()
    others = [path for path in sorted(written | STUBS) if written.get(path) != STUBS.get(path)]
    assert others == [], "`.venv/bin/python tests/support/compat_stub.py` writes them again"


def names(path):
    """The names in a stub, with the modules and attributes behind them."""
    body = ast.parse(STUBS[path]).body
    imported = {
        each.asname: (node.module, each.name)
        for node in body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    # Under its own name, an object is imported for the assignment that makes it public.
    assigned = {node.targets[0].id: imported.pop(node.value.id) for node in body if isinstance(node, ast.Assign)}
    return imported | assigned


@pytest.mark.parametrize("path", STUBS)
def test_a_namespace_has_the_names_of_its_stub(path):
    if path.startswith(("app/", "flags")):
        pytest.importorskip("absl")
    space = path.removesuffix(".pyi").removesuffix("__init__").strip("/").replace("/", ".")
    namespace = sys.modules[f"pipeline.compat.v1.{space}".rstrip(".")]
    seen = names(path)
    if space == "compat":
        assert seen.pop("v1") == ("pipeline.compat", "v1")
        assert namespace.v1 is tf
    assert sorted(seen) == dir(namespace)
    for name, (module, attribute) in seen.items():
        if not module.startswith("pipeline.compat.v1"):
            assert getattr(namespace, name) is getattr(sys.modules[module], attribute)
