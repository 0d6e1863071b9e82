"""Mistakes: recipes that run and are hardly meant. Each is told once, when it first runs.

A check gets a step and the steps behind it, and returns what to tell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any, TypeAlias
from weakref import WeakSet

from pipeline.diagnostics.frames import tell
from pipeline.errors import FailedPreconditionError
from pipeline.logs import logger
from pipeline.stages.node import Node, nodes_of

_log = logger("pipeline.batches")

_POOL = 10_000  # examples: the buffer that warnings propose

_SAME_ORDER = (
    "a second loop over this dataset gives the same order again. For another order in each epoch write "
    "`for i in range(3): for batch in dataset.epoch(i): ...`, .repeat(3), or use a DataLoader"
)


class Loops:
    """What is known of the loops over one dataset that shuffles.

    Attributes:
        ended: Whether one has given several elements and is over.
        told: Whether somebody was told that the next one has the same order.
    """

    def __init__(self) -> None:
        self.ended = self.told = False

    def begin(self, node: Node, name: str) -> None:
        """Warn if a loop begins in the order of one before."""
        if self.ended and not self.told:
            self.told = True
            if any(map(_shuffles, nodes_of(node))):
                tell(_log, f"{name}: {_SAME_ORDER}")


# Recipes that were looked at, in their first epoch and in later ones; those of which processes were told; and sources
# with one pass that were read to their end.
_seen: WeakSet[Node] = WeakSet()
_seen_later: WeakSet[Node] = WeakSet()
_whole: WeakSet[Node] = WeakSet()
_read: WeakSet[Node] = WeakSet()


def look(node: Node, epoch: int, name: str) -> None:
    """Warn of mistakes in a recipe that begins to run, unless it was looked at before.

    Args:
        node: The recipe.
        epoch: Which epoch begins.
        name: What messages call the iterator.
    """
    first, later = node not in _seen, epoch > 0 and node not in _seen_later
    if not (first or later):
        return
    _seen.add(node)
    if later:
        _seen_later.add(node)
    for each, behind in _with_steps_behind(node):
        repeated = any(step.kind == "repeat" for step in behind)
        checks = _CHECKS if first else ()
        if (first and repeated) or (later and not repeated):
            checks = (*checks, *_OF_EPOCHS)
        for check in checks:
            if (text := check(each, behind)) is not None:
                tell(_log, f"{name}: {text}")


def were_read(node: Node) -> bool:
    """Return whether an earlier loop has read a source with one pass to its end."""
    return any(each in _read for each in nodes_of(node))


def note_end(node: Node, gave: bool, late: bool) -> None:
    """Note that a pass over a recipe is over.

    Args:
        node: The recipe.
        gave: Whether there was an element.
        late: What `were_read` returned when the pass began.

    Raises:
        FailedPreconditionError: There was none, as an earlier loop has read a source with one pass to its end.
    """
    for each in nodes_of(node):
        reason = None if each.inputs else each.once()
        if reason is None:
            continue
        if gave:
            _read.add(each)
        elif late and each in _read:
            text = (
                f"{reason}, which can be read once, and an earlier loop has read it to its end: pass a list or a "
                "generator function"
            )
            raise FailedPreconditionError(None, None, text)


def warn_of_ranks(node: Node, name: str) -> None:
    """Warn if each process of a torch.distributed group reads the whole dataset."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return
    world = distributed.get_world_size()
    if world > 1 and node not in _whole and not any(each.is_share() for each in nodes_of(node)):
        _whole.add(node)
        text = f"each of the {world} processes reads the whole dataset: iterate over pipeline.torch.DataLoader(dataset)"
        tell(_log, f"{name}: {text}, or write .shard(rank, {world})")


def _with_steps_behind(node: Node, behind: Sequence[Node] = ()) -> Iterator[tuple[Node, Sequence[Node]]]:
    """Yield each node with the steps behind it, the nearest first."""
    for each in node.inputs:
        yield from _with_steps_behind(each, (node, *behind))
    yield node, behind


def _shuffles(node: Node) -> bool:
    """Return whether a step or a source has a random order."""
    if node.inputs:
        return node.kind in ("shuffle", "sample")
    return node.seed() is not None and node.idle_shuffle() is None


def _mixes(node: Node) -> bool:
    """Return whether a recipe has an order that is no longer that of its source."""
    return any(_shuffles(each) or each.kind in ("sort", "mix", "bucket") for each in nodes_of(node))


def _shuffles_one_file(node: Node, behind: Sequence[Node]) -> str | None:
    reason = node.idle_shuffle()
    if reason is None or any(each.kind == "shuffle" for each in behind):
        return None
    return f"{reason}: add .shuffle({_POOL:_}), which mixes the examples"


def _shuffles_batches(node: Node, behind: Sequence[Node]) -> str | None:
    if node.kind != "batch" or not node.batched or _mixes(node):
        return None
    step = next((each for each in behind if each.kind in ("shuffle", "unbatch")), None)
    if step is None or step.kind == "unbatch":
        return None
    return "shuffle behind batch keeps the same examples together in every epoch: write shuffle before batch"


def _shuffles_epochs(node: Node, behind: Sequence[Node]) -> str | None:
    if node.kind != "repeat" or _mixes(node) or not any(each.kind == "shuffle" for each in behind):
        return None
    return (
        "shuffle behind repeat mixes epochs, so that some examples come twice before others come once: write shuffle "
        "before repeat, which then has another order in each epoch"
    )


def _keeps_draws(node: Node, behind: Sequence[Node]) -> str | None:
    if node.kind != "cache":
        return None
    for each in nodes_of(node.inputs[0]):
        if each.kind in ("map", "filter", "flat_map") and any(map(_draws, each.functions())):
            return (
                f"cache keeps what {each.label()} has drawn in the first epoch, for all later ones: write cache before "
                f"{each.kind}"
            )
    if any(each.kind == "shuffle" for each in nodes_of(node.inputs[0])) and not any(map(_shuffles, behind)):
        return "cache keeps the order of the first epoch, for all later ones: write cache before shuffle"
    return None


def _skips_others(node: Node, behind: Sequence[Node]) -> str | None:
    if node.kind != "skip" or not any(map(_shuffles, nodes_of(node))):
        return None
    return (
        "skip behind shuffle leaves out other examples in each epoch, such as those that you validate with: write "
        ".split(0.9, seed=1), or skip before shuffle"
    )


def _draws(function: Any) -> bool:
    """Return whether a function names `example_rng`."""
    code = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and "example_rng" in code.co_names


_Check: TypeAlias = "Callable[[Node, Sequence[Node]], str | None]"

_CHECKS: tuple[_Check, ...] = (_shuffles_one_file, _shuffles_batches, _shuffles_epochs)
_OF_EPOCHS: tuple[_Check, ...] = (_keeps_draws, _skips_others)  # of recipes that run for several epochs
