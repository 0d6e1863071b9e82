"""OrderedFeed: what the threads of a deterministic loop do. Their examples enter the queue in the order of tickets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._delivery import History, Outlet
from pipeline._trail import Delivered, Trail
from pipeline.batches.arrivals import Arrivals, Into, used_up
from pipeline.batches.calls import Call, Caller, first_calls, taken_out
from pipeline.batches.counting import counted, counting_outlet
from pipeline.batches.crossing import Crossing, put_into
from pipeline.batches.feed import Feed
from pipeline.batches.gathering import Gathering
from pipeline.batches.lanes import Lane, open_lane, warn_of_cost
from pipeline.batches.layout import ExampleLayout, ToComponents, facts_of_queue
from pipeline.batches.ledger import Ledger
from pipeline.batches.numbered import Items, NumberedSource, by_number, in_order
from pipeline.batches.quick import quick_way
from pipeline.batches.replay import Replay
from pipeline.batches.request import Request
from pipeline.batches.source import loop_left, weakly
from pipeline.batches.turns import Turns, turn_put_back, watch_dequeues
from pipeline.errors import CancelledError, OutOfRangeError, StateMismatchError
from pipeline.flow.lockstep import Pool
from pipeline.queues.base import QueueBase
from pipeline.queues.components import parse_partial_shapes, parse_shapes
from pipeline.queues.seeds import generator_seeds
from pipeline.queues.typed import TypedQueue


class OrderedFeed(Feed):
    """As Feed, in an order that depends on the input and the seeds alone.

    Elements have numbers, for the fingerprint. They follow beside the queue.

    Args:
        request: What the batch function was asked for.

    Attributes:
        ledger: What calls pull from; None before they begin.
        arrivals: What has entered the queue; None before.
        delivered: What was delivered up to each of the last batches, in all rounds.
        before: How many elements were delivered in the rounds before this one.
        first_seeds: The seeds of the draws of the first round.
        loaded: The state that this began with, if one was loaded.
        least: How many elements this round has at least, as the saved run had read them.
        replay, draws: Where to begin then. What draws numbers, if not the elements are drawn; None before it begins.
    """

    def __init__(self, request: Request) -> None:
        self.first_seeds = generator_seeds(request.seed)
        super().__init__(request._replace(seed=self.first_seeds, deterministic=True))
        self.seeds_drawn = request.seed is None
        self.delivered = History(Delivered(0, 0, 0, 0))
        self.before = 0
        self.loaded: dict[str, Any] | None = None
        self.least = 0
        self.replay: Replay | None = None
        self._begin_round()

    def _begin_round(self) -> None:
        self.ledger: Ledger | None = None
        self.arrivals: Arrivals | None = None
        self._trail: Trail | None = None  # of their numbers
        self._plain = False  # whether batches are what the queue gives, and only their order counts
        self._crossing: Crossing | None = None
        self._turns: Turns | None = None
        self._unwatch: Callable[[], object] | None = None
        self._items = self._by_number()
        self.draws: NumberedSource | None = None
        request = self.request  # of hosts whose examples the queue has, `take` takes those of all
        self._at_once = request.batch_size * (1 if self.numbered or request.shard is None else request.shard[1])
        self._pool = Pool(self.seeds, self.held_back)
        self._gathering: Gathering | None = None
        self._firsts: list[Call] = []
        self._end: BaseException | None = None  # the end of the input that a call has found, or that one has failed

    def again(self, number: int | None = None) -> Feed:
        other = super().again(number)
        assert isinstance(other, OrderedFeed)
        if self.opened:
            self.outlet.settle()
        other.before = self.delivered.newest.elements
        other.loaded = other.replay = None
        other.least = 0
        other._begin_round()
        return other

    def begin_at(
        self, seeds: tuple[int, int], delivered: Delivered, place: tuple[int, int], loaded: dict[str, Any]
    ) -> None:
        """Begin where a state was saved, not at the start.

        Args:
            seeds: Of the first round.
            delivered: As the attribute, after the last batch.
            place: The round, and how many elements were delivered before it.
            loaded: The state.
        """
        self.first_seeds = seeds
        self._planned = self._planned._replace(seed=seeds)
        self.round, self.before = place
        self.request = self._planned.for_round(self.round)
        self._begin_round()
        self.delivered = History(delivered)
        self.loaded = loaded

    def elements_read(self) -> int:
        """How many elements of this round are known to exist, because they have entered the queue; 0 where only their
        numbers do, as facts about the source tell how many it has."""
        if self.numbered or self.arrivals is None:
            return self.least
        delivered = self.delivered.newest.elements - self.before  # first: meanwhile others may take some
        return max(self.least, delivered + self.queue.size())

    def cut_short(self) -> Exception | None:
        """As `Feed.cut_short`, after a state was loaded."""
        begin = 0 if self.replay is None else self.replay.first.element
        found = begin if self.arrivals is None else self.arrivals.count
        if self.numbered or found >= self.least:
            return None
        text = f"input: it had at least {self.least:,} examples when the state was saved and has {found:,} now"
        return StateMismatchError([("input", self.least, found)], text)

    @property
    def seeds(self) -> tuple[int, int]:
        """The seeds of the draws of this round."""
        assert isinstance(self.request.seed, tuple)
        return self.request.seed

    @property
    def keeps_some(self) -> bool:
        """Whether `keep_input` leaves something out."""
        return not self._keep.all

    @property
    def held_back(self) -> int | None:
        """How many elements stay in the pool; None where none is drawn from."""
        return None if self.numbered else self.request.min_after_dequeue

    @property
    def enough(self) -> int:
        return self._at_once + (self.held_back or 0)

    @property
    def first_op(self) -> int:
        return 0 if self._turns is None else self._turns.rotation.lane

    @property
    def taken(self) -> Delivered:
        """As `delivered`, after the batches too that are on their way out of `next`."""
        return self.outlet.taken if self.opened else self.delivered.newest

    @property
    def numbered(self) -> bool:
        """Whether the numbers of the elements are drawn, not the elements."""
        return self._items is not None

    def no_state(self) -> str | None:
        """Why the place of the input cannot be given; None if it can, or is not known yet."""
        return None if self.ledger is None else self.ledger.no_state()

    @property
    def layout_facts(self) -> list[Any] | None:
        """Dtype and shape of each component; None before there is an example."""
        if self.arrivals is None:
            return None if self.loaded is None else self.loaded["loop"]["layout"]
        return self._facts_of_layout()

    def in_pool(self, delivered: Delivered, total: int | None) -> NDArray[np.int64] | None:
        """Which elements the pool held after a delivery in this round, by place; see `Pool`."""
        return self._pool.held(delivered.elements - self.before, total)

    def place(self, delivered: Delivered, total: int | None) -> tuple[int, bool]:
        """Which element comes next into the pool that `in_pool` tells of, and whether the input had ended."""
        return self._pool.place(delivered.elements - self.before, total)

    def oldest(self, delivered: Delivered, total: int | None) -> int:
        """A number that no element in that pool is below: not the largest such, but soon found."""
        return self._pool.oldest(delivered.elements - self.before, total)

    def _trim(self) -> None:
        """Forget where the input stood before all that a state can be asked for."""
        first, last = (each.elements - self.before for each in (self.delivered.oldest, self.delivered.newest))
        ended = self.replay is not None and self.replay.ended  # what is left is drawn in another way
        if not self.numbered and not ended and self.ledger is not None and first >= 0:
            self.ledger.journal.forget(self._pool.look(first, last))

    def more_state(self, delivered: Delivered) -> dict[str, Any]:
        """What a state after that delivery has besides; `begin_at` finds it again."""
        return {}

    def more_facts(self) -> dict[str, Any]:
        """What decides the batches besides the request."""
        return {}

    def _open(self) -> None:
        if self._keep.none:
            self._park()
            return
        if self.ledger is not None:  # Ctrl-C came while the first example was made
            self.ledger.release()
            if self.replay is not None:
                self.replay.restart()
        self._choose_way()
        request = self.request
        self.ledger = Ledger(self.replay, weakly(self._trim))
        lanes = self._lanes(self.ledger)
        whole = self._keep.all and not self.skips.active and not request.joined
        self.ledger.jumps = not request.joined
        one_to_one = self.ledger.one_to_one = whole and (lanes[0].rows or not lanes[0].many)
        turns = self._turns = Turns(self.seeds, len(lanes), weakly(self._stopped), self.ledger)
        callers = [
            Caller(lane, i, turns, self.skips, self._keep, self._taken_apart(lane.many, i))
            for i, lane in enumerate(lanes)
        ]
        with turn_put_back():
            self._firsts, ends = first_calls(callers, turns, lambda: self.layout is not None, self._stopped)
        self.queue = self._make_queue()
        self._trail = self._make_trail()
        self._check_loaded()
        if not self.round:
            warn_of_cost(request, lanes[0], self.numbered, self.ledger.pulled_from)
        put_one = self._put_of(False)
        into = Into(put_one, self._put_of(True), weakly(self._arrange), weakly(self._check_fits))
        self.arrivals = Arrivals(into, self.ledger.journal, one_to_one, self.skips, self.replay)
        threads = request.num_threads or 1 if lanes[0].parallel and len(lanes) == 1 else 1
        count, size = max(threads, len(lanes)), self.layout.example_bytes if self.layout else 1
        stopped = weakly(self._paused if request.inline else self._stopped)
        self._crossing = Crossing(self.arrivals, put_one, count, size, self.ledger.baton, stopped)
        self.ops = [self._op_of(caller, turns, ends.get(caller.index)) for caller in callers for _ in range(threads)]

    def _choose_way(self) -> None:
        """Rows in memory need no thread, and nobody pulls from a queue for them."""
        if self._nothing_to_wait_for():
            request = self._without_threads()
            self._items = self._items or in_order(request, self.replay, weakly(self._stopped))
        else:
            self._unwatch = self._unwatch or watch_dequeues(self)

    def _lanes(self, ledger: Ledger) -> list[Lane]:
        """The sources, ready to be read; one that can be asked by number as such, if that gives the same batches."""
        request, items = self.request, self._items
        if items is not None:
            hosts = None if request.shard is None else (*request.shard, request.batch_size)
            smaller = request.allow_smaller_final_batch
            self.draws = NumberedSource(items, self.seeds, request.min_after_dequeue, hosts, smaller)
            return [self.draws.lane()]
        many, room = request.enqueue_many, None if request.joined else ledger.room
        singly, stopped = self.skips.active or self._keep.asks, weakly(self._stopped)
        return [open_lane(each, many, self._rows_for(each), room, stopped, singly) for each in request.sources]

    def _rows_for(self, source: Any) -> int | None:
        rows = super()._rows_for(source)
        return rows if rows == 1 or not self.skips.active else None

    def _by_number(self) -> Items | None:
        request = self.request
        some = request.enqueue_many or self.keeps_some or self.one_by_one or request.joined
        plain = request.min_after_dequeue is None and request.shard is None
        singly = self.skips.active or self._rows_for(request.sources[0]) is None
        return None if some or plain or singly else by_number(request.sources[0], weakly(self._stopped))

    def _check_loaded(self) -> None:
        """Check that the queue is for the elements that it was for; have its draws go on where they were."""
        if self.loaded is None:
            return
        saved, here = self.loaded["loop"]["layout"], self._facts_of_layout()
        if saved is not None and saved != here:
            raise StateMismatchError([("layout", saved, here)])
        if self.held_back is not None:
            assert isinstance(self.queue, TypedQueue)
            self.queue._skip_draws(self.delivered.newest.elements - self.before)
            if self._trail is not None:
                self._trail.skip_draws(self.delivered.newest.elements - self.before)

    def close_op(self) -> None:
        """Close the queue at the end of the input, and note how long that was: the last draws depend on it."""
        self._note_total()
        self.queue.close()

    def _note_total(self) -> None:
        if self.arrivals is not None and not self._left:
            self.arrivals.total = self.arrivals.count

    def _arrange(self, places: NDArray[np.int64]) -> None:
        assert isinstance(self.queue, TypedQueue)
        self.queue._arrange(places)
        if self._trail is not None:
            self._trail.arrange(places)

    def _check_fits(self, values: Sequence[Any], many: bool) -> None:
        assert isinstance(self.queue, TypedQueue)
        self.queue._convert(values[:-1], many)

    def _facts_of_layout(self) -> list[Any]:
        return facts_of_queue(self.queue)

    def take(self) -> Any:
        own = self.outlet.deliver() if self._plain else self._carefully(self.outlet)
        if own is None:
            raise OutOfRangeError(None, None, "this host has no share of the last batch")
        assert self.layout is not None
        return self.layout.rebuild(own)

    def _carefully(self, outlet: Outlet) -> Any:
        with outlet:
            own = outlet.kept() if outlet.struck else self._counted(outlet.fetch(), outlet)
        self._looked_at(outlet)
        return own

    def _looked_at(self, outlet: Outlet) -> Outlet:
        arrivals, order, (_, hosts) = self.arrivals, self.request.fingerprint == "order", self.request.shard or (0, 1)
        self._plain = arrivals is not None and not arrivals.disarranged and hosts == 1 and order
        outlet.whole = self._plain and self.layout is not None and self.layout.whole
        return outlet

    def _make_outlet(self) -> Outlet:
        args = self._trail, self._dequeue(), self._at_once
        return self._looked_at(counting_outlet(self.request.name, self.delivered, *args))

    def _counted(self, taken: Any, outlet: Outlet) -> Any:
        """Count what was taken from the queue; return what is this host's of it, None if that is nothing."""
        if self.arrivals is not None and self.arrivals.disarranged:
            outlet.drop()
            raise OutOfRangeError(None, None, "the loop ended before its pool was what it had been")
        assert self.layout is not None
        last, count = outlet.taken, len(self.layout.dtypes)
        return counted(taken, outlet, self.request, last, last.elements - self.before, count, self.draws)

    def left_over(self) -> tuple[int, int]:
        left, _ = super().left_over()  # the other number would leave out what came before a resume
        left += 0 if self.draws is None else self.draws.unshared
        return left, self.taken.elements - self.before + left

    def put_right(self) -> bool:
        return self._gathering is not None and self._gathering.put_right()

    def stop(self) -> None:
        super().stop()
        self._wake()

    def leave(self) -> None:
        super().leave()
        self._wake()

    def put_away(self) -> None:
        super().put_away()
        if self.ledger is not None:
            self.ledger.let_go(self._turns, self.request.sources)

    def _wake(self) -> None:
        if self._crossing is not None:
            self._crossing.wake()
        if self._unwatch is not None:
            self._unwatch()

    def _paused(self) -> bool:
        """Whether an op is to return: at the end, or when there is enough; one that takes turns makes one call."""
        return self._stopped() or (self.request.inline and not self.request.joined and self.queue.size() >= self.enough)

    def _stopped(self) -> bool:
        return self._end is not None or self._left or self.coord.should_stop()

    def _make_queue(self) -> QueueBase:
        assert self.layout is not None
        request, count, layout = self.request, len(self.layout.dtypes), self._layout_of_queue(self.layout)
        if self.numbered:  # the order is made before
            request = request._replace(min_after_dequeue=None)
        if request.shapes is not None:
            parse = parse_partial_shapes if request.dynamic_pad else parse_shapes
            request = request._replace(shapes=[*parse(request.shapes, count), *self._more_shapes(layout)])
        return request.make_queue(layout)

    def _make_trail(self) -> Trail | None:
        """What the numbers of the elements follow the queue in; None if they go through it."""
        queue = self.queue
        puts, draws = (put_into(queue, False), put_into(queue, True)), (self.seeds, self.held_back)
        return Trail(*puts, lambda: queue.stats().enqueued, queue.is_closed, *draws)

    def _put_of(self, many: bool) -> Callable[[Any], None]:
        assert self._trail is not None
        return self._trail.put_many if many else self._trail.put_one

    def _taken_apart(self, many: bool, index: int) -> Callable[[Any], ToComponents]:
        """What the first example of a source decides: how they are taken apart, and for the first source the layout."""

        def decide(example: Any) -> ToComponents:
            if self.layout is None:
                self.layout = ExampleLayout(example, many, self.request.finish)
                if self.loaded is not None and self.skips.active:  # the first example here may be one that did not fit
                    self.layout.shape_as(self.loaded["loop"]["layout"])
            return self._to_components(many, index)

        return decide

    def _op_of(self, caller: Caller, turns: Turns, end: BaseException | None) -> Callable[[], None]:
        """The enqueue op of one thread: calls the source until its end, or until `_paused`, and stores what is due."""
        arrivals, crossing, joined = self.arrivals, self._crossing, self.request.joined
        assert arrivals is not None
        assert crossing is not None
        quick = self._quick_way(caller, turns, crossing)
        once, ended = self.request.inline and joined, [] if end is None else [end]

        def enqueue() -> None:
            if end is not None:
                raise used_up(end)
            try:
                for first in taken_out(self._firsts):
                    self._hand_over(first, crossing)
                while not self._paused():
                    if ended:
                        turns.end_lane(caller.index)
                        raise used_up(ended[0])
                    call = caller.call(crossing.wait_for_room) if quick is None or arrivals.restoring else quick()
                    if call is None:
                        break
                    if call.error is None:
                        self._hand_over(call, crossing)
                    else:
                        ended.extend(self._last(call, crossing))
                    if once:
                        return
            except CancelledError:
                if not self._left:
                    raise
            if self._left:
                raise loop_left()
            if self._end is not None:
                raise used_up(self._end)

        enqueue.__qualname__ = caller.lane.name
        return enqueue

    def _quick_way(self, caller: Caller, turns: Turns, crossing: Crossing) -> Callable[[], Call | None] | None:
        """What calls a source whose examples nobody has to look at, if this is one."""
        if self.request.joined or self.keeps_some or self.skips.active or self.one_by_one:
            return None
        assert self.layout is not None
        assert self.arrivals is not None
        assert self._trail is not None
        if self.draws is not None and self.request.inline and self.draws.at_hand:
            rest = self.arrivals, self._firsts, self.delivered, self.before, weakly(self._paused)
            self._gathering = gathering = Gathering(self.draws, self.queue, self._trail, self.layout, *rest)
            return lambda: gathering.move(caller, turns)
        return quick_way(caller, self.layout, turns, self.arrivals, crossing, self._missing, self._trail)

    def _hand_over(self, call: Call, crossing: Crossing) -> None:
        try:
            crossing.hand_over(call)
        except OutOfRangeError as error:  # nothing more is wanted: the other threads must not wait for their turns
            self._end = used_up(error)  # without its frames, which have this
            raise

    def _last(self, call: Call, crossing: Crossing) -> list[BaseException]:
        """Hand over a call that was at the end of its source, or failed; return the end if the others go on."""
        error = call.error
        assert error is not None
        if call.ended and self.request.joined:
            call.error = None
            crossing.hand_over(call)
            return [error]
        self._end = error if call.ended else loop_left()
        crossing.hand_over(call)
        return []
