"""Node: one step in a recipe. A recipe is an immutable tree of nodes; an iterator opens it as streams."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar, Protocol

from pipeline._meter import Meter, Metered, MeteredIndex
from pipeline.diagnostics.frames import Place, caller, shown
from pipeline.diagnostics.live import number
from pipeline.errors import CancelledError, DeadlineExceededError, invalid
from pipeline.on_error import add_note, set_on
from pipeline.orders.seeds import Seed
from pipeline.stages.batch_rows import BatchRows
from pipeline.stages.block import Block
from pipeline.stages.index import ENDLESS, Index, InOrder, counted
from pipeline.stages.run import Measured, Run
from pipeline.stages.stream import Stage, Stream, fitting, whole


class Recipe:
    """Base class for datasets and iterators, to recognise one returned by a user function."""

    _node: Node


class Moves(Protocol):
    """Converts states to other hosts and batch sizes; see `pipeline/datasets/moving.py`."""

    def moved(self, node: Node, state: Any, more: int = 0) -> Any:
        """Return a step's state for the recipe here, `more` elements later."""

    def differs_below(self, node: Node) -> bool:
        """Return whether the hosts or batch sizes differ in a recipe."""

    def saved(self, node: Node) -> Mapping[str, Any]:
        """Return the options with which a step was saved."""

    def hosts_below(self, node: Node) -> tuple[int, int]:
        """Return the saved and current host counts for a step's input."""


