"""Journal: where the input stood at some of the calls of a loop's function, so that a later run can begin there."""

from __future__ import annotations

import bisect
import itertools
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from pipeline.resume.checksum import as_text

# Elements between two entries. A resume reads at most so many records for nothing per element of the pool that it
# needs; an entry takes about 30 bytes in a state.
EVERY = 1024

Position = list[Any]


class Entry(NamedTuple):
    """The input as the call with a ticket found it.

    Attributes:
        element: The number of the first element that the call gives, or a later one gives.
        ticket: Of the call.
        positions: Of each thing that calls pull from, in the order of their first pull.
    """

    element: int
    ticket: int
    positions: list[Position]


class Journal:
    """The entries that may still be needed, in order.

    Thread safety: the thread with the baton notes entries, the one that stores elements completes them, the consumer
    looks; a lock guards the lists.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[Entry] = []
        self._steps: list[list[Any]] = []  # to each entry from the one before, so that a state costs a copy of them
        self._texts: list[str | None] = []  # of these steps
        self._open: list[tuple[int, list[Position]]] = []  # whose element number is not known yet

    def note(self, ticket: int, positions: list[Position], element: int | None = None) -> None:
        """Note where the input stands before a call; the number of its element may be told later, by `complete`."""
        with self._lock:
            if element is None:
                self._open.append((ticket, positions))
            else:
                self._append(Entry(element, ticket, positions))

    def complete(self, ticket: int, element: int) -> None:
        """The first element of the call with this ticket, or of a later one, has that number."""
        if not self._open:  # no lock for each call: an entry is noted before its call gives elements
            return
        with self._lock:
            while self._open and self._open[0][0] <= ticket:
                number, positions = self._open.pop(0)
                self._append(Entry(element, number, positions))

    def joined(self, position: Position) -> None:
        """One more thing is pulled from, for the first time: it stood there at all entries so far."""
        with self._lock:
            entries, self._entries, self._steps, self._texts = self._entries, [], [], []
            for each in entries:
                each.positions.append(position)
                self._append(each)
            for _, positions in self._open:
                positions.append(position)

    def forget(self, oldest: int) -> None:
        """Drop the entries that are not needed for that element, or later ones."""
        with self._lock:
            unneeded = max(0, self._end(oldest) - 1)
            del self._entries[:unneeded], self._steps[:unneeded], self._texts[:unneeded]

    def packed(
        self, oldest: int, latest: int, columns: Sequence[str], texts: list[str | None] | None = None
    ) -> dict[str, Any]:
        """As plain data, the entries that are needed to find the elements from `oldest` on and to go on at `latest`.

        `texts` is given the text of each step, for the checksum of a state.
        """
        with self._lock:
            end = self._end(latest)
            first = max(0, min(self._at(oldest), end - 1))
            steps = [list(step) for step in self._steps[first + 1 : end]]
            if texts is not None:
                texts += self._texts[first + 1 : end]
            return _plain(columns, _flat(self._entries[first]) if first < end else [], steps)

    def __len__(self) -> int:
        return len(self._entries)

    def _append(self, entry: Entry) -> None:
        self._steps.append(_step(self._entries[-1], entry) if self._entries else [])
        self._texts.append(as_text(self._steps[-1]))
        self._entries.append(entry)

    def _end(self, element: int) -> int:
        """After which entry an element can be gone on at: one before it, as one right there may not be known yet."""
        before = bisect.bisect_left(self._entries, element, key=lambda entry: entry.element)
        return min(max(1, before), len(self._entries))

    def _at(self, element: int) -> int:
        """The number of the last entry at or before an element."""
        return bisect.bisect_right(self._entries, element, key=lambda entry: entry.element) - 1


def packed(entries: Sequence[Entry], columns: Sequence[str]) -> dict[str, Any]:
    """Entries as plain data: the first one, and the steps between neighbours."""
    steps = [_step(*pair) for pair in itertools.pairwise(entries)]
    return _plain(columns, _flat(entries[0]) if entries else [], steps)


def unpacked(journal: dict[str, Any], widths: Sequence[int]) -> list[Entry]:
    """The entries that `packed` made plain data of; `widths` are the numbers in each thing's position."""
    row = list(journal["first"])
    rows = [row] if row else []
    for step in journal["steps"]:
        row = [
            each + value if _is_int(value) and _is_int(each) else value for each, value in zip(row, step, strict=True)
        ]
        rows.append(row)
    return [_entry(row, widths) for row in rows]


def _plain(columns: Sequence[str], first: list[Any], steps: list[list[Any]]) -> dict[str, Any]:
    return {"columns": ["element", "ticket", *columns], "first": first, "steps": steps}


def _step(entry: Entry, later: Entry) -> list[Any]:
    pairs = zip(_flat(entry), _flat(later), strict=True)
    return [after - before if _is_int(after) and _is_int(before) else after for before, after in pairs]


def _flat(entry: Entry) -> list[Any]:
    return [entry.element, entry.ticket, *(value for position in entry.positions for value in position)]


def _entry(row: list[Any], widths: Sequence[int]) -> Entry:
    positions, at = [], 2
    for width in widths:
        positions.append(row[at : at + width])
        at += width
    return Entry(row[0], row[1], positions)


def _is_int(value: Any) -> bool:
    return type(value) is int
