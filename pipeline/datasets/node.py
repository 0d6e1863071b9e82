"""Node: one part of a recipe. A recipe is a tree of nodes; `open` makes the streams that run it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pipeline._next import Gauge, Meter
from pipeline.datasets.seed import Seed
from pipeline.diagnostics.frames import Place, caller, shown
from pipeline.diagnostics.live import number
from pipeline.errors import CancelledError, DeadlineExceededError, StateMismatchError
from pipeline.files.identity import Opened, merged, of_one
from pipeline.flow.recorder import Things
from pipeline.flow.run import Run
from pipeline.flow.stream import Stream, elements_of
from pipeline.flow.table import Index
from pipeline.on_error import add_note, set_on

if TYPE_CHECKING:
    from pipeline.runners.coordinator import Coordinator

ENDLESS = -1  # as a length

Names: TypeAlias = "Callable[[int, int], list[str]]"


class Opening(Run):
    """What the streams of one iterator share, and which seeds it uses.

    Attributes:
        epoch: Which pass it is.
        seeds: Those of a loaded state, by the place of the stage in the recipe; else a stage has its own.
        parts: What is measured of the parts of the recipe.
        coords: `coord`, in a list, which is empty if there is none.
        hosts: Whether other hosts have to make the same elements as the streams that are being opened, by seeds of
            their own: those of which each keeps a share.
    """

    def __init__(
        self,
        name: str,
        seeds: dict[Seed, tuple[int, int]],
        parts: Mapping[Node, NodeStats] | None = None,
        stops_with: Coordinator | None = None,
    ) -> None:
        super().__init__(name, stops_with)
        self._seeds = seeds
        self._parts = parts or {}
        self._files: dict[int, tuple[Any, Opened, Names]] = {}
        self._tables: dict[int, Any] = {}
        self.things = Things()
        self.coords: list[Coordinator] = []
        self.hosts = False

    @property
    def coord(self) -> Coordinator | None:
        """The Coordinator of the threads that sources need; None if none does."""
        return self.coords[0] if self.coords else None

    def start_runners(self) -> None:
        """Start what fills the queues that a source may read from: queue runners that were registered, never started.

        For sources that are functions, iterables or queues of the user's.
        """
        if not self.coords:
            from pipeline.runners.coordinator import Coordinator  # 3 ms with runners, for programs with threads
            from pipeline.runners.registry import start_registered  # likewise

            coord = self.stops_with
            if coord is None:
                coord = Coordinator()
                self.on_stop(coord.request_stop)
            self.coords.append(coord)
            start_registered(coord)

    def again(self) -> Opening:
        """Return one for streams that go on where those of this were interrupted."""
        other = Opening(self.name, self._seeds, self._parts, self.stops_with)
        other._files, other.dropped, other.skipped = self._files, self.dropped, self.skipped
        other._tables = self._tables
        other.things.saved, other.things.starts = self.things.facts(), self.things.starts
        return other

    def opened(self, parts: Any, names: Names) -> Opened:
        """Return what keeps account of the files that are read of a source, in all passes.

        Args:
            parts: The source.
            names: Gives the names of so many files from a number on, in the order of the first pass.
        """
        return self._files.setdefault(id(parts), (parts, Opened(), names))[1]

    def opened_table(self, table: Any) -> None:
        """Note a table, whose method `files`, if it has one, tells its files from changed ones."""
        if hasattr(table, "files"):
            self._tables.setdefault(id(table), functools.cache(table.files))

    def files(self) -> dict[str, list[Any]]:
        """Return what tells the files that were read from changed ones."""
        of_things: list[dict[str, list[Any]]] = [getattr(thing, "_files", dict)() for thing in self.things.known]
        of_parts = [opened.listed() for _, opened, _ in list(self._files.values())]
        return merged([*of_things, *of_parts, *(files() for files in list(self._tables.values()))])

    def remember(self, files: Mapping[str, Sequence[Any]]) -> None:
        """Count the files of a saved run as read; StateMismatchError if one of them has another size now."""
        self.things.files = files
        for index, (parts, opened, names) in enumerate(self._files.values(), len(self.things.saved)):
            differs = opened.remember(of_one(files, index), names)
            if differs is not None:
                raise StateMismatchError([(f"files of {parts.kind}", None, None)], differs)

    def part(self, node: Node) -> NodeStats | None:
        """Return what is measured of a part of the recipe; None if nothing is."""
        return self._parts.get(node.stands_for or node)

    def meter(self, node: Node) -> Meter | None:
        """Return what counts the time that a part takes; None if nobody wants to know."""
        part = self.part(node)
        return None if part is None else part.meter

    def begun(self, node: Node) -> Callable[[Any, Any], object] | None:
        """Return what is to be called with the queue and the threads of a part when they begin."""
        part = self.part(node)
        return None if part is None else part.begun

    def gauged(self, node: Node, stream: Stream) -> Stream:
        """Return the stream of a part, measured, unless it only chooses numbers."""
        part = self.part(node)
        if part is None:
            return stream
        part.chooses = getattr(stream, "chooses", False)
        return stream if part.chooses else Gauge(stream, elements_of(stream), part.meter)

    def pair(self, seed: Seed) -> tuple[int, int]:
        """Return the seeds of a stage."""
        return self._seeds.get(seed) or seed.pair


class NodeStats:
    """What is measured of one part of a running recipe.

    Args:
        node: The part.

    Attributes:
        number: What reports know it by.
        meter: Counts elements and time.
        chooses: Whether it only chooses numbers, which takes no time.
        executor: Its workers, once they are there.
        queue, group: Of a prefetch that has begun: its queue, and its thread.
    """

    def __init__(self, node: Node) -> None:
        self.number = number()
        self.meter = Meter(functools.partial(note_written, node))
        self.chooses = False
        self.executor: Any = None
        self.queue: Any = None
        self.group: Any = None

    def begun(self, queue: Any, group: Any) -> None:
        """Note a queue, and the threads that fill it."""
        self.queue, self.group = queue, group


class Node:
    """One part of a recipe: immutable, and picklable if its functions are.

    Attributes:
        kind: What the method or function is called that makes it.
        inputs: What it is made from.
        made_at: Where in the user's program it was written.
        exclusive: Whether it is a source that can be read once, by one reader at a time, if `once` is not None.
        keeps_place: Whether it reads from something that goes on where it was left, also in a new stream.
        stage: What kind of row it is in a report; "" for none.
        stands_for: The part that was written, where a recipe runs in another order; else None.
    """

    kind = ""
    stage = "step"
    stands_for: Node | None = None
    keeps_place = False
    inputs: tuple[Node, ...] = ()
    made_at: Place | None = None
    exclusive = False

    def note_place(self) -> None:
        """Remember the line of the user's program that this is written in."""
        self.made_at = caller()

    def open(self, shared: Opening, epoch: int) -> Stream:
        """Return what gives the elements of a pass."""
        raise NotImplementedError

    def length(self) -> int | None:
        """Return how many elements a pass has; ENDLESS, or None if that is not known."""
        return None

    def index(self, shared: Opening, epoch: int) -> Index | None:
        """Return the elements of a pass by number; None where they come one after the other."""
        return None

    @property
    def indexed(self) -> bool:
        """Whether any element can be had by its number."""
        return False

    @property
    def by_index(self) -> bool:
        """Whether those who choose among its elements ask for them by number: nothing is lost by not running it."""
        return self.placed and self.alone

    @property
    def placed(self) -> bool:
        """Whether those who choose among its elements stand at a number, with workers and without."""
        return self.indexed

    @property
    def alone(self) -> bool:
        """Whether no workers make its elements."""
        return all(each.alone for each in self.inputs)

    @property
    def orderable(self) -> bool:
        """Whether all elements can be had in any order, though some may turn out to be left out."""
        return self.indexed and self.alone

    @property
    def one_to_one(self) -> bool:
        """Whether there is at most one output for each input, in order: none for an error that is skipped."""
        return False

    @property
    def fixed(self) -> bool:
        """Whether there is exactly one output for each input, in order."""
        return self.one_to_one

    @property
    def renumbers(self) -> bool:
        """Whether its stream has the numbers of its input, where an element asked for by number has its place here."""
        return False

    @property
    def transparent(self) -> bool:
        """Whether it changes nothing of the elements and their order."""
        return False

    def parted(self) -> tuple[Node, Node] | None:
        """Return what gives the same elements: a function, and what it is applied to; None if there is no such.

        Who chooses among elements chooses among those of the second one, and the first one makes only what comes.
        """
        return None

    def over(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        """Return the stream that it makes of another one; for what `parted` gives, and what is transparent."""
        raise NotImplementedError

    def inner(self, shared: Opening) -> Opening:
        """Return what its input shares with the other streams of the iterator."""
        return shared

    def mapped(self, index: Index, shared: Opening, epoch: int) -> Index:
        """Return the index that it makes of another one; for what `parted` gives."""
        raise NotImplementedError

    @property
    def once(self) -> str | None:
        """Why there is only one pass; None if there are others."""
        return next((each.once for each in self.inputs if each.once is not None), None)

    @property
    def live(self) -> bool:
        """Whether an element may be long in coming although the one before it is there: the user's code gives them."""
        return any(each.live for each in self.inputs)

    @property
    def prompt(self) -> bool:
        """Whether its stream gives up waiting when the time of `next` is up, whatever the user's code does."""
        return False

    @property
    def timed(self) -> bool:
        """Whether its elements depend on time, as batches do that go out in time."""
        return any(each.timed for each in self.inputs)

    def seed(self) -> Seed | None:
        """Return the seed of this part alone; None if nothing is drawn."""
        return None

    def options(self) -> dict[str, Any]:
        """Return what decides its elements, besides its inputs; plain data."""
        return {}

    def check_things(self, saved: Sequence[Mapping[str, Any]]) -> None:
        """Raise StateMismatchError if it reads from something else than the saved run, whose things these are."""

    def text(self) -> str:
        """Return how it is written."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        return f"{self.kind}({given})"

    def label(self) -> str:
        """Return what reports call it."""
        return self.kind

    def call(self) -> str:
        """Return how errors name it: the call that makes it."""
        return f".{self.kind}(...)"


def note_written(node: Node, error: Exception) -> None:
    """Note on an error which part of the recipe it comes from, and where that was written; the first part counts."""
    if hasattr(error, "written_at") or isinstance(error, (CancelledError, DeadlineExceededError)):
        return
    place = "" if node.made_at is None else shown(node.made_at)
    set_on(error, "written_at", place)
    add_note(error, f"in {node.call()}" + (f" written at {place}" if place else ""))


def nodes_of(node: Node) -> Iterator[Node]:
    """Yield a recipe's parts, each after its inputs."""
    for each in node.inputs:
        yield from nodes_of(each)
    yield node


def measured(node: Node) -> dict[Node, NodeStats]:
    """Return what is measured of a recipe: of each part that is a row of a report."""
    return {each: NodeStats(each) for each in nodes_of(node) if each.stage}


def name_of_recipe(node: Node) -> str:
    """Return what reports call an iterator: what its examples come from."""
    while len(node.inputs) == 1:
        (node,) = node.inputs
    return node.label()


def seeds_of(node: Node) -> list[Seed]:
    """Return the seeds of a recipe, each once."""
    found = [seed for each in nodes_of(node) if (seed := each.seed()) is not None]
    return list(dict.fromkeys(found))


def nearest_seed(node: Node) -> Seed | None:
    """Return the seed nearest upstream."""
    if (own := node.seed()) is not None:
        return own
    return next((seed for each in node.inputs if (seed := nearest_seed(each)) is not None), None)


def facts_of(node: Node) -> list[Any]:
    """Return what a state checks of a recipe: kind, options and inputs."""
    if node.kind in ("prefetch",):  # changes nothing of the elements
        return facts_of(node.inputs[0])
    return [node.kind, node.options(), [facts_of(each) for each in node.inputs]]


def lengths(nodes: Sequence[Node]) -> list[int | None]:
    """Return the lengths of several recipes."""
    return [each.length() for each in nodes]
