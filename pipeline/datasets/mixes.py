"""Mixes: a mix's past inputs and weights, to resume with different ones.

Later steps may need elements again that were drawn before a state was saved, such as buffered ones. So earlier
weights stay in effect up to the saved run's furthest draw. Then the recipe's weights follow.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.errors import StateMismatchError
from pipeline.orders.seeds import Seed
from pipeline.stages.mix import LeftOut, Mix
from pipeline.stages.node import Node, PassThrough, nodes_of, opened, seeds_of
from pipeline.stages.run import Run
from pipeline.stages.schedule import MixNotes, schedule_of
from pipeline.stages.selection import arranged, with_inputs


def mixes_of(node: Node) -> list[Mix]:
    """Return a recipe's mixes, each after its inputs."""
    return [each for each in nodes_of(node) if isinstance(each, Mix)]


def saved_mixes(node: Node, noted: Mapping[Node, MixNotes]) -> list[Any]:
    """Return a state's data about a recipe's mixes.

    Per mix: [pass, drawn, earlier weights, inputs by slot, their seeds, last pass that has ended].

    Seeds are given for each input, as indices into `seeds_of(node)`.
    """
    mixes = mixes_of(node)
    if not mixes:
        return []
    numbers = {seed: i for i, seed in enumerate(seeds_of(node))}
    found = []
    for each in mixes:
        notes = noted.get(each.written) or each.new_notes()
        seeds = [[numbers[seed] for seed in seeds_of(inner)] for inner in each.inputs]
        found.append([*notes.furthest, list(notes.before), list(notes.inputs), seeds, notes.ended])
    return found


def check_mixes(saved: Any) -> None:
    """Raise ValueError or TypeError unless this is a result of `saved_mixes`."""
    for epoch, drawn, before, inputs, seeds, ended in saved:
        _check_counts(epoch, drawn, 0 if ended is None else ended)
        for until, more, weights in before:
            _check_counts(until, more)
            schedule = schedule_of(weights, len(inputs))
            if schedule.starts[0] or any(one >= other for one, other in itertools.pairwise(schedule.starts)):
                raise ValueError("mixes must have weights whose phases ascend from 0")
            if any(each.shape != (len(inputs),) or not (each >= 0).all() for each in schedule.weights):
                raise ValueError("mixes must have a weight for each input")
        if [each for each in inputs if each is not None and type(each) is not int]:
            raise ValueError("mixes must have inputs by slot")
        if sorted(each for each in inputs if each is not None) != list(range(len(seeds))):
            raise ValueError("mixes must have a slot for each input")
        if not all(type(number) is int and number >= 0 for each in seeds for number in each):
            raise ValueError("mixes must have numbers of seeds")


def _check_counts(*counts: Any) -> None:
    if not all(type(each) is int and each >= 0 for each in counts):
        raise ValueError("mixes must have passes and what was drawn in them")


def notes_of(saved: Sequence[Any]) -> MixNotes:
    """Return an iterator's notes on a mix, from its data in a state."""
    epoch, drawn, before, inputs, _, ended = saved
    return MixNotes(list(inputs), (epoch, drawn), before, ended)


