"""Mistakes: recipes that run but are probably wrong. Each is reported once, when it first runs.

A check gets a step and the steps behind it, and returns a warning.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, TypeAlias
from weakref import WeakSet

from pipeline.diagnostics.frames import tell
from pipeline.errors import FailedPreconditionError
from pipeline.logs import logger
from pipeline.on_error import Skips, in_short
from pipeline.stages.node import Node, nodes_of
from pipeline.stages.run import Measured
from pipeline.workers.held_generators import held_generators

_log = logger("pipeline.batches")

_POOL = 10_000  # examples: the buffer size proposed in warnings
_FIRSTS = 2  # iterators with one element: one may look at a shape
_FIRST_AGAIN = "each iter(dataset) begins again, so you got the same first element twice: keep one iterator"
_FEW = 10_000_000  # examples: a full shuffle keeps their order in 40 MB

_SAME_ORDER = (
    "a second loop over this dataset gives the same order again. For a new order in each epoch write "
    "`for i in range(3): for batch in dataset.epoch(i): ...`, .repeat(3), or use a DataLoader"
)


class Loops:
    """Facts about the loops over one shuffling dataset.

    Attributes:
        ended: True if a loop has ended after several elements.
        told: True if the user was warned about the next loop's equal order.
        firsts: Number of loops that ended after the first element.
    """

    def __init__(self) -> None:
        self.ended = self.told = False
        self.firsts = 0

    def end(self, gave: int, resumed: bool) -> None:
        """Note a loop's end.

        Args:
            gave: Number of elements it returned.
            resumed: True if it began at a loaded state.
        """
        if gave > 1:
            self.ended = True
        elif gave and not resumed:
            self.firsts += 1

    def begin(self, node: Node, name: str) -> None:
        """Warn if a loop begins in the same order as an earlier one."""
        if self.firsts == _FIRSTS:
            self.firsts += 1
            if any(map(_shuffles, nodes_of(node))):
                tell(_log, f"{name}: {_FIRST_AGAIN}")
        if self.ended and not self.told:
            self.told = True
            if any(map(_shuffles, nodes_of(node))):
                tell(_log, f"{name}: {_SAME_ORDER}")


# Recipes checked in their first epoch and in later ones; recipes with a warning about processes; single-pass sources
# read to their end; and recipes with a warning about an empty epoch.
_seen: WeakSet[Node] = WeakSet()
_seen_later: WeakSet[Node] = WeakSet()
_whole: WeakSet[Node] = WeakSet()
_read: WeakSet[Node] = WeakSet()
_empty: WeakSet[Node] = WeakSet()


def look(node: Node, epoch: int, name: str) -> None:
    """Warn about mistakes in a recipe that begins to run, unless it was checked before.

    Args:
        node: The recipe.
        epoch: The epoch's index.
        name: The iterator's name in messages.
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
    """Return whether an earlier loop has read a single-pass source to its end."""
    return any(each in _read for each in nodes_of(node))


def note_end(node: Node, gave: bool, late: bool) -> None:
    """Note the end of a pass over a recipe.

    Args:
        node: The recipe.
        gave: True if there was an element.
        late: The result of `were_read` when the pass began.

    Raises:
        FailedPreconditionError: There was no element, because an earlier loop has read a single-pass source to its end.
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


def warn_of_copies(node: Node, name: str) -> None:
    """Warn if each process of torch.distributed, or each worker of torch's DataLoader, reads the whole dataset."""
    if "torch" not in sys.modules or node in _whole or any(each.is_share() for each in nodes_of(node)):
        return
    text = _each_rank() or _each_worker()
    if text is not None:
        _whole.add(node)
        tell(_log, f"{name}: {text}")


def _each_rank() -> str | None:
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    world = distributed.get_world_size()
    if world == 1:
        return None
    return (
        f"each of the {world} processes reads the whole dataset: iterate over pipeline.torch.DataLoader(dataset), or "
        f"write .shard(rank, {world})"
    )


