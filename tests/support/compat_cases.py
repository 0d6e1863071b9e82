"""Drop-in cases: small functions of `tf` that must behave the same on TensorFlow and on the drop-in.

A public function in a `cases` module is a case if it takes `tf`, optionally `sess` (an open session on a graph) and
`tmp` (an empty directory), and nothing else. `table` makes a case from each line; `case` has options. Without `sess` it
returns fetches: tensors, sparse tensors, operations, or nested lists and dicts with them; they are run in one
`Session.run` after the initializers. With `sess` it returns its findings: nested lists and dicts with arrays and
numbers.
"""

import difflib
import hashlib
import importlib.util
import inspect
import json
import pathlib
import re
import sys
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

HERE = pathlib.Path(__file__).parents[1] / "compat"
CASES = HERE / "cases"
RECORDED = HERE / "recorded"

# Larger arrays are recorded as a digest, including whole floats, if they must be equal; as values if they may differ a
# little.
LARGE = 64

_registered: dict[str, list["Case"]] = {}


class Case(NamedTuple):
    function: Callable[..., Any]
    values: bool  # Record the values; not for random ops.
    graph: bool  # Record the graph's operations.
    names: bool  # Record the tensors' names.
    rtol: float
    atol: float
    within: int | None  # How far integers may differ; None for not at all.
    message: str | None  # A pattern for the error's text.

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def parameters(self) -> tuple[str, ...]:
        """The function's inputs; a parameter with a default belongs to the function."""
        code, defaults = self.function.__code__, self.function.__defaults__ or ()
        return code.co_varnames[: code.co_argcount - len(defaults)]


def case(values=True, graph=True, names=True, rtol=1e-5, atol=1e-6, within=None, message=None):
    """Make the decorated function a case."""

    def register(function):
        made = Case(function, values, graph, names, rtol, atol, within, message)
        unknown = set(made.parameters) - {"tf", "sess", "tmp"}
        if unknown:
            raise TypeError(f"{made.name}: a case takes tf, sess, tmp; not {', '.join(sorted(unknown))}")
        others = _registered.setdefault(function.__module__, [])
        if any(other.name == made.name for other in others):
            raise TypeError(f"{function.__module__} has two cases {made.name}")
        others.append(made)
        return function

    return register


def table(prefix="", options=None, /, **functions):
    """Make each function a case, with its keyword as its name.

    Args:
        prefix: Goes before each name.
        options: For `case`, in all of them.
        functions: A function, or a pair: the function and a pattern for its error's text.
    """
    for name, function in functions.items():
        function, message = function if isinstance(function, tuple) else (function, None)
        function.__name__ = prefix + name
        case(**{"message": message, **(options or {})})(function)


def families() -> list[str]:
    return sorted(path.stem for path in CASES.glob("*.py") if not path.stem.startswith("_"))


def cases(family: str) -> dict[str, Case]:
    """Return a family's cases by name."""
    module_name = f"cases_{family}"
    if module_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(module_name, CASES / f"{family}.py")
        module = importlib.util.module_from_spec(spec)
        _registered.pop(module_name, None)
        spec.loader.exec_module(module)
        for function in list(vars(module).values()):
            if inspect.isfunction(function) and function.__module__ == module_name and _is_case(function):
                case()(function)
        sys.modules[module_name] = module
    return {one.name: one for one in _registered.get(module_name, [])}


def _is_case(function) -> bool:
    """Return whether a module's function is an uncollected case: public, with a case's arguments."""
    if function.__name__.startswith(("_", "<")) or any(
        one.function is function for one in _registered.get(function.__module__, [])
    ):
        return False
    given = set(inspect.signature(function).parameters)
    return bool(given) and given <= {"tf", "sess", "tmp"}


def observe(tf, one: Case) -> tuple[dict, Exception | None]:
    """Run a case; return its record in JSON terms, and the error it raised."""
    with tempfile.TemporaryDirectory() as tmp:
        graph = tf.Graph()
        arguments = {"tf": tf, "tmp": tmp}
        stage = "build"
        try:
            if "sess" in one.parameters:
                # Open, but not the default session: a case that needs one writes `with sess:`.
                sess = arguments["sess"] = tf.Session(graph=graph)
                stage = "session"
                try:
                    with graph.as_default():
                        result = _plain(tf, _call(one, arguments), one)
                finally:
                    sess.close()
                operations = _operations(graph)
            else:
                with graph.as_default():
                    made = _call(one, arguments)
                operations = _operations(graph)
                stage = "run"
                result = _run(tf, graph, made, one)
        except Exception as error:
            return {"error": _public_class(tf, error), "stage": stage}, error
    seen = {"result": result, "graph": operations} if one.graph else {"result": result}
    return _without(seen, tmp), None


