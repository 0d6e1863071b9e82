"""Example lengths, from a function or a field."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.errors import invalid
from pipeline.stages.calls import called, check_function, name_of
from pipeline.stages.stream import MOST

# The field name for bare sequences, also in `pack`.
BARE = "tokens"


class Lengths:
    """Measures examples.

    Args:
        what: The argument, for errors, such as "bucket: length".
        given: A function from an example to its length, or a field name.

    Raises:
        TypeError: It is neither.
    """

    def __init__(self, what: str, given: str | Callable[[Any], Any]) -> None:
        if not isinstance(given, str):
            check_function(what, given, "a number")
        self.what, self.given = what, given

    @property
    def name(self) -> str:
        """Its name in options and errors."""
        return self.given if isinstance(self.given, str) else name_of(self.given)

    def functions(self) -> tuple[Any, ...]:
        """Return the user's function, if there is one."""
        return () if isinstance(self.given, str) else (self.given,)

    def whole(self, example: Any, name: Callable[[], str]) -> int:
        """Return an example's length; errors call the example `name`.

        Raises:
            InvalidArgumentError: It is not an integer from 0 to 2**62, or the field is missing.
        """
        if isinstance(self.given, str):
            length = self._of_field(example, name)
        else:
            if self.given is len and isinstance(example, (dict, tuple)):
                step, argument = self.what.split(": ")
                text = f"an example is a {type(example).__name__}, whose len() is how many components it has"
                hint = f"{argument}='tokens', or {argument}=lambda example: len(example['tokens'])"
                raise invalid(f"{step}: {text}: pass {argument}=, such as {hint}")
            length = called(self.given, example, name)
        try:
            number = -1 if isinstance(length, (bool, np.bool_)) else operator.index(length)
        except (TypeError, ValueError, RuntimeError):
            number = -1
        if not 0 <= number <= MOST:
            raise self._wrong("an integer of at least 0" if number < 0 else "at most 2**62", length, name)
        return number

    def wholes(self, examples: Sequence[Any], name: Callable[[int], str]) -> list[int]:
        """Return example lengths as integers, up to the first example without one.

        If this calls a user function, only the first example is measured.

        Raises:
            InvalidArgumentError: The first example has no length.
        """
        if isinstance(self.given, str):
            try:
                if isinstance(examples[0], dict):
                    return [len(example[self.given]) for example in examples]
                if type(examples[0]) is np.ndarray and self.given == BARE:
                    return _lengths_of_arrays(examples)
            except (TypeError, LookupError):
                pass  # the code below finds the faulty one
        elif self.given is len and type(examples[0]) is np.ndarray:
            with contextlib.suppress(TypeError):
                return _lengths_of_arrays(examples)
        return [self.whole(examples[0], lambda: name(0))]

    def _of_field(self, example: Any, name: Callable[[], str]) -> int:
        field: Any = self.given
        if not isinstance(example, Mapping):
            if field != BARE:
                text = f"{name()} is a {type(example).__name__}, and only a dict has a field {field!r}"
                raise invalid(f"{self.what}: {text}")
            value = example
        elif field in example:
            value = example[field]
        else:
            raise invalid(f"{self.what}: {name()} has no field {field!r}; there are {list(example)}")
        try:
            return len(value)
        except TypeError:
            raise invalid(f"{self.what}: {field!r} has no length: {value!r:.60} in {name()}") from None

    def _wrong(self, expected: str, length: Any, name: Callable[[], str]) -> Exception:
        step, _ = self.what.split(": ")
        return invalid(f"{step}: the length of an example must be {expected}, got {length!r:.80} for {name()}")


def _lengths_of_arrays(examples: Sequence[Any]) -> list[int]:
    """Return array lengths; TypeError unless all are arrays."""
    if any([type(each) is not np.ndarray for each in examples]):
        raise TypeError
    return list(map(len, examples))


def rounded(length: int, multiple: int) -> int:
    """Return the next multiple, at least `multiple`."""
    return max(multiple, -(-length // multiple) * multiple)


def too_long(step: str, name: str, length: int, padded: int, most: int) -> Exception:
    """Return the error for an example with more tokens than a batch."""
    more = "" if padded == length else f", padded {padded:,},"
    return invalid(
        f"{step}: {name} has length {length:,}{more} and max_tokens is {most:,}: cut or filter such examples"
    )