class Node:
    """One step in a recipe: immutable, and picklable if its functions are.

    All attributes and method results are fixed when the node is made, and never change.

    Attributes:
        kind: Its public method's or function's name.
        inputs: The nodes it reads from.
        indexed: True if elements can be read by place, through `index`.
        step: The distance between the places of two elements; see `Index.step`.
        works_ahead: True if threads or processes read ahead somewhere in the recipe.
        streams: True if it runs as streams although it may be indexed, because threads read ahead. Its states are still
            places.
        ordered: True if elements keep the input order.
        exclusive: True for a single-pass source; only one stream can read it.
        queue: The queue read by the source; None for all other nodes.
        starts_runners: True for a source that may depend on the user's queues: their runners are then started.
        stage: The kind of its row in a report: "source", "function" or "step"; "" for none.
        written: The user program's node if a recipe runs in another order; else this one.
        made_at: The user's line with the call.
        summed: The number of batchings after `checksum`; None without a checksum.
        takes_workers: The function to call for this source with `workers=`; "" for all other nodes.
        more: How users write the number of threads that call this source, which "{}" stands for; "" for all others.
        takes_index: True for a stream that would be indexed with `index=True`.
        joins_files: True for a source whose examples could as well be in fewer files.
        lighter: The advice if this source has too much to do, as a sentence without its full stop.

    Attributes for steps after others, such as choices, loads of states and warnings:
        keeps_elements: True if its elements are its input's, perhaps fewer, repeated or in another order.
        choices_below: True if choices among its elements are made among its inputs instead.
        needs_index: True if its input must be indexed.
        shuffles, reorders: True if its elements are in a random order, or in another than its input's.
        mixes: True if it draws from inputs by weights, which may differ when a state is loaded.
        endless: True if it has no end whatever its input.
        skips: True if it leaves out examples for which its function fails.
        carries_on: True if its element i is made of its input's element i, or of the next n, for any host count.
        by_number: True if its states depend on the number of its inputs, not on their contents.
        keeps_batches: True if it makes one element of each batch.
        holds_back: True if its elements may wait for later inputs.
    """

    kind: str = ""
    inputs: tuple[Node, ...] = ()
    indexed: bool = False
    ordered: bool = True
    exclusive: bool = False
    queue: Any = None
    starts_runners: ClassVar[bool] = False
    stage: ClassVar[str] = "step"
    made_at: Place | None = None
    summed: int | None = None
    takes_workers: str = ""
    more: str = ""
    takes_index: bool = False
    joins_files: ClassVar[bool] = False
    lighter: str = "To go faster, read less per example"
    _written: Node | None = None

    keeps_elements: ClassVar[bool] = False
    needs_index: ClassVar[bool] = False
    shuffles: ClassVar[bool] = False
    reorders: ClassVar[bool] = False
    mixes: ClassVar[bool] = False
    keeps_batches: ClassVar[bool] = False
    holds_back: ClassVar[bool] = True

    def options(self) -> dict[str, Any]:
        """Return the options determining its elements as plain data, for repr and states."""
        return {}

    def length(self) -> int | None:
        """Return the number of elements per pass; ENDLESS, or None if unknown."""
        return None

    def index(self, run: Run) -> Index:
        """Return the elements of a pass by place. Only if `indexed`."""
        raise NotImplementedError

    def stream(self, run: Run, state: Any = None) -> Stream:
        """Return the elements of a pass in order, from a state or from the beginning."""
        raise NotImplementedError

    def state_at(self, place: int) -> Any:
        """Return the state of `stream` before the element at a place; None if it depends on an unknown length.

        Only if `indexed`.
        """
        raise NotImplementedError

    @property
    def choices_below(self) -> bool:
        return False

    @property
    def endless(self) -> bool:
        return False

    @property
    def skips(self) -> bool:
        return False

    @property
    def carries_on(self) -> bool:
        return False

    @property
    def by_number(self) -> bool:
        return False

    @property
    def counts_batches(self) -> bool:
        """True if its states count its inputs, so that batches must keep their size."""
        return not self.keeps_batches or self.skips

    def input_state(self, state: Any) -> tuple[Node, Any] | None:
        """Return its input and the input's state within a stream's state; None if the step may hold elements."""
        return None

    def moved(self, state: Any, more: int, moves: Moves) -> Any:
        """Return a stream's state for other hosts and batch sizes, `more` elements later.

        Raises:
            InvalidArgumentError: It is within an element.
        """
        if more and moves.differs_below(self):
            text = f"the state does not fit this recipe: it is within an element of {self.call()}"
            raise invalid(f"load_state_dict: {text}")
        return further(state, more)

    def functions(self) -> tuple[Any, ...]:
        """Return the user's functions it calls."""
        return ()

    def files(self) -> Sequence[str]:
        """Return the names of all files read by its source."""
        return ()

    def data(self) -> Sequence[Any]:
        """Return the in-memory objects read by its source, such as lists and arrays."""
        return ()

    @property
    def runs(self) -> tuple[Node, ...]:
        """The inputs that run with it; none for a full cache."""
        return self.inputs

    def lends(self) -> bool:
        """Return whether its elements are the user's own objects, which a function could change."""
        return False

    def is_share(self) -> bool:
        """Return whether it is one of several shards for different processes."""
        return False

    def shares_equally(self) -> bool:
        """Return whether all shards are known to have equal lengths. Only if `is_share`."""
        return False

    def seed(self) -> Seed | None:
        """Return the seed of this step alone; None if it draws nothing."""
        return None

    def order_seed(self) -> Seed | None:
        """Return the seed that decides which elements it has, and their order; None if there is none."""
        return self.seed()

    def idle_shuffle(self) -> str | None:
        """Return the reason if a source's random order changes nothing; else None."""
        return None

    def no_state(self) -> str | None:
        """Return the reason if the recipe has no states; else None."""
        return next((reason for each in self.inputs if (reason := each.no_state()) is not None), None)

    def once(self) -> str | None:
        """Return the reason if the recipe has only one pass; else None."""
        return next((reason for each in self.inputs if (reason := each.once()) is not None), None)

    @property
    def live(self) -> bool:
        """True if its elements are made elsewhere and may arrive late, as in a queue."""
        return any(each.live for each in self.inputs)

    @property
    def timed(self) -> bool:
        """True if its elements depend on time, like batches with `max_wait`."""
        return any(each.timed for each in self.inputs)

    @property
    def batched(self) -> bool:
        """True if its elements are batches."""
        return any(each.batched for each in self.inputs)

    @property
    def works_ahead(self) -> bool:
        return any(each.works_ahead for each in self.inputs)

    @property
    def streams(self) -> bool:
        return self.works_ahead or any(each.streams for each in self.inputs)

    @property
    def waits(self) -> bool:
        """True if its stream supports waiting with a timeout."""
        return False

    @property
    def step(self) -> int:
        return 1

    def end(self) -> int:
        """Return the position after the last element; only if `indexed`."""
        return (self.length() or 0) * self.step

    @property
    def written(self) -> Node:
        return self._written or self

    def run_as(self) -> Node:
        """Return the recipe that runs instead of a source, if workers make its examples."""
        return self

    # Its name

    def text(self) -> str:
        """Return the call in the user's program, for repr."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        return f"{self.kind}({given})"

    def label(self) -> str:
        """Return its name in reports."""
        return self.kind

    def input_names(self) -> Sequence[str]:
        """Return names for its inputs in reports."""
        return [""] if len(self.inputs) == 1 else [str(i) for i in range(len(self.inputs))]

    def call(self) -> str:
        """Return its name in errors."""
        return f".{self.kind}(...)"

    def name_of(self, number: int) -> str | None:
        """Return an example's name in errors, by its number; None if numbers lead to no source."""
        return None

    def note_place(self) -> None:
        """Remember the user program's line.

        Raises:
            InvalidArgumentError: It must not come after `checksum`.
        """
        self.made_at = caller()
        for each in self.inputs:
            if each.summed is not None:
                self.summed = self.summed_after(each.summed)

    def summed_after(self, batches: int) -> int:
        """Return `summed` if an input has `batches` batchings after its checksum.

        Raises:
            InvalidArgumentError: This step's elements are neither the summed ones nor batches of them.
        """
        text = f"{self.kind} comes after it: only batch(n) without pad= or collate=, and prefetch, may"
        raise invalid(f"checksum: {text}; write .checksum() after {self.kind}")


