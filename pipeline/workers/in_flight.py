"""InFlight: the chunks that an executor has, in order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline import spans
from pipeline.runners.stop_flag import StopFlag
from pipeline.workers.chunks import Block, Draw, FailedItem, map_chunk

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future  # 0.8 ms of import time, for users of an executor only


BROKEN = "A worker was killed (perhaps by the system, for lack of memory), crashed, or could not import the function."


class Chunk(NamedTuple):
    """Items submitted to the executor together, and their numbers."""

    numbers: Sequence[int]
    items: list[Any]
    future: Future[list[Block | FailedItem]]

    def __str__(self) -> str:
        first, last = self.numbers[0], self.numbers[-1]
        if isinstance(self.numbers, list):
            return f"items {', '.join(map(str, self.numbers))}"
        return f"item {last}" if last == first else f"items {first} to {last}"


class InFlight:
    """The chunks that the executor has, in order. It holds no reference to the MapAhead, which may be garbage.

    Args:
        executor: The executor.
        function: The user's function.

    Attributes:
        chunks: Only the thread that takes examples replaces the tuple, as a whole; others may read it.
        bell: Set when a chunk is done, and when a wait may be in vain.
    """

    def __init__(self, executor: Executor, function: Callable[[Any], Any]) -> None:
        self.chunks: tuple[Chunk, ...] = ()
        self.bell = StopFlag()
        self._executor = executor
        self._call = functools.partial(map_chunk, function)

    def ring(self) -> None:
        self.bell.set()

    def submit(self, numbers: Sequence[int], items: list[Any], seeds: tuple[int, int] | None) -> Chunk:
        """Submit items; the caller adds the chunk to `chunks`.

        Raises:
            RuntimeError: The executor rejects it.
        """
        draw = () if seeds is None else (Draw(*seeds, numbers),)
        future = self._executor.submit(self._call, items, *draw)
        chunk = Chunk(numbers, items, future)
        began = spans.begin(spans.CHUNK_BEGINS, "map_ahead") if spans.on else 0
        if began:
            function = self._call.args[0]
            name = getattr(function, "__qualname__", type(function).__qualname__)
            future.add_done_callback(functools.partial(_note_chunk, began, name, str(chunk)))
        # Without a reference to this, and so the executor: a worker that hangs would keep what could stop it.
        future.add_done_callback(functools.partial(_ring, self.bell))
        return chunk

    def again(self, chunk: Chunk, begin: int, end: int | None) -> tuple[Chunk, ...]:
        """Some items of a chunk that failed as a whole, to be submitted again like those of a cancelled one."""
        numbers, items = chunk.numbers[begin:end], chunk.items[begin:end]
        future = type(chunk.future)()
        future.cancel()
        return (Chunk(numbers, items, future),) if items else ()

    def alone(self, chunk: Chunk) -> tuple[Chunk, ...]:
        """The items of a chunk that failed as a whole, each to be submitted again in a chunk of its own."""
        return tuple(each for i in range(len(chunk.items)) for each in self.again(chunk, i, i + 1))

    def cancel(self) -> None:
        """Cancel the chunks that no worker has begun, and let processes that were started for them end."""
        for chunk in self.chunks:
            chunk.future.cancel()
        self.ring()
        rest = getattr(self._executor, "rest", None)
        if rest is not None:
            rest()


def _ring(bell: StopFlag, future: object) -> None:
    bell.set()


def _note_chunk(began: int, function: str, items: str, future: Future[Any]) -> None:
    """Note, for whoever traces the run, that a chunk is done."""
    spans.end(spans.CHUNK_ENDS, began, function, items, "cancelled" if future.cancelled() else "done")
