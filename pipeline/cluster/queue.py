"""RemoteQueue: a queue shared by name between programs on several machines."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pipeline.cluster.actors import POLL, ask, place
from pipeline.cluster.connect import connect
from pipeline.cluster.rows import HOLD, RowQueueActor
from pipeline.dtypes import integer
from pipeline.errors import AbortedError, DeadlineExceededError, InvalidArgumentError, OpError, invalid
from pipeline.locks import Lock
from pipeline.nest import Nest, length, map_values, parts_of
from pipeline.queues.kinds import FIFOQueue

_WHAT = "cluster.RemoteQueue"


class RemoteQueue:
    """A queue shared by name between several programs in a Ray cluster.

        queue = pipeline.cluster.RemoteQueue(1000, ["float32", "int32"], [(28, 28), ()], shared_name="examples")
        queue.enqueue_many((images, labels))      # in one program
        images, labels = queue.dequeue_many(128)  # in another one

    The first program that asks for a name makes the queue, and the queue ends with it. Closing, timeouts and errors are
    as in `FIFOQueue` or `RandomShuffleQueue`. Rows from an `enqueue_many` keep their order, but others may arrive
    between them.

    Ctrl-C loses no rows. Rows on their way to a dead program are given back after a minute.

    Args:
        capacity: Most rows.
        dtypes, shapes: As for `FIFOQueue`; all shapes must be known.
        names: Names for the components; elements are then dicts.
        min_after_dequeue: Makes it a shuffle queue; None keeps the order.
        seed: Seed for the shuffle queue.
        shared_name: Name for other programs. Without one you can only pass it on to Ray's tasks and actors.
        address: As for `workers`.

    Raises:
        TypeError, ValueError, InvalidArgumentError: As for `FIFOQueue`, or the queue with that name was made otherwise.
        ImportError, UnavailableError, FailedPreconditionError: As for `workers`.

    Thread safety: every method may be called from any thread, in every program.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        *,
        min_after_dequeue: int | None = None,
        seed: int | None = None,
        shared_name: str | None = None,
        address: str | None = None,
    ) -> None:
        capacity = integer(capacity, f"{_WHAT}: capacity")
        form = FIFOQueue(capacity, dtypes, shapes, names)
        if shapes is None or any(each is None or None in each for each in form.shapes):
            raise invalid(f"{_WHAT}: shapes must be given, as rows travel in blocks")
        if min_after_dequeue is not None and not 0 <= min_after_dequeue < capacity:
            raise invalid(
                f"{_WHAT}: min_after_dequeue {min_after_dequeue} must be < capacity {capacity}, and not negative"
            )
        what = [
            capacity,
            [str(each) for each in form.dtypes],
            [list(each or ()) for each in form.shapes],
            form.names,
            min_after_dequeue,
        ]
        ray = connect(_WHAT, address)
        name = None if shared_name is None else f"queue {shared_name}"
        actor = place(ray, RowQueueActor, name, name is not None, what, capacity, min_after_dequeue, seed)
        self._set(actor, shared_name, (dtypes, shapes, names))
        found = self._ask("what")
        if found != what:
            raise InvalidArgumentError(
                None, None, f"{_WHAT}: the queue {shared_name!r} was made with {found}, not with {what}"
            )

    def _set(self, actor: Any, shared_name: str | None, form: tuple[Any, Any, Any]) -> None:
        self._ray = connect(_WHAT)
        self._actor, self._given = actor, form
        self._received = actor.received.options(num_returns=0)  # fire and forget
        self.shared_name = shared_name
        self.name = shared_name or "remote_queue"
        self._form = FIFOQueue(-1, *form)  # casts and checks, as in all queues
        self._forming = Lock()
        self.dtypes, self.shapes, self.names = self._form.dtypes, self._form.shapes, self._form.names

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._actor, self.shared_name, self._given)

    def __repr__(self) -> str:
        return f"<pipeline.cluster.RemoteQueue {self.name!r}>"

    def enqueue(self, vals: Any, *, timeout: float | None = None) -> None:
        """As `FIFOQueue.enqueue`, for values with a wrong shape or dtype."""
        self._put(self._form.enqueue, vals, timeout)

    def enqueue_many(self, vals: Any, *, timeout: float | None = None) -> None:
        """As `FIFOQueue.enqueue_many`."""
        self._put(self._form.enqueue_many, vals, timeout)

    def dequeue(self, *, timeout: float | None = None) -> Any:
        """As `FIFOQueue.dequeue`."""
        return map_values(lambda column: column[0], self._take(1, False, timeout))

    def dequeue_many(self, n: int, *, timeout: float | None = None) -> Any:
        """As `FIFOQueue.dequeue_many`."""
        return self._take(n, False, timeout)

    def dequeue_up_to(self, n: int, *, timeout: float | None = None) -> Any:
        """As `FIFOQueue.dequeue_up_to`."""
        return self._take(n, True, timeout)

    def size(self) -> int:
        """Return how many rows it holds."""
        return int(self._ask("size"))

    def close(self, cancel_pending_enqueues: bool = False) -> None:
        """As `FIFOQueue.close`."""
        self._ask("close", cancel_pending_enqueues)

    def is_closed(self) -> bool:
        """Return whether it is closed."""
        return bool(self._ask("is_closed"))

    def _ask(self, method: str, *args: Any) -> Any:
        return ask(self._ray, f"{_WHAT} {self.name!r}", getattr(self._actor, method), *args)

    def _put(self, enter: Callable[[Any], None], vals: Any, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._forming:
            enter(vals)
            rows = self._form.size()
            block = self._form.dequeue_many(rows)
        if not rows:
            return
        done, there = 0, False
        with self._request() as request:
            while done < rows:
                reached = self._ask("enqueue", request, done, rows, None if there else block)
                there = reached is not None
                done = reached if there else done
                if done < rows and deadline is not None and time.monotonic() >= deadline:
                    self._ask("withdraw", request)
                    raise DeadlineExceededError(
                        None, None, f"{_WHAT} {self.name!r}: full for {timeout} s; {done} of {rows} rows are in it"
                    )

    def _take(self, n: int, up_to: bool, timeout: float | None) -> Any:
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._request() as request:
            while True:
                asked = time.monotonic()
                left = POLL if deadline is None else deadline - asked
                try:
                    found = self._ask("dequeue", request, n, up_to, max(0.0, min(POLL, left)))
                except DeadlineExceededError:
                    if left <= POLL and deadline is not None:
                        text = f"{_WHAT} {self.name!r}: fewer than {n} rows arrived within {timeout} s"
                        raise DeadlineExceededError(None, None, text) from None
                    continue
                blocks = self._ray.get([reference for reference, _ in found])
                if time.monotonic() - asked < HOLD / 2:
                    break  # otherwise they may have been given back meanwhile; if not, the same rows arrive again
            if not found:
                return self._form.dequeue_many(0)
            result = _picked(blocks, [rows for _, rows in found])
            if self._ray.is_initialized():  # Ray would make another cluster
                self._received.remote(request)
        return result

    @contextlib.contextmanager
    def _request(self) -> Iterator[int]:
        """Yield a new request number; withdraw the request if it ends by anything other than the queue's answer."""
        request = secrets.randbits(63)
        try:
            yield request
        except OpError:
            raise
        except BaseException:
            with contextlib.suppress(AbortedError):  # the actor has ended, so there is nothing to withdraw
                self._ask("withdraw", request)
            raise


def _picked(blocks: list[Any], rows: list[Any]) -> Any:
    """Return rows from blocks as one block."""
    nest = Nest(blocks[0], True) if parts_of(blocks[0]) is not None else None
    picked = [
        [column[chosen] for column in ([block] if nest is None else nest.flatten(block))]
        for block, chosen in zip(blocks, rows, strict=True)
    ]
    columns = [np.concatenate(each) if len(each) > 1 else each[0] for each in zip(*picked, strict=True)]
    assert length(columns[0]) == sum(map(len, rows))
    return columns[0] if nest is None else nest.pack(columns, True)


def _rebuilt(actor: Any, shared_name: str | None, form: tuple[Any, Any, Any]) -> RemoteQueue:
    queue = RemoteQueue.__new__(RemoteQueue)
    queue._set(actor, shared_name, form)
    return queue