def message_differs(one: Case, error: Exception | None) -> str | None:
    """Return the mismatch in the error's text, if any."""
    if one.message is None or (error is not None and re.search(one.message, str(error))):
        return None
    return f"the message must match {one.message!r}, but it is: {error}"


def differences(one: Case, expected: dict, seen: dict) -> list[str]:
    """Return the differences between the observed and recorded results, one line each."""
    if "error" in expected or "error" in seen:
        return [] if expected == seen else [f"expected {_short(expected)}", f"seen {_short(seen)}"]
    found = list(_compare(one, "result", expected["result"], seen["result"]))
    if one.graph and expected["graph"] != seen["graph"]:
        found.append("operations of the graph (- expected, + seen):")
        found += difflib.unified_diff(expected["graph"], seen["graph"], lineterm="", n=1)
    return found


def read_recorded(family: str) -> dict[str, dict]:
    path = RECORDED / f"{family}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write_recorded(family: str, recorded: dict[str, dict]) -> None:
    """Write a line for each case, sorted: the same cases always produce the same bytes."""
    RECORDED.mkdir(exist_ok=True)
    lines = [f"{json.dumps(name)}: {json.dumps(recorded[name], sort_keys=True)}" for name in sorted(recorded)]
    (RECORDED / f"{family}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _call(one: Case, arguments: dict) -> Any:
    return one.function(**{name: arguments[name] for name in one.parameters})


def _public_class(tf, error: Exception) -> str:
    """Return the name of the error's class, or of its nearest public base."""
    for cls in type(error).__mro__:
        if cls.__module__ == "builtins" or getattr(tf.errors, cls.__name__, None) is cls:
            return cls.__name__
    raise AssertionError(error)


def _operations(graph) -> list[str]:
    return [f"{operation.name} {operation.type}" for operation in graph.get_operations()]


def _run(tf, graph, made, one: Case):
    """Run all fetches in `made` at once, after the initializers, and describe them."""
    fetches: list[Any] = []
    described = _describe(tf, made, fetches, one)
    if not fetches:
        return described
    with graph.as_default():
        initializers = []
        for collection in ("local_variables", "variables"):
            if graph.get_collection(collection):
                initializers.append(tf.variables_initializer(graph.get_collection(collection)))
        initializers += graph.get_collection("table_initializer")
    with tf.Session(graph=graph) as sess:
        for initializer in initializers:
            sess.run(initializer)
        values = sess.run(fetches)
    return _filled(described, iter(values), one)


def _describe(tf, thing, fetches: list, one: Case):
    """Describe the structure a case returned, with a place for each fetch's value; append the fetches to `fetches`."""
    if isinstance(thing, dict):
        return {"dict": [[_encoded(key, one), _describe(tf, thing[key], fetches, one)] for key in sorted(thing)]}
    if _is_a(tf, thing, "SparseTensor", "IndexedSlices"):
        parts = [thing.indices, thing.values, thing.dense_shape]
        return {type(thing).__name__: [_describe(tf, part, fetches, one) for part in parts]}
    if _is_a(tf, thing, "Tensor", "Variable"):
        fetches.append(thing)
        return {
            "tensor": thing.name if one.names else "",
            "dtype": thing.dtype.name,
            "shape": _shape(thing.get_shape()),
        }
    if isinstance(thing, tf.Operation):
        fetches.append(thing)
        return {"tensor": None, "operation": thing.name, "type": thing.type}
    if isinstance(thing, (list, tuple)) and not isinstance(thing, tf.TensorShape):
        return [_describe(tf, part, fetches, one) for part in thing]
    return _plain(tf, thing, one)


def _filled(described, values, one: Case):
    """Fill the structure from `_describe` with the fetched values, in order."""
    if isinstance(described, list):
        return [_filled(part, values, one) for part in described]
    if isinstance(described, dict):
        if "tensor" in described:
            return {**described, "value": _encoded(next(values), one)}
        return {key: _filled(part, values, one) for key, part in described.items()}
    return described


def _is_a(tf, thing, *names: str) -> bool:
    """Return whether it is an instance of a `tf` class; a missing class has no instances."""
    return isinstance(thing, tuple(getattr(tf, name) for name in names if hasattr(tf, name)))


def _shape(shape) -> list | None:
    return None if shape.ndims is None else shape.as_list()


def _plain(tf, thing, one: Case):
    """Describe the result from a case with a session."""
    if isinstance(thing, dict):
        return {"dict": [[_encoded(key, one), _plain(tf, thing[key], one)] for key in sorted(thing)]}
    if isinstance(thing, tf.TensorShape):
        return {"TensorShape": _shape(thing)}
    if isinstance(thing, tf.Dimension):
        return {"Dimension": thing.value}
    if isinstance(thing, tf.DType):
        return {"DType": thing.name}
    if _is_a(tf, thing, "Tensor", "Operation", "Variable"):
        raise TypeError(f"a case with a session returns values, not {thing}")
    if isinstance(thing, (list, tuple)):
        return [_plain(tf, part, one) for part in thing]
    return _encoded(thing, one)


def _encoded(value, one: Case):
    """Encode a value in JSON terms: Python and NumPy scalars, bytes and arrays stay distinct."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, np.generic)):
        return value
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, complex) and not isinstance(value, np.generic):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, np.ndarray):
        encoded = {"array": value.dtype.name, "shape": list(value.shape)}
        if not one.values:
            return encoded
        data = [_item(x, one) for x in value.ravel()]
        exact = value.dtype.kind in "biuO" or (value.dtype.kind == "f" and bool((value == np.rint(value)).all()))
        if len(data) > LARGE and exact and one.within is None:
            return {**encoded, "digest": digest(data)}
        return {**encoded, "data": data}
    if isinstance(value, np.generic):
        encoded = {"scalar": value.dtype.name}
        return {**encoded, "data": _item(value, one)} if one.values else encoded
    raise TypeError(f"a case returned {type(value).__name__}, which is not recorded")


def digest(data: list) -> str:
    """Return a digest over an array's elements as they would be recorded."""
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:32]