def _each_worker() -> str | None:
    data: Any = sys.modules.get("torch.utils.data")
    worker = None if data is None else data.get_worker_info()
    # An item of a map-style dataset may be a dataset's.
    if worker is None or worker.num_workers == 1 or not isinstance(worker.dataset, data.IterableDataset):
        return None
    return (
        f"each of the {worker.num_workers} workers of torch's DataLoader reads the whole dataset: pass "
        "pipeline.torch.IterableDataset(dataset), or write .shard(worker, workers)"
    )


def warn_of_nothing(node: Node, measured: Mapping[Node, Measured], skipped: Skips, name: str) -> None:
    """Warn, once per recipe, if an epoch has no element because all were skipped or filtered.

    Args:
        node: The recipe.
        measured: Measurements for its steps.
        skipped: The skipped errors.
        name: The iterator's name in messages.
    """
    text = _all_skipped(skipped) or _all_filtered(measured)
    if text is not None and node not in _empty:
        _empty.add(node)
        tell(_log, f"{name}: no element is left: {text}")


def _all_skipped(skipped: Skips) -> str | None:
    if not skipped.errors:
        return None
    return f"on_error='skip' skipped {_examples(skipped.count)}, the first because of {in_short(skipped.errors[0])}"


def _all_filtered(measured: Mapping[Node, Measured]) -> str | None:
    for node, of_node in measured.items():
        if node.kind != "filter" or of_node.meter.elements:
            continue
        counts = [measured[each].meter.elements for each in nodes_of(node) if each in measured]
        if taken := next(filter(None, reversed(counts)), 0):  # not all steps count their outputs
            return f"{node.call()} dropped {_examples(taken)}: does its function return True or False?"
    return None


def _examples(count: int) -> str:
    return f"{count:,} example{'s' if count > 1 else ''}"


def _with_steps_behind(node: Node, behind: Sequence[Node] = ()) -> Iterator[tuple[Node, Sequence[Node]]]:
    """Yield each node with the steps behind it, the nearest first."""
    for each in node.inputs:
        yield from _with_steps_behind(each, (node, *behind))
    yield node, behind


def _shuffles(node: Node) -> bool:
    """Return whether a step or a source has a random order."""
    if node.inputs:
        return node.shuffles
    return node.seed() is not None and node.idle_shuffle() is None


def _mixes(node: Node) -> bool:
    """Return whether a recipe's order differs from its source's."""
    return any(_shuffles(each) or each.reorders for each in nodes_of(node))


def _shuffles_one_file(node: Node, behind: Sequence[Node]) -> str | None:
    reason = node.idle_shuffle()
    if reason is None or any(each.kind == "shuffle" for each in behind):
        return None
    return f"{reason}: add .shuffle({_POOL:_}, seed=1), which mixes the examples"


def _shuffles_few(node: Node, behind: Sequence[Node]) -> str | None:
    size = node.options().get("buffer_size") if node.kind == "shuffle" else None
    if size is None:
        return None
    if size == 1:
        return "shuffle(1) keeps the order: write .shuffle(10_000, seed=1), or .shuffle(seed=1) if the data is indexed"
    (source,) = node.inputs
    if not source.indexed or source.works_ahead or source.batched or _mixes(source):
        return None
    length = source.length()
    if length is None or not 10 * size < length <= _FEW or any(each.kind == "repeat" for each in nodes_of(source)):
        return None
    return (
        f"shuffle({size:,}) mixes only {size:,} of {length:,} examples: this dataset is indexed, so .shuffle(seed=1) "
        "orders all of them"
    )


def _shuffles_batches(node: Node, behind: Sequence[Node]) -> str | None:
    if node.kind != "batch" or not node.batched or _mixes(node):
        return None
    step = next((each for each in behind if each.kind in ("shuffle", "unbatch")), None)
    if step is None or step.kind == "unbatch":
        return None
    return "shuffle after batch keeps the same examples together in every epoch: write shuffle before batch"


