"""The checks of check_resume: each compares runs of a dataset with its first pass."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pipeline.checks.differences import difference, shown
from pipeline.checks.outcome import CheckFailed, NotApplicable
from pipeline.checks.trial import Trial
from pipeline.checks.variants import again, calls_functions, skips_errors, with_workers
from pipeline.datasets.dataset import Dataset
from pipeline.diagnostics.wording import count as counted
from pipeline.errors import InvalidArgumentError
from pipeline.stages.index import ENDLESS

_ONCE = "an iterator or generator can be read once: pass a list, or a generator function itself, without calling it"
_MAKE = "an iterator can be read once: pass its class, or a function that makes it"


def _elements(trial: Trial) -> str:
    expected = trial.settings.expected
    if expected is None:
        raise NotApplicable("expected= was not given")
    wanted, found = iter(expected[: trial.settings.limit]), iter(trial.elements)
    end: Any = object()
    for i, (one, other) in enumerate(itertools.zip_longest(wanted, found, fillvalue=end)):
        if one is end:
            raise CheckFailed("is one too many", i, "the end", shown(other))
        if other is end:
            raise CheckFailed("is missing", i, shown(one), "the end")
        if different := difference(one, other, exact=False):
            raise CheckFailed("differs from the expected one", i, *different[1:], different.where)
    return f"{counted(len(trial.elements), 'element')} as expected"


def _again(trial: Trial) -> str:
    data = trial.make()
    once = data._node.once()
    remade = trial.make()._node is not data._node
    if once is not None and not (remade and data._node.no_state() is None):  # a new iterator has a pass of its own
        failed = CheckFailed("the dataset has one pass only", None, "the same elements in every pass", once)
        failed.hint = _ONCE if data._node.no_state() is not None else _MAKE
        raise failed
    trial.follow(data, "in the second pass")
    if trial.settings.source and trial.complete and once is None:
        _second_epoch(trial, data)
    return f"{counted(len(trial.elements), 'element')} in 2 passes"


def _second_epoch(trial: Trial, data: Dataset[Any]) -> None:
    """Check that a source returns to its start once a loop over it has ended."""
    try:
        trial.follow(again(data), "in the second epoch of one source")
    except CheckFailed as failed:
        failed.hint = "the source does not return to its start: reset its position in __iter__ or at its end"
        raise


def _length(trial: Trial) -> str:
    data, count = trial.make(), len(trial.elements)
    length = data._node.length()
    if length is None or length == ENDLESS:
        raise NotApplicable("the dataset has no known length")
    if len(data) < count or (trial.complete and len(data) > count):
        raise CheckFailed("len(dataset) is wrong", None, f"{count:,} elements, as in a loop", f"{len(data):,}")
    return f"{len(data):,}"


def _index(trial: Trial) -> str:
    data = trial.make()
    if not data._node.indexed or data._node.length() is None:
        raise NotApplicable("the dataset has no random access")
    for i, element in reversed(list(enumerate(trial.elements))):  # not the order used by a loop
        try:
            found = difference(element, data[i])
        except Exception as error:
            text = f"raised {type(error).__name__}: {error}"
            raise CheckFailed(f"cannot be read by dataset[{i}]", i, shown(element), text) from error
        if found is not None:
            raise CheckFailed(f"differs when it is read by dataset[{i}]", i, *found[1:], found.where)
    return counted(len(trial.elements), "element")


def _resume(trial: Trial) -> str:
    places = trial.places()
    for k in places:
        _at(k, trial.follow, trial.make(), f"after a resume before element {k}", first=k, state=trial.states[k])
    return f"at {counted(len(places), 'position')}"


def _at(k: int, follow: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Compare after a resume; an error includes the position."""
    try:
        follow(*args, **kwargs)
    except CheckFailed as failed:
        failed.resumed_at = k
        raise


