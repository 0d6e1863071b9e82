"""Compare a saved state with the program that loads it, and report all differences in one error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.errors import StateMismatchError, told
from pipeline.files.identity import NAMES
from pipeline.orders.seeds import given_seed

# Maximum number of differences in a message; each of many files may have changed.
_SHOWN = 20


class Comparison:
    """Collects the differences between a state and this program, to report them in one error.

    For one thread.
    """

    def __init__(self) -> None:
        self._differences: list[tuple[str, Any, Any]] = []
        self._lines: list[str] = []

    def __bool__(self) -> bool:
        """Return whether there is any difference."""
        return bool(self._differences)

    def note(self, what: str, saved: Any, here: Any, line: str | None = None) -> None:
        """Record a difference.

        Args:
            what: Its name, such as "loop: batch_size".
            saved: The value in the state.
            here: The value in this program.
            line: The sentence for the message; by default it is built from the others.
        """
        self._differences.append((what, saved, here))
        self._lines.append(line or told(what, saved, here))

    def facts(self, place: str, saved: Mapping[str, Any], here: Mapping[str, Any]) -> None:
        """Record every key with different values, and every key on only one side.

        Args:
            place: The subject, such as "loop".
            saved: Values in the state.
            here: Values in this program.
        """
        for key in [*saved, *(key for key in here if key not in saved)]:
            if key not in saved or key not in here or not _same(saved[key], here[key]):
                then, now = saved.get(key), here.get(key)
                self.note(f"{place}: {key}", then, now, _line(place, key, then, now))

    def conclude(self) -> None:
        """Raise StateMismatchError if there is any difference."""
        if self._differences:
            more = len(self._lines) - _SHOWN
            lines = [*self._lines[:_SHOWN], f"and {more:,} more: see `differences`"] if more > 1 else self._lines
            raise StateMismatchError(self._differences, "\n".join(lines))


def _line(place: str, key: str, saved: Any, here: Any) -> str | None:
    """Return a special sentence for a difference; None if names and values are enough."""
    if key == "digest":
        return f"{place}: its values have changed since the state was saved"
    if (place, key) == ("shuffle", "batch_size"):
        return "shuffle: examples are drawn from min_after_dequeue + batch_size, unless deterministic=True"
    if key == "weights" and isinstance(saved, str):  # a digest
        return f"{place}: its weights differ from those of the saved run"
    if key == "arrays" and saved and here and [name for name, _ in saved] == [name for name, _ in here]:
        names = [name for (name, then), (_, now) in zip(saved, here, strict=True) if then != now]
        which = f"the values of {', '.join(map(repr, names))} differ" if names != [""] else "its values differ"
        return f"{place}: {which} from those of the saved run"
    if key == "names_before":
        return f"{place}: files before the last {NAMES} were others, or in a different order, when the state was saved"
    if key == "file_names" and saved and here and len(saved) == len(here):
        first = next(i for i, pair in enumerate(zip(saved, here, strict=True)) if pair[0] != pair[1])
        which = f"file {first + 1} of {'the last ' if len(saved) == NAMES else ''}{len(saved)}"
        return f"{place}: {which} was {saved[first]!r} when the state was saved and is {here[first]!r} now"
    then, now = given_seed(saved), given_seed(here)
    if key == "seeds" and then is not None and now is not None:  # users give one seed rather than the pair
        return told(f"{place}: seed", then, now)
    return None


def _same(saved: Any, here: Any) -> bool:
    """Return whether two values are equal; `True` and `1` are not."""
    return type(saved) is type(here) and bool(saved == here)
