"""Pickle functions, arguments and results for worker processes, with pickle or cloudpickle.

pickle sends a function by its module and name. Lambdas, closures, and definitions in an interactive session have no
importable name, so cloudpickle sends their code.
"""

from __future__ import annotations

import copyreg
import importlib
import io
import pickle
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from pipeline.tracebacks import from_handler
from pipeline.workers import needs
from pipeline.workers.long_lists import Snapshot, dumped, long_lists
from pipeline.workers.odd_parts import odd_part

_INTERACTIVE = "__main__"

# NumPy's own pickles drop their trailing zeros.
copyreg.pickle(np.bytes_, lambda text: (np.bytes_, (bytes(text),)))
copyreg.pickle(np.str_, lambda text: (np.str_, ("".join(text),)))


class _Pickler(pickle.Pickler):
    """Records the modules of functions and classes."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, 5)
        self.modules: set[str] = set()

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, (type, FunctionType)):
            self.modules.add(obj.__module__)
        return NotImplemented


class _PicklerWithout(_Pickler):
    """Writes the places of some lists instead of the lists."""

    def __init__(self, file: Any, lists: Sequence[list[Any]]) -> None:
        super().__init__(file)
        self._places = {id(each): i for i, each in enumerate(lists)}

    def persistent_id(self, obj: Any) -> int | None:
        return self._places.get(id(obj)) if type(obj) is list else None


def _pickler(file: Any, without: Sequence[list[Any]]) -> _Pickler:
    return _PicklerWithout(file, without) if without else _Pickler(file)


def _by_name(value: Any, without: Sequence[list[Any]] = ()) -> tuple[bytes, set[str]]:
    file = io.BytesIO()
    pickler = _pickler(file, without)
    pickler.dump(value)
    return file.getvalue(), pickler.modules


# Longest pickle without a memo: an object referred to twice is written twice, so nested ones grow exponentially.
_LONGEST_DIGESTED = 1 << 30


class _Sink:
    """A file that passes everything written to it to a function."""

    def __init__(self, take: Callable[[Any], object]) -> None:
        self._take, self._size = take, 0

    def write(self, data: Any) -> None:
        self._size += memoryview(data).nbytes
        if self._size > _LONGEST_DIGESTED:
            raise OverflowError
        self._take(data)


def scanned(value: Any, take: Callable[[Any], object], without: Sequence[list[Any]]) -> set[str] | None:
    """Pickle by name, and give the bytes to a function; return the modules, or None if this does not work.

    Without a memo of the objects that were pickled, 128 MiB of strings take 0.04 s instead of 0.5.

    Args:
        value: The value.
        take: The function.
        without: Lists in the value to leave out.
    """
    pickler = _pickler(_Sink(take), without)
    pickler.fast = True
    try:
        pickler.dump(value)
    except Exception as error:  # such as ValueError for an object that contains itself
        if from_handler(error):
            raise
        return None
    return pickler.modules if _reachable(pickler.modules) else None


def check(function: Any) -> None:
    """Raise the errors of `pickled`."""
    if scanned(function, len, long_lists(function)) is None:
        pickled(function, "the function")


def _by_value(value: Any) -> tuple[bytes, set[str]]:
    """Pickle like `_by_name`, with code for values without an importable name. The caller has imported cloudpickle."""
    cloudpickle = sys.modules["cloudpickle"]
    modules: set[str] = set()

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc, name-defined]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, ModuleType):
                modules.add(obj.__name__)
            elif isinstance(obj, (type, FunctionType)):
                modules.add(obj.__module__)
            return super().reducer_override(obj)

    file = io.BytesIO()
    Pickler(file, 5).dump(value)
    return file.getvalue(), modules - {_INTERACTIVE}


def _reachable(modules: set[str]) -> bool:
    """Return whether processes can import these modules."""
    return _INTERACTIVE not in modules or needs.program_has_names()


def importable(function: Any) -> bool:
    """Return whether processes can import a function."""
    try:
        _, modules = _by_name(function)
    except Exception as error:
        if from_handler(error):
            raise
        return False
    return _reachable(modules)


def pickled(
    function: Any, what: str, parts: tuple[Any, ...] = (), snapshots: Sequence[Snapshot] = ()
) -> tuple[bytes, set[str]]:
    """Return a pickled function and its modules. `loaded` unpickles it.

    Args:
        function: The function.
        what: Its name in errors.
        parts: Its parts, if it is not the user's own.
        snapshots: Its long lists.

    Raises:
        TypeError: It cannot be sent.
        ImportError: cloudpickle is needed and not installed.
    """
    named = next((part for part in (*parts, function) if callable(part)), function)
    try:
        data, modules = _by_name(function, [each.items for each in snapshots])
        if _reachable(modules):
            return dumped(snapshots, data), modules
    except TypeError as error:  # it refers to an object that cannot be copied to another process
        if from_handler(error):
            raise
        raise _unsendable(named, what, error) from error
    except Exception as error:
        if from_handler(error):
            raise
    try:
        importlib.import_module("cloudpickle")
    except ImportError as error:
        raise ImportError(
            f"{named!r:.80} cannot be sent to other processes by its name: lambdas, closures and what an interactive "
            "session, a `__main__.py` or a program from standard input defines need cloudpickle (pip install "
            f"cloudpickle). Or define {what} at the top level of a module"
        ) from error
    try:
        data, modules = _by_value(function)
        return dumped((), data), modules
    except Exception as error:
        if from_handler(error):
            raise
        raise _unsendable(named, what, error) from error


def _unsendable(named: Any, what: str, error: Exception) -> TypeError:
    part = odd_part(named)
    why = str(error) if part is None else part
    return TypeError(
        f"{named!r:.80} cannot be sent to other processes ({why}): {what} must not hold open files, locks or the "
        "like; make these in setup="
    )


def arguments(value: Any) -> bytes:
    """Pickle a call's arguments for a process. Their classes may come from an interactive session.

    Raises:
        Exception: They cannot be pickled.
    """
    if needs.program_has_names() or "cloudpickle" not in sys.modules:
        return pickle.dumps(value, 5)
    data, modules = _by_name(value)
    return data if _reachable(modules) else _by_value(value)[0]


def result(value: Any, apart: Callable[[pickle.PickleBuffer], Any] | None = None) -> bytes:
    """Pickle a result or an error in a worker; its class may have been sent by cloudpickle.

    Args:
        value: The result.
        apart: Called with each large buffer; its result is as for pickle.

    Raises:
        Exception: It cannot be pickled.
    """
    try:
        return pickle.dumps(value, 5, buffer_callback=apart)
    except (pickle.PicklingError, AttributeError):
        cloudpickle = sys.modules.get("cloudpickle")
        if cloudpickle is None:
            raise
        return cloudpickle.dumps(value, 5, buffer_callback=apart)  # type: ignore[no-any-return]
