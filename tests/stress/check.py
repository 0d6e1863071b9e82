"""Is a history possible? Searches for an order of the sequential model's steps that explains every call's result.

A call's step happens between its beginning and its end. The search goes through the beginnings and ends in order,
keeping every state the model can be in. At a call's end it tries the steps for the calls in progress, in every order,
until that call has the result in the history. It drops states in which a call ended otherwise, and merges equal states.
If no state is left, the history is impossible. The model serves calls in order of arrival, so a history is also
impossible if one call overtook another, provided it shows the one that came first.

Two rules keep the states few when many calls are in progress. A queue that is empty at the end gave out every element
it ever stored, so a state storing any other is dropped at once. And a call that timed out without moving an element
arrives and is withdrawn in one step, because calls behind it in its line would have waited anyway.
"""

from stress.words import LOOKS, listing

LIMIT = 200_000  # states at one end of a call


class TooMany(Exception):
    """The search takes too long."""


class State:
    """The model, the begun calls yet to arrive, and the decided calls yet to end."""

    __slots__ = ("called", "decided", "model")

    def __init__(self, model, called=frozenset(), decided=()):
        self.model, self.called = model, called
        self.decided = dict(decided)  # call number -> elements it has to put back, or None

    def key(self):
        return self.model.key(), self.called, frozenset(self.decided.items())


def given_out(history):
    """Return all elements given out by calls if the history ends with an empty queue, else None."""
    last = max(history, key=lambda record: record.ended)
    alone = all(record.ended < last.began for record in history if record is not last)
    if not (alone and last.call.method == "stats" and last.outcome.value == (0, True, 0, 0)):
        return None
    return {row for r in history if r.outcome.end == "ok" and "dequeue" in r.call.method for row in r.outcome.value}


class Search:
    def __init__(self, history, model):
        self.history, self.given_out = history, given_out(history)
        self.idle = {number for number, record in enumerate(history) if self.is_idle(record)}
        self.states = [State(model)]

    def is_idle(self, record):
        """Return whether a call timed out without moving an element, while no call inspects its line."""
        if record.outcome.end != "timed_out" or not (record.call.puts or record.call.method == "dequeue"):
            return False
        together = (r.call.method for r in self.history if record.began < r.ended and r.began < record.ended)
        if self.given_out is None or {"stats", "close"}.intersection(together):  # a close waits for its turn
            return False
        return self.given_out.isdisjoint(record.call.rows)

    def run(self):
        """Return None if the history is possible, else a text with the point where it becomes impossible."""
        tickets = [(record.began, i, True) for i, record in enumerate(self.history)]
        tickets += [(record.ended, i, False) for i, record in enumerate(self.history)]
        for _, number, begins in sorted(tickets):
            if begins:
                for state in self.states:
                    state.called |= {number}
                continue
            before = self.states
            self.states = self.ended(number)
            if not self.states:
                return self.report(number, before)
        return None

    def ended(self, number):
        """Return the states after the call's end, with any steps that other calls need for it."""
        left, seen, waiting = {}, set(), list(self.states)
        while waiting:
            state = waiting.pop()
            if state.decided.get(number, ()) is None:
                state = State(state.model, state.called, state.decided)
                del state.decided[number]
                left[state.key()] = state
                continue
            for after in self.steps(state):
                key = after.key()
                if key not in seen:
                    seen.add(key)
                    waiting.append(after)
            if len(seen) > LIMIT:
                raise TooMany(listing(self.history))
        return list(left.values())

    def steps(self, state):
        for number in state.called:
            yield from self.arrival(state, number)
        for line in (state.model.enqueues, state.model.dequeues):
            for a in line:
                if self.history[a.call].outcome.end in ("timed_out", "hook"):
                    yield from self.withdrawal(state, a.call)
        for number, owed in state.decided.items():
            if owed is not None:
                after = State(state.model.copy(), state.called, state.decided)
                after.decided[number] = None
                yield from self.fits(after, after.model.undo(owed))

    def arrival(self, state, number):
        call, outcome = self.history[number].call, self.history[number].outcome
        if call.method in LOOKS:
            if state.model.seen(call.method) == outcome.value:
                yield State(state.model, state.called - {number}, {**state.decided, number: None})
            return
        after = State(state.model.copy(), state.called - {number}, state.decided)
        if call.method == "close_now":
            after.decided[number] = None
            yield from self.fits(after, after.model.close_now())
            return
        ended = after.model.arrive(number, call)
        for state in self.fits(after, ended):
            yield from self.withdrawal(state, number) if number in self.idle else [state]

    def withdrawal(self, state, number):
        after = State(state.model.copy(), state.called, state.decided)
        a, ended = after.model.withdraw(number)
        record = self.history[number]
        stored = record.outcome.stored
        if stored is None or stored == len(record.call.rows) - len(a.rows):
            after.decided[number] = None
            yield from self.fits(after, ended)

    def fits(self, state, ended):
        """Yield the state if the calls that ended in it have the history's results."""
        for a in ended:
            record, outcome = self.history[a.call], a.outcome()
            if record.outcome.end == "hook":  # raised whatever the queue had decided; elements go back
                taken = tuple(a.taken) if outcome.end == "ok" else ()
                state.decided[a.call] = taken or None
                continue
            if (outcome.end, outcome.value) != (record.outcome.end, record.outcome.value):
                return
            if record.outcome.stored not in (None, len(record.call.rows) - len(a.rows)):
                return
            state.decided[a.call] = None
        if self.given_out is None or self.given_out.issuperset(state.model.held()):
            yield state

    def report(self, number, before):
        states = "\n".join(f"  {state.model.key()}" for state in before[:3])
        return (
            f"No order explains how call #{number} ended.\n{listing(self.history)}\n"
            f"{len(before)} states before it (store, closed, words drawn, enqueues, dequeues), such as\n{states}"
        )


def explain(history, model):
    """Return None if the history is possible for a queue starting as `model`, else the reason."""
    return Search(history, model).run()