class Matched:
    """A recipe and a saved one with other mix inputs.

    Args:
        node: The recipe.
        saved: The saved recipe, as `facts_of` returned it.
        mixes: The mixes in the state.
        same: Returns whether a recipe can continue from a saved one's state; None if mixes must have the same inputs.

    Attributes:
        node: The recipe with the common inputs only, in saved order.
        recipe: The saved recipe without removed inputs.

    Raises:
        StateMismatchError: The removed inputs are ambiguous, or a saved input has another name.
    """

    def __init__(self, node: Node, saved: Any, mixes: Sequence[Any], same: Callable[[Any, Node], bool] | None) -> None:
        self._same, self._left = same, iter(mixes)
        self._found: dict[Node, tuple[Any, Any, list[int | None]]] = {}  # facts, notes and inputs by mix
        self.node, self.recipe = self._matched(node, saved)

    def _matched(self, node: Node, saved: Any) -> tuple[Node, Any]:
        kind, options, inputs = saved
        if isinstance(node, PassThrough) or (node.kind == "shard" and kind != "shard"):
            source, recipe = self._matched(node.inputs[0], saved)
            return with_inputs(node, (source,)), recipe
        if kind == "shard" and node.kind != "shard":
            source, recipe = self._matched(node, inputs[0])
            return source, [kind, options, [recipe]]
        if isinstance(node, Mix) and kind == "mix" and (self._same is not None or len(inputs) == len(node.inputs)):
            return self._matched_mix(node, saved)
        if kind != node.kind or len(inputs) != len(node.inputs):  # reported elsewhere
            self._pass(saved)
            return node, saved
        pairs = [self._matched(*each) for each in zip(node.inputs, inputs, strict=True)]
        nodes, recipes = tuple(each for each, _ in pairs), [each for _, each in pairs]
        return with_inputs(node, nodes) if nodes else node, [kind, options, recipes]

    def _matched_mix(self, node: Mix, saved: Any) -> tuple[Node, Any]:
        kind, options, inputs = saved
        which = self._which(node, options, inputs)
        pairs = []
        for i, each in zip(which, inputs, strict=True):
            if i is None:
                self._pass(each)
            else:
                pairs.append(self._matched(node.inputs[i], each))
        kept = [i for i in which if i is not None]
        made = copy.copy(node)
        made.inputs, made._written = tuple(each for each, _ in pairs), node.written
        made.names = None if node.names is None else [node.names[i] for i in kept]
        if options.get("names") is not None:
            names = zip(options["names"], which, strict=True)
            options = {**options, "names": [name for name, i in names if i is not None]}
        self._found[node.written] = saved, next(self._left), which
        return made, [kind, options, [each for _, each in pairs]]

    def _pass(self, saved: Any) -> None:
        """Skip the mixes in a part of the saved recipe."""
        kind, _, inputs = saved
        for each in inputs:
            self._pass(each)
        if kind == "mix":
            next(self._left)

    def _which(self, node: Mix, options: Any, inputs: Sequence[Any]) -> list[int | None]:
        """Map saved inputs to current ones; None for removed ones."""
        names, was, now = options.get("names"), len(inputs), len(node.inputs)
        if self._same is None:
            return list(range(was))
        if names is not None and node.names is not None:
            which = [node.names.index(name) if name in node.names else None for name in names]
            self._check_renamed(node, names, inputs, which)
        elif now < was:
            which = self._alike(node, inputs)
        else:
            which = list(range(was))
        if was and which.count(None) == was:
            raise _refused(f"mix: none of the {was} inputs that it had when the state was saved is left")
        return which

    def _check_renamed(
        self, node: Mix, names: Sequence[str], inputs: Sequence[Any], which: Sequence[int | None]
    ) -> None:
        """Reject an input saved under another name, because it would start again."""
        assert node.names is not None
        assert self._same is not None
        gone = [i for i, each in enumerate(which) if each is None]
        for i, name in enumerate(node.names):
            if i in which:
                continue
            for k in gone:
                if self._same(inputs[k], node.inputs[i]):
                    text = f"mix: input {name!r} was called {names[k]!r} when the state was saved"
                    raise _refused(f"{text}, and would start again under the new name: call it {names[k]!r}")

    def _alike(self, node: Mix, inputs: Sequence[Any]) -> list[int | None]:
        """Match inputs without names by their recipes, which must differ."""
        assert self._same is not None
        pairs = [[i for i, each in enumerate(inputs) if self._same(each, inner)] for inner in node.inputs]
        found: list[int | None] = [None] * len(inputs)
        for here, saved in enumerate(pairs):
            if not saved:
                text = f"it had {len(inputs)} inputs and has {len(node.inputs)}, and input {here} is new"
                raise _refused(f"mix: {text}: to replace inputs, give the datasets names, by a dict")
            alike = [i for i, each in enumerate(pairs) if each == saved]
            if len(alike) != len(saved):
                text = f"inputs {', '.join(map(str, saved))} were identical, so it is unclear which one was left out"
                raise _refused(f"mix: {text}: keep all, and give weight 0 to those that you leave out")
            found[saved[alike.index(here)]] = here
        return found

    # Mixes in states

    def left_out(self) -> list[str]:
        """Return the names of removed inputs for errors."""
        found = []
        for _, (_, options, inputs), _, which in self._all():
            names = [f"{name!r}" for name in options.get("names") or range(len(inputs))]
            found += [name for name, i in zip(names, which, strict=True) if i is None]
        return found

    def _all(self) -> Iterator[tuple[Mix, Any, Any, list[int | None]]]:
        for node in mixes_of(self.node):
            yield (node, *self._found[node.written])

    def notes(self, node: Node, state: Mapping[str, Any]) -> dict[Node, MixNotes]:
        """Return an iterator's notes on its recipe's mixes.

        Args:
            node: The recipe, with all inputs.
            state: The iterator's state, at the place of `self.node`.
        """
        found: dict[Node, MixNotes] = {}
        for mix in mixes_of(node):
            if mix.written not in self._found:
                found[mix.written] = mix.new_notes()
                continue
            facts, saved, which = self._found[mix.written]
            place = delivered(self.node, mix, state["state"])
            found[mix.written] = _continued(mix, facts, saved, which, place, _holds_back(self.node, mix))
        return found

    def seeds(self, saved: Sequence[Any]) -> list[tuple[Seed, Any]] | None:
        """Return the seeds of `self.node`, each with the saved one; None if they do not fit."""
        found: dict[Seed, int] = {}
        used: set[int] = set()
        for node, _, (*_, numbers, _), which in self._all():
            if which == list(range(len(which))):
                continue
            new: set[int] = set()
            inputs = iter(node.inputs)
            for i, mine in zip(which, numbers, strict=True):
                left = [each for each in mine if each not in used]
                new.update(left)
                if i is None:
                    continue
                seeds = [each for each in seeds_of(next(inputs)) if each not in found or found[each] in new]
                if len(seeds) != len(left):
                    return None
                found.update(zip(seeds, left, strict=True))
            used |= new
        rest = [i for i in range(len(saved)) if i not in used]
        others = [seed for seed in seeds_of(self.node) if seed not in found]
        if len(rest) != len(others):
            return None
        return [(seed, saved[i]) for seed, i in [*found.items(), *zip(others, rest, strict=True)]]


