"""Completion scripts for shells."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

PROGRAM = "queue-runner"
SHELLS = ("bash", "zsh", "fish")

_FILES = ("FILE", "PROGRAM", "STATE")  # arguments completed as file names


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script; ImportError if the extra is missing."""
    try:
        # An extra, and only this command needs it.
        import shtab  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError("completion needs shtab: pip install shtab") from error
    for action in _actions(parser):
        if action.metavar in _FILES:
            action.complete = shtab.FILE
    return str(shtab.complete(parser, shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[Any]:
    """Yield all arguments, including those for subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _actions(each)
