"""Moving: states for other host counts and batch sizes.

An index's place counts the examples on all hosts, so it is valid for any host count. Stream states also count outputs
since a place: `Moving` converts these, such as one host's batches, to examples on all hosts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.diagnostics.wording import count as counted
from pipeline.errors import StateMismatchError
from pipeline.stages.node import Node, PassThrough, nodes_of
from pipeline.stages.selection import Shard, arranged, with_inputs
from pipeline.stages.stream import whole


class Pairs:
    """A recipe's steps, each with its saved version.

    Attributes:
        recipe: The recipe. It has a shard for one host where only the saved one has a shard.
        arranged: The same in running order.
        options: The saved options, by the step as it was written.
        missing: Shards only in the saved recipe.
        added: Shards only in the current recipe.
    """

    def __init__(self, node: Node, saved: Any) -> None:
        self.options: dict[Node, Mapping[str, Any]] = {}
        self.missing: set[Node] = set()
        self.added: set[Node] = set()
        self.recipe = self._paired(node, saved)
        self.arranged = arranged(self.recipe)

    def _paired(self, node: Node, saved: Any) -> Node:
        if isinstance(node, PassThrough):
            return with_inputs(node, (self._paired(node.source, saved),))
        kind, options, inputs = saved
        if kind == "shard" and not isinstance(node, Shard):
            shard = Shard(self._paired(node, inputs[0]), 0, 1, options["drop_remainder"], written=False)
            self.options[shard] = options
            self.missing.add(shard)
            return shard
        if isinstance(node, Shard) and kind != "shard":
            self.added.add(node.written)
            self.options[node.written] = {"i": 0, "n": 1}
            return with_inputs(node, (self._paired(node.source, saved),))
        self.options[node.written] = options
        pairs = zip(node.inputs, inputs, strict=True)
        return with_inputs(node, tuple(self._paired(each, before) for each, before in pairs)) if inputs else node

    def hosts(self, node: Node) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return (index, count) for the saving host and for this one, at a sharding step."""
        then, now = self.options[node.written], node.options()
        if isinstance(node, Shard):
            return (then["i"], then["n"]), (now["i"], now["n"])
        return tuple(then.get("shard", (0, 1))), tuple(now.get("shard", (0, 1)))

    def differs(self, node: Node) -> bool:
        """Return whether a step shards among other hosts, or makes batches with another size."""
        if node.kind == "batch":
            return bool(_sizes(self.options[node.written]) != _sizes(node.options()))
        if not node.is_share():
            return False
        then, now = self.hosts(node)
        return then != now or node.written in self.missing or node.written in self.added


def check_hosts(pairs: Pairs, ended: bool) -> None:
    """Check that a state from another host, or for another host count, determines this host's position.

    Args:
        pairs: The recipe, and its saved version.
        ended: True if the saving host had reached its end.

    Raises:
        StateMismatchError: Each host needs its own state.
    """
    for node, behind in _with_steps_behind(pairs.arranged):
        if not node.is_share():
            continue
        then, now = pairs.hosts(node)
        if not pairs.differs(node):
            continue
        odd = next((each for each in behind if not each.carries_on), None)
        if then[1] != now[1] and odd is not None:
            raise _refused(then, now, f"{_told(odd)} after shard works on the examples of one host", odd)
        equal = node.shares_equally()
        by_number = equal and all(each.carries_on or each.by_number for each in behind)
        if odd is not None and not by_number:
            raise _refused(then, now, f"{_told(odd)} after shard has a different position on each host", odd)
        if not isinstance(node, Shard) and not equal:
            text = f"shard= of {node.call()} does not give all hosts the same number of examples"
            raise _refused(then, now, text, None)
        if ended and then[0] and not equal:
            text = "it had ended, but other hosts may have had one more element"
            raise _refused(then, now, text, None)


