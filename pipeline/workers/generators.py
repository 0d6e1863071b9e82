"""A process's shared random generators: Python's, NumPy's and torch's.

In a worker process they are seeded for each example. In the user's process they belong to the program; functions
using them are reported once.

Python and NumPy seed a Mersenne Twister in 624 steps or more, and each step needs the one before. Here a hash fills
the state in place, which is faster. If a generator's memory does not look as expected, its public functions set
the same state.
"""

from __future__ import annotations

import ctypes
import os
import random
import sys
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline._calls import fill_words
from pipeline.diagnostics.frames import tell
from pipeline.logs import logger
from pipeline.workers.held_generators import Held, held_generators, names_library

_WORDS = 624  # words in a Mersenne Twister

_log = logger("pipeline.workers")


def _at(address: int) -> NDArray[np.uint32]:
    """Return a generator's state in memory: its words, and one more for the position among them."""
    return np.frombuffer(memoryview((ctypes.c_uint32 * (_WORDS + 1)).from_address(address)), np.uint32)


class _Generator:
    """A process's shared generator.

    Attributes:
        name: Its public name.
        library: The module that has it.
        salt: Separates the generators: with equal words they would draw equal numbers.
    """

    name: str
    library: str
    salt: int

    def seed(self, key: int) -> None:
        """Seed it with 64 bits."""
        raise NotImplementedError

    def state(self) -> bytes:
        """Return its state, for comparison."""
        raise NotImplementedError

    def is_new(self) -> bool:
        """Return whether nothing has been drawn since its library was imported."""
        return True


class _Python(_Generator):
    name, library, salt = "Python's random", "random", 0x243F6A8885A308D3

    def __init__(self) -> None:
        self._mine: Any = random._inst
        self._found = _at(id(self._mine) + object.__basicsize__)
        known = random.getstate()[1]
        self._in_place = [*self._found[1:].tolist(), int(self._found[0])] == list(known)
        self._words = self._found[1:] if self._in_place else np.empty(_WORDS, np.uint32)

    def seed(self, key: int) -> None:
        fill_words(key ^ self.salt, self._words)
        if self._in_place:
            self._found[0], self._mine.gauss_next = _WORDS, None
        else:
            random.setstate((3, (*self._words.tolist(), _WORDS), None))

    def state(self) -> bytes:
        return self._found.tobytes() if self._in_place else repr(random.getstate()).encode()


class _NumPy(_Generator):
    name, library, salt = "NumPy's np.random", "numpy.random", 0x13198A2E03707344

    def __init__(self) -> None:
        self._numpy: Any = np.random  # imported lazily: costs 10 ms
        self._generator = self._numpy.get_bit_generator()
        known: Any = np.random.get_state(legacy=False)
        self._in_place = False
        self._words = np.empty(_WORDS, np.uint32)
        if known["bit_generator"] == "MT19937":
            found = _at(self._generator.ctypes.state_address)
            self._in_place = found.tolist() == [*known["state"]["key"].tolist(), known["state"]["pos"]]
        if self._in_place:
            self._found, self._words = found, found[:-1]

    def seed(self, key: int) -> None:
        if not self._in_place:
            fill_words(key ^ self.salt, self._words)
            np.random.set_state(("MT19937", self._words, _WORDS, 0, 0.0))
        elif self._numpy.get_bit_generator() is self._generator:  # the program has set another generator
            fill_words(key ^ self.salt, self._words)
            self._found[-1] = _WORDS
            self._numpy.set_bit_generator(self._generator)  # also resets the cached normal number

    def state(self) -> bytes:
        return self._found.tobytes() if self._in_place else repr(np.random.get_state(legacy=False)).encode()

    def is_new(self) -> bool:
        now, new = (each.get_state(legacy=False) for each in (self._numpy, self._numpy.RandomState()))
        return bool(now["bit_generator"] == "MT19937" and now["state"]["pos"] == new["state"]["pos"])


class _Torch(_Generator):
    name, library, salt = "torch's default generator", "torch", 0xA4093822299F31D0

    def __init__(self, torch: Any) -> None:
        self._mine = torch.default_generator

    def seed(self, key: int) -> None:
        self._mine.manual_seed(key ^ self.salt)

    def state(self) -> bytes:
        found: bytes = self._mine.get_state().numpy().tobytes()
        return found


class _OfProcess:
    """This process's generators, as far as their libraries are imported.

    Attributes:
        found: The generators.
        mark: Identifies this process among others, on other machines too.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all generators in a forked process, because their states are the parent's."""
        self.found: list[_Generator] = []
        self._complete = False
        self.mark = os.getpid(), os.urandom(8)

    def generators(self, every: bool = True) -> list[_Generator]:
        """Return the generators; the process may have imported torch meanwhile.

        Args:
            every: True to include NumPy's even if nothing has imported it.
        """
        if not self._complete:
            known = {type(each) for each in self.found}
            if _Python not in known:
                self.found.append(_Python())
            if _NumPy not in known and (every or "numpy.random" in sys.modules):
                self.found.append(_NumPy())
            torch = sys.modules.get("torch")
            if _Torch not in known and hasattr(torch, "default_generator"):  # missing while torch is being imported
                self.found.append(_Torch(torch))
            self._complete = len(self.found) == 3
        return self.found


_here = _OfProcess()
os.register_at_fork(after_in_child=_here.forget)


