"""Data types, numbers and paths as users pass them, normalised."""

from __future__ import annotations

import math
import operator
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import invalid

STRING = np.dtype("S")

MOST_WORKERS = 1 << 16  # upper limit for threads or processes

_LONGEST = 1 << 30  # seconds: as good as forever, and short enough for every wait in Python


def parse_dtype(given: Any) -> np.dtype[Any]:
    """Return a component's dtype.

    Args:
        given: Anything that `np.dtype` takes, or "string". All string types become `np.dtype("S")`, variable-length
            bytes; the byte order becomes the machine's.

    Raises:
        TypeError: It is not a dtype, or it is a structured one with Python objects.
    """
    if isinstance(given, str) and given == "string":
        return STRING
    try:
        dtype = np.dtype(given)
    except Exception:  # NumPy raises many classes, and so may the given object's length or hash
        dtype = None
    if dtype is None or given is None or (isinstance(given, (list, dict)) and not given):  # float64, and no bytes
        raise TypeError(f"expected a dtype, such as np.float32 or 'string', got {type(given).__name__} {given!r:.80}")
    if dtype.kind in "SU":
        return STRING
    if dtype.kind == "T" or (dtype.hasobject and dtype.kind != "O"):
        raise TypeError(f"dtype {dtype} holds Python objects inside its elements; use object, or a separate component")
    native: np.dtype[Any] = dtype if dtype.isnative else dtype.newbyteorder("=")
    return native


def numpy_dtype(given: Any, what: str) -> np.dtype[Any]:
    """Return a dtype; TypeError, with `what`, for None and for values rejected by NumPy."""
    try:
        if given is not None:
            found: np.dtype[Any] = np.dtype(given)
            return found
    except Exception:  # NumPy raises many classes, and so may the given object's length or hash
        pass
    raise TypeError(f"{what} must be a dtype, such as np.float32, got {type(given).__name__} {given!r:.80}")


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the machine's byte order, copied if necessary."""
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


def at_least(least: int, given: Any, what: str, most: int = sys.maxsize) -> int:
    """Return an integer as an int; `what` names it in errors.

    Raises:
        TypeError: It is not an integer.
        InvalidArgumentError: It is less than `least`, or more than `most`.
    """
    number = integer(given, what)
    if number < least:
        raise invalid(f"{what} must be at least {least}, got {number}")
    if number > most:
        raise invalid(f"{what} must be at most {most:,}, got {number:,}")
    return number


def truth(given: Any, what: str) -> bool:
    """Return whether an option is on: True, False, 1, 0 or None; `what` names it in the TypeError for anything else,
    such as the text "no", a NaN, or the size of a buffer."""
    if given is None or isinstance(given, (bool, np.bool_)):
        return bool(given)
    if isinstance(given, (int, np.integer)) and given in (0, 1):
        return bool(given)
    raise TypeError(f"{what} must be a bool, got {given!r:.80}")


def one_of(options: Sequence[str], given: Any, what: str) -> str:
    """Return `given` if it is in `options`; `what` names it in the InvalidArgumentError for anything else."""
    if isinstance(given, str) and given in options:
        return given
    raise invalid(f"{what} must be {' or '.join(map(repr, options))}, got {given!r:.80}")


def items(given: Any, what: str, of: str) -> list[Any]:
    """List an iterable's items; `what` names it in the TypeError for anything else, `of` the expected items."""
    if isinstance(given, (str, bytes, bytearray, Mapping)) or not hasattr(type(given), "__iter__"):
        raise TypeError(f"{what} must be a list of {of}, got {type(given).__name__} {given!r:.80}")
    return list(given)


def texts(given: Any, what: str) -> list[str]:
    """Return the names in a list as texts; `what` names it in the TypeError for anything else."""
    found = items(given, what, "names")
    for each in found:
        if not isinstance(each, str):
            raise TypeError(f"{what} must be a list of names, and has {type(each).__name__} {each!r:.80}")
    return found


def given_name(given: Any, what: str) -> str | None:
    """Return a name, or None if there is none; `what` names it in the TypeError for anything else."""
    if given is None or isinstance(given, str):
        return given
    raise TypeError(f"{what} must be a text or None, got {type(given).__name__} {given!r:.80}")


def utf8(given: str, what: str) -> bytes:
    """Return a text as UTF-8; `what` names it in the InvalidArgumentError for half a surrogate pair.

    `os.fsdecode` uses surrogates for file names outside UTF-8. They become the original bytes again.
    """
    try:
        return given.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        half = f"character {error.start} is half a surrogate pair"
        raise invalid(f"{what}: {given!r:.80} cannot be stored as UTF-8: {half}") from None


