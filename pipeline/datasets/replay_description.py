"""Checks the description of a replay buffer's folder, because somebody else may have written it."""

from __future__ import annotations

import os
from typing import Any

from pipeline.errors import DataLossError

STRUCTURES = {"dict": dict, "tuple": tuple, "list": list}


def damaged(text: str) -> DataLossError:
    """Return the error for a folder that is damaged."""
    return DataLossError(None, None, f"load: {text}")


class Description:
    """What replay.json says of a folder.

    Args:
        state: Its contents.
        path: Its path, for errors.
    """

    def __init__(self, state: dict[str, Any], path: str) -> None:
        self._state, self._path = state, path

    def check(self) -> None:
        """Check the structure, and that all names are of this folder.

        Raises:
            DataLossError: `save` does not write this.
        """
        state = self._state
        self._check_name(state.get("folder"), "'folder'")
        self._expect(isinstance(state.get("columns"), list), "'columns' must be a list")
        for key in ("inserted", "sampled"):
            self._expect(type(state.get(key)) is int, f"'{key}' must be an integer")
        for key in ("examples", "priorities"):
            self._expect(key in state, f"'{key}' is missing")
        for number, each in enumerate(state["columns"]):
            self._check_column(each, f"column {number}")
        if state["priorities"] is not None:
            self._check_column(state["priorities"], "the priorities")
        self._check_structure(state["examples"])

    def _expect(self, is_so: bool, what: str) -> None:
        if not is_so:
            raise damaged(f"'{self._path}' is damaged: {what}")

    def _check_name(self, name: Any, what: str) -> None:
        self._expect(type(name) is str and "\0" not in name, f"{what} must be a text")
        if name in ("", ".", "..") or os.path.basename(name) != name:
            raise damaged(f"'{self._path}' names '{name}', which is not a file of this folder")

    def _check_column(self, told: Any, where: str) -> None:
        self._expect(isinstance(told, dict), f"{where} must be an object")
        self._check_name(told.get("file"), f"'file' of {where}")
        self._expect(type(told.get("rows")) is int, f"'rows' of {where} must be an integer")
        sums, needed = told.get("crc32"), 2 if "text" in told else 1
        is_whole = isinstance(sums, list) and len(sums) == needed and all(type(each) is int for each in sums)
        self._expect(is_whole, f"'crc32' of {where} must be a list of length {needed}, of integers")

    def _check_structure(self, told: Any) -> None:
        if not isinstance(told, dict):
            size = len(self._state["columns"])
            is_column = told is None or (type(told) is int and 0 <= told < size)
            self._expect(is_column, f"'examples' must name one of its {size} columns, not {told!r:.40}")
            return
        kind, parts = told.get("kind"), told.get("parts")
        self._expect(isinstance(kind, str) and kind in STRUCTURES, "'kind' must be dict, tuple or list")
        pairs = isinstance(parts, list) and all(isinstance(each, list) and len(each) == 2 for each in parts)
        self._expect(pairs, "'parts' must have pairs")
        for key, each in told["parts"]:
            self._expect(kind != "dict" or isinstance(key, str), "the keys of 'parts' must be texts")
            self._check_structure(each)
