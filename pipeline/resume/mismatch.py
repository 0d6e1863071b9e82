"""What a saved state and the program that is to go on from it disagree about, all of it in one error."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from pipeline.errors import InvalidArgumentError

Difference = tuple[str, Any, Any]  # what it is, as it was saved, as it is here


class StateMismatchError(InvalidArgumentError):
    """A state was to be loaded into another loop, or over other files, than those that it was saved from.

    Nothing has changed. The message has one line for each difference.

    Attributes:
        differences: A tuple (what, saved, here) for each; None where one of the two has no such thing.
    """

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int | None = None) -> None:
        super().__init__(node_def, op, message, error_code)
        self.differences: list[Difference] = []


class Comparison:
    """Collects what differs between a state and the program here, so that one error can tell all of it.

    For one thread.
    """

    def __init__(self) -> None:
        self._differences: list[Difference] = []
        self._lines: list[str] = []

    def note(self, what: str, saved: Any, here: Any, line: str | None = None) -> None:
        """Take down a difference.

        Args:
            what: Names it, such as "loop: batch_size".
            saved: What the state says.
            here: What is so here.
            line: The sentence for the message; made of the others if it is None.
        """
        self._differences.append((what, saved, here))
        self._lines.append(line or f"{what} was {_shown(saved)} when the state was saved and is {_shown(here)} now")

    def facts(self, place: str, saved: Mapping[str, Any], here: Mapping[str, Any], but: Container[str] = ()) -> None:
        """Take down every key with different values, and every key that only one side has.

        Args:
            place: What the facts are about, such as "loop".
            saved: The facts in the state.
            here: The facts here.
            but: Keys that may differ.
        """
        for key in [*saved, *(key for key in here if key not in saved)]:
            if key not in but and (key not in saved or key not in here or not _same(saved[key], here[key])):
                self.note(f"{place}: {key}", saved.get(key), here.get(key))

    def conclude(self) -> None:
        """Raise StateMismatchError if there is any difference."""
        if self._differences:
            error = StateMismatchError(None, None, "\n".join(self._lines))
            error.differences = self._differences
            raise error


def _same(saved: Any, here: Any) -> bool:
    """Whether two facts are equal, `True` and `1` not being so."""
    return type(saved) is type(here) and bool(saved == here)


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    return f"{value:,}" if type(value) is int else repr(value)