def as_bytes(given: Any, what: str) -> bytes:
    """Return bytes, or text as UTF-8, as bytes; `what` names it in errors.

    Raises:
        TypeError: It is neither.
        InvalidArgumentError: As `utf8`.
    """
    if isinstance(given, str):
        return utf8(given, what)
    if not isinstance(given, (bytes, bytearray, memoryview)):  # a number would become that many zeros
        raise TypeError(f"{what} must be bytes or text, got {type(given).__name__} {given!r:.80}")
    return bytes(given)


def file_name(given: str | bytes | os.PathLike[Any], what: str) -> str:
    """Return a path as text for the file system; `what` names it in the InvalidArgumentError for impossible names."""
    path = os.fsdecode(given)
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise invalid(f"{what}: no file can have the name {path!r:.80}: it holds half a surrogate pair") from None
    if "\0" in path:
        raise invalid(f"{what}: no file can have the name {path!r:.80}: it holds a zero byte")
    return path


def seconds(given: Any, what: str) -> float:
    """Return a duration in seconds, capped at some decades; `what` names it in errors.

    Raises:
        TypeError: It is not a number.
        InvalidArgumentError: It is NaN.
    """
    try:
        if isinstance(given, (str, bytes, bytearray)):
            raise TypeError
        found = float(min(given, _LONGEST))
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be a number of seconds, got {type(given).__name__} {given!r:.80}") from None
    if math.isnan(found):
        raise invalid(f"{what} must be a number of seconds, got {given!r}")
    return found


def interval(given: Any, what: str) -> float:
    """Return the seconds between two checks; `what` names them in errors.

    Raises:
        TypeError: It is not a number.
        ValueError: It is not above 0, or it is longer than the longest possible wait.
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
    if not given:
        raise ValueError(f"{what} must be a path, got {given!r:.80}")
    return file_name(given, what)


def local_path(given: Any, what: str) -> str:
    """Return a path on this machine as text; `what` names it in errors.

    Raises:
        TypeError: It is not a path.
        ValueError: No file can have this name, or it is a URL (a folder `s3:` would be created).
    """
    path = path_text(given, what)
    if "://" in path:
        raise invalid(f"{what} must be a path on this machine, got the URL {path!r:.80}: write there, and copy it")
    return path


def object_vector(values: Sequence[Any]) -> NDArray[Any]:
    """Make an object vector from values such as bytes; NumPy does not look into them."""
    vector = np.empty(len(values), object)
    vector[:] = list(values)
    return vector


def strings_as_bytes(array: NDArray[Any], where: str) -> NDArray[Any]:
    """Return a string array as an object array with bytes, and other arrays unchanged.

    `where` names it in the InvalidArgumentError for text without an encoding as bytes.
    """
    if array.dtype.kind in "SUT" or (array.dtype == object and any(isinstance(each, str) for each in array.flat)):
        strings = np.empty(array.shape, object)
        flat = array.reshape(-1).tolist()
        strings.reshape(-1)[:] = [utf8(each, where) if isinstance(each, str) else each for each in flat]
        return strings
    return array


def refuse_missing(given: Any, where: str) -> None:
    """Raise InvalidArgumentError for masked values and nulls: NumPy would drop the mask, and turn nulls into NaN.

    Args:
        given: Anything. Objects without an array form have no missing values.
        where: Their container, for errors.
    """
    missing: Any = 0
    # Importing numpy.ma takes 5 ms. Programs with masked values have imported it; another thread may be doing so right
    # now.
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(given, getattr(masked, "MaskedArray", ())):
        missing = np.count_nonzero(given.mask)  # type: ignore[union-attr]
    elif hasattr(type(given), "__array__"):
        missing = getattr(given, "null_count", 0)  # a method in polars
        missing = missing() if callable(missing) else missing
        missing = missing or _missing_of_pandas(given)
    if isinstance(missing, (int, np.integer)) and missing:
        count = f"{missing:,} of {np.size(given):,}"
        raise invalid(f"{where} has {count} values missing: fill them in first, or leave out their rows")


def _missing_of_pandas(given: Any) -> int:
    """Count missing values in an object with a pandas dtype, except NaN and NaT, because NumPy has them too."""
    dtype: Any = getattr(given, "dtype", None)
    if not hasattr(dtype, "na_value"):
        return 0
    if dtype.kind in "fmM" and type(dtype.na_value).__name__ != "NAType":
        return 0
    return int(np.count_nonzero(given.isna()))


def memory_of(out: Any) -> Any:
    """Return an array over an output's memory, if it offers DLPack or the buffer protocol; else `out` itself.

    Raises:
        ValueError: It offers its memory, but NumPy cannot use it: another device, or an unknown dtype.
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