def _refused(text: str) -> StateMismatchError:
    return StateMismatchError([("mix: inputs", None, None)], text)


def _continued(mix: Mix, facts: Any, saved: Any, which: Sequence[int | None], state: Any, holds_back: bool) -> MixNotes:
    """Return a resumed mix's notes.

    Args:
        mix: The mix here.
        facts: The saved mix: kind, options and inputs.
        saved: Its record in the state.
        which: The current input for each saved one.
        state: Its saved state; None if a later step may hold elements.
        holds_back: True if a later step delivers its elements differently if more follow.

    Raises:
        StateMismatchError: A step has delivered some of the last elements, and more would follow.
    """
    notes = notes_of(saved)
    weights = schedule_of(facts[1]["weights"], len(facts[2])).by_slot(notes.inputs)
    slots: list[int | None] = [None if each is None else which[each] for each in notes.inputs]
    added = [i for i in range(len(mix.inputs)) if i not in which]
    inputs = [*slots, *added]
    was, now = schedule_of(weights.plain(), len(inputs)), mix.schedule.by_slot(inputs)
    if was.plain() == now.plain():
        return MixNotes(inputs, notes.furthest, notes.before, notes.ended)
    epoch, drawn = notes.furthest
    follow = [i for i in range(len(inputs)) if now.draws(i, 0, np.inf) and not was.draws(i, 0, np.inf)]
    if state is None and holds_back and notes.ended == epoch and follow:
        raise _refused(
            "mix: its inputs had ended when the state was saved, and later steps still hold their last elements: keep "
            "inputs and weights until these are delivered, or repeat() the inputs"
        )
    if state is not None:  # no draw must be repeated
        drawn = sum(place[1 if mix.by is None else 2] for place in state[0])
    return MixNotes(inputs, (epoch, drawn), [*notes.before, [epoch, drawn, weights.plain()]])


def delivered(node: Node, mix: Mix, state: Any) -> Any:
    """Return a mix's state within a recipe's state; None if a later step may hold elements."""
    node = arranged(node)
    while node.written is not mix.written:
        if state is None or type(state) in (dict, int):  # an int is a position, for example in a full cache
            return None
        found = node.input_state(state)
        if found is None:
            return None
        node, state = found
    return state


def _holds_back(node: Node, mix: Mix) -> bool:
    """Return whether a step after a mix delays elements instead of passing on each at once."""
    node = arranged(node)
    while node.written is not mix.written:
        if node.holds_back:
            return True
        node = node.inputs[0]
    return False


def check_left_out(node: Node, state: Any, epoch: int, notes: Mapping[Node, MixNotes], names: Sequence[str]) -> None:
    """Check that later steps hold no elements from removed inputs.

    Args:
        node: The recipe.
        state: Its state.
        epoch: The pass.
        notes: Notes on its mixes.
        names: Names of the removed inputs, for errors.

    Raises:
        StateMismatchError: A step may hold some.
    """
    run = Run(node.kind)
    run.epoch, run.mixed = epoch, dict(notes)
    try:
        opened(arranged(node), run, copy.deepcopy(state)).close()
    except LeftOut:
        which = f"input {names[0]} was" if len(names) == 1 else f"inputs {', '.join(names)} were"
        text = (
            f"mix: {which} left out, but later steps may still hold its elements: keep it with weight 0 until these "
            "are delivered, and then leave it out"
        )
        raise _refused(text.replace(" it", " them") if len(names) > 1 else text) from None
    except Exception:  # raised again when the iterator starts
        return
    finally:
        run.clock.stop()
