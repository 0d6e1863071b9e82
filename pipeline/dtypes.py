"""Data types, numbers and paths as users pass them, normalised."""

from __future__ import annotations

import operator
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import invalid

STRING = np.dtype("S")


def parse_dtype(given: Any) -> np.dtype[Any]:
    """Return the dtype of a component.

    Args:
        given: Anything that `np.dtype` takes, or "string". All string types become `np.dtype("S")`, variable-length
            bytes; the byte order becomes the machine's.

    Raises:
        TypeError: It is not a dtype, or a structured one that contains Python objects.
    """
    if isinstance(given, str) and given == "string":
        return STRING
    dtype = np.dtype(given)
    if dtype.kind in "SU":
        return STRING
    if dtype.kind == "T" or (dtype.hasobject and dtype.kind != "O"):
        raise TypeError(f"dtype {dtype} holds Python objects inside its elements; use object, or a separate component")
    native: np.dtype[Any] = dtype if dtype.isnative else dtype.newbyteorder("=")
    return native


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the machine's byte order: a copy if it has another one."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def whole(given: Any, what: str) -> int:
    """Return a number as an int, truncated toward zero; `what` names it in errors.

    Raises:
        TypeError: It is not a number.
        ValueError: It is infinite or NaN.
    """
    if isinstance(given, (str, bytes, bytearray)):
        raise TypeError(f"{what} must be a number, got {given!r:.80}")
    try:
        return int(given)
    except TypeError:
        raise TypeError(f"{what} must be a number, got {given!r:.80}") from None
    except (ValueError, OverflowError):
        raise ValueError(f"{what} must be a finite number, got {given!r:.80}") from None


def integer(given: Any, what: str) -> int:
    """Return an integer as an int; `what` names it in the TypeError for anything else, a bool too."""
    try:
        if not isinstance(given, bool):
            return operator.index(given)
    except TypeError:
        pass
    raise TypeError(f"{what} must be an integer, got {type(given).__name__} {given!r:.80}")


def truth(given: Any, what: str) -> bool:
    """Return whether an option is on; `what` names it in the TypeError for a text, as "no" would be on, or an array."""
    try:
        if not isinstance(given, (str, bytes)):
            return bool(given)
    except ValueError:
        pass
    raise TypeError(f"{what} must be a bool, got {given!r:.80}")


def interval(given: Any, what: str) -> float:
    """Return the seconds between two looks at something; `what` names them in errors.

    Raises:
        TypeError: It is not a number.
        ValueError: It is not above 0, or longer than a wait can be.
    """
    try:
        right = bool(0 < given <= threading.TIMEOUT_MAX)
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be a number of seconds, got {type(given).__name__} {given!r:.80}") from None
    if not right:
        raise ValueError(f"{what} must be above 0 seconds, and no longer than a wait can be, got {given!r:.80}")
    seconds: float = given
    return seconds


def path_text(given: Any, what: str) -> str:
    """Return a path as text; `what` names it in errors.

    Raises:
        TypeError: It is not a path.
        ValueError: No file can have this name.
    """
    if not isinstance(given, (str, bytes, os.PathLike)):
        raise TypeError(f"{what} must be a path, as text or os.PathLike, got {type(given).__name__} {given!r:.80}")
    path = os.fsdecode(given)
    if not path or "\0" in path:
        raise ValueError(f"{what} must be a path, got {path!r:.80}")
    return path


def object_vector(values: Sequence[Any]) -> NDArray[Any]:
    """Make a vector of these values, such as bytes, as they are: NumPy does not look into them."""
    vector = np.empty(len(values), object)
    vector[:] = list(values)
    return vector


def strings_as_bytes(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of strings as one of objects, all of them bytes; any other array as it is."""
    if array.dtype.kind in "SUT" or (array.dtype == object and any(isinstance(each, str) for each in array.flat)):
        strings = np.empty(array.shape, object)
        flat = array.reshape(-1).tolist()
        strings.reshape(-1)[:] = [os.fsencode(each) if isinstance(each, str) else each for each in flat]
        return strings
    return array


def refuse_missing(given: Any, where: str) -> None:
    """Raise InvalidArgumentError for masked values and nulls: NumPy would drop the mask, and make NaN of nulls.

    Args:
        given: Anything; what NumPy makes no array of has none.
        where: What has them.
    """
    missing: Any = 0
    masked = sys.modules.get("numpy.ma")  # to import it takes 5 ms, and who has masked values has done it
    if masked is not None and isinstance(given, masked.MaskedArray):
        missing = np.count_nonzero(given.mask)
    elif hasattr(type(given), "__array__"):
        missing = getattr(given, "null_count", 0)  # of polars a method
        missing = missing() if callable(missing) else missing
    if isinstance(missing, (int, np.integer)) and missing:
        count = f"{missing:,} of {np.size(given):,}"
        raise invalid(f"{where} has {count} values missing: fill them before, or leave out their rows")


def memory_of(out: Any) -> Any:
    """Return an array over the memory of an output: of what offers DLPack or the buffer protocol; else `out` itself.

    Raises:
        ValueError: It offers its memory, but not to NumPy: on another device, or of a dtype that NumPy does not have.
    """
    if isinstance(out, np.ndarray):
        return out
    try:
        if hasattr(type(out), "__dlpack__"):
            return np.from_dlpack(out)
        return np.asarray(memoryview(out))
    except Exception as error:
        if not hasattr(type(out), "__dlpack__"):
            return out
        raise ValueError(f"out: NumPy cannot write to the memory of this {type(out).__name__}: {error}") from error
