"""batch and window: combine neighbours into one element."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline._block import spread
from pipeline.dtypes import truth
from pipeline.errors import invalid
from pipeline.memory import keep_pages
from pipeline.stages.batch_rows import BatchRows
from pipeline.stages.block import Block, Columns, Examples, Numbers, is_plain, joined, sizes_of
from pipeline.stages.calls import check_function
from pipeline.stages.collate import Collate
from pipeline.stages.index import ENDLESS, Index
from pipeline.stages.node import Moves, Node, OneInput, PassThrough, indexed, opened
from pipeline.stages.padding import TO_LONGEST, PadTo
from pipeline.stages.run import Run
from pipeline.stages.selection import Until, arranged
from pipeline.stages.stream import Ahead, Stage, Stream, exactly, whole

_WAYS = ("stack", "pad", "row_splits")

# Byte limit for windows computed at once.
_BYTES = 1 << 20


class Group(OneInput):
    """Neighbours combined into one element.

    Attributes:
        size: Examples per group.
        stride: Distance between the first examples in consecutive groups.
        drop_remainder: True if incomplete groups at the end are dropped.
    """

    size: int
    stride: int
    drop_remainder: bool

    def how(self) -> Collate:
        """Return the collation for the groups."""
        raise NotImplementedError

    def measured_how(self, run: Run) -> Collate:
        """Return the collation for the groups of an iterator."""
        how = self.how()
        how.measured = run.measured.get(self.written)
        return how

    @property
    def step(self) -> int:
        return self.stride * self.source.step

    def end(self) -> int:
        return self.source.end() - (self.size - 1 if self.drop_remainder else 0) * self.source.step

    def length(self) -> int | None:
        length = self.source.length()
        if length is None or length == ENDLESS:
            return length
        return max(0, -(-(length - self.size + 1 if self.drop_remainder else length) // self.stride))

    def index(self, run: Run) -> Index:
        source = indexed(self.source, run)
        if self.drop_remainder and self.size == self.stride and len(source) < ENDLESS:
            run.note_dropped(self.written, len(source) % self.size)
        return Grouped(source, self.size, self.stride, self.drop_remainder, self.measured_how(run))


class Batch(Group):
    """Batches.

    Args:
        source: The examples.
        n: Number per batch.
        drop_remainder: Drop examples at the end if they fill no batch.
        pad: Value used to pad shorter rows, for all components or by name; None to stack.
        collate: "stack", "pad", "row_splits", or a function called with a list of examples.
        max_wait: Seconds from a batch's first example until the batch is sent, however small; None for no limit.
        tensors: True for TensorFlow's conventions; see `Collate`.
        pad_to: Target length of padded rows.

    Raises:
        TypeError, ValueError: An argument is wrong.
    """

    kind = "batch"
    batched = True

    def __init__(
        self,
        source: Node,
        n: int,
        drop_remainder: bool,
        pad: Any,
        collate: str | Callable[[list[Any]], Any] | None,
        max_wait: float | None,
        tensors: bool = False,
        pad_to: PadTo = TO_LONGEST,
    ) -> None:
        self.size = self.stride = n
        self.drop_remainder = truth(drop_remainder, "batch: drop_remainder")
        check_collate(collate, pad, pad_to)
        max_wait = max_wait.item() if isinstance(max_wait, np.generic) else max_wait
        if max_wait is not None and not (
            isinstance(max_wait, (int, float)) and not isinstance(max_wait, bool) and max_wait > 0
        ):
            raise ValueError(f"batch: max_wait must be a number of seconds above 0, got {max_wait!r:.80}")
        self.pad_to = pad_to
        if collate in (None, "stack") and pad is None and pad_to == TO_LONGEST:
            _check_batches_stack(source, n, self.drop_remainder)
        self.pad = 0 if pad is None and (collate == "pad" or pad_to != TO_LONGEST) else pad
        self.collate, self.max_wait, self.tensors = collate, max_wait, tensors
        super().__init__(source)

    def indexed_over(self, source: Node) -> bool:
        return self.max_wait is None and source.indexed

    def options(self) -> dict[str, Any]:
        found: dict[str, Any] = {"n": self.size}
        if self.tensors:  # worded for the batch functions
            found["allow_smaller_final_batch"] = not self.drop_remainder
            return found if self.pad is None else found | {"dynamic_pad": True}
        if self.drop_remainder:
            found["drop_remainder"] = True
        found |= options_of(self.pad, self.collate, self.pad_to)
        if self.max_wait is not None:
            found["max_wait"] = self.max_wait
        return found

    def functions(self) -> tuple[Any, ...]:
        return (self.collate,) if callable(self.collate) else ()

    def how(self) -> Collate:
        function = self.collate if callable(self.collate) else None
        return Collate("batch", self.pad, self.collate == "row_splits", function, self.tensors, self.pad_to)

    def length(self) -> int | None:
        return None if self.max_wait is not None else super().length()

    @property
    def carries_on(self) -> bool:
        return self.max_wait is None

    @property
    def waits(self) -> bool:
        return self.max_wait is not None

    @property
    def works_ahead(self) -> bool:
        return self.max_wait is not None or self.source.works_ahead

    @property
    def timed(self) -> bool:
        return self.max_wait is not None or super().timed

    def stream(self, run: Run, state: Any = None) -> Stream:
        if self.max_wait is not None:
            from pipeline.stages.prefetch import promptly  # imported lazily: only timed batches need it

            inputs = promptly(self.source, run, state, 2 * self.size)
            return TimedBatching(inputs, self.size, self.measured_how(run), self.max_wait, run)
        node = self.source
        if self.drop_remainder and self.indexed and node.length() is not None:  # compute no dropped examples
            begin, gap = 0 if state is None else whole(state), node.step
            left = max(0, -(-(node.end() - begin) // gap))
            run.note_dropped(self.written, left % self.size)
            node = arranged(Until(node, begin + (left - left % self.size) * gap))
        return Batching(opened(node, run, state), self.measured_how(run), self, run)

    def state_at(self, place: int) -> Any:
        return place

    def input_state(self, state: Any) -> tuple[Node, Any] | None:
        return (self.source, state) if self.max_wait is None else None

    def moved(self, state: Any, more: int, moves: Moves) -> Any:
        if not moves.differs_below(self) or (more and self.max_wait is not None):
            return super().moved(state, more, moves)
        return moves.moved(self.source, state, more * whole(moves.saved(self)["n"]))

    def summed_after(self, batches: int) -> int:
        return batches + 1 if self.how().plain and not self.tensors else super().summed_after(batches)

    def call(self) -> str:
        return f".{self.label()}"

    def label(self) -> str:
        return f"batch({self.size:,})"


def check_collate(collate: Any, pad: Any, to: PadTo) -> None:
    """Reject an unknown collation, and padding combined with another collation.

    Raises:
        TypeError, ValueError: For one of these.
    """
    if callable(collate):
        check_function("batch: collate", collate, "a batch")
    elif collate is not None and collate not in _WAYS:
        raise ValueError(f"batch: collate must be 'stack', 'pad', 'row_splits' or a function, got {collate!r:.80}")
    if pad is not None and collate not in (None, "pad"):
        raise ValueError(f"batch: pad= and collate={collate!r:.40} contradict each other: give one of them")
    given = options_of(None, None, to)
    if given and collate not in (None, "pad"):
        raise ValueError(f"batch: {next(iter(given))}= and collate={collate!r:.40} contradict each other")


def options_of(pad: Any, collate: Any, to: PadTo) -> dict[str, Any]:
    """Return the collation arguments for `options`."""
    found: dict[str, Any] = {}
    if pad is not None:
        found["pad"] = str(pad)
    elif callable(collate):
        found["collate"] = getattr(collate, "__qualname__", type(collate).__qualname__)
    elif collate == "row_splits":
        found["collate"] = collate
    if to.left:
        found["pad_side"] = "left"
    if to.length is not None:
        found["pad_to"] = to.length
    if to.multiple > 1:
        found["pad_to_multiple_of"] = to.multiple
    return found


def _check_batches_stack(source: Node, n: int, whole: bool) -> None:
    """Refuse to stack batches if the last one is known to be smaller than the others."""
    while isinstance(source, PassThrough):
        source = source.source
    count = source.length()
    if not isinstance(source, Batch) or count is None or count < 2 or source.collate not in (None, "stack"):
        return
    if source.drop_remainder:
        return
    examples = source.source.length() or 0
    rest, last = examples % source.size, count - 1  # its group of n starts at `last - last % n`
    if rest and last % n and not (whole and count % n):
        raise invalid(
            f"batch: the {count:,} batches of batch({source.size:,}) do not stack, as the last one has {rest:,} of "
            f"{source.size:,} examples: pass drop_remainder=True to batch({source.size:,})"
        )


class Window(Group):
    """Windows, which may overlap.

    Args:
        source: The examples.
        size: Number per window.
        stride: Distance between the first examples in consecutive windows.
        drop_remainder: True if incomplete windows at the end are dropped.
    """

    kind = "window"
    by_number = True

    def __init__(self, source: Node, size: int, stride: int, drop_remainder: bool) -> None:
        self.size, self.stride, self.drop_remainder = size, stride, drop_remainder
        super().__init__(source)

    def options(self) -> dict[str, Any]:
        return {"size": self.size, "stride": self.stride, "drop_remainder": self.drop_remainder}

    def how(self) -> Collate:
        return Collate("window")

    def stream(self, run: Run, state: Any = None) -> Stream:
        gap, (before, skip) = (0, (None, 0)) if state is None else state
        source = Ahead(opened(self.source, run, before), whole(skip))
        return Windowing(source, self.size, self.stride, self.drop_remainder, self.how(), whole(gap))

    def state_at(self, place: int) -> Any:
        return [0, [place, 0]]


class Grouped(Index):
    """Groups over an index. A group's place is its first example's place.

    Args:
        source: The examples.
        size, stride, whole: See `Group`.
        how: Collates a group's examples.
    """

    def __init__(self, source: Index, size: int, stride: int, whole: bool, how: Collate) -> None:
        keep_pages()  # for reuse by the next batch: with fresh pages a batch of 128 f32[784] took twice as long
        self._source, self._size, self._gap, self._whole, self._how = source, size, source.step, whole, how
        self.step, self._end, self._length = stride * source.step, source.stop, len(source)
        self.ahead = source.ahead and how.plain
        self._stacks = source.of_numbers and how.plain
        self.of_numbers = self._stacks and whole
        if how.plain:
            source.into(how.empty)

    def __len__(self) -> int:
        return max(0, -(-self.stop // self.step))

    @property
    def stop(self) -> int:
        return self._end - (self._size - 1 if self._whole else 0) * self._gap

    def block(self, places: Numbers) -> Block:
        size, last = self._size, int(places[0] if len(places) == 1 else places.max())
        full = last + (size - 1) * self._gap < self._end
        if self._stacks and full and (size > 1 or len(places) > 1):  # one-example groups have no columns
            return self._of_numbers(places)
        size = min(size, self._length)
        inner = spread(places, size, self._gap)
        rows = self._source.block(inner if full else inner[inner < self._end])
        made, sizes, starts, error = [], [], [], rows.error
        begin = 0
        for place in places.tolist():
            end = begin + min(size, -(-(self._end - place) // self._gap))
            if end > len(rows):
                break  # the error is in this group
            part = rows if end - begin == len(rows) else rows.part(begin, end)
            try:
                made.append(self._how.batch(part))
            except Exception as failed:
                error = failed
                break
            sizes.append(part.size_in_all())
            starts.append(begin)
            begin = end
        return Block(Examples(made), rows.numbers[starts], error, sizes=np.array(sizes, np.int64))

    def _of_numbers(self, places: Numbers) -> Block:
        """Return full groups of number rows: their columns only need another shape."""
        size, count = self._size, len(places)
        found = self._source.runs(places, size)
        if found is not None:
            return self._bare(found)
        rows = self._bare(self._source.block(spread(places, size, self._gap)))
        values: Any = rows.values  # always Columns
        if count == 1:  # 5% faster for a batch of 128 x f32[784]
            return Block(Examples([values.packed(values.arrays)]), rows.numbers[:1], sizes=rows.size_in_all())
        sizes = rows.sizes * size if isinstance(rows.sizes, int) else rows.sizes.reshape(count, size).sum(axis=1)
        return Block(stacked(values, count, size), rows.numbers[::size], sizes=sizes)

    def _bare(self, block: Block) -> Block:
        """Return rows with single components unwrapped if examples follow TensorFlow's conventions."""
        values: Any = block.values
        if self._how.tensors and values.structure == 1:
            block.values = Columns(values.arrays, values.size)
        return block