class OneInput(Node):
    """A step with one input and one output per element."""

    def __init__(self, source: Node, written: bool = True) -> None:
        """Make a step; one not `written` by the user is opened at once and is in no recipe."""
        self.inputs = (source,)
        self.indexed = self.indexed_over(source)
        if written:
            self.note_place()

    def indexed_over(self, source: Node) -> bool:
        """Return whether it is indexed over an input."""
        return source.indexed

    @property
    def source(self) -> Node:
        """The input."""
        return self.inputs[0]

    def over(self, source: Node) -> Any:
        """Return the same step over another input."""
        made = copy.copy(self)
        made.inputs, made.indexed, made._written = (source,), self.indexed_over(source), self.written
        return made

    def length(self) -> int | None:
        return self.source.length()

    def name_of(self, number: int) -> str | None:
        return self.source.name_of(number)

    def named(self, block: Block, i: int) -> str:
        """Return the name of a block's input i for errors."""
        name = None if block.names is None else block.names(i)
        return name or self.source.name_of(int(block.numbers[i])) or block.named(i)


class OneForOne(OneInput):
    """A step that keeps its input's positions."""

    holds_back = False

    @property
    def step(self) -> int:
        return self.source.step

    def end(self) -> int:
        return self.source.end()

    def state_at(self, place: int) -> Any:
        return place


class PassThrough(OneForOne):
    """A step whose elements and states are its input's; it is in no state's recipe."""

    keeps_elements = choices_below = carries_on = keeps_batches = True

    def index(self, run: Run) -> Index:
        return indexed(self.source, run)

    def input_state(self, state: Any) -> tuple[Node, Any]:
        return self.source, state

    def moved(self, state: Any, more: int, moves: Moves) -> Any:
        return moves.moved(self.source, state, more)


def opened(node: Node, run: Run, state: Any = None) -> Stream:
    """Return a recipe's stream, starting at a state.

    Raises:
        InvalidArgumentError: The state is malformed, as after an edit.
    """
    if type(state) is dict:
        with fitting():
            return Further(opened(node, run, state["state"]), whole(state["more"]))
    with nullcontext() if state is None else fitting():
        if not node.indexed:
            return metered(node.stream(run, state), node, run)
        if node.streams:
            return metered(Placed(node, run, state), node, run)
        return InOrder(indexed(node, run), state)


def indexed(node: Node, run: Run) -> Index:
    """Return a recipe's index; its places are as in `Index.step`."""
    measured = run.measured.get(node.written)
    index = node.index(run)
    return index if measured is None else MeteredIndex(index, measured.meter)  # type: ignore[return-value]


def index_of(node: Node, run: Run) -> Index:
    """Return a recipe's index; its places count the elements."""
    return counted(indexed(node, run))


def metered(stream: Stream, node: Node, run: Run) -> Stream:
    """Return a step's stream with measurements."""
    measured = run.measured.get(node.written)
    return stream if measured is None else Metered(stream, measured.meter, run.clock)  # type: ignore[return-value]


