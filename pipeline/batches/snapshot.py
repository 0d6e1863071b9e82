"""Snapshot: the state of a deterministic loop as plain data, and a loop that goes on from one."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from pipeline import __version__
from pipeline._delivery import BEHIND
from pipeline._trail import Delivered
from pipeline.batches.feed import Feed
from pipeline.batches.lanes import facts_of_source
from pipeline.batches.ordered import OrderedFeed
from pipeline.batches.replay import Replay, index_of
from pipeline.errors import FailedPreconditionError, OpError, invalid
from pipeline.explain.wording import named
from pipeline.files.identity import difference, file_identity
from pipeline.logs import logger
from pipeline.on_error import Skips
from pipeline.resume.checksum import KEY, READ, is_changed, with_checksum
from pipeline.resume.form import check_form
from pipeline.resume.journal import Entry, packed, unpacked
from pipeline.resume.mismatch import Comparison

FORMAT = "queue-runner/state"
VERSION = 2  # those of version 1 have no names of files, and say nothing of what was read ahead

# What a caller may allow to differ.
ALLOWED = ("batch_size", "num_epochs", "shard", "mtime")

_KEYS = {"format", "version", "made_by", "delivered", "fingerprint", "ended", "loop", "sources", "journal", "files"}
_SINCE_2 = {READ, KEY}

# Facts that are known when calls pull; and those that states of version 1 do not have.
_OF_PULLS = ("name", "lane", "columns")
_NAMES = ("file_names", "names_before")

_log = logger("pipeline.batches")

# What loops say, once each.
CLOSED = "this loop is closed, as the end of a `with` closes it: make a new one, or put all epochs into one `with`"
FAILED = (
    "this loop ended by an error or a stop, and gives no more batches: make a new one. With on_error='skip' a loop "
    "goes on after an example that fails"
)
READ_ONCE = (
    "this loop is at its end, and its source cannot be read again: make a new loop for each epoch, or pass an array, a "
    "list or a generator function"
)
_AT_THE_END = (
    "the state is from the end of an epoch: this `for` has no batches, the next one begins the next epoch. "
    "A program with a `for` of its own saves the number of the epoch that has ended, as this `for` is the rest of it; "
    "`fit` of Keras goes on with the next epoch, whose number is the one to save there"
)
_DROPPED = "fill no batch and are dropped. To get them too pass allow_smaller_final_batch=True"
_TUPLE = ". A tuple is a sequence of examples: for the rows of its arrays pass pipeline.arrays of it"


def fingerprint_text(elements: int, value: int) -> str:
    """A fingerprint as users see it."""
    return f"{elements}-{value:016x}"


def state_of(feed: OrderedFeed, behind: int) -> dict[str, Any]:
    """The state after the last batch that was delivered.

    Args:
        feed: Of the loop.
        behind: As of so many batches ago.

    Raises:
        FailedPreconditionError: The place of the input is not known.
        ValueError: So many batches ago is too long ago, or before the first one.
    """
    if feed.ledger is None and feed.loaded is not None and behind == 0:
        return copy.deepcopy(feed.loaded)
    while True:
        delivered = _delivered(feed, behind)
        state = _state_after(feed, delivered)
        # Else other threads have taken so many batches meanwhile that the journal may have forgotten the place.
        if delivered.batches >= feed.delivered.oldest.batches:
            return state


def _state_after(feed: OrderedFeed, delivered: Delivered) -> dict[str, Any]:
    ledger, total = feed.ledger, None
    journal: dict[str, Any] = {"columns": [], "first": [], "steps": []}
    facts: list[dict[str, Any]] = []
    files: dict[str, Any] = {}
    steps: list[str | None] = []  # of the journal, as text
    reason = feed.no_state()
    if reason is not None:
        raise no_state(reason)
    if ledger is not None:
        total = None if feed.arrivals is None else feed.arrivals.total
        _check_drawn(feed, delivered, total)
        resume_at, ended = feed.place(delivered, total)
        facts = ledger.facts()
        columns = [f"{each['name']}.{column}" for each in facts for column in each["columns"]]
        if feed.draws is not None:
            journal = packed([feed.draws.entry(resume_at, ledger.every)], columns)
        else:
            journal = ledger.journal.packed(feed.oldest(delivered, total), resume_at, columns, steps)
        journal |= {"every": ledger.every, "regular": ledger.regular}
        files = ledger.files()
        total = total if ended else None
    state = {
        "format": FORMAT,
        "version": VERSION,
        "made_by": __version__,
        "delivered": {"batches": delivered.batches, "elements": delivered.elements},
        "fingerprint": fingerprint_text(delivered.own, delivered.value),
        "ended": total,
        "loop": loop_facts(feed),
        "sources": facts,
        "journal": journal,
        "files": files,
        **({"content": [f"{each:08x}" for each in delivered.content]} if delivered.content else {}),
        **feed.more_state(delivered),
    }
    return with_checksum(state, feed.elements_read(), steps)


def load(feed: OrderedFeed, state: Any, allow: Collection[str]) -> None:
    """Let a feed that has not begun go on from a state.

    Raises:
        InvalidArgumentError: It is no state, or one of a later version.
        StateMismatchError: It was saved by another loop, or files have changed.
        ValueError: `allow` names something else.
        TypeError: The state is not a dict, or `allow` is a str.
    """
    _check_state(state)
    if isinstance(allow, str):
        raise TypeError(f"allow must be a collection of names, such as {{{allow!r}}}, not {allow!r}")
    unknown = sorted(set(allow) - set(ALLOWED))
    if unknown:
        raise ValueError(f"allow: only {', '.join(ALLOWED)} can be allowed to differ, not {', '.join(unknown)}")
    before = dict(vars(feed))
    try:
        _compare(feed, state, allow)
        _begin(feed, copy.deepcopy(state), allow)
        _reseed(feed, state["sources"])
    except OpError:
        vars(feed).update(before)
        raise
    except Exception as error:  # it was edited by hand
        vars(feed).update(before)
        raise invalid(f"load_state_dict: the state is damaged: {named(error)}") from error


def _begin(feed: OrderedFeed, saved: dict[str, Any], allow: Collection[str]) -> None:
    """Let a feed go on from a state that fits it."""
    here = loop_facts(feed)
    _warn_of_functions(saved["loop"], here)
    own, _, text = saved["fingerprint"].partition("-")
    content = tuple(int(each, 16) for each in saved.get("content", ()))
    if saved["loop"]["shard"] != here["shard"]:  # the share of another host has another fingerprint
        own, text, content = "0", "0", ()
    delivered = saved["delivered"]
    feed.begin_at(
        seeds=(saved["loop"]["seeds"][0], saved["loop"]["seeds"][1]),
        delivered=Delivered(delivered["batches"], delivered["elements"], int(own), int(text, 16), None, content),
        place=(saved["loop"]["round"], saved["loop"]["before"]),
        loaded=saved,
    )
    if saved["journal"]["first"]:
        journal = saved["journal"]
        if journal["every"] < 1:
            raise ValueError(f"entries every {journal['every']} calls")
        entries = unpacked(journal, [len(facts["columns"]) for facts in saved["sources"]])
        feed.replay = _replay(feed, entries, saved, allow)
        if "num_epochs" not in allow:
            sure = 0 if feed.skips.active else saved.get(READ, {"elements": 0})["elements"]  # not what failed since
            drawn = delivered["elements"] - saved["loop"]["before"]  # before the first draw the pool may not be full
            feed.least = max(feed.replay.resume_at if drawn else 0, sure)


def _warn_of_functions(saved: dict[str, Any], here: dict[str, Any]) -> None:
    """Say which functions have another name than when a state was saved: it may be another, or only the name."""
    if saved["function"] != here["function"]:
        text = "the state was saved by a loop over %s, this one is over %s"
        _log.warning(text, saved["function"], here["function"])
    length = saved.get("input_length")  # states of earlier versions do not have it
    if length is not None and length != here.get("input_length"):
        text = "the state was saved by a loop whose input_length was %s, that of this one is %s"
        _log.warning(text, length, here.get("input_length"))


def _replay(feed: OrderedFeed, entries: list[Entry], state: dict[str, Any], allow: Collection[str]) -> Replay:
    delivered, total = feed.delivered.newest, state["ended"]
    pool = feed.in_pool(delivered, total)
    resume_at, ended = feed.place(delivered, total)
    journal = state["journal"]
    every, regular = journal["every"], journal["regular"]
    may_differ = {*allow, *(_NAMES if state["version"] == 1 else ())}
    return Replay(entries, pool, resume_at, ended, state["sources"], state["files"], every, regular, may_differ)


def loop_facts(feed: OrderedFeed) -> dict[str, Any]:
    """What decides the batches, but for the input."""
    request = feed.request
    return {
        "kind": feed.kind,
        "batch_size": request.batch_size,
        "min_after_dequeue": request.min_after_dequeue,
        "seeds": list(feed.first_seeds),
        "smaller": request.allow_smaller_final_batch,
        "shard": list(request.shard or (0, 1)),
        "enqueue_many": request.enqueue_many,
        "keep": feed.keeps_some,
        "layout": feed.layout_facts,
        "function": feed.functions,
        "round": feed.round,
        "before": feed.before,
        **({} if request.fingerprint == "order" else {"fingerprint": request.fingerprint}),
        **feed.more_facts(),
    }


def what_to_say(feed: Feed, left: int, read: int, skips: Skips) -> list[tuple[str, str, bool]]:
    """What there is to say at the end of a round: subjects, texts, and whether each explains why there was no batch.

    Args:
        feed: Of the round.
        left: How many examples became no batch.
        read: How many there were.
        skips: Counts what was left out.
    """
    said = []
    if isinstance(feed, OrderedFeed) and feed.starts_over and _none_since_load(feed):
        said.append(("at the end", _AT_THE_END, False))
    elif not read and (feed.round or not all(map(_is_empty, feed.request.sources))):
        again = " when they were read again" if feed.round else ""
        why = f"the sources gave no example{again}" if feed.request.keep_input is True else "no example was kept"
        said.append((why, why + skips.summary(), True))
    if left:
        hint = _TUPLE if left == read and isinstance(feed.request.sources[0], tuple) else ""
        said.append(("dropped", f"the last {left:,} of {read:,} examples {_DROPPED}{hint}", left == read))
    return said


def _is_empty(source: Any) -> bool:
    """Whether everybody sees that a source has no examples."""
    return isinstance(source, (Sequence, np.ndarray)) and len(source) == 0


def _none_since_load(feed: OrderedFeed) -> bool:
    """Whether a round went on from a state in or behind it, and has delivered nothing since."""
    loaded, elements = feed.loaded, feed.delivered.newest.elements
    return loaded is not None and feed.before < elements == loaded["delivered"]["elements"]


def no_order(what: str, inline: bool) -> FailedPreconditionError:
    """The error of a method that is for deterministic loops, for another."""
    why = "this loop notes no places of its input" if inline else "the order of this loop depends on its threads"
    return FailedPreconditionError(None, None, f"{what}: {why}. Pass deterministic=True to the batch function")


def no_state(reason: str) -> FailedPreconditionError:
    """The error for a loop whose place in the input cannot be given."""
    return FailedPreconditionError(
        None,
        None,
        f"state_dict: {reason}, so nobody could go back to where it is. Pass an array, a list or another sequence, a "
        "function that reads by a reader from a producer, or an object with state_dict and load_state_dict",
    )


def _check_drawn(feed: OrderedFeed, delivered: Delivered, total: int | None) -> None:
    """Refuse the state after a batch that no other run has: one from a pool that was no longer filled."""
    first = feed.before if feed.loaded is None else feed.loaded["delivered"]["elements"]
    if total is not None or feed.held_back is None or delivered.elements == first or not feed.queue.is_closed():
        return
    if feed.taken.elements + feed.queue.size() < delivered.elements + feed.held_back:
        raise FailedPreconditionError(
            None,
            None,
            "state_dict: the loop failed or was stopped, and its last batch was drawn from what its pool had left. "
            "No other run has this batch; go on from an earlier state",
        )


def _delivered(feed: OrderedFeed, behind: int) -> Delivered:
    history = [each for each in feed.delivered.copy()[-1 - BEHIND :] if each.elements >= feed.before]
    if not 0 <= behind < len(history):
        raise ValueError(
            f"state_dict: behind must be at least 0 and at most {len(history) - 1}, the number of batches "
            f"(up to {BEHIND}) that this round of the loop has delivered, got {behind}"
        )
    return history[-1 - behind]


def _check_state(state: Any) -> None:
    check_form(state, FORMAT, VERSION, "state_dict")
    missing = sorted((_KEYS | _SINCE_2 if state["version"] > 1 else _KEYS) - set(state))
    if missing:
        raise invalid(f"load_state_dict: the state is not whole: it has no {', '.join(missing)}")
    if is_changed(state):
        raise invalid(
            "load_state_dict: the state is damaged: its checksum is of another one. Something has changed it since "
            "state_dict returned it; go on from another state"
        )


def _compare(feed: OrderedFeed, state: dict[str, Any], allow: Collection[str]) -> None:
    """Raise StateMismatchError for all that differs and is known before the first call."""
    saved, here = state["loop"], loop_facts(feed)
    but = {"function", "input_length", "layout", "round", "before"}
    if not feed.request.seeded:
        but.add("seeds")
    if "shard" in allow and _same_global_batch(saved, here, allow):
        but |= {"shard", "batch_size"}
    if "batch_size" in allow:
        but.add("batch_size")
    compared = Comparison()
    compared.facts("loop", saved, here, but)
    of_things = {*_OF_PULLS, "seeds", *allow, *(_NAMES if state["version"] == 1 else ())}
    for source, noted in _known_sources(feed, state["sources"]):
        compared.facts(f"source {noted['name']!r}", noted, facts_of_source(source), of_things)
    for name, noted in state["files"].items():
        line = difference(name, noted, file_identity(name, noted[2] is not None), "mtime" in allow) if name else None
        if line is not None:
            compared.note(f"files: {name!r}", noted, None, line)
    compared.conclude()


def _known_sources(feed: OrderedFeed, saved: Sequence[dict[str, Any]]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The sources of a loop that can be compared before the first call, each with the saved facts about it."""
    found = [False] * len(saved)
    for lane, source in enumerate(feed.request.sources):
        here = facts_of_source(source)
        index = None if here is None else index_of(here, lane, saved, found)
        if index is not None:
            found[index] = True
            yield source, saved[index]


def _reseed(feed: OrderedFeed, saved: Sequence[dict[str, Any]]) -> None:
    """Give sources whose seeds were drawn by chance those of a saved run; StateMismatchError if others differ."""
    compared = Comparison()
    for source, noted in _known_sources(feed, saved):
        then, now = noted.get("seeds"), facts_of_source(source).get("seeds")
        if then != now and not (then and now and source._reseed(then)):
            compared.facts(f"source {noted['name']!r}", {"seeds": then}, {"seeds": now})
    compared.conclude()


def _same_global_batch(saved: dict[str, Any], here: dict[str, Any], allow: Collection[str]) -> bool:
    """Whether all hosts together take batches of the same size, or may take others."""
    return "batch_size" in allow or saved["batch_size"] * saved["shard"][1] == here["batch_size"] * here["shard"][1]
