"""serve and consume: one program makes batches, and several train on them."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from pipeline.cluster.actors import NAMESPACE, Lanes, ask, place
from pipeline.cluster.connect import LEFT, bare, connect, member
from pipeline.dtypes import integer
from pipeline.errors import AbortedError, AlreadyExistsError, NotFoundError
from pipeline.workers.chunks import FailedItem

# Seconds for a server's thread to end.
_END = 1.0


def serve(
    batches: Iterable[Any], name: str, *, consumers: int | None = None, ahead: int = 4, address: str | None = None
) -> Server:
    """Serve batches to other programs in the cluster, for `consume`.

        with iter(batches) as loop, pipeline.cluster.serve(loop, "train", consumers=4) as server:
            server.join()

    Each batch goes to one consumer. The slowest limits the others once they are `ahead` batches further.

    Args:
        batches: An iterator, or anything else to iterate over.
        name: Name for the consumers.
        consumers: Number of consumers: i of n gets the batches i, i + n, ... With None the first to ask gets the next
            batch.
        ahead: Number of batches that may wait for each consumer, or for all if `consumers` is None.
        address: As for `workers`.

    Returns:
        The server. When this program ends, consumers get an AbortedError.

    Raises:
        AlreadyExistsError: The name is taken.
        TypeError, ValueError: An argument has the wrong type or is out of range.
        ImportError, UnavailableError, FailedPreconditionError: As for `workers`.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"cluster.serve: name must be a string, not {name!r:.80}")
    count = None if consumers is None else integer(consumers, "cluster.serve: consumers")
    room = integer(ahead, "cluster.serve: ahead")
    for what, number in (("consumers", count), ("ahead", room)):
        if number is not None and number < 1:
            raise ValueError(f"cluster.serve: {what} must be at least 1, got {number}")
    ray = connect("cluster.serve", address)
    try:
        lanes = place(ray, Lanes, _called(name), False, count, room)
    except ValueError as error:
        raise AlreadyExistsError(None, None, f"cluster.serve: {name!r} is already served") from error
    return Server(ray, batches, name, lanes)


def consume(
    name: str, shard: tuple[int, int] | None = None, *, consumer: str | None = None, address: str | None = None
) -> Consumer:
    """Iterate over the batches another program serves.

        for batch in pipeline.cluster.consume("train", shard=(0, 4)):
            train_step(batch)

    Asking for the next batch confirms the last one. If your program dies first and returns with the same
    `shard` or `consumer`, you get that batch again. If two consumers use the same one, the newer takes over.

    Args:
        name: The server's name.
        shard: (index, count): your part, if the server has `consumers=count`.
        consumer: Your name if the server has no `consumers`; by default a new one.
        address: As for `workers`.

    Returns:
        An iterator. Its arrays are read-only. It ends with the batches, or raises the error that ended them.

    Raises:
        NotFoundError: Nothing is served under this name.
        ValueError: `shard` does not fit the server.
        ImportError, UnavailableError, FailedPreconditionError: As for `workers`.
    """
    ray = connect("cluster.consume", address)
    try:
        lanes = ray.get_actor(_called(name), NAMESPACE)
    except ValueError as error:
        raise NotFoundError(None, None, f"cluster.consume: nothing is served as {name!r} in this cluster") from error
    shares, ticket = ask(ray, _served(name), lanes.come)
    if (shard is None) is not (shares is None):
        told = "takes no shard" if shares is None else f"needs shard=(index, {shares})"
        raise ValueError(f"cluster.consume: {name!r} {told}")
    index = 0
    if shard is not None:
        index, count = (integer(each, "cluster.consume: shard") for each in shard)
        if count != shares or not 0 <= index < count:
            raise ValueError(f"cluster.consume: {name!r} has {shares} shares, got shard={shard!r:.80}")
    key = index if shard is not None else consumer or uuid.uuid4().hex
    return Consumer(ray, name, lanes, (key, index, ticket))


def _called(name: str) -> str:
    return f"serve {name}"


def _served(name: str) -> str:
    return f"what was served as {name!r}"


class Consumer(Iterator[Any]):
    """Another program's batches; see `consume`.

    Attributes:
        number: The last batch's index among all served ones; None before the first one.

    Thread safety: for one thread at a time.
    """

    def __init__(self, ray: Any, name: str, lanes: Any, key: tuple[Any, int, int]) -> None:
        self.number: int | None = None
        self._ray, self._name, self._lanes, self._key = ray, name, lanes, key

    def __next__(self) -> Any:
        """Return the next batch; StopIteration at the end.

        Raises:
            AbortedError: The serving program has ended.
            FailedPreconditionError: A newer consumer uses the same shard or the same `consumer`.
        """
        while (found := ask(self._ray, _served(self._name), self._lanes.take, *self._key, self.number)) is False:
            pass
        if found is None:
            raise StopIteration
        self.number, references = found
        return self._ray.get(references[0])


class Server:
    """Serves batches in a thread; see `serve`.

    Thread safety: every method may be called from any thread.
    """

    def __init__(self, ray: Any, batches: Iterable[Any], name: str, lanes: Any) -> None:
        self._ray, self._batches, self._name, self._lanes = ray, batches, name, lanes
        self._member = member(ray)
        self._closed = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name=f"serve {name}", daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait until the consumers are done with all batches.

        Raises:
            AbortedError: This process has left the cluster.
            BaseException: The error that ended the loop, if any.
        """
        while self._thread.is_alive() and not self._closed.is_set():
            self._thread.join(0.1)  # with a timeout, so Ctrl-C gets through
            if member(self._ray) != self._member:
                self._thread.join(_END)  # its error is better, unless the batches or Ray hang
                if self._thread.is_alive():
                    raise AbortedError(None, None, f"{_served(self._name)} cannot continue: {LEFT}")
        while self._error is None and not self._closed.is_set():
            if ask(self._ray, _served(self._name), self._lanes.through):
                break
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Stop. Later requests from consumers get an AbortedError."""
        self._closed.set()
        if self._ray.is_initialized():
            self._ray.kill(self._lanes)
        self._thread.join(_END)

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _serve(self) -> None:
        try:
            for number, batch in enumerate(self._batches):
                references = [self._put(batch)]
                while not self._closed.is_set() and not self._ask(self._lanes.put, number, references):
                    pass
                if self._closed.is_set():
                    return
            self._ask(self._lanes.end, None)
        except Exception as error:
            if not self._closed.is_set():
                self._error = error
                with contextlib.suppress(AbortedError):  # the actor has ended
                    self._ask(self._lanes.end, FailedItem(error))

    def _put(self, batch: Any) -> Any:
        try:
            return bare(self._ray.put)(batch)
        except Exception as error:
            if self._ray.is_initialized():
                raise
            raise AbortedError(None, None, f"{_served(self._name)} cannot continue: {LEFT}") from error

    def _ask(self, method: Any, *args: Any) -> Any:
        return ask(self._ray, _served(self._name), method, *args)