def further(state: Any, more: int) -> Any:
    """Return the state n elements later; `opened` then skips them."""
    return {"state": state, "more": more} if more else state


class Further(Stage):
    """A stream without its next elements. Until it is read, its state is from before these elements."""

    def __init__(self, source: Stream, more: int) -> None:
        super().__init__(source)
        self._more = more

    def _pass(self) -> None:
        more, self._more = self._more, 0
        self.source.drop(more)

    def take(self, n: int) -> Any:
        self._pass()
        return self.source.take(n)

    def drop(self, n: int) -> int:
        self._pass()
        return self.source.drop(n)

    def state(self) -> Any:
        return further(self.source.state(), self._more)

    def begin(self) -> None:
        self.source.begin()

    def wait(self, timeout: float) -> bool:
        self._pass()
        return self.source.wait(timeout)


class Placed(Stage):
    """An indexed recipe run as streams. Its state is the next position, as for an index."""

    def __init__(self, node: Node, run: Run, state: Any) -> None:
        self._next, self._step = whole(0 if state is None else state), node.step
        at = node.state_at(self._next) if self._next else None
        super().__init__(node.stream(run, at))
        if at is None and self._next:
            self.source.drop(self._next // self._step)

    def take(self, n: int) -> Any:
        block = self.source.take(n)
        if block is not None:
            self._next += len(block) * self._step
        return block

    def drop(self, n: int) -> int:
        count = self.source.drop(n)
        self._next += count * self._step
        return count

    def state(self) -> int:
        return self._next

    def begin(self) -> None:
        self.source.begin()

    def into(self, rows: BatchRows) -> None:
        self.source.into(rows)

    def wait(self, timeout: float) -> bool:
        return self.source.wait(timeout)


def nodes_of(node: Node) -> list[Node]:
    """Return a recipe's nodes, each after its inputs."""
    return [*(each for before in node.inputs for each in nodes_of(before)), node]


def running(node: Node) -> list[Node]:
    """Return a recipe's running nodes, each after its inputs."""
    return [*(each for before in node.runs for each in running(before)), node]


def measured(node: Node) -> dict[Node, Measured]:
    """Return the measurements for each step with a row in a report."""
    return {
        each: Measured(number(), Meter(_noting(each)), each.label(), each.runs) for each in running(node) if each.stage
    }


def _noting(node: Node) -> Callable[[Exception], object]:
    return lambda error: note_written(node, error)


def note_written(node: Node, error: Exception) -> None:
    """Note the failing step and its line in the user's program on an error; the first note stays."""
    if hasattr(error, "written_at") or isinstance(error, (CancelledError, DeadlineExceededError)):
        return
    place = "" if node.made_at is None else shown(node.made_at)
    set_on(error, "written_at", place)
    add_note(error, f"in {node.call()}" + (f" written at {place}" if place else ""))


def name_of_recipe(node: Node) -> str:
    """Return an iterator's name in reports, taken from its source."""
    while len(node.inputs) == 1:
        (node,) = node.inputs
    return node.label()


def seeds_of(node: Node) -> list[Seed]:
    """Return a recipe's seeds, each once."""
    found = [seed for each in nodes_of(node) if (seed := each.seed()) is not None]
    return list(dict.fromkeys(found))


def nearest_seed(node: Node) -> Seed | None:
    """Return the seed nearest upstream."""
    if (own := node.seed()) is not None:
        return own
    return next((seed for each in node.inputs if (seed := nearest_seed(each)) is not None), None)


def functions_below(node: Node) -> int:
    """Return the number of per-example functions in a node's recipe; it numbers the next one."""
    return sum(each.stage == "function" for each in nodes_of(node))


def facts_of(node: Node) -> list[Any]:
    """Return the facts checked by states: kind, options and inputs for each step that changes elements."""
    if isinstance(node, PassThrough):
        return facts_of(node.source)
    return [node.kind, node.options(), [facts_of(each) for each in node.inputs]]


def total(nodes: Sequence[Node]) -> int | None:
    """Return the total length of several recipes; None unless all are known."""
    lengths = [each.length() for each in nodes]
    if None in lengths:
        return None
    return min(ENDLESS, sum(each for each in lengths if each is not None))