def mark() -> tuple[int, bytes]:
    """Return a mark that identifies this process, on other machines too."""
    return _here.mark


def seed_generators(key: int) -> None:
    """Seed this otherwise idle process's generators with 64 bits."""
    for each in _here.generators():
        each.seed(key)


def scatter_generators() -> None:
    """Seed this process's new generators at random, because forked workers start with equal ones."""
    known = len(_here.found)
    for each in _here.generators()[known:]:
        each.seed(int.from_bytes(os.urandom(8), "little"))


_told: set[Any] = set()  # functions already reported

_MOST = 1 << 24  # bytes of an array to compare


def _parts(example: Any) -> list[tuple[Any, bytes | None]]:
    """Return an example's values, with the bytes of arrays, to see whether a function changes them."""
    values = list(example.values()) if type(example) is dict else example
    values = values if type(values) in (list, tuple) else [values]
    return [(value, value.tobytes() if _is_comparable(value) else None) for value in values]


def _is_comparable(value: Any) -> bool:
    return type(value) is np.ndarray and not value.dtype.hasobject and value.nbytes <= _MOST


def _are_changed(before: list[tuple[Any, bytes | None]], after: list[tuple[Any, bytes | None]]) -> bool:
    return len(before) != len(after) or any(
        value is not other or content != other_content
        for (value, content), (other, other_content) in zip(before, after, strict=True)
    )


class _Before(NamedTuple):
    """What a function might change in its first call."""

    states: list[tuple[_Generator, bytes]]
    held: list[tuple[Held, Any]]
    example: Any
    parts: list[tuple[Any, bytes | None]]
    alone: bool  # True if no other thread can draw meanwhile


class Watch:
    """Warns once if a user function draws numbers that a resume repeats or changes, or changes the user's examples.

    In the user's own process the first call is watched. Before a function goes to other processes, it is searched for
    generators.

    Args:
        kind, name: The step, such as "map", and the function's name.
        function: The function.
        lent: True if it gets the user's own objects, such as a list's items.
        place: The user's line with the step.

    Attributes:
        due: True if it has not been checked yet.
    """

    def __init__(
        self, kind: str, name: str, function: Any, lent: bool = False, place: tuple[str, int] | None = None
    ) -> None:
        self._lent, self._place, self._searched = lent, place, False
        self._kind, self._name, self._function = kind, name, function
        inner = getattr(function, "func", function)  # for a partial
        self._code = getattr(inner, "__code__", type(inner))
        self.due = function is not None and self._code not in _told

    def __getstate__(self) -> dict[str, Any]:
        # The copy is not in the user's process.
        return {**self.__dict__, "_function": None, "_code": None, "_searched": True, "due": False}

    def begin(self, example: Any) -> _Before:
        """Return the states of the generators and of an example before the function's first call."""
        self.due = False
        states = [(each, each.state()) for each in _here.generators(every=False)]
        held = [(each, each.state()) for each in held_generators(self._function)]
        return _Before(states, held, example, _parts(example) if self._lent else [], _is_alone())

    def leave(self) -> None:
        """Report the function if copies of its generators go to other processes with it."""
        if self._searched or self._code in _told:
            return
        self._searched = True
        held = held_generators(self._function)
        if held:
            self._tell(
                f"{self._step()} has its own generator {_listed(held)}: each process draws from its own copy, "
                "usually the same numbers, and a resume repeats them. Draw from pipeline.example_rng()"
            )

    def end(self, found: _Before) -> None:
        """Report the function if it has changed them."""
        if self._lent and _are_changed(found.parts, _parts(found.example)):
            kind = type(found.example)
            self._tell(
                f"{self._step()} changes its argument, which is yours: the next epoch gets the changed one. "
                f"Return a new {kind.__name__ if kind in (list, dict) else 'array'}"
            )
        before = found.states
        used = [each for each, state in before if each.state() != state]
        # The function's first call may have imported NumPy's, which is loaded lazily.
        used += [each for each in _here.generators(every=False)[len(before) :] if not each.is_new()]
        if used:
            self._tell_used(used, found.alone and _is_alone())
        held = [each for each, state in found.held if each.state() != state]
        if held:
            self._tell(
                f"{self._step()} draws from its own generator {_listed(held)}: its numbers differ after a resume, "
                "and in every run with threads. Draw from pipeline.example_rng()"
            )

    def _tell_used(self, used: list[_Generator], alone: bool) -> None:
        named = [each for each in used if alone or names_library(self._function, each.library)]
        if named:
            text = f"{self._step()} uses {_listed(named)}, which your whole process shares. Its numbers"
        else:
            was = "was" if len(used) == 1 else "were"
            text = f"{_listed(used)} {was} used while {self._step()} ran, by it or by another thread. If by it, its"
            text += " numbers"
        self._tell(
            f"{text} may differ after a resume, and in every run with threads. Draw from pipeline.example_rng(), or "
            "use workers=pipeline.processes(n), which seeds the shared generators for each example"
        )

    def _step(self) -> str:
        return f"{self._kind}({self._name})"

    def _tell(self, text: str) -> None:
        """Tell about the function, once."""
        if self._code not in _told:
            _told.add(self._code)
            tell(_log, text, self._place)


def _is_alone() -> bool:
    return threading.active_count() == 1


def _listed(generators: Sequence[_Generator | Held]) -> str:
    return " and ".join(each.name for each in generators)


UNWATCHED = Watch("", "", None)
