"""What the threads of a loop over batches do: get examples from the sources, put them into the queue."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pipeline.batches.keep_input import Keep, chosen
from pipeline.batches.layout import Components, Layout, length
from pipeline.batches.short_way import mover
from pipeline.batches.source import Opened, check_source, left, open_source, recall
from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.on_error import SKIPPED, Skips
from pipeline.queues.base import QueueBase
from pipeline.queues.kinds import FIFOQueue
from pipeline.queues.typed import TypedQueue
from pipeline.threads.coordinator import Coordinator
from pipeline.threads.current_loop import work_for


class Plan(NamedTuple):
    """What a batch function was asked for.

    Attributes:
        sources: One source for `num_threads` threads, or several with one thread each.
        num_threads: Threads for a single source.
        joined: The sources are those of a join.
        batch_size: Examples in a batch.
        rows: The largest block that is taken from a source that has blocks.
        many: The sources give blocks.
        single: Examples are wanted one by one, even where a source could give blocks.
        smaller: The last batch may be smaller.
        make_queue: Makes the queue once the layout is known.
        keep: Which examples are kept.
        skips: What becomes of examples that fail.
        name: For the names of threads.
    """

    sources: Sequence[Any]
    num_threads: int
    joined: bool
    batch_size: int
    rows: int
    many: bool
    single: bool
    smaller: bool
    make_queue: Callable[[Layout], QueueBase]
    keep: Keep
    skips: Skips
    name: str

    def checked(self) -> Plan:
        """The plan with its numbers as ints; TypeError or ValueError for arguments that make no sense."""
        for source in self.sources:
            check_source(source)
        size = operator.index(self.batch_size)
        if size < 0:
            raise ValueError(f"batch_size must be >= 0, got {self.batch_size}")
        threads = operator.index(self.num_threads)
        if threads < 1:
            raise ValueError(
                f"Must provide queue and enqueue_ops. num_threads must be at least 1, got {self.num_threads}"
            )
        return self._replace(batch_size=size, num_threads=threads)


class Feed:
    """What the threads share. They hold this, not the loop, so that an abandoned loop can be garbage.

    Attributes:
        queue: What the loop takes its batches from.
        ops: The enqueue ops. Each belongs to one thread.
        close_op: What is to be done at the end of the input; None closes the queue.
    """

    queue: QueueBase
    ops: Sequence[Callable[[], None]]
    close_op: Callable[[], None] | None = None

    def __init__(self, plan: Plan, coord: Coordinator) -> None:
        self.plan = plan
        self.coord = coord
        self.layout: Layout | None = None
        self._left = False

    def open(self) -> None:
        """Get the first example, make the queue for it, and the ops.

        Raises:
            OutOfRangeError: There is no example.
            Exception: What a source raised.
        """
        plan = self.plan
        if plan.keep.none:
            self._park()
            return
        alone = plan.joined or plan.num_threads == 1
        opened = [
            open_source(source, plan.many, plan.single, alone, plan.rows, self._stopped)
            for source in (plan.sources if plan.joined else plan.sources[:1])
        ]
        chosen_source, first = self._first(opened)
        self.queue = self._make_queue()
        if not plan.joined:
            opened *= plan.num_threads
        self.ops = [self._op(each, i, [first] if i == chosen_source else None) for i, each in enumerate(opened)]

    def take(self) -> Any:
        """The next batch; OutOfRangeError at the end."""
        take = self.queue.dequeue_up_to if self.plan.smaller else self.queue.dequeue_many
        if self.layout is None:  # nothing ever comes, not even a batch of nothing
            return take(max(1, self.plan.batch_size))
        return self.layout.rebuild(take(self.plan.batch_size))

    def stop(self) -> None:
        """Let waits for the next example end soon."""
        self._left = True
        recall(self.plan.sources)

    def leave(self) -> None:
        """Close the queue, so that threads waiting to enqueue end as at the end of the input."""
        self._left = True
        self.queue.close(cancel_pending_enqueues=True)
        recall(self.plan.sources)

    def _make_queue(self) -> QueueBase:
        assert self.layout is not None
        return self.plan.make_queue(self.layout)

    def _stopped(self) -> bool:
        return self._left or self.coord.should_stop()

    def _park(self) -> None:
        """Nothing is kept: one thread that waits, at no cost, for the end of the loop."""
        self.queue = FIFOQueue(0, ["bool"], [()], name=self.plan.name)
        queue = self.queue

        def parked() -> None:
            try:
                queue.enqueue(True)  # there is no room, ever
            except CancelledError:
                raise left() from None

        parked.__qualname__ = "parked"
        self.ops = [parked]

    def _first(self, opened: list[Opened]) -> tuple[int, Any]:
        """The number of the first source that has an example, and that example, which decides the layout."""
        for i, each in enumerate(opened):
            take = each.take if each.iterator else self.plan.skips.guard(each.take)
            try:
                while not self._left:
                    first = take()
                    # A block without rows need not even have the right dtypes.
                    if first is not SKIPPED and not (each.many and length(first) == 0):
                        self.layout = Layout(first, each.many)
                        return i, first
                    if self._stopped():
                        break
            except (OutOfRangeError, StopIteration):
                continue
        raise OutOfRangeError(None, None, "the source of the batches gave no example")

    def _op(self, opened: Opened, index: int, first: list[Any] | None) -> Callable[[], None]:
        """The enqueue op of one thread: examples, or blocks of examples, from the source to the queue; one or many."""
        skips, coord, begun = self.plan.skips, self.coord, False
        take = opened.take if opened.iterator else skips.guard(opened.take)
        finish = skips.guard(self._finisher(opened.many, index))
        move = self._mover(opened, index)

        def one() -> None:
            try:
                example = first.pop() if first else take()
            except StopIteration:
                raise OutOfRangeError(None, None, "the source of the batches is used up") from None
            if example is SKIPPED:
                return
            held = [example]
            del example  # so that whoever takes it out of `held` has it alone
            finish(held)

        def enqueue() -> None:
            nonlocal begun
            if self._left:
                raise left()
            if not begun:
                begun = True
                work_for(coord)
            try:
                if first or move is None:
                    one()
                else:
                    move()
            except CancelledError:
                if not self._left:
                    raise
                raise left() from None
            except StopIteration as error:  # would look like the end of the loop
                raise RuntimeError("a function that was asked about an example raised StopIteration") from error

        enqueue.__qualname__ = opened.name
        return enqueue

    def _mover(self, opened: Opened, index: int) -> Callable[[], None] | None:
        """What moves the examples of a source if each is small and only has to be put into the queue, else None."""
        plan, layout, queue = self.plan, self.layout, self.queue
        if opened.many or plan.single or plan.skips.active or not plan.keep.all:
            return None
        if not isinstance(queue, TypedQueue) or queue.holds_large:
            return None
        assert layout is not None
        return mover(opened, queue, layout, self._components(False, index), self.coord.should_stop)

    def _finisher(self, many: bool, index: int) -> Callable[[list[Any]], None]:
        """What becomes of an example, or block of examples, that was taken: the only item of a list."""
        keep, components, put = self.plan.keep, self._components(many, index), self._put(many)
        if keep.all:
            return lambda held: put(components(held.pop()))

        def filtered(held: list[Any]) -> None:
            (example,) = held
            verdict = keep.verdict(example)
            if verdict is True:
                put(components(example))
            elif verdict is not False:
                parts = chosen(components(example), verdict)
                if verdict.any():
                    put(parts)

        return filtered

    def _components(self, many: bool, index: int) -> Components:
        """How an example of a source is taken apart."""
        assert self.layout is not None
        return self.layout.joined(index, many) if self.plan.joined else self.layout.components

    def _put(self, many: bool) -> Callable[[Sequence[Any]], None]:
        """How its components are put where the batches are made."""
        assert self.layout is not None
        if isinstance(self.queue, TypedQueue) and self.queue.holds_large:
            return _giving(self.queue._enqueue_many_given if many else self.queue._enqueue_given)
        if many:
            return self.queue.enqueue_many
        enqueue = self.queue.enqueue
        if len(self.layout.dtypes) > 1:
            return enqueue

        def single(parts: Sequence[Any]) -> None:
            (part,) = parts
            # A bare value needs no tuple around it; a container would be taken for one of components.
            enqueue((part,) if isinstance(part, (list, tuple, dict)) else part)

        return single


def _giving(give: Callable[[tuple[Any, ...]], None]) -> Callable[[Sequence[Any]], None]:
    """An enqueue that gives large arrays away: it copies them only where the source has kept them."""

    def put(parts: Sequence[Any]) -> None:
        values = (*parts,)  # a new tuple: arrays that the source knows from its own have a second reference
        del parts
        give(values)

    return put
