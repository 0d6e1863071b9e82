"""Producer: where the queue of a producer stands in its epochs, and how it gets there in a session that begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.random.shuffle import Shuffling, blocks
from pipeline.compat.session.plan import Plan
from pipeline.compat.session.run import current
from pipeline.compat.session.session import BaseSession
from pipeline.producers.numbered import digest

# Rows that are dropped at once.
_DROPPED = 4096


class Produced(NamedTuple):
    """What the runner of a producer puts into its queue, epoch after epoch.

    Attributes:
        rows: The rows, in the order in which they were given.
        shuffling: Shuffles them anew for each epoch; None leaves them in that order.
        epochs: The variable that counts epochs; None without a limit.
        num_epochs: The limit.
    """

    rows: Tensor
    shuffling: Shuffling | None
    epochs: Any
    num_epochs: int | None


class Producer:
    """The queue of a producer in a session, as a `pipeline.pulls.Positioned` of one who alone takes from it.

    A position is the number of the next row, counted through all epochs. The runner that fills the queue begins with
    whole epochs, so what is left of the first one is dropped.

    Args:
        sess: The session.
        name: The name of the queue.
        queue: The queue in the session.
        made: What fills it.

    Thread safety: one thread at a time.
    """

    columns = ("next",)

    def __init__(self, sess: BaseSession, name: str, queue: Any, made: Produced) -> None:
        self.name, self.queue = name, queue
        self._sess, self._made = sess, made
        self._known: Any = None
        self._base = 0  # the number of the first row that the runner brings
        self._left = 0  # rows to drop
        self._order: tuple[int, Any] = (-1, None)  # the last epoch that was asked for, and its order

    def _facts(self) -> dict[str, Any]:
        made, rows = self._made, self._rows
        return {
            "name": self.name,
            "kind": "input_producer",
            "rows": len(rows),
            "digest": digest([rows]),
            "seeds": None if made.shuffling is None else list(made.shuffling.seeds),
            "num_epochs": made.num_epochs,
        }

    def _position(self) -> list[int]:
        return [self._base + self.queue.stats().dequeued]

    def _go_to(self, position: Sequence[int]) -> None:
        (number,), made, run = position, self._made, self._sess._plain_run
        rows = len(self._rows)
        epoch, self._left = divmod(number, rows) if rows else (0, 0)
        self._base = number - self._left
        if made.epochs is not None:
            made.epochs._variable.op.kernel(run).write(np.asarray(epoch, np.int64))
        if made.shuffling is not None:
            made.shuffling.go_to(run, [epoch * blocks(rows)])

    def _no_state(self) -> str | None:
        return None

    def skip(self, count: int) -> None:
        """Drop some rows; OutOfRangeError if the queue was closed."""
        self._left += count
        self.catch_up()

    def catch_up(self) -> None:
        """Drop the rows before the one to begin with; OutOfRangeError if the queue was closed."""
        if not self._left:
            return
        outer, current.run = current.run, self._sess._plain_run
        try:
            while self._left:
                count = min(self._left, _DROPPED)
                self.queue.dequeue_many(count)
                self._left -= count
        finally:
            current.run = outer

    # What a reader asks its source for.

    def dequeue(self, timeout: float | None = None) -> Any:
        """Take the next row."""
        return self.queue.dequeue(timeout=timeout)

    def _element(self, number: int) -> Any:
        """Return the row of a number."""
        return self._numbered_element(number)[1]

    def _numbered_element(self, number: int) -> tuple[int, Any]:
        """Return which of the given rows the one of a number is, and the row."""
        epoch, place = divmod(number, len(self._rows))
        if self._made.shuffling is not None:
            if self._order[0] != epoch:
                self._order = epoch, self._made.shuffling.order(epoch, len(self._rows))
            place = int(self._order[1][place])
        return place, self._rows[place]

    def _elements(self, first: int, count: int) -> list[Any]:
        """Return the rows of so many numbers."""
        return [self._element(number) for number in range(first, first + count)]

    def _epoch(self, number: int) -> int:
        """Return the epoch of a row."""
        return number // len(self._rows)

    @property
    def _rows(self) -> Any:
        """The rows as they were given."""
        if self._known is None:
            self._known = Plan([self._made.rows], (), self._sess._folded).run(self._sess._plain_run)[0]
        return self._known


class Drawn:
    """A random op in a session, as a `pipeline.pulls.Positioned`: how many random numbers it has used.

    Args:
        sess: The session.
        op: The op; its kernel has a position.
    """

    def __init__(self, sess: BaseSession, op: Any) -> None:
        self.name, self._type = op.name, op.type
        self._sess, self._kernel = sess, op.kernel
        self.columns = self._kernel.columns

    def _facts(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self._type, "seeds": list(self._kernel.seeds)}

    def _position(self) -> list[int]:
        return self._kernel.position(self._sess._plain_run)  # type: ignore[no-any-return]

    def _go_to(self, position: Sequence[int]) -> None:
        self._kernel.go_to(self._sess._plain_run, position)

    def _no_state(self) -> str | None:
        return None