def stacked(rows: Columns, count: int, size: int) -> Columns:
    """Reshape row columns into `count` groups with `size` rows each."""
    arrays = [each.reshape(count, size, *each.shape[1:]) for each in rows.arrays]
    return Columns(arrays, count, rows.structure)


class Batching(Stage):
    """Groups consecutive examples in a stream. The state is the input's state."""

    def __init__(self, source: Stream, how: Collate, node: Batch, run: Run) -> None:
        keep_pages()
        super().__init__(source)
        self._how, self._node, self._run = how, node, run
        self._rows = BatchRows(node.size, how.empty)
        if how.plain:
            source.into(self._rows)

    def take(self, n: int) -> Block | None:
        size = self._node.size
        block = self.source.take(size)
        if block is None:
            return None
        block = self._rows.joined([block, *exactly(self.source, size - len(block))])
        if self._node.drop_remainder and len(block) < size:
            self._run.note_dropped(self._node.written, len(block))
            return None
        return batch_of(block, self._how)


def batch_of(block: Block, how: Collate) -> Block:
    """Collate a block's examples into a block with one element."""
    return Block(Examples([how.batch(block)]), block.numbers[:1], sizes=block.size_in_all())


class TimedBatching(Stage):
    """Batches with a deadline: when it expires, the batch is sent with the examples found so far. None is empty.

    Args:
        source: The examples; it waits for them with a timeout.
        size, how: See `Batching`.
        seconds: Time from a batch's first example until the batch is sent.
        run: The iterator's run.
    """

    def __init__(self, source: Stream, size: int, how: Collate, seconds: float, run: Run) -> None:
        super().__init__(source)
        self._size, self._how, self._seconds, self._clock = size, how, seconds, run.clock
        self._found: list[Block] = []  # for the unfinished batch, so a timeout keeps them
        self._before: Any = None  # state before these blocks
        self._after: Any = None  # state after them, if no interrupt arrived in between
        self._until = 0.0

    def take(self, n: int) -> Block | None:
        while not self.wait(1.0):
            self._clock.check()
        blocks, self._found = self._found, []
        return batch_of(joined(blocks), self._how) if blocks else None

    def wait(self, timeout: float) -> bool:
        """Wait for the next batch or the end; return whether it arrived."""
        deadline = time.monotonic() + timeout
        while (have := sum(map(len, self._found))) < self._size:
            now = time.monotonic()
            until = min(deadline, self._until) if self._found else deadline
            if not self.source.wait(max(0.0, until - now)):
                if self._found and time.monotonic() >= self._until:
                    return True
                if time.monotonic() >= deadline:
                    return False
                continue
            before = self.source.state()
            block = self.source.take(self._size - have)
            if block is None:
                return True
            if not self._found:
                self._before, self._until = before, time.monotonic() + self._seconds
            self._found.append(block)
            self._after = self.source.state()
        return True

    def state(self) -> Any:
        state = self.source.state()
        return self._before if self._found and state == self._after else state

    def begin(self) -> None:
        self.source.begin()


