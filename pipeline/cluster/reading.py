"""read: files, or other parts, read by cluster workers; their rows arrive in blocks, in order."""

from __future__ import annotations

import collections
import hashlib
import inspect
import reprlib
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, wait
from typing import Any

from pipeline.cluster.connect import LEFT
from pipeline.cluster.executor import RayWorkers
from pipeline.cluster.ray_client import RayClient
from pipeline.cluster.task import BLOCK_BYTES, read_part
from pipeline.dtypes import integer
from pipeline.errors import AbortedError
from pipeline.on_error import add_note
from pipeline.sources.nodes import OfParts, Parts, PartsStream
from pipeline.sources.order import Epochs
from pipeline.sources.sequence import sequence_of
from pipeline.sources.stream import BlockPiece, PartsSource
from pipeline.stages.run import Limited, Run
from pipeline.stages.stream import whole
from pipeline.workers.chunks import FailedItem

_WHAT = "cluster.read"

# Seconds between checks for `close`.
CHECK_INTERVAL = 0.1

# Minimum blocks in flight per part: one in transit, one being made.
_LEAST = 2


def read(
    function: Callable[[Any], Iterable[Any]],
    parts: Sequence[Any],
    *,
    workers: RayWorkers,
    enqueue_many: bool = False,
    rows: int = 1024,
    buffer_bytes: int = 128 << 20,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> PartsSource:
    """Have Ray workers read your files: names are sent out, blocks of rows come back.

        def lines(path):
            with open(path) as file:
                for line in file:
                    yield parse(line)

        source = pipeline.cluster.read(lines, paths, workers=pipeline.cluster.workers(8), shuffle=True, seed=1)
        for batch in source.shuffle(5000).batch(128):
            ...

    Rows arrive in the order of your parts. If a worker dies, another one reads the part again, so your function must
    return the same rows each time.

    Args:
        function: Called on a worker with a part; yields its examples.
        parts: File names, row ranges, or keys: plain data.
        workers: `pipeline.cluster.workers(n)`; at most n parts are read at once.
        enqueue_many: True if the function yields blocks, whose first dimension counts examples.
        rows: Most examples in a block; a block is also cut at 4 MiB.
        buffer_bytes: Most bytes in flight.
        num_epochs: Number of epochs; None repeats forever.
        shuffle: Read the parts in random order, a different one each epoch. `Dataset.shuffle` mixes examples.
        seed: Seed for the order.
        shard: (index, count): read your host's part: every count-th part.

    Raises:
        TypeError: `function` cannot be pickled, `parts` is not a sequence, or `workers` are not a cluster's.
        ValueError: `parts` is empty, or an option is wrong.
        AbortedError: When you iterate: workers died at each try, or this process has left the cluster.

    Thread safety: you may call it from any thread.
    """
    if not callable(function):
        raise TypeError(f"{_WHAT}: function must be callable, not {function!r:.80}")
    if isinstance(parts, (str, bytes)) or not sequence_of(parts):
        raise TypeError(f"{_WHAT}: parts must be a list, such as of file names, not {parts!r:.80}")
    if not len(parts):
        raise ValueError(f"{_WHAT}: there are no parts")
    if not isinstance(workers, RayWorkers):
        raise TypeError(f"{_WHAT}: workers must be pipeline.cluster.workers(n), not {workers!r:.80}")
    most, room = integer(rows, f"{_WHAT}: rows"), integer(buffer_bytes, f"{_WHAT}: buffer_bytes")
    for name, number in (("rows", most), ("buffer_bytes", room)):
        if number < 1:
            raise ValueError(f"{_WHAT}: {name} must be at least 1, got {number}")
    remote = _Parts(function, list(parts), workers, bool(enqueue_many), most, room)
    return PartsSource(remote, Epochs(num_epochs, shuffle, seed, shard), _RemoteStream)


class _Flight:
    """A part being read by a worker.

    Attributes:
        stream: Yields references to its blocks; None once it was cancelled.
        blocks: The blocks in transit.
        ended: True if there are no more.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.blocks: collections.deque[Future[Any]] = collections.deque()
        self.ended = False


class _Parts(Parts):
    """The parts, read by workers.

    Attributes:
        at_once: Number of parts to read at once.
        here: Number of a part's blocks to have here; others wait where they were made.
    """

    kind = "cluster_read"
    unit = "parts"
    of_files = False  # only workers may see them

    def __init__(
        self, function: Callable[..., Any], parts: list[Any], workers: RayWorkers, many: bool, rows: int, room: int
    ) -> None:
        self.parts = parts
        self.names: Sequence[str] = [reprlib.repr(each) for each in parts]
        self.most = rows
        self.workers = workers
        self.at_once = max(1, min(workers._max_workers, room // (_LEAST * BLOCK_BYTES)))
        blocks = max(_LEAST, room // (self.at_once * BLOCK_BYTES))
        self.here = blocks // 2
        self._function = function
        self._arguments = rows, many
        self._order = workers.order(function)
        self._task = workers.ray.remote(
            num_returns="streaming",
            max_retries=workers.retries,
            _generator_backpressure_num_objects=blocks - self.here,
            **workers.options,
        )(read_part)

    def start(self, part: int, place: int) -> _Flight:
        """Have a worker read a part, starting at a row."""
        self.workers.client.stay()
        return _Flight(self._task.remote(self._order, self.parts[part], place, *self._arguments))

    def block(self, piece: BlockPiece) -> Any:
        return piece.block

    def facts(self) -> dict[str, Any]:
        digest = hashlib.blake2b(repr(self.parts).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        name = getattr(self._function, "__qualname__", type(self._function).__qualname__)
        return {"function": name, "parts": len(self.names), "digest": digest, "cut": list(self._arguments)}


class _RemoteStream(PartsStream):
    """The examples in parts. Workers read the next parts, several at once.

    With `on_error="skip"`, the rest of a failing part is left out.
    """

    parts: _Parts

    def __init__(self, node: OfParts, run: Run, state: Any) -> None:
        super().__init__(node, run, state)
        self.place = None if self.place is None else whole(self.place)
        self._limit = Limited(run, *node.errors)
        self._flights: dict[int, _Flight] = {}  # by part number, counted through all epochs
        weakref.finalize(self, _cancel, self.parts.workers.client, self._flights).atexit = False

    def close(self) -> None:
        _cancel(self.parts.workers.client, self._flights)
        super().close()

    def _fail(self, error: BaseException) -> None:
        if not self._limit.active or not isinstance(error, Exception):
            super()._fail(error)
        try:
            self._limit.note(error)  # type: ignore[arg-type]
        except Exception:
            super()._fail(error)
        self._next_part()

    def open(self, part: int, epoch: int) -> Generator[tuple[Any, Any]]:
        order = self.order
        now = epoch * order.length + self.part
        if now not in self._flights:
            self._flights[now] = self.parts.start(part, self.place or 0)
        end = None if order.num_epochs is None else (self.first_epoch + order.num_epochs) * order.length
        ahead = self.parts.at_once - 1 if end is None else min(self.parts.at_once, end - now) - 1
        for number in range(now + 1, now + 1 + ahead):
            if number not in self._flights:
                (following,) = self.numbered.numbers(number, 1)
                self._flights[number] = self.parts.start(int(following), 0)
        return self._pieces_of(now, part)

    def _pieces_of(self, now: int, part: int) -> Generator[tuple[Any, Any]]:
        """Yield a part's blocks, each with its first row's number."""
        row, flight = self.place or 0, self._flights[now]
        where = f"{_WHAT}: part {part}, {self.parts.names[part]}, after {{}} examples"
        try:
            while (block := self._next_block(flight, where.format(row))) is not None:
                piece = BlockPiece(block)
                yield row, piece
                row += len(piece)
        finally:
            if now in self._flights:
                _cancel(self.parts.workers.client, {now: self._flights.pop(now)})

    def _next_block(self, flight: _Flight, where: str) -> Any:
        """Return a part's next block; None at its end.

        Raises:
            AbortedError: This process has left the cluster, which may hide another error; or workers died each time.
            CancelledError: The iterator was closed.
            Exception: The function raised it.
        """
        try:
            result = self._following(flight, where)
        except Exception as error:
            if self.parts.workers.client.here():
                raise
            raise AbortedError(None, None, f"{where}: {LEFT}") from error
        if isinstance(result, FailedItem):
            add_note(result.error, where)
            raise result.error
        return result

    def _following(self, flight: _Flight, where: str) -> Any:
        """Wait for a part's next block. Meanwhile fetch blocks from later parts."""
        client = self.parts.workers.client
        while True:
            self.run.clock.check()
            self._bring()
            if flight.blocks:
                if not wait(list(flight.blocks)[:1], CHECK_INTERVAL).done:
                    client.stay()
                    continue
                block = flight.blocks.popleft()
                if (error := block.exception()) is not None:
                    told = str(client.translated(error)).rstrip(",")
                    raise AbortedError(None, None, f"{where}: {told}") from error
                result, note = block.result()
                client.count(note)
                return result
            if flight.ended:
                return None
            self._ready([flight], CHECK_INTERVAL)

    def _bring(self) -> None:
        """Fetch ready blocks from all parts with a single call to Ray, because calls are slow."""
        here = self.parts.here
        flights = [each for each in tuple(self._flights.values()) if not each.ended and len(each.blocks) < here]
        while flights := self._ready(flights, 0):
            for flight in flights:
                try:
                    flight.blocks.append(next(flight.stream).future())
                except StopIteration:
                    flight.ended = True
            flights = [each for each in flights if not each.ended and len(each.blocks) < here]

    def _ready(self, flights: Sequence[_Flight], seconds: float) -> list[_Flight]:
        """Wait up to `seconds` for a block or the end of any part; return the ready parts."""
        self.parts.workers.client.stay()
        streams = [(each.stream, each) for each in flights if each.stream is not None]  # others were cancelled
        if not streams:
            return []
        wait_for = inspect.unwrap(self.parts.workers.ray.wait)  # `ray.wait` itself might make a cluster
        count = 1 if seconds else len(streams)
        found, _ = wait_for([each for each, _ in streams], num_returns=count, timeout=seconds, fetch_local=False)
        ready = set(map(id, found))
        return [flight for stream, flight in streams if id(stream) in ready]


def _cancel(client: RayClient, flights: dict[int, _Flight]) -> None:
    """Stop busy readers."""
    while flights:
        _, flight = flights.popitem()
        if not flight.ended:
            client.cancel(flight.stream, recursive=True)
        flight.stream, flight.ended = None, True  # a reader paused by Ray ends when its stream is unreferenced
