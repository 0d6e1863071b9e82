"""A Ray worker: it prepares once, and remembers functions."""

from __future__ import annotations

import importlib
import operator
import pickle
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import pipeline
from pipeline.nest import Nest, is_nested, length, map_values
from pipeline.sources.extras import stacked
from pipeline.workers.chunks import FailedItem

# Functions remembered by a worker, to unpickle them once.
_REMEMBERED = 16

# Bytes at which a block of rows ends.
BLOCK_BYTES = 1 << 22

_functions: dict[bytes, Callable[..., Any]] = {}
_ready: set[bytes] = set()


class Pickled(NamedTuple):
    """A pickled function.

    Attributes:
        key: Its digest.
        data: The pickle, or a reference to it in the object store.
    """

    key: bytes
    data: Any


class FunctionSpec(NamedTuple):
    """A worker's data for any call.

    Attributes:
        function: The function to call.
        setup: A function to call first, once per process.
        versions: Library versions that must be equal on both sides, by name.
    """

    function: Pickled
    setup: Pickled | None
    versions: dict[str, str]


class Held(NamedTuple):
    """A placeholder for an item in the object store: value number `number` of a call."""

    number: int


class Note(NamedTuple):
    """A call's cost.

    Attributes:
        node: The machine's host name, and the first digits of Ray's name for the node.
        attempt: Number of earlier attempts.
        seconds: Duration.
    """

    node: str
    attempt: int
    seconds: float


class Unfit(Exception):
    """This worker's environment is incompatible, and so are equal ones."""


def versions() -> dict[str, str]:
    """Return the versions that must be equal on both sides. Ray checks its own and Python's."""
    return {"queue-runner": pipeline.__version__, "NumPy": np.__version__.split(".")[0]}


def call(order: FunctionSpec, args: Sequence[Any], kwargs: dict[str, Any], *held: Any) -> tuple[Any, Note]:
    """Call a function.

    Args:
        order: The function's data.
        args: Its arguments. In lists, `Held` stands for a value that Ray has brought here.
        kwargs: More arguments.
        held: These values.

    Returns:
        The function's result, or a FailedItem with its exception; and the call's cost.

    Raises:
        Unfit: The function cannot be called here.
    """
    began = time.monotonic()
    function = prepared(order)
    try:
        result = function(*[_filled(each, held) for each in args], **kwargs)
    except Exception as error:
        result = FailedItem(error)
    return result, note(began)


def read_part(order: FunctionSpec, part: Any, first: int, most: int, many: bool) -> Iterator[tuple[Any, Note]]:
    """Read a part and yield its examples in blocks. The cuts depend only on the examples.

    Args:
        order: The function's data; it yields the examples.
        part: The part to read.
        first: Number of examples to skip.
        most: The most examples per block.
        many: True if the function yields blocks; too large ones are split.

    Yields:
        A block, or at the end a FailedItem with the function's exception; and the cost.

    Raises:
        Unfit: The function cannot be called here.
    """
    function = prepared(order)
    began = time.monotonic()
    try:
        blocks = _cut(function(part), most) if many else _gathered(function(part), most)
        skipped = 0
        for block in blocks:
            if skipped < first:
                skipped += length(block)
                continue
            yield block, note(began)
            began = time.monotonic()
    except Exception as error:
        yield FailedItem(error), note(began)


def _gathered(examples: Iterable[Any], most: int) -> Iterator[Any]:
    """Stack examples into blocks; examples before an error precede it."""
    rows: list[Any] = []
    size, failed = 0, None
    try:
        for example in examples:
            rows.append(example)
            size += sum(np.asarray(each).nbytes for each in _leaves(example))
            if len(rows) == most or size >= BLOCK_BYTES:
                yield stacked(rows, "cluster.read")
                rows, size = [], 0
    except Exception as error:
        failed = error
    if rows:
        yield stacked(rows, "cluster.read")
    if failed is not None:
        raise failed


def _cut(blocks: Iterable[Any], most: int) -> Iterator[Any]:
    """Split blocks that are too large."""
    for block in blocks:
        count = length(block)
        for begin in range(0, count, most):
            part = slice(begin, begin + most)
            yield block if count <= most else map_values(operator.itemgetter(part), block)


def _leaves(example: Any) -> Sequence[Any]:
    return Nest(example, False).flatten(example) if is_nested(example, False) else [example]


def prepared(order: FunctionSpec) -> Callable[..., Any]:
    """Return the function in a prepared process; raise Unfit."""
    _check_versions(order.versions)
    if order.setup is not None and order.setup.key not in _ready:
        try:
            _made(order.setup, "the set-up")()
        except (Unfit, KeyboardInterrupt):  # KeyboardInterrupt: the task was cancelled
            raise
        except BaseException as error:
            raise Unfit(_told("the set-up of a worker failed", error)) from error
        _ready.add(order.setup.key)
    return _made(order.function, "the function")


def note(began: float) -> Note:
    """Return a call's cost since its start."""
    ray = _ray()
    node = ray.get_runtime_context().get_node_id()[:6]
    core = ray._private.worker.global_worker.core_worker
    attempt = getattr(core, "get_current_task_attempt_number", int)()  # only for reports
    return Note(f"{platform.node()}/{node}", attempt, time.monotonic() - began)


def _made(pickled: Pickled, what: str) -> Callable[..., Any]:
    function = _functions.get(pickled.key)
    if function is None:
        data = pickled.data
        try:
            if not isinstance(data, bytes):
                data = _ray().get(data[0])
            function = pickle.loads(data)
        except Exception as error:
            hint = (
                ""
                if not isinstance(error, ImportError)
                else (
                    ". Each machine needs the modules that it comes from: install them there, or pass "
                    "runtime_env={'working_dir': ...} to ray.init"
                )
            )
            raise Unfit(_told(f"a worker cannot import {what}", error) + hint) from error
        if len(_functions) >= _REMEMBERED:
            _functions.pop(next(iter(_functions)), None)
        _functions[pickled.key] = function
    return function


def _ray() -> Any:
    return importlib.import_module("ray")  # loaded already, because this is a Ray worker


def _check_versions(wanted: dict[str, str]) -> None:
    here = versions()
    if here != wanted:
        differ = [f"{name} {here[name]} and not {wanted[name]}" for name in here if here[name] != wanted.get(name)]
        raise Unfit(f"version mismatch: a worker on {platform.node()} has {', '.join(differ)}")


def _told(what: str, error: BaseException) -> str:
    return f"{what} on {platform.node()}: {type(error).__name__}: {error}"


def _filled(argument: Any, held: Sequence[Any]) -> Any:
    if not held or not isinstance(argument, list):
        return argument
    return [held[each.number] if isinstance(each, Held) else each for each in argument]