class Windowing(Stage):
    """Groups with overlaps or gaps. The state is [number of examples to skip, input state]."""

    source: Ahead

    def __init__(self, source: Ahead, size: int, stride: int, whole: bool, how: Collate, gap: int) -> None:
        super().__init__(source)
        self._size, self._stride, self._whole, self._how, self._gap = size, stride, whole, how, gap
        self._most = 2  # windows to compute at once; grows once their size is known

    def take(self, n: int) -> Block | None:
        if self._gap:
            self.source.drop(self._gap)
            self._gap = 0
        count = min(n, self._most) if self._stride <= self._size else 1
        block = self.source.look(self._size + (count - 1) * self._stride)
        if block is None:
            return None
        if count > 1 and (found := self._several(block)) is not None:
            return found
        if len(block) < self._size:
            block = self.source.look_whole(self._size)  # raises the error among them
            if block is None or (self._whole and len(block) < self._size):
                return None
        group = block if len(block) == self._size else block.part(0, min(self._size, len(block)))
        made = self._how.batch(Block(Examples(list(group.values.examples())), group.numbers, names=group.names))
        seen = min(self._stride, len(block))
        self.source.drop(seen)
        self._gap = self._stride - seen
        return Block(Examples([made]), group.numbers[:1], sizes=group.size_in_all())

    def _several(self, block: Block) -> Block | None:
        """Return all full windows in a block with number rows, copied by NumPy."""
        count = (len(block) - self._size) // self._stride + 1
        if count < 2 or not isinstance(block.values, Columns):
            return None
        columns = block.values.arrays
        if not all(map(is_plain, columns)):
            return None
        self._most = max(2, min(1024, _BYTES * count // max(1, self._size * sum(each.nbytes for each in columns))))
        places = (np.arange(count)[:, None] * self._stride + np.arange(self._size)).ravel()
        rows = block.values.picked(places)
        self.source.drop(count * self._stride)
        starts = np.arange(count) * self._stride
        sizes = np.add.reduceat(sizes_of(block)[places], np.arange(count) * self._size)
        return Block(stacked(rows, count, self._size), block.numbers[starts], sizes=sizes)

    def state(self) -> Any:
        return [self._gap, self.source.state()]
