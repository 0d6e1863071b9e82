"""on_error="skip": examples that fail are left out; their errors are counted, and the first ones kept."""

from __future__ import annotations

import contextlib
import errno
import functools
import threading
import traceback
from collections.abc import Callable
from typing import Any

from pipeline.dtypes import at_least, one_of
from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.tracebacks import of_user

KEPT = 100  # errors; further ones are only counted

# The result of a call that failed and was skipped.
SKIPPED = object()


# Errors of the process or the machine, such as a full disk: no record is to blame for them, and the next ones would
# fail as well.
_OF_THE_MACHINE = frozenset(
    getattr(errno, name)
    for name in (
        *("EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EAGAIN", "ENOSPC", "EDQUOT", "EROFS"),
        *("EIO", "EBADF", "ESTALE", "ENODEV", "ENXIO", "ENOTCONN", "ENETDOWN", "EREMOTEIO"),
    )
    if hasattr(errno, name)
)


def of_record(error: BaseException) -> bool:
    """Return whether an error may mean a bad record. A missing library, no memory, no more file descriptors, a disk
    that fails and such do not; nor does what was raised from such an error."""
    link: BaseException | None = error
    seen: set[int] = set()
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        known = isinstance(link, (ImportError, MemoryError)) or getattr(link, "of_record", None) is False
        if known or getattr(link, "errno", None) in _OF_THE_MACHINE:
            return False
        link = link.__cause__
    return True


class Skips:
    """Counts the examples that were left out, and keeps their errors.

    Args:
        on_error: "raise" or "skip".
        max_errors: How many may be skipped; None means no limit.

    Raises:
        ValueError: Other arguments, or `max_errors` together with "raise".

    Thread safety: you may call every method from every thread; a lock guards the count and the list.

    Attributes:
        active: True if errors are skipped.
        count: Errors skipped so far.
        errors: The first 100 of them, without their frames: these would keep alive what was in them, the loop too.
            The text of a traceback is a note of its error (from Python 3.11 on).
    """

    def __init__(self, on_error: str, max_errors: int | None) -> None:
        one_of(("raise", "skip"), on_error, "on_error")
        if max_errors is not None and on_error == "raise":
            raise ValueError("max_errors needs on_error='skip'")
        if max_errors is not None:
            at_least(0, max_errors, "max_errors")
        self.active = on_error == "skip"
        self._max_errors = max_errors
        self._lock = threading.Lock()
        self.count = 0
        self.errors: list[Exception] = []

    def guard(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function`, wrapped to return SKIPPED if it fails; unwrapped if errors are not skipped.

        StopIteration, OutOfRangeError and CancelledError pass: they end the input.
        """
        if not self.active:
            return function

        @functools.wraps(function)
        def guarded(*args: Any) -> Any:
            try:
                return function(*args)
            except (StopIteration, OutOfRangeError, CancelledError):
                raise
            except Exception as error:
                self.note(error)
                return SKIPPED

        return guarded

    def note(self, error: Exception) -> None:
        """Count an error; raise it instead if it must not be skipped, or `max_errors` were skipped already."""
        if must_raise(error):
            raise error
        with self._lock:
            if self._max_errors is not None and self.count >= self._max_errors:
                raise error
            self.count += 1
            self._keep(error)

    def _keep(self, error: Exception) -> None:
        if not _told_before(error) and len(self.errors) < KEPT:
            _forget_frames(error)
        set_on(error, "__traceback__", None)
        set_on(error, "told", len(getattr(error, "__notes__", ())))
        if len(self.errors) < KEPT:
            self.errors.append(error)


def ending(error: BaseException) -> None:
    """Mark an error as one that nothing of the input comes after: it is raised in any case."""
    set_on(error, "ends_input", True)


def must_raise(error: BaseException) -> bool:
    """Return whether an error is raised in any case: it ends the input, or no record is to blame for it."""
    return getattr(error, "ends_input", False) or not of_record(error)


class Note(str):
    """A note of ours."""

    __slots__ = ()


def _told_before(error: BaseException) -> bool:
    """Return whether an error was skipped before: some functions raise one object again, such as `Future.result`.

    It keeps the notes of the first time. More would grow without end, as the text of a traceback has all notes.
    """
    count, notes = getattr(error, "told", None), getattr(error, "__notes__", None)
    if count is not None and isinstance(notes, list):
        notes[count:] = [each for each in notes[count:] if type(each) is not Note]
    return count is not None


def _forget_frames(error: BaseException) -> None:
    """Replace the traceback of an error, and of what it came of, by its text."""
    text = "".join(traceback.format_exception(type(error), error, of_user(error.__traceback__)))
    chain = [error]
    while chain:
        link = chain.pop()
        if link.__traceback__ is not None:
            link.with_traceback(None)
            others = link.__cause__, link.__context__, *getattr(link, "exceptions", ())
            chain += [other for other in others if isinstance(other, BaseException)]
    add_note(error, text)


def set_on(error: BaseException, name: str, value: Any) -> None:
    """Set an attribute of an exception, also where its class forbids that, as those of frozen dataclasses do."""
    with contextlib.suppress(AttributeError):  # the class may have a property of this name
        BaseException.__setattr__(error, name, value)


def add_note(error: BaseException, text: str) -> None:
    """Add a note to an exception, whatever its class; before Python 3.11, which cannot show notes, do nothing."""
    if not hasattr(BaseException, "add_note"):
        return
    if not hasattr(error, "__notes__"):
        set_on(error, "__notes__", [])
    with contextlib.suppress(TypeError):  # its notes may be no list
        BaseException.add_note(error, Note(text))


def in_short(error: BaseException) -> str:
    """Return the class and text of an error, with the step and item that our first note names."""
    notes = getattr(error, "__notes__", None)
    ours = [each for each in notes if type(each) is Note] if isinstance(notes, list) else []
    return " ".join([f"{type(error).__name__}: {error}", *(f"({each})" for each in ours[:1])])


def name_item(error: Exception, key: str, text: str) -> None:
    """Name the item that an error is about: in a note, and by `record_key` for the messages of a queue it closes.

    A key of a record, which is bytes, says more, and stays.
    """
    if not isinstance(getattr(error, "record_key", None), bytes):
        set_on(error, "record_key", key)
    add_note(error, text)
