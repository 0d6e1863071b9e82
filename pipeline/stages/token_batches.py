"""batch by tokens: as many examples as fit into a token limit after padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.dtypes import truth
from pipeline.stages.block import Block
from pipeline.stages.collate import Collate
from pipeline.stages.groups import batch_of, check_collate, options_of
from pipeline.stages.lengths import Lengths, rounded, too_long
from pipeline.stages.node import Node, OneInput, opened
from pipeline.stages.padding import PadTo
from pipeline.stages.run import Run
from pipeline.stages.stream import Ahead, Stage, Stream, whole

# Examples to look at together.
_AT_ONCE = 32


class TokenBatch(OneInput):
    """Batches of consecutive examples, each as large as a token limit allows.

    Args:
        source: The examples.
        max_tokens: The most tokens per batch after padding: examples times the longest. With `splits` nothing is
            padded, and the lengths are summed.
        most: The most examples per batch; None for no limit.
        measure: A function from an example to its length, or a length field's name.
        drop_remainder: True to drop the last batch if more examples would fit into it.
        pad, splits, function, pad_to: See `Collate`.
    """

    kind = "batch"
    batched = True

    def __init__(
        self,
        source: Node,
        max_tokens: int,
        most: int | None,
        measure: str | Callable[[Any], int],
        drop_remainder: bool,
        pad: Any,
        collate: str | Callable[[list[Any]], Any] | None,
        pad_to: PadTo,
    ) -> None:
        self.max_tokens, self.most, self.measure = max_tokens, most, Lengths("batch: length", measure)
        self.drop_remainder = truth(drop_remainder, "batch: drop_remainder")
        check_collate(collate, pad, pad_to)
        self.splits, self.function = collate == "row_splits", collate if callable(collate) else None
        self.pad = 0 if pad is None and collate in (None, "pad") else pad
        self.pad_to = pad_to
        super().__init__(source)

    def indexed_over(self, source: Node) -> bool:
        return False

    def length(self) -> int | None:
        return None

    def functions(self) -> tuple[Any, ...]:
        return self.measure.functions() + (() if self.function is None else (self.function,))

    def options(self) -> dict[str, Any]:
        found: dict[str, Any] = {"max_tokens": self.max_tokens, "length": self.measure.name}
        if self.most is not None:
            found["n"] = self.most
        if self.drop_remainder:
            found["drop_remainder"] = True
        return found | options_of(self.pad, self.function or ("row_splits" if self.splits else None), self.pad_to)

    def stream(self, run: Run, state: Any = None) -> Stream:
        before, skip = (None, 0) if state is None else state
        how = Collate("batch", self.pad, self.splits, self.function, pad_to=self.pad_to)
        return TokenBatching(Ahead(opened(self.source, run, before), whole(skip)), self, how, run)

    def label(self) -> str:
        return f"batch(max_tokens={self.max_tokens:,})"

    def call(self) -> str:
        return f".{self.label()}"


class TokenBatching(Stage):
    """Batches by tokens. The state is the input's state."""

    source: Ahead

    def __init__(self, source: Ahead, node: TokenBatch, how: Collate, run: Run) -> None:
        super().__init__(source)
        self._node, self._how, self._run = node, how, run
        self._block: Block | None = None  # peeked examples
        self._looked: list[Any] = []  # the same as a list
        self._lengths: list[int] = []  # for measured examples

    def take(self, n: int) -> Block | None:
        count = self._count()
        if not count:
            return None
        block = self.source.look(count)
        made = batch_of(block, self._how)  # type: ignore[arg-type]
        self._pass(count)
        return made

    def drop(self, n: int) -> int:
        """Skip batches: their examples are measured but not collated."""
        left = n
        while left and (count := self._count()):
            self._pass(count)
            left -= 1
        return n - left

    def _pass(self, count: int) -> None:
        self.source.drop(count)
        del self._lengths[:count], self._looked[:count]
        self._block = None if self._block is None else self._block.part(count, len(self._block))

    def _count(self) -> int:
        """Return the next batch's example count; 0 at the end."""
        node = self._node
        count = widest = total = 0
        while count != node.most:
            if count == len(self._lengths) and not self._measure(count):
                full = (total + 1 if node.splits else (count + 1) * widest) > node.max_tokens
                if full or not count or not node.drop_remainder:
                    return count
                self._run.note_dropped(node.written, count)
                return 0
            length = self._lengths[count]
            widest = max(widest, self._width(length))
            total += length
            if (total if node.splits else (count + 1) * widest) > node.max_tokens:
                if not count:
                    raise self._too_long(length)
                return count
            count += 1
        return count

    def _width(self, length: int) -> int:
        to = self._node.pad_to
        return rounded(length, to.multiple) if to.length is None else to.length

    def _measure(self, count: int) -> bool:
        """Measure the example at index `count`; return whether it exists."""
        if count == len(self._looked):
            block = self.source.look(max(_AT_ONCE, 2 * count))
            if block is None or len(block) == count:
                block = self.source.look_whole(count + 1)  # raises the error in its place
            if block is None or len(block) <= count:
                return False
            self._block, self._looked = block, list(block.values.examples())
        length = self._node.measure.whole(self._looked[count], lambda: self._node.named(self._block, count))  # type: ignore[arg-type]
        self._lengths.append(length)
        return True

    def _too_long(self, length: int) -> Exception:
        name = self._node.named(self._block, 0)  # type: ignore[arg-type]
        width = length if self._node.splits else self._width(length)
        return too_long("batch", name, length, width, self._node.max_tokens)
