"""on_error="skip": examples that fail are left out; errors are counted, and the first ones kept."""

from __future__ import annotations

import contextlib
import errno
import functools
import traceback
from collections.abc import Callable
from typing import Any

from pipeline.dtypes import at_least, one_of
from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.locks import Lock
from pipeline.tracebacks import of_user

KEPT = 100  # errors; further ones are only counted

# The result for a call that failed and was skipped.
SKIPPED = object()


# Errors from the process or the machine, such as a full disk: no record causes them, and the next ones would fail too.
_OF_THE_MACHINE = frozenset(
    getattr(errno, name)
    for name in (
        *("EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EAGAIN", "ENOSPC", "EDQUOT", "EROFS"),
        *("EIO", "EBADF", "ESTALE", "ENODEV", "ENXIO", "ENOTCONN", "ENETDOWN", "EREMOTEIO"),
    )
    if hasattr(errno, name)
)


def of_record(error: BaseException) -> bool:
    """Return whether an error may mean a bad record.

    A missing library, no memory, no more file descriptors or a failing disk do not; nor do errors raised from these.
    """
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
    """Counts skipped examples, and keeps their errors.

    Args:
        on_error: "raise" or "skip".
        max_errors: The most examples to skip; None for no limit.

    Raises:
        ValueError: Other arguments, or `max_errors` together with "raise".

    Thread safety: every method may be called from any thread; a lock guards the count and the list.

    Attributes:
        active: True if errors are skipped.
        count: Errors skipped so far.
        errors: The first 100 errors, without frames, because frames would keep their objects alive, including the loop.
            Each traceback's text is a note on its error (from Python 3.11 on).
    """

    def __init__(self, on_error: str, max_errors: int | None) -> None:
        one_of(("raise", "skip"), on_error, "on_error")
        if max_errors is not None and on_error == "raise":
            raise ValueError("max_errors needs on_error='skip'")
        if max_errors is not None:
            at_least(0, max_errors, "max_errors")
        self.active = on_error == "skip"
        self._max_errors = max_errors
        self._lock = Lock()
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
        """Count an error; raise it if it must not be skipped, or if `max_errors` were skipped already."""
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
    """Mark an error as the end of the input: it is always raised."""
    set_on(error, "ends_input", True)


def must_raise(error: BaseException) -> bool:
    """Return whether an error is always raised: it ends the input, or no record causes it."""
    return getattr(error, "ends_input", False) or not of_record(error)


class Note(str):
    """A note added by this library."""

    __slots__ = ()


def _told_before(error: BaseException) -> bool:
    """Return whether an error was skipped before: some functions raise one object again, such as `Future.result`.

    It keeps its first notes. More notes would grow without end, because a traceback's text contains all notes.
    """
    count, notes = getattr(error, "told", None), getattr(error, "__notes__", None)
    if count is not None and isinstance(notes, list):
        notes[count:] = [each for each in notes[count:] if type(each) is not Note]
    return count is not None


def _forget_frames(error: BaseException) -> None:
    """Replace the tracebacks of an error and its causes by their text."""
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
    """Set an attribute on an exception, even if its class forbids it, as frozen dataclasses do."""
    with contextlib.suppress(AttributeError):  # the class may have a property with this name
        BaseException.__setattr__(error, name, value)


def add_note(error: BaseException, text: str) -> None:
    """Add a note to any exception; before Python 3.11, which cannot show notes, do nothing."""
    if not hasattr(BaseException, "add_note"):
        return
    if not hasattr(error, "__notes__"):
        set_on(error, "__notes__", [])
    with contextlib.suppress(TypeError):  # its notes may not be a list
        BaseException.add_note(error, Note(text))


def in_short(error: BaseException) -> str:
    """Return an error's class and text, with the step and item named by our first note."""
    notes = getattr(error, "__notes__", None)
    ours = [each for each in notes if type(each) is Note] if isinstance(notes, list) else []
    return " ".join([f"{type(error).__name__}: {error}", *(f"({each})" for each in ours[:1])])


def name_item(error: Exception, key: str, text: str) -> None:
    """Name the item that caused an error: in a note, and in `record_key` for messages about a queue it closes.

    An existing bytes key from a record is more precise, so it stays.
    """
    if not isinstance(getattr(error, "record_key", None), bytes):
        set_on(error, "record_key", key)
    add_note(error, text)
