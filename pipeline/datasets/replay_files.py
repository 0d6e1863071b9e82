"""A replay buffer's contents as a folder: one npy file per column, and a state file with their names."""

from __future__ import annotations

import contextlib
import importlib
import os
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.diagnostics.wording import named
from pipeline.errors import DataLossError, NotFoundError, OpError, invalid
from pipeline.files.os_errors import make_folder, os_error
from pipeline.files.replacing import sync_folder
from pipeline.resume.state_file import load_state, save_state

_STATE = "replay.json"
_FORMAT = "queue-runner/replay"
_STRUCTURES = {"dict": dict, "tuple": tuple, "list": list}


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
    import shutil  # imported lazily: hashlib costs 5 ms
    import tempfile

    arrays: list[NDArray[Any]] = []
    structure = _described(state["examples"], arrays, "", what)
    place = ""
    try:
        make_folder(folder)
        place = tempfile.mkdtemp(prefix="columns-", dir=folder)
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
            raise os_error(os.fsencode(folder), error) from error
        raise
    for name in os.listdir(folder):
        if name.startswith("columns-") and name != os.path.basename(place):
            with contextlib.suppress(OSError):
                shutil.rmtree(os.path.join(folder, name))


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
        place = os.path.join(folder, os.path.basename(state.pop("folder")))
        arrays = [_read(place, each) for each in state.pop("columns")]
        state["examples"] = _made(state["examples"], arrays)
        if state["priorities"] is not None:
            state["priorities"] = _read(place, state["priorities"])
    except (OSError, ValueError, TypeError, LookupError, ImportError, AttributeError) as error:
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
    if _STRUCTURES.get(kind) is not type(value):
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
    kind = _STRUCTURES[described["kind"]]
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
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return _checksum(path)


def _checksum(path: str) -> int:
    found = 0
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            found = zlib.crc32(data, found)
    return found


def _load(path: str, checksum: int) -> NDArray[Any]:
    if _checksum(path) != checksum:
        raise ValueError(f"{path} has a wrong checksum")
    array: NDArray[Any] = np.load(path, allow_pickle=False)
    return array


def _read(place: str, told: dict[str, Any]) -> NDArray[Any]:
    path = os.path.join(place, os.path.basename(told["file"]))
    column = _load(f"{path}.npy", told["crc32"][0])
    if "text" in told:
        data, made, first = column.tobytes(), np.empty(told["rows"], object), 0
        for i, end in enumerate(_load(f"{path}.ends.npy", told["crc32"][1]).tolist()):
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
