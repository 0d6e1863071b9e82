"""Merged: examples from several sources, one thread each, in order of arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.diagnostics.live import PrefetchMeter
from pipeline.stages.block import Block, Columns, Examples, join_values
from pipeline.stages.node import Node, opened, total
from pipeline.stages.prefetch import Threads, kept_once, prefetch_meter
from pipeline.stages.run import Clock, Run
from pipeline.stages.stream import Several, Stream

# Seconds between checks for `close`.
_LOOK = 1.0

# Examples per take from a source that does not wait.
_MOST = 64


class Merged(Node):
    """Examples from several sources, one thread each, in order of arrival.

    Args:
        inputs: The sources. A function appears once per thread that calls it.
        n: How many blocks each source may read ahead.
    """

    kind = "merge"
    ordered = False
    works_ahead = waits = True

    def __init__(self, inputs: Sequence[Node], n: int) -> None:
        self.inputs, self.n = tuple(inputs), n
        self.note_place()

    def options(self) -> dict[str, Any]:
        return {"n": self.n}

    def length(self) -> int | None:
        return total(self.inputs)

    def no_state(self) -> str | None:
        return super().no_state() or (
            "several threads take the examples, so their order depends on timing: pass deterministic=True"
        )

    def stream(self, run: Run, state: Any = None) -> Stream:
        sources = [opened(each, run.inner(i)) for i, each in enumerate(self.inputs)]
        return Merging(sources, self.n, 1 if self.live else _MOST, run.clock, prefetch_meter(self, run))


class Merging(Several):
    """Examples read by threads, one stream each.

    Args:
        sources: The streams.
        n: How many blocks to read ahead per stream.
        most: Maximum examples per take.
        clock: The iterator's clock.
        meter: The iterator's meter, for reports.
    """

    def __init__(self, sources: list[Stream], n: int, most: int, clock: Clock, meter: PrefetchMeter) -> None:
        super().__init__(sources)
        self._threads = Threads(sources, n, most, clock, meter)
        self._left, self._count = len(sources), 0  # streams that have not ended, and examples handed out so far
        self._found: deque[Any] = deque()  # received from the threads, not handed out yet
        self._at = 0  # examples handed out from its first block

    def begin(self) -> None:
        self._threads.begin()

    def take(self, n: int) -> Block | None:
        while not self.wait(_LOOK):
            self._threads.check()
        if not self._left:
            return None
        found = self._found
        if len(found) < n:
            self._threads.more(n - len(found), found)
        parts: list[Columns | Examples] = []
        have = 0
        while have < n and found:
            block, _, room = found[0]
            if not isinstance(block, Block):  # an end, or an error
                break
            part = block.values[self._at : self._at + n - have] if self._at or len(block) > n - have else block.values
            parts.append(part)
            have, self._at = have + len(part), self._at + len(part)
            if self._at == len(block):
                room.put(1)
                self._at = 0
                found.popleft()
        if not have:
            raise kept_once(found[0][0], found)
        first, self._count = self._count, self._count + have
        return Block(_together(parts, have), np.arange(first, self._count))

    def wait(self, timeout: float) -> bool:
        """Wait for the next example, an error, or the end of all streams; return False after a timeout."""
        self.begin()
        while self._left and (self._found or self._threads.get(timeout, self._found)):
            if self._found[0][0] is not None:
                return True
            self._found.popleft()
            self._left -= 1
        return not self._left

    def state(self) -> Any:
        return self._count

    def close(self) -> None:
        self._threads.close()


def _together(parts: list[Columns | Examples], count: int) -> Columns | Examples:
    """Join examples into one block: a list if each arrived alone."""
    return Examples([part.first() for part in parts]) if len(parts) == count > 1 else join_values(parts)
