"""The drop-in's lazy namespaces (`tf`, `tf.train`, `tf.image`, ...), which import a module on first use."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Callable
from typing import Any

from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.names import MODULES
from pipeline.compat.values.convert import register_tensor_conversion_function


def _table() -> dict[str, tuple[str, str]]:
    """Return each public dotted name's module and attribute."""
    table = {}
    for module, names in MODULES.items():
        for each in names.split():
            public, _, attribute = each.partition("=")
            table[public] = module, attribute or public.rpartition(".")[2]
    return table


class Namespace(types.ModuleType):
    """A namespace that looks up a name, and imports its module, on first use."""

    def __init__(self, root: str, path: str) -> None:
        super().__init__(f"{root}.{path}", f"The names of `tf.{path}` that the drop-in has.")
        self.__dict__["_root"], self.__dict__["_path"] = root, path
        self.__path__: list[str] = []  # so that `from pipeline.compat.v1.train import batch` finds it

    def __getattr__(self, name: str) -> Any:
        return _look_up(self._root, self.__dict__, f"{self._path}.{name}")

    def __dir__(self) -> list[str]:
        return _names_within(self._path)


def _look_up(root: str, into: dict[str, Any], path: str) -> Any:
    name = path.rpartition(".")[2]
    where = _TABLE.get(path)
    if where is not None:
        value = getattr(importlib.import_module(f".{where[0]}", "pipeline.compat"), where[1])
    elif path in _SPACES:
        value = sys.modules.setdefault(f"{root}.{path}", Namespace(root, path))
    elif path in ("compat.v1", "compat"):
        value = sys.modules[root]
    else:
        raise _missing(path, name.startswith("__"))
    into[name] = value
    return value


def _missing(path: str, special: bool) -> AttributeError:
    if special:
        return AttributeError(path)
    space, _, name = path.rpartition(".")
    import difflib  # here, because it would add 2 ms to every import of the drop-in

    from pipeline.compat.hints import reason  # needed for errors only

    near = difflib.get_close_matches(name, _names_within(space), 3, 0.75)
    hint = f" Similar names: {', '.join(near)}." if near else ""
    why = reason(path) or (
        "it covers what input pipelines use (queues, readers, tf.train, parsing, images, arrays, math), not models"
    )
    return AttributeError(
        f"pipeline.compat.v1 has no `tf.{path}`: {why}.{hint} `python -m pipeline check PROGRAM.py` lists what a "
        "program needs; see docs/migrate.md."
    )


def _names_within(path: str) -> list[str]:
    prefix = f"{path}." if path else ""
    names = {each[len(prefix) :].partition(".")[0] for each in (*_TABLE, *_SPACES) if each.startswith(prefix)}
    if "bfloat16" in names and importlib.util.find_spec("ml_dtypes") is None:
        names.remove("bfloat16")
    return sorted(names)


# Tensor operators. Most queue programs use few, so the first use imports them all.
_BINARY = ("add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
OPERATORS = [*_BINARY, *(f"r{each}" for each in _BINARY), "lt", "le", "gt", "ge", "neg", "abs", "invert", "getitem"]


def _operators() -> Any:
    return importlib.import_module("pipeline.compat.ops.math.operators")


def _operator(name: str) -> Callable[..., Any]:
    def method(*operands: Any) -> Any:
        _operators()  # replaces this operator
        return getattr(Tensor, name)(*operands)

    return method


def attach(module: dict[str, Any]) -> None:
    """Make the module with these globals the outermost namespace."""
    root = module["__name__"]
    for path in sorted(_SPACES):
        sys.modules.setdefault(f"{root}.{path}", Namespace(root, path))

    def look_up(name: str) -> Any:
        if name == "__all__":  # for `import *`; not at once, because looking for packages takes time
            module[name] = [each for each in _names_within("") if not each.startswith("_")]
            return module[name]
        return _look_up(root, module, name)

    module["__getattr__"] = look_up
    module["__dir__"] = lambda: sorted({*_names_within(""), "__version__"})
    for each in OPERATORS:
        Tensor.overload(f"__{each}__", _operator(f"__{each}__"))
    register_tensor_conversion_function(
        range, lambda value, dtype, name, as_ref: _operators().from_range(value, dtype, name)
    )


_TABLE = _table()
_SPACES = {path.rsplit(".", i)[0] for path in _TABLE for i in range(1, path.count(".") + 1)}