def check_batches(pairs: Pairs) -> None:
    """Check that no later step has counted batches with another size.

    Raises:
        StateMismatchError: A step has.
    """
    for node, behind in _with_steps_behind(pairs.recipe):
        if node.kind != "batch" or not pairs.differs(node):
            continue
        odd = next((each for each in behind if each.counts_batches), None)
        if odd is not None:
            was, now = _sizes(pairs.options[node.written]), _sizes(node.options())
            text = (
                f"batch_size was {was} when the state was saved and is {now} now: allow={{'batch_size'}} is not "
                f"possible, because the {odd.kind} after it had counted batches of {was}"
            )
            raise StateMismatchError([("batch_size", was, now)], text)


def _sizes(options: Mapping[str, Any]) -> Any:
    """Return the batch size: n, or n and the number of tokens."""
    n, tokens = options.get("n"), options.get("max_tokens")
    return n if tokens is None else [n, tokens]


def _with_steps_behind(node: Node, behind: Sequence[Node] = ()) -> Iterator[tuple[Node, Sequence[Node]]]:
    """Yield each node with the steps behind it, the nearest first."""
    for each in node.inputs:
        yield from _with_steps_behind(each, (node, *behind))
    yield node, behind


def _told(node: Node) -> str:
    return f"{node.call()} with on_error='skip'" if node.skips else node.call()


def _refused(then: Sequence[int], now: Sequence[int], why: str, odd: Node | None) -> StateMismatchError:
    """Return the error for a single host's state, with the fix."""
    (i, was), (j, count) = then, now
    if was != count:
        before = f"there {'was' if was == 1 else 'were'} {counted(was, 'host')} when the state was saved"
        first = f"shard: {before} and there {'is' if count == 1 else 'are'} {count} now"
        each = ", each from its own state" if was > 1 else ", from its state"
        own = "load the state of host 0" if odd is None else f"continue with {counted(was, 'host')}{each}"
    else:
        first = f"shard: the state is that of host {i} of {was}, but this is host {j}"
        own = f"load the state that host {j} saved"
    if odd is None:
        advice = own
    elif odd.skips and odd.choices_below:
        advice = f"write .shard(i, {count}, drop_remainder=True) after it, or {own}"
    else:
        advice = f"write shard after it, or {own}"
    return StateMismatchError([("shard", list(then), list(now))], f"{first}: {why}. To resume, {advice}")


class Moving:
    """Converts a recipe's state to other hosts and batch sizes.

    Args:
        pairs: The recipe, and its saved version.
    """

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs

    def state(self, state: Any) -> Any:
        """Return the state for the recipe here."""
        return self.moved(self._pairs.arranged, state)

    def moved(self, node: Node, state: Any, more: int = 0) -> Any:
        """Return the state for a step here.

        Args:
            node: The step.
            state: Its saved state.
            more: Elements behind the state when it was saved.

        Raises:
            InvalidArgumentError: It is not a state of the recipe.
        """
        if not more and (node.indexed or not self.differs_below(node)):
            return state
        if type(state) is dict:  # see `further`
            return self.moved(node, state["state"], more + whole(state["more"]))
        if isinstance(node, Shard) and self.differs_below(node):
            return self._of_shard(node, state, more)
        return node.moved(state, more, self)

    def _of_shard(self, node: Shard, state: Any, more: int) -> Any:
        before, left = (state, 0) if node.written in self._pairs.added else state
        left = whole(left) + more * whole(self._pairs.hosts(node)[0][1])
        if node.written in self._pairs.missing:
            return self.moved(node.source, before, left)
        if self.differs_below(node.source):
            return [self.moved(node.source, before, left), 0]
        return [before, left]

    def differs_below(self, node: Node) -> bool:
        """Return whether the hosts or batch sizes differ in a recipe."""
        return any(map(self._pairs.differs, nodes_of(node)))

    def saved(self, node: Node) -> Mapping[str, Any]:
        """Return the options with which a step was saved."""
        return self._pairs.options[node.written]

    def hosts_below(self, node: Node) -> tuple[int, int]:
        """Return the saved and current host counts for a step's input."""
        was = now = 1
        while len(node.inputs) == 1:
            (node,) = node.inputs
            if isinstance(node, Shard):
                (_, then), (_, here) = self._pairs.hosts(node)
                was, now = was * then, now * here
        return was, now
