"""check_resume: identical runs of a dataset, and exact resuming."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pipeline.checks.of_runs import CHECKS
from pipeline.checks.outcome import Checked, CheckFailed, NotApplicable
from pipeline.checks.trial import Settings, Trial
from pipeline.checks.variants import again, part
from pipeline.datasets.dataset import Dataset
from pipeline.diagnostics.frames import shown as place_shown
from pipeline.dtypes import at_least, items, one_of
from pipeline.errors import invalid
from pipeline.stages.node import Node, nodes_of
from pipeline.workers.given import checked_workers


def check_resume(
    dataset: Dataset[Any] | Callable[[], Dataset[Any]],
    *,
    expected: Iterable[Any] | None = None,
    limit: int | None = 100,
    workers: Sequence[Any] = (None, 2),
    hosts: Sequence[int] = (2, 3),
    checks: Sequence[str] | None = None,
    at: int | None = None,
    seed: int = 0,
) -> Checked:
    """Check that every run gives the same elements, and that the dataset resumes exactly.

    The checks, in this order:

    - "elements": a pass gives the `expected` elements.
    - "again": so does the next pass.
    - "length": `len(dataset)` is the element count, if it is known.
    - "index": `dataset[i]` is element i, if there is random access.
    - "resume": after loading the state before each element, the rest is the same.
    - "resumed": also if each run resumes from the state of a run that was
      itself resumed.
    - "workers": other workers compute the same elements, and each resumes the
      others' states. A `flat_map` without workers keeps none, as its results may
      never end.
    - "hosts": `shard` divides the elements among hosts, and other host counts
      can resume.

    Args:
        dataset: The dataset, or a function that makes it. A function is called
            for each run, so that nothing in memory can replace what a state
            lacks, as in a new process.
        expected: The elements, if you know them. Only values count, not dtypes.
        limit: How many elements per pass to look at; None for all.
        workers: The workers to compare, as for `map`: None is the calling
            thread. `pipeline.processes(2)` also finds functions that depend on
            the process.
        hosts: Host counts to compare.
        checks: Names of the checks to run; by default all.
        at: Resume only before this element.
        seed: Seed for choosing positions, workers and hosts.

    Returns:
        The results. Print them to see which checks did not apply, and why.

    Raises:
        CheckFailed: A check fails. The message names the step to blame.
        TypeError, ValueError: An argument is wrong.
        Exception: Any error in the first pass over your dataset.

    Thread safety: you may call it from any thread.

    Examples:
        >>> from pipeline.testing import check_resume
        >>> data = pipeline.dataset(range(8)).shuffle(seed=1).batch(3)
        >>> check_resume(data)
        again: 3 elements in 2 passes
        length: 3
        index: 3 elements
        resume: at 4 positions
        resumed: 3 elements in 3 runs
        hosts: 2, 3
        workers: not checked, no step calls a function of yours that workers may call
    """
    make = _maker("check_resume", dataset)
    settings = _checked_settings(expected, limit, workers, hosts, at, seed)
    names = chosen_checks("check_resume", checks, tuple(CHECKS), expected is not None)
    given = "dataset" + ("" if seed == 0 else f", seed={seed}") + ("" if limit == 100 else f", limit={limit}")
    return run_checks(Trial(make, settings), names, f"pipeline.testing.check_resume({given}")


def chosen_checks(what: str, checks: Sequence[str] | None, known: Sequence[str], expected: bool) -> list[str]:
    """Return the names of the checks to run; without expected elements, "elements" is left out."""
    if checks is None:
        return [each for each in known if expected or each != "elements"]
    return [one_of(known, each, f"{what}: checks") for each in items(checks, f"{what}: checks", "names")]


def _maker(what: str, given: Any) -> Callable[[], Dataset[Any]]:
    if isinstance(given, Dataset):
        return lambda: again(given)
    if not callable(given):
        raise TypeError(f"{what}: expected a dataset, or a function that makes it, got {given!r:.80}")
    return lambda: _made(what, given)


def _made(what: str, make: Callable[[], Any]) -> Dataset[Any]:
    found = make()
    if not isinstance(found, Dataset):
        raise TypeError(f"{what}: the function must return a dataset, and returned {found!r:.80}")
    return again(found)


def _checked_settings(
    expected: Iterable[Any] | None, limit: int | None, workers: Sequence[Any], hosts: Sequence[int], at: Any, seed: Any
) -> Settings:
    what = "check_resume"
    return Settings(
        None if expected is None else items(expected, f"{what}: expected", "elements"),
        None if limit is None else at_least(1, limit, f"{what}: limit"),
        [
            None if each is None else checked_workers(what, each, len)
            for each in items(workers, f"{what}: workers", "workers")
        ],
        [at_least(1, each, f"{what}: hosts") for each in items(hosts, f"{what}: hosts", "numbers")],
        None if at is None else at_least(0, at, f"{what}: at"),
        at_least(0, seed, f"{what}: seed"),
    )


def run_checks(trial: Trial, names: Iterable[str], call: str, variant: str = "") -> Checked:
    """Run checks on a dataset.

    Args:
        trial: The dataset.
        names: The checks.
        call: Beginning of the call that repeats one check, without the last parenthesis.
        variant: The variant under test, for errors.

    Raises:
        CheckFailed: A check fails.
    """
    if trial.settings.at is not None and not trial.places():
        raise invalid(f"check_resume: at must be at most {len(trial.elements)} here, got {trial.settings.at}")
    checked = Checked({}, {})
    for name in names:
        try:
            checked.passed[name] = CHECKS[name](trial)
        except NotApplicable as reason:
            checked.skipped[name] = str(reason)
        except CheckFailed as failed:
            failed.check = name
            failed.when += f", {variant}" if variant else ""
            _blame(trial, name, failed)
            at = f", at={failed.resumed_at}" if failed.resumed_at is not None else ""
            failed.replay = f"{call}, checks=[{name!r}]{at})"
            raise
    return checked


# Find the step to blame ----------------------------------------------------------------------------------------------


def _blame(trial: Trial, name: str, failed: CheckFailed) -> None:
    """Add the step to blame to the error, and the usual causes."""
    if name == "elements":  # only the whole dataset can be checked
        return
    found, last = _to_blame(trial, name), trial.make()._node
    node = last if found is None else found
    hint = failed.hint or _hint(name, node, trial)
    calls = [each.call() for each in nodes_of(last) if each.stage == "function" and (name, "function") in _CAUSES]
    kept = trial.make()._node is last  # a function may make another recipe each time
    known = found is not None and (hint != "" or not kept)
    if known or not calls or trial.settings.source:
        failed.step, failed.hint = _told(node), hint
    else:  # a function with memory behaves when it is called again
        failed.step = calls[0] if len(calls) == 1 else f"unknown: one of {', '.join(calls)}"
        failed.hint = "it remembers something from earlier runs" + (": pass a function that makes the dataset" * kept)


def _to_blame(trial: Trial, name: str) -> Node | None:
    """Return the first step that fails a check; None if all steps pass it now."""
    last = trial.make()._node
    limit = trial.settings.limit
    settings = trial.settings._replace(expected=None, at=None, limit=None if limit is None else 20 * limit)
    nodes = nodes_of(last)
    for i, node in enumerate(nodes):
        try:
            CHECKS[name](Trial(lambda i=i: part(trial.make(), i), settings))  # type: ignore[misc]
        except CheckFailed:
            return node
        except Exception:  # the step cannot run alone, or the check does not apply to it
            continue
    return None


def _told(node: Node) -> str:
    place = "" if node.made_at is None else f", written at {place_shown(node.made_at)},"
    return f"{node.call()}{place} is the first step that fails this check"


_CAUSES = {
    ("again", "source"): "the source gives other elements when it is read again",
    ("again", "function"): "the function depends on something besides the example: random numbers that are not from "
    "pipeline.example_rng(), a counter, the time, or an example that it changes in place",
    ("length", "source"): "len() of the source is not the number of examples that it gives",
    ("index", "source"): "the source gives other examples by index than in a loop",
    ("resume", "source"): "the state of the source does not contain its whole position",
    ("resume", "function"): "the function remembers something from one call to the next, which no state contains",
    ("workers", "function"): "the function depends on the thread or process that calls it, or on earlier calls",
}
_CAUSES |= {("resumed", stage): _CAUSES["resume", stage] for stage in ("source", "function")}
_CAUSES |= {("index", "function"): _CAUSES["again", "function"], ("hosts", "function"): _CAUSES["resume", "function"]}
_CAUSES |= {("hosts", "source"): _CAUSES["resume", "source"]}
_UNSEEDED = "no seed was given, so each time the dataset is made another one is drawn: pass seed="


def _hint(name: str, node: Node, trial: Trial) -> str:
    seed = node.seed()
    if name == "again" and seed is not None and seed.drawn and trial.make()._node is not trial.make()._node:
        return _UNSEEDED
    return _CAUSES.get((name, node.stage), "")