def _shuffles_epochs(node: Node, behind: Sequence[Node]) -> str | None:
    if node.kind != "repeat" or _mixes(node) or not any(each.kind == "shuffle" for each in behind):
        return None
    return (
        "shuffle after repeat mixes epochs, so some examples appear twice before others appear once: write shuffle "
        "before repeat, which gives each epoch a new order"
    )


def _keeps_draws(node: Node, behind: Sequence[Node]) -> str | None:
    if node.kind != "cache":
        return None
    for each in nodes_of(node.inputs[0]):
        if each.stage == "function" and any(map(_draws, each.functions())):
            return (
                f"cache keeps the random draws of {each.label()} in the first epoch for all later ones: write cache "
                f"before {each.kind}"
            )
    if any(each.kind == "shuffle" for each in nodes_of(node.inputs[0])) and not any(map(_shuffles, behind)):
        return "cache keeps the order of the first epoch for all later ones: write cache before shuffle"
    return None


def _skips_at_random(node: Node, behind: Sequence[Node]) -> str | None:
    if node.kind != "skip" or node.inputs[0].kind != "shuffle":
        return None
    seed = node.inputs[0].seed()
    if seed is None or not seed.drawn:
        return None
    return (
        "shuffle without a seed has a different order in each dataset, so skip here and take there share examples: "
        "give shuffle a seed, or use data.split(0.8, seed=1)"
    )


def _chooses_others(node: Node, behind: Sequence[Node]) -> str | None:
    if _skips_at_random(node, behind) is not None:
        return None
    if node.kind == "skip":
        found = any(map(_shuffles, nodes_of(node)))
    else:  # behind batch, it ends an epoch early
        found = node.kind == "take" and _shuffles(node.inputs[0])
    if not found:
        return None
    return (
        "take and skip after shuffle choose different examples in each epoch, so training sees your validation "
        "examples: write `train, val = data.split(0.8, seed=1)`, then shuffle train"
    )


def _zips_orders(node: Node, behind: Sequence[Node]) -> str | None:
    if node.kind != "zip":
        return None
    orders = [(each, order) for each in node.inputs if (order := _order(each))]
    if all(order == orders[0][1] for _, order in orders) or _are_unpaired(*zip(*orders, strict=True)):
        return None
    return (
        "zip of datasets in different random orders pairs their elements at random: write "
        "pipeline.zip(...).shuffle(seed=1), or give each shuffle the same seed"
    )


def _order(node: Node) -> list[tuple[Any, ...]]:
    """Return each shuffled part's length, with everything that decides its order."""
    found: list[tuple[Any, ...]] = []
    for each in nodes_of(node):
        seed = each.seed()
        if seed is not None and each.kind != "sample" and _shuffles(each):
            pair = seed if seed.drawn else seed.pair
            found.append((each.length(), pair, bool(each.inputs), each.options().get("buffer_size")))
    return found


def _are_unpaired(inputs: Sequence[Node], orders: Sequence[list[tuple[Any, ...]]]) -> bool:
    """Return whether random pairs seem intended: a source with itself, or unequal lengths."""
    first, *others = [{each for each in nodes_of(node) if not each.inputs} for node in inputs]
    lengths = {tuple(length for length, *_ in order) for order in orders}
    return not all(map(first.isdisjoint, others)) or (len(lengths) > 1 and not any(None in each for each in lengths))


def _draws(function: Any) -> bool:
    """Return whether a function names `example_rng`, or holds a generator."""
    code = getattr(function, "__code__", None)
    return (isinstance(code, CodeType) and "example_rng" in code.co_names) or bool(held_generators(function))


_Check: TypeAlias = "Callable[[Node, Sequence[Node]], str | None]"

_CHECKS: tuple[_Check, ...] = (
    _shuffles_one_file,
    _shuffles_few,
    _shuffles_batches,
    _shuffles_epochs,
    _skips_at_random,
    _zips_orders,
)
_OF_EPOCHS: tuple[_Check, ...] = (_keeps_draws, _chooses_others)  # for recipes that run for several epochs