def _resumed(trial: Trial) -> str:
    size = -(-len(trial.elements) // trial.settings.places) or 1
    runs = _relay(trial, itertools.repeat((trial.make, "", size)))
    return f"{counted(len(trial.elements), 'element')} in {counted(runs, 'run')}"


def _relay(trial: Trial, runners: Iterator[tuple[Callable[[], Dataset[Any]], str, int]]) -> int:
    """Check runs in a row, where each resumes from the previous run's state.

    Args:
        trial: The expected elements.
        runners: A function that makes the dataset, its name for errors, and an element count, per run.

    Returns:
        The run count.
    """
    k, state, runs = 0, None, 0
    while k < len(trial.elements):
        make, name, size = next(runners)
        states: list[dict[str, Any]] = []
        when = f"in a run{name} that resumed before element {k}, from the state of a run that had been resumed, too"
        trial.follow(make(), when if runs else f"in a run{name}", first=k, count=size, state=state, states=states)
        k, state, runs = min(k + size, len(trial.elements)), states[-1], runs + 1
    return runs


def _with_workers(trial: Trial, workers: Any) -> Dataset[Any]:
    return with_workers(trial.make(), workers)


def _workers(trial: Trial) -> str:
    if not calls_functions(trial.make()):
        raise NotApplicable("no step calls a function of yours that workers may call")
    makers: list[tuple[Callable[[], Dataset[Any]], str]] = [(trial.make, " with the dataset's own workers")]
    places = trial.places()
    for each in trial.settings.workers:
        make, name = functools.partial(_with_workers, trial, each), f" with workers={each!r}"
        states: list[dict[str, Any]] = []
        trial.follow(make(), name.lstrip(), states=states)
        for k in places[:: max(1, len(places) // 5)]:
            when = f"after a resume before element {k}"
            from_own = f"{when}{name}, from a state of the dataset as it is"
            _at(k, trial.follow, make(), from_own, first=k, state=trial.states[k])
            _at(k, trial.follow, trial.make(), f"{when}, from a state of a run{name}", first=k, state=states[k])
        makers.append((make, name))
    rng, most = trial.settings.random(), 1 + len(trial.elements) // 10
    _relay(trial, ((*rng.choice(makers), rng.randint(1, most)) for _ in itertools.count()))
    return ", ".join(map(repr, trial.settings.workers))


def _hosts(trial: Trial) -> str:
    counts, skips = trial.settings.hosts, skips_errors(trial.make())
    try:
        for n in counts:
            for equal in (True,) if skips else (False, True):  # otherwise each host leaves out its own failures
                _divided(trial, n, equal)
        _moved(trial, counts)
    except InvalidArgumentError as error:
        if not str(error).startswith(("shard:", "checksum:")):
            raise
        raise NotApplicable(str(error)) from error
    return ", ".join(map(str, counts))


def _divided(trial: Trial, n: int, equal: bool) -> None:
    """Check that n hosts divide the elements."""
    rounds = len(trial.elements) // n
    whole = trial.elements[: rounds * n] if equal or not trial.complete else trial.elements
    for i in range(n):
        text = f"as one of host {i} of {n}, with shard({i}, {n}{', drop_remainder=True' if equal else ''})"
        count = None if trial.complete else rounds
        trial.follow(trial.make().shard(i, n, drop_remainder=equal), text, expected=whole[i::n], count=count)


def _moved(trial: Trial, counts: Sequence[int]) -> None:
    """Check that other host counts resume from these states."""
    rng, state, k = trial.settings.random(), None, 0
    while True:
        n, rounds = rng.choice([1, *counts]), rng.randint(1, 1 + len(trial.elements) // 8)
        if k + n * rounds > len(trial.elements):
            return
        saved = []
        for i in range(n):
            states: list[dict[str, Any]] = []
            wanted = trial.elements[k + i : k + n * rounds : n]
            text = f"as one of host {i} of {n}" + (f", resumed before element {k} of all hosts" if k else "")
            data = trial.make().shard(i, n, drop_remainder=True)
            trial.follow(data, text, expected=wanted, count=rounds, state=state, states=states)
            saved.append(states[-1])
        k, state = k + n * rounds, rng.choice(saved)


CHECKS: dict[str, Callable[[Trial], str]] = {
    "elements": _elements,
    "again": _again,
    "length": _length,
    "index": _index,
    "resume": _resume,
    "resumed": _resumed,
    "workers": _workers,
    "hosts": _hosts,
}
