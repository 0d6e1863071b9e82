"""A replay buffer's contents as a folder: one npy file per column, and a state file with their names."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import secrets
import zlib
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from pipeline.datasets.replay_description import STRUCTURES, Description, damaged
from pipeline.diagnostics.wording import named
from pipeline.errors import (
    DataLossError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
    invalid,
)
from pipeline.files.os_errors import FULL, make_folder, os_error
from pipeline.files.regular import regular
from pipeline.files.replacing import sync_folder
from pipeline.resume.state_file import load_state, save_state

_STATE = "replay.json"
_FORMAT = "queue-runner/replay"


def save_contents(folder: str, state: dict[str, Any], what: str) -> None:
    """Write a buffer's state. A kill or a power cut leaves the old contents or the new ones.

    Args:
        folder: The target folder; it is created if it is missing.
        state: See `ReplayBuffer.state_dict`.
        what: The buffer's name in errors.

    Raises:
        InvalidArgumentError: A value or structure cannot be stored in a file.
        OpError: The files cannot be written.
    """
    import shutil  # imported lazily: it costs 5 ms

    arrays: list[NDArray[Any]] = []
    structure = _described(state["examples"], arrays, "", what)
    place = ""
    try:
        make_folder(folder)
        place = os.path.join(folder, f"columns-{secrets.token_hex(4)}")
        os.mkdir(place)
        files = [_write(os.path.join(place, str(i)), array) for i, array in enumerate(arrays)]
        priorities = state["priorities"]
        weights = None if priorities is None else _write(os.path.join(place, "priorities"), priorities)
        sync_folder(os.fsencode(place))
        whole = {**state, "format": _FORMAT, "examples": structure, "priorities": weights, "columns": files}
        save_state(os.path.join(folder, _STATE), {**whole, "folder": os.path.basename(place)})
    except BaseException as error:
        if place and not _is_saved(folder, place):
            shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, OpError):
            raise _failed(folder, error, what) from error
        raise
    for name in os.listdir(folder):
        if name.startswith("columns-") and name != os.path.basename(place):
            with contextlib.suppress(OSError):
                shutil.rmtree(os.path.join(folder, name))


def _failed(folder: str, error: OSError, what: str) -> OpError:
    if error.errno not in FULL:
        return os_error(os.fsencode(folder), error)
    why = "its files may not grow further" if error.errno == errno.EFBIG else "the disk is full"
    text = f"{what}: save: '{folder}': {why}. The old contents are unchanged"
    return ResourceExhaustedError(None, None, text)


def _is_saved(folder: str, place: str) -> bool:
    """Return whether the saved state has the columns of a folder, as it may after an error."""
    try:
        return load_state(os.path.join(folder, _STATE))["folder"] == os.path.basename(place)  # type: ignore[no-any-return]
    except (OSError, OpError, TypeError, LookupError):
        return False


def load_contents(folder: str) -> dict[str, Any]:
    """Return the state written by `save_contents`.

    Raises:
        NotFoundError: There is no state.
        DataLossError: A file is missing or damaged.
    """
    if not os.path.isfile(os.path.join(folder, _STATE)):
        raise NotFoundError(None, None, f"load: there are no contents of a replay buffer in '{folder}'")
    state = load_state(os.path.join(folder, _STATE))
    if not isinstance(state, dict) or state.pop("format", None) != _FORMAT:
        raise invalid(f"'{folder}' has no contents of a replay buffer")
    try:
        Description(state, os.path.join(folder, _STATE)).check()
        place = os.path.join(folder, state.pop("folder"))
        if os.path.islink(place):
            raise damaged(f"'{place}' is a symbolic link, and links are not followed")
        arrays = [_read(place, each) for each in state.pop("columns")]
        state["examples"] = _made(state["examples"], arrays)
        if state["priorities"] is not None:
            state["priorities"] = _read(place, state["priorities"])
    except FailedPreconditionError as error:  # a link or a pipe
        raise DataLossError(None, None, error.message) from error
    except (OSError, ValueError, TypeError, LookupError, ImportError, AttributeError, RecursionError) as error:
        raise DataLossError(None, None, f"'{folder}' cannot be read: {named(error)}") from error
    return state


def _described(value: Any, arrays: list[NDArray[Any]], name: str, what: str) -> Any:
    """Return a structure as plain data with column indices, and append the columns to a list."""
    if value is None:
        return None
    if type(value) is np.ndarray:
        arrays.append(_as_file(value, f"{what}: component {name!r}" if name else f"{what}: the example"))
        return len(arrays) - 1
    kind = type(value).__name__
    if STRUCTURES.get(kind) is not type(value):
        raise invalid(f"{what}: save: a {kind} has no place in a file: save state_dict() instead, such as by pickle")
    items = value.items() if isinstance(value, dict) else enumerate(value)
    parts = [[key, _described(each, arrays, f"{name}/{key}" if name else str(key), what)] for key, each in items]
    return {"kind": kind, "parts": parts}


def _made(described: Any, arrays: list[NDArray[Any]]) -> Any:
    if described is None:
        return None
    if type(described) is int:
        return arrays[described]
    parts = [(key, _made(each, arrays)) for key, each in described["parts"]]
    kind = STRUCTURES[described["kind"]]
    return dict(parts) if kind is dict else kind([each for _, each in parts])


def _as_file(column: NDArray[Any], where: str) -> NDArray[Any]:
    """Return a column in a form for npy files; a text column stays an object column."""
    if not column.dtype.hasobject:
        return column
    if len({type(each) for each in column.flat} - {str, bytes}) == 0 and column.ndim == 1:
        return column
    raise invalid(f"{where} holds objects, which have no place in a file: save state_dict() instead, such as by pickle")


def _write(path: str, column: NDArray[Any]) -> dict[str, Any]:
    """Write a column; return the data `_read` needs."""
    if column.dtype.hasobject:
        texts = [isinstance(each, str) for each in column]
        values = [each.encode(errors="surrogatepass") if isinstance(each, str) else each for each in column]
        ends = np.cumsum([len(each) for each in values], dtype=np.int64)
        sums = [_save(f"{path}.npy", np.frombuffer(b"".join(values), np.uint8)), _save(f"{path}.ends.npy", ends)]
        told = {"file": os.path.basename(path), "rows": len(column), "crc32": sums}
        return {**told, "text": bool(texts and texts[0])}
    module = type(column.dtype.type(0)).__module__ if column.dtype.isbuiltin == 2 else None  # from ml_dtypes
    sums = [_save(f"{path}.npy", column if module is None else column.view(f"u{column.dtype.itemsize}"))]
    own = {} if module is None else {"module": module, "dtype": column.dtype.name}
    return {"file": os.path.basename(path), "rows": len(column), "crc32": sums, **own}


def _save(path: str, array: NDArray[Any]) -> int:
    """Write an npy file; return its checksum."""
    with open(path, "xb+") as file:
        # Hides that it is a file: NumPy's own way to write to one loses the number of an error, such as of a full disk.
        np.lib.format.write_array(cast(BinaryIO, SimpleNamespace(write=file.write)), array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
        return _checksum(file)


def _checksum(file: BinaryIO) -> int:
    found = 0
    file.seek(0)
    while data := file.read(1 << 20):
        found = zlib.crc32(data, found)
    return found


def _load(path: str, checksum: int) -> NDArray[Any]:
    with open(path, "rb", opener=regular("load")) as file:
        if _checksum(file) != checksum:
            raise ValueError(f"{path} has a wrong checksum")
        file.seek(0)
        array: NDArray[Any] = np.load(file, allow_pickle=False)
        return array


def _read(place: str, told: dict[str, Any]) -> NDArray[Any]:
    path = os.path.join(place, told["file"])
    column = _load(f"{path}.npy", told["crc32"][0])
    if "text" in told:
        ends = _load(f"{path}.ends.npy", told["crc32"][1])
        data, made, first = column.tobytes(), np.empty(len(ends), object), 0
        for i, end in enumerate(ends.tolist()):
            made[i], first = data[first:end], end
            if told["text"]:
                made[i] = made[i].decode(errors="surrogatepass")
        column = made
    elif "dtype" in told:
        if told["module"] != "ml_dtypes":
            raise ValueError(f"its dtype {told['dtype']!r} is not known")
        column = column.view(getattr(importlib.import_module("ml_dtypes"), told["dtype"]))
    if len(column) != told["rows"]:
        raise ValueError(f"{path}.npy has {len(column):,} rows, and {told['rows']:,} were saved")
    return column
