"""The short way of a deterministic loop: examples and blocks that nobody has to look at between source and queue.

The time that Python takes for each example counts here, as in `short_way.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from pipeline._blocks import Blocks
from pipeline._trail import Trail
from pipeline._turns import Calls
from pipeline.batches.arrivals import Arrivals
from pipeline.batches.calls import Call, Caller, block_ids, element_id
from pipeline.batches.crossing import Crossing
from pipeline.batches.items import OnceItems, SequenceItems, StatefulItems
from pipeline.batches.layout import ExampleLayout, ToComponents
from pipeline.batches.turns import Turns
from pipeline.explain.workers import current_worker
from pipeline.nest import length
from pipeline.pulls import Turn, this_thread

Items = OnceItems | SequenceItems | StatefulItems


def quick_way(
    caller: Caller,
    layout: ExampleLayout,
    turns: Turns,
    arrivals: Arrivals,
    crossing: Crossing,
    missing: Callable[[], int],
    trail: Trail,
) -> Callable[[], Call | None] | None:
    """What moves the examples of a source until its end, or until stopped, and stores those that are due.

    Args:
        caller, turns, arrivals, crossing: Of the loop.
        layout: Of the examples, which nobody has to look at.
        missing: How many examples are wanted; -1 for all.
        trail: Where numbers follow beside the queue.

    Returns:
        A function that returns the call that found the end, or failed; None once stopped. None if there is no such way.
    """
    lane = caller.lane
    if lane.items is None and not lane.many:
        return calls_mover(caller, layout, turns, arrivals, crossing, missing)
    if lane.items is None:
        return blocks_mover(caller, layout, turns, arrivals, crossing) if crossing.window is None else None
    to_components = None if layout.bare else layout.to_components
    if lane.many:
        blocks = Blocks(trail, to_components, length, crossing.stopped)
        move = item_blocks_mover(lane.items, blocks, turns, arrivals)
    else:
        move = items_mover(lane.items, to_components, turns, crossing)

    def moved() -> Call | None:
        return Call(Turn(turns, turns.baton.ticket), [], StopIteration()) if move() else None

    return moved


def items_mover(
    items: Items, to_components: ToComponents | None, turns: Turns, crossing: Crossing
) -> Callable[[], bool]:
    """Make what moves the items of an iterable, whose number is their ticket, until its end.

    The function returns whether the items are at their end, and not stopped. It raises what they and the queue raise.
    Without `to_components` an item is the only component. The items are those of the only source, so the baton is never
    passed on.
    """
    put, stopped, baton = crossing.put, crossing.stopped, turns.baton

    def move_some(turn: Turn) -> bool:
        turns.begin(turn)  # notes an entry when it is time
        first = turn.ticket
        count = max(1, baton.note_at - first)
        number = first - 1
        following: Iterator[Any] = itertools.islice(items.following(), count)
        taken: Iterator[Any] = zip(following, itertools.count(first))
        if to_components is not None:
            taken = ((*to_components(example), place) for example, place in taken)
        try:
            for each in taken:
                put(each)
                number = each[-1]
                turn.ticket = number + 1
                if stopped():
                    return False
        finally:
            items.took(number + 1 - first)
            baton.ticket = number + 1
        return number + 1 - first < count

    return _all_moved(move_some, turns, stopped)


def item_blocks_mover(items: Items, blocks: Blocks, turns: Turns, arrivals: Arrivals) -> Callable[[], bool]:
    """As `items_mover`, for items that are blocks of examples."""
    baton = turns.baton

    def move_some(turn: Turn) -> bool:
        worker = current_worker()
        assert worker is not None
        turns.begin(turn)
        first = turn.ticket
        arrivals.block_begins(first)
        try:
            return blocks.move(items.following(), turn, worker, first, max(1, baton.note_at - first))
        finally:
            arrivals.count += blocks.rows
            items.took(blocks.moved)
            baton.ticket = first + blocks.moved

    return _all_moved(move_some, turns, blocks.stopped)


def _all_moved(move_some: Callable[[Turn], bool], turns: Turns, stopped: Callable[[], bool]) -> Callable[[], bool]:
    """Moves items until their end, or until stopped; returns whether they are at their end."""

    def move() -> bool:
        turn = turns.turn_of(0, True)
        this_thread.turn = turn  # an item may be made by a function that asks for `example_rng`, or reads
        try:
            while not stopped():
                if move_some(turn):
                    return True
        finally:
            turn.held = False
            turns.finish(turn)
        return False

    return move


def calls_mover(
    caller: Caller,
    layout: ExampleLayout,
    turns: Turns,
    arrivals: Arrivals,
    crossing: Crossing,
    missing: Callable[[], int],
) -> Callable[[], Call | None]:
    """Make what calls a function again and again, and stores the examples that are due.

    The function returns the call that found the end, or failed; None once stopped. `missing`: how many examples are
    wanted; -1 for all.
    """
    function, window = caller.lane.single, crossing.window
    assert function is not None
    calls = Calls(
        turns=turns,
        baton=turns.baton,
        window=window,
        wait=crossing.wait_for_room,
        function=function,
        to_components=None if layout.bare else layout.to_components,
        number_of=element_id,
        put=crossing.put,
        store=arrivals.store,
        stopped=crossing.stopped,
    )

    def move() -> Call | None:
        turn = turns.turn_of(caller.index, window is None)
        turns.ready(turn)
        this_thread.turn = turn
        try:
            error = calls.move(turn, current_worker(), missing())
            return None if error is None else caller.failed(turn, error)
        finally:
            turns.finish(turn)

    return move


def blocks_mover(
    caller: Caller, layout: ExampleLayout, turns: Turns, arrivals: Arrivals, crossing: Crossing
) -> Callable[[], Call | None]:
    """As `calls_mover`, for the only thread of a source that gives blocks."""
    lane, stopped, baton, to_components = caller.lane, crossing.stopped, turns.baton, layout.to_components

    def move() -> Call | None:
        worker, turn = current_worker(), turns.turn_of(caller.index, True)
        assert worker is not None
        this_thread.turn = turn
        try:
            while not stopped():
                if not baton.begin_alone(turn):
                    turns.begin(turn)
                worker.keys = None
                try:
                    (block,) = lane.take()
                    rows = length(block)
                    if lane.rows:
                        turns.took(rows)
                    turns.returned(turn)
                    held = [(*to_components(block), block_ids(turn, rows))]
                    del block
                except Exception as error:
                    return caller.failed(turn, error)
                arrivals.store_block(turn.ticket, held, rows)
        finally:
            turns.finish(turn)
        return None

    return move
