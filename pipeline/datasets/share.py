"""Share: one process's shard of a dataset, if several processes have the same recipe."""

from __future__ import annotations

from typing import Any, NamedTuple

from pipeline.datasets.dataset import Dataset
from pipeline.errors import FailedPreconditionError
from pipeline.stages.node import Node, nodes_of
from pipeline.stages.padded import PaddedShard
from pipeline.stages.prefetch import Prefetched
from pipeline.stages.selection import Shard


class Share(NamedTuple):
    """A process's shard.

    Attributes:
        part, of: Its index, and the number of shards.
        alike: True if the processes have copies of one recipe, with equal seeds even if drawn.
        equal: Give each the same number of elements by dropping some at the end.
        pad: Give each the same number of elements by padding at the end.
    """

    part: int
    of: int
    alike: bool
    equal: bool
    pad: bool = False


def share_of(dataset: Dataset[Any], which: Share) -> Dataset[Any]:
    """Return one process's shard of a dataset.

    A dataset with a `shard`, also in a source, is unchanged.

    Raises:
        FailedPreconditionError: Each process would draw other numbers, or read everything; or an existing shard cannot
            be padded.
    """
    if not is_share(dataset):
        return further_share(dataset, which)
    if which.pad:
        text = f"pad_last=True: {dataset!r} is already one process's shard: leave out .shard(...)"
        raise FailedPreconditionError(None, None, text)
    return dataset


def further_share(dataset: Dataset[Any], which: Share) -> Dataset[Any]:
    """Return one process's shard of a dataset, even if it is a shard already.

    Raises:
        FailedPreconditionError: As `share_of`.
    """
    node = dataset._node
    reason = _why_not(node, which.alike)
    if reason is not None:
        raise cannot_share(dataset, which, reason)
    return Dataset(_shared(node, which), dataset._epoch)


def is_share(dataset: Dataset[Any]) -> bool:
    """Return whether a dataset is a shard already, by `shard` or in its sources."""
    return any(each.is_share() for each in nodes_of(dataset._node))


def cannot_share(given: Any, which: Share, reason: str) -> FailedPreconditionError:
    """Return the error for a dataset that several processes cannot share."""
    text = f"{given!r} cannot be split between {which.of} processes, so each would read all of it: {reason}"
    return FailedPreconditionError(None, None, text)


def why_one_pass(dataset: Dataset[Any]) -> str | None:
    """Return why a dataset has only one pass; None if it has more."""
    node = dataset._node
    if (reason := node.once()) is not None:
        return f"{reason}, which can be read once"
    if any(each.endless for each in nodes_of(node)):
        return "repeat() without a number has no end"
    return None


def draw_seeds(dataset: Dataset[Any]) -> None:
    """Draw missing seeds, so copies in other processes have the same."""
    for each in nodes_of(dataset._node):
        if (seed := each.seed()) is not None:
            _ = seed.pair


def _shared(node: Node, which: Share) -> Node:
    """Return one process's part, below a prefetch, so its thread takes nothing else."""
    if isinstance(node, Prefetched):
        return Prefetched(_shared(node.inputs[0], which), node.n)
    if which.pad:
        return PaddedShard(node, which.part, which.of, which.alike)
    return Shard(node, which.part, which.of, which.equal, which.alike)


def _why_not(node: Node, alike: bool) -> str | None:
    if (reason := node.once()) is not None:
        return f"{reason}, which only one process can read from its start"
    for each in nodes_of(node):
        seed = each.order_seed()
        if not each.ordered:
            return f"with ordered=False each would get the results of {each.label()} in a different order"
        if seed is not None and seed.drawn and not alike:
            return f"without a seed each would draw a different order. Pass seed= to {each.kind}"
    if node.timed:
        return "with max_wait= batches depend on time"
    return None