def _item(value, one: Case):
    """Encode an array element; a float becomes the shortest equal number."""
    if not isinstance(value, np.generic):
        return _encoded(value, one)
    if value.dtype.kind == "c":
        return [float(value.real), float(value.imag)]
    if value.dtype.kind in "biu":
        return value.item()
    if value.dtype.names:
        return value.item()[0]
    return float(str(value))


def _without(seen, tmp: str):
    """Remove the directory's name, because it differs each time."""
    if isinstance(seen, str):
        return seen.replace(tmp, "TMP")
    if isinstance(seen, list):
        return [_without(part, tmp) for part in seen]
    if isinstance(seen, dict):
        return {key: _without(part, tmp) for key, part in seen.items()}
    return seen


def _compare(one: Case, where: str, expected, seen):
    """Return the differences between two encoded results."""
    if isinstance(expected, dict) and isinstance(seen, dict) and expected.keys() == seen.keys():
        if "data" in expected:
            yield from _compare_data(one, where, expected, seen)
            return
        for key in expected:
            # A tensor's name is clearer than its place in the structure.
            inner = f"{where} {expected['tensor']}" if expected.get("tensor") and key != "tensor" else where
            yield from _compare(one, f"{inner}.{key}", expected[key], seen[key])
    elif isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        for number, (left, right) in enumerate(zip(expected, seen, strict=True)):
            yield from _compare(one, f"{where}[{number}]", left, right)
    elif isinstance(expected, float) and isinstance(seen, float):
        if not np.isclose(seen, expected, one.rtol, one.atol, equal_nan=True):
            yield f"{where}: expected {expected}, seen {seen}"
    elif type(expected) is not type(seen) or expected != seen:
        yield f"{where}: expected {_short(expected)}, seen {_short(seen)}"


def _compare_data(one: Case, where: str, expected: dict, seen: dict):
    """Return the differences between two arrays or two NumPy scalars."""
    heads = [{key: part for key, part in side.items() if key != "data"} for side in (expected, seen)]
    if heads[0] != heads[1]:
        yield f"{where}: expected {_short(expected)}, seen {_short(seen)}"
        return
    kind = expected.get("array", expected.get("scalar"))
    left, right = expected["data"], seen["data"]
    if kind.startswith(("float", "bfloat", "complex")):
        same = np.isclose(np.array(right, np.float64), np.array(left, np.float64), one.rtol, one.atol, equal_nan=True)
    elif kind.startswith(("int", "uint")) and one.within:
        same = np.abs(np.array(right, object) - np.array(left, object)) <= one.within
    else:
        same = left == right
    if not np.all(same):
        yield f"{where}: expected {_short(expected)}, seen {_short(seen)}"


def _short(thing) -> str:
    text = json.dumps(thing)
    return text if len(text) <= 1000 else text[:1000] + "..."
