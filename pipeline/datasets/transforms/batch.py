"""batch: examples stacked into batches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pipeline._next import Gather
from pipeline.datasets.node import ENDLESS, Node, Opening
from pipeline.dtypes import truth
from pipeline.errors import DeadlineExceededError, invalid
from pipeline.flow.at_hand import AtHand, has_rows
from pipeline.flow.block import Block, copied, join
from pipeline.flow.collate import Collate
from pipeline.flow.functions import check_function
from pipeline.flow.grouped import Grouped
from pipeline.flow.ids import summed
from pipeline.flow.indexed_batches import IndexedBatches
from pipeline.flow.stream import Element, Stream, block_of, dropped, lend_rows, place, seek_later, whole
from pipeline.flow.table import Index
from pipeline.memory import keep_pages

_WAYS = ("stack", "pad", "row_splits")


class Batch(Node):
    """Batches.

    Args:
        source: The examples.
        n: How many to a batch.
        drop_remainder: Whether examples at the end that fill no batch are dropped.
        pad: What fills shorter rows, for all components or by name; None to stack.
        collate: "stack", "pad", "row_splits", or a function of a list of examples.
        max_wait: Seconds from the first example of a batch until it goes out, however small; None for no limit.
        tensors: Whether examples are as in TensorFlow; see `Collate`.

    Raises:
        TypeError, ValueError: An argument is wrong.
    """

    kind = "batch"

    def __init__(
        self,
        source: Node,
        n: int,
        drop_remainder: bool,
        pad: Any,
        collate: str | Callable[[list[Any]], Any] | None,
        max_wait: float | None,
        tensors: bool = False,
    ) -> None:
        self.inputs, self.n = (source,), n
        self.drop_remainder = truth(drop_remainder, "batch: drop_remainder")
        if callable(collate):
            check_function("batch: collate", collate, "a batch")
        elif collate is not None and collate not in _WAYS:
            raise ValueError(f"batch: collate must be 'stack', 'pad', 'row_splits' or a function, got {collate!r:.80}")
        if pad is not None and collate not in (None, "pad"):
            raise ValueError(f"batch: pad= and collate={collate!r:.40} contradict each other: give one of them")
        if max_wait is not None and not (
            isinstance(max_wait, (int, float)) and not isinstance(max_wait, bool) and max_wait > 0
        ):
            raise ValueError(f"batch: max_wait must be a number of seconds above 0, got {max_wait!r:.80}")
        if collate in (None, "stack") and pad is None:
            _check_batches_stack(source, n, self.drop_remainder)
        self.pad = 0 if pad is None and collate == "pad" else pad
        self.collate, self.max_wait, self.tensors = collate, max_wait, tensors
        self.note_place()

    def options(self) -> dict[str, Any]:
        found: dict[str, Any] = {"n": self.n}
        if self.drop_remainder:
            found["drop_remainder"] = True
        if self.pad is not None:
            found["pad"] = str(self.pad)
        elif callable(self.collate):
            found["collate"] = getattr(self.collate, "__qualname__", type(self.collate).__qualname__)
        elif self.collate == "row_splits":
            found["collate"] = self.collate
        if self.max_wait is not None:
            found["max_wait"] = self.max_wait
        return found

    def length(self) -> int | None:
        known = None if self.max_wait is not None else self.inputs[0].length()
        if known is None or known == ENDLESS:
            return known
        return known // self.n if self.drop_remainder else -(-known // self.n)

    @property
    def indexed(self) -> bool:
        return self.max_wait is None and self.inputs[0].indexed

    @property
    def placed(self) -> bool:
        return False  # one after the other they are made faster

    def index(self, shared: Opening, epoch: int) -> Index | None:
        index = self.inputs[0].index(shared, epoch) if self.indexed else None
        if index is None:
            return None
        count = len(index) // self.n if self.drop_remainder else -(-len(index) // self.n)
        return Grouped(index, self.n, self.n, count, self._how(), shared.meter(self))

    def _how(self) -> Collate:
        function = self.collate if callable(self.collate) else None
        return Collate("batch", self.pad, self.collate == "row_splits", function, self.tensors)

    @property
    def prompt(self) -> bool:
        return self.max_wait is not None

    def open(self, shared: Opening, epoch: int) -> Stream:
        how = self._how()
        if self.max_wait is not None:
            return shared.gauged(self, TimedBatches(self._prompt(shared, epoch), self.n, how, self.max_wait, shared))
        stream = self.inputs[0].open(shared, epoch)
        if getattr(stream, "chooses", False):
            chosen = IndexedBatches(stream, self.n, how, self.drop_remainder, shared)  # type: ignore[arg-type]
            return shared.gauged(self, chosen)
        kind = BatchesAtHand if how.plain and has_rows(stream) else Batches
        return shared.gauged(self, kind(stream, self.n, how, self.drop_remainder, shared))

    def _prompt(self, shared: Opening, epoch: int) -> Stream:
        """Return the input such that waits for it end in time: in a thread, unless it is a queue."""
        source = self.inputs[0]
        if source.prompt:
            return source.open(shared, epoch)
        from pipeline.flow.prefetch import Prefetch  # with all of queues and threads: 15 ms

        stream = source.open(shared.of_thread(), epoch)
        return Prefetch([stream], 2 * self.n, shared, f"{shared.name}/max_wait", shared.begun(self))

    @property
    def timed(self) -> bool:
        return self.max_wait is not None or super().timed

    def call(self) -> str:
        return f".{self.label()}"

    def label(self) -> str:
        return f"batch({self.n:,})"


def _check_batches_stack(source: Node, n: int, whole: bool) -> None:
    """Refuse to stack batches of which the last one is known to be smaller than those before it."""
    while source.transparent:
        source = source.inputs[0]
    count = source.length()
    if not isinstance(source, Batch) or count is None or count < 2 or source.collate not in (None, "stack"):
        return
    if source.drop_remainder:
        return
    examples = source.inputs[0].length() or 0
    rest, last = examples % source.n, count - 1  # which is in a group of n from `last - last % n` on
    if rest and last % n and not (whole and count % n):
        raise invalid(
            f"batch: the {count:,} batches of batch({source.n:,}) do not stack, as the last one has {rest:,} of "
            f"{source.n:,} examples: pass drop_remainder=True to batch({source.n:,})"
        )


class Batches:
    """Batches of a stream.

    A batch that is not complete when `next` runs out of time is completed by the next call.
    """

    borrows = True

    def __init__(self, stream: Stream, n: int, how: Collate, whole: bool, shared: Opening) -> None:
        keep_pages()  # of batches that were dropped: with fresh ones a batch of 128 f32[784] took twice as long
        self._stream, self._n, self._how, self._whole, self._shared = stream, n, how, whole, shared
        self._lent = self.borrows and lend_rows(stream)
        self._count = 0
        self._partial: list[Block] = []
        self._have = 0
        self._at: Any = None  # where they begin; noted where a wait for more may end before these are enough

    def element(self) -> Element | None:
        blocks = self._complete()
        if not blocks:
            return None
        block = join(blocks)
        batch = self._how.batch(block.made(), blocks)
        self._count += 1
        return batch, *summed(block.ids)

    def take(self, n: int) -> Block | None:
        return block_of(self.element(), self._count)

    def _complete(self) -> list[Block]:
        """Return the examples of the next batch; nothing at the end."""
        if not self._partial and self._shared.hurried:
            self._at = self._stream.position()
        while self._have < self._n:
            block = self._stream.take(self._n - self._have)
            if block is None:
                break
            if self._lent:
                block = Block(copied(block.made()), block.ids, block.numbers)
            self._partial.append(block)
            self._have += len(block)
        blocks, have = self._partial, self._have
        self._partial, self._have = [], 0
        if have < self._n and self._whole:
            self._shared.dropped[0] += have
            return []
        return blocks

    def skip(self, n: int) -> int:
        dropped = self._stream.skip(n * self._n)
        batches = dropped // self._n if self._whole else -(-dropped // self._n)
        self._count += batches
        return batches

    def position(self) -> Any:
        return place(self._count, self._at if self._partial else self._stream.position())

    def seek(self, position: Any) -> None:
        count, inner = position
        self._count = whole(count)
        self._partial, self._have = [], 0
        seek_later(self._stream, inner)

    def close(self) -> None:
        self._stream.close()


class BatchesAtHand(Batches):
    """Batches of a stream that has rows of several in memory, such as those of a block of a file."""

    def __init__(self, stream: Stream, n: int, how: Collate, whole: bool, shared: Opening) -> None:
        super().__init__(stream, n, how, whole, shared)
        self._at_hand = AtHand(stream, n, how)

    def element(self) -> Element | None:
        found = self._at_hand.next()
        if found is not None:
            return *found, self._n
        self._count += self._at_hand.tell()
        made = super().element()
        if made is not None:
            self._at_hand.look()
        return made

    def ready(self) -> tuple[Gather, int, Callable[[Any, int], Any]] | None:
        """As that of `IndexedBatches`."""
        return self._at_hand.ready()

    def take(self, n: int) -> Block | None:
        return block_of(self.element(), self._count + self._at_hand.batches)

    def skip(self, n: int) -> int:
        self._count += self._at_hand.tell()
        return super().skip(n)

    def position(self) -> Any:
        return super().position() if self._partial else self._at_hand.place(self._count)

    def seek(self, position: Any) -> None:
        self._at_hand.forget()
        super().seek(position)


class TimedBatches(Batches):
    """Batches that go out in time, smaller if they have to be; none is empty."""

    borrows = False

    def __init__(self, stream: Stream, n: int, how: Collate, seconds: float, shared: Opening) -> None:
        super().__init__(stream, n, how, False, shared)
        self._seconds = seconds
        self._until = 0.0

    def _complete(self) -> list[Block]:
        shared, before = self._shared, self._shared.deadline
        if not self._partial and shared.hurried:
            self._at = self._stream.position()
        while self._have < self._n:
            if self._partial:
                shared.deadline = self._until if before is None else min(before, self._until)
            try:
                block = self._stream.take(self._n - self._have)
            except DeadlineExceededError as error:
                if error is not shared.overdue or not self._partial or time.monotonic() < self._until:
                    raise
                break
            finally:
                shared.deadline = before
            if block is None:
                break
            if not self._partial:
                self._until = time.monotonic() + self._seconds
            self._partial.append(block)
            self._have += len(block)
        blocks = self._partial
        self._partial, self._have = [], 0
        return blocks

    def skip(self, n: int) -> int:
        return dropped(self, n)
