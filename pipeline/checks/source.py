"""check_source: does a source keep the promises that datasets rely on?"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pipeline.batches.of_any import dataset
from pipeline.checks.differences import difference, shown
from pipeline.checks.of_runs import CHECKS
from pipeline.checks.outcome import Checked, CheckFailed, NotApplicable
from pipeline.checks.resume import chosen_checks, run_checks
from pipeline.checks.source_trial import ORDER, SourceTrial
from pipeline.checks.trial import Settings, Trial
from pipeline.checks.variants import again
from pipeline.datasets.dataset import Dataset
from pipeline.diagnostics.wording import count as counted
from pipeline.dtypes import at_least, items, one_of
from pipeline.errors import InvalidArgumentError

_OPTIONS = ("num_epochs", "shuffle", "seed", "shard")

_SEEDS = range(1, 9)  # orders to compare

_OF_VARIANTS = ("again", "resume", "workers")

_FEW = 6  # positions at which source variants are resumed


def check_source(
    source: Any,
    *,
    expected: Iterable[Any] | None = None,
    options: Sequence[str] | None = None,
    limit: int | None = 100,
    hosts: Sequence[int] = (2,),
    checks: Sequence[str] | None = None,
) -> Checked:
    """Check that a source keeps the promises that datasets rely on.

    Runs all checks of `check_resume`, on the source alone and before `map` and `shuffle`, and:

    - "rows": writing into one example or batch changes no other.
    - "batch": a batch contains the same examples as a loop over them.
    - "epochs", "shuffle", "shard": `num_epochs`, `shuffle` with `seed`, and
      `shard` work as in every source.
    - "options": wrong values for these are refused.

    Args:
        source: A function that makes the source, called for each run: without
            arguments, or with some of these options. It may return a dataset or
            anything `pipeline.dataset` takes. Or the source itself, such as a
            sequence, an iterable or a generator function.
        expected: The examples in order, if you know them. Only values count.
        options: The function's options; by default those it names.
        limit: How many examples to look at; None for all. "shuffle" and "shard"
            need all.
        hosts: Host counts to compare, also for `shard`.
        checks: Names of the checks to run; by default all.

    Returns:
        The results. Print them to see which checks did not apply, and why.

    Raises:
        CheckFailed: A check fails.
        TypeError, ValueError: An argument is wrong.
        Exception: Any error in the first pass over your source.

    Thread safety: you may call it from any thread.

    Examples:
        >>> from pipeline.testing import check_source
        >>> class Squares:
        ...     def __len__(self):
        ...         return 5
        ...     def __getitem__(self, i):
        ...         return i * i
        >>> checked = check_source(Squares, expected=[0, 1, 4, 9, 16])
        >>> checked.passed["resume"]
        'at 6 positions'
    """
    given = [
        one_of(_OPTIONS, each, "check_source: options")
        for each in _listed(() if options is None else options, "options", "names")
    ]
    known = None if expected is None else _listed(expected, "expected", "examples")
    most = None if limit is None else at_least(1, limit, "check_source: limit")
    counts = [at_least(1, each, "check_source: hosts") for each in _listed(hosts, "hosts", "numbers")]
    names = chosen_checks("check_source", checks, (*CHECKS, *_CHECKS), known is not None)
    tried = SourceTrial(_maker(source), _named(source) if options is None else given, counts, most)
    try:
        checked = _of_runs(tried, [each for each in names if each in CHECKS], known)
        for name in (each for each in names if each in _CHECKS):
            _own_check(tried, name, checked)
    except CheckFailed as failed:
        failed.replay = f"pipeline.testing.check_source(source, checks=[{failed.check!r}])"
        raise
    return checked


def _of_runs(tried: SourceTrial, names: Sequence[str], expected: Sequence[Any] | None) -> Checked:
    """Run the checks of `check_resume` on each variant of the source."""
    checked = Checked({}, {})
    for text, make in tried.variants() if names else ():
        settings = Settings(expected, tried.limit, hosts=tried.hosts, source=True)
        if text:
            settings = Settings(None, tried.limit, workers=(2,), places=_FEW, source=True)
            names = [each for each in names if each in _OF_VARIANTS]
        found = run_checks(_trial(make, settings), names, "", text)
        checked.passed = {**found.passed, **checked.passed}
        checked.skipped = {**found.skipped, **checked.skipped}
    checked.skipped = {name: why for name, why in checked.skipped.items() if name not in checked.passed}
    return checked


def _trial(make: Callable[[], Dataset[Any]], settings: Settings) -> Trial:
    """Read the first pass.

    Raises:
        CheckFailed: There are fewer examples than `len()` says.
    """
    try:
        return Trial(make, settings)
    except IndexError as error:
        data = make()
        if not data._node.indexed or not _is_missing(data, len(data) - 1):
            raise
        first = next(i for i in range(len(data)) if _is_missing(data, i))
        text = f"the source has no example {first}, and len() is {len(data):,}"
        failed = CheckFailed(text, None, f"{len(data):,} examples", f"{first:,}")
        failed.check, failed.hint = "length", "len() of the source is not the number of examples that it gives"
        raise failed from error


def _is_missing(data: Dataset[Any], i: int) -> bool:
    try:
        data[i]
    except IndexError:
        return True
    return False


def _own_check(tried: SourceTrial, name: str, checked: Checked) -> None:
    try:
        checked.passed[name] = _CHECKS[name](tried)
    except NotApplicable as reason:
        checked.skipped[name] = str(reason)
    except CheckFailed as failed:
        failed.check = name
        raise


def _listed(given: Any, name: str, of: str) -> list[Any]:
    return items(given, f"check_source: {name}", of)


def _maker(source: Any) -> Callable[..., Dataset[Any]]:
    """Return the function that makes the source with options."""
    makes = inspect.isclass(source) or (
        callable(source) and not hasattr(source, "__iter__") and not inspect.isgeneratorfunction(source)
    )
    if makes:
        return lambda **options: _dataset(source(**options))
    made = _dataset(source)
    return (lambda: _dataset(source)) if made._node.once() is None else (lambda: again(made))


def _dataset(given: Any) -> Dataset[Any]:
    try:
        return again(dataset(given))
    except TypeError as error:
        raise TypeError(f"check_source: {error}") from error


def _named(source: Any) -> list[str]:
    """Return the options that a function names in its signature."""
    if not callable(source):
        return []
    try:
        parameters = inspect.signature(source).parameters
    except (TypeError, ValueError):  # some builtins have no signature
        return []
    return [each for each in _OPTIONS if each in parameters]


# The checks ----------------------------------------------------------------------------------------------------------


def _rows(tried: SourceTrial) -> str:
    when = "after zeros were written into all examples of a pass: the source gives its own arrays and not copies"
    tried.taken(tried.make().map(_cleared))
    tried.compare(tried.make(), tried.elements, when)
    batches = []
    with contextlib.suppress(InvalidArgumentError):  # examples that cannot be batched
        batches.append(tried.make().batch(1))
    for data in (tried.make(), *batches):
        for example in itertools.islice(data, tried.limit):
            _cleared(example)
    tried.compare(tried.make(), tried.elements, when)
    return counted(len(tried.elements), "example")


def _cleared(value: Any) -> int:
    """Write zeros into all arrays that allow it."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype.hasobject):
        for each in value:
            _cleared(each)
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = np.zeros((), value.dtype)
    return 0


def _batch(tried: SourceTrial) -> str:
    whole = len(tried.elements) // 3 * 3  # there may be more after the limit
    try:
        expected, made = list(dataset(tried.elements[:whole]).batch(3)), tried.make().batch(3)
    except (InvalidArgumentError, TypeError) as error:
        raise NotApplicable(f"examples make no batch: {str(error).splitlines()[0]}") from error
    with iter(made) as batches:
        for i, batch in enumerate(expected):
            if found := difference(batch, next(batches), exact=False):
                text = "of batches differs from the examples of a loop"
                raise CheckFailed(text, i, *found[1:], found.where)
    return f"{counted(whole, 'example')} in batches of 3"


def _epochs(tried: SourceTrial) -> str:
    tried.needs("num_epochs", all_of=True)
    count = len(tried.elements)
    for given in (2, None):
        tried.compare(tried.make(num_epochs=given), tried.elements * 2, f"with num_epochs={given}")
    twice = tried.make(num_epochs=2)
    with iter(twice) as iterator:
        got = sum(1 for _ in iterator)
    if got != 2 * count:
        raise CheckFailed("the source gives too many examples with num_epochs=2", None, f"{2 * count:,}", f"{got:,}")
    if tried.make()._node.length() is not None and len(twice) != 2 * count:
        raise CheckFailed("len(source) is wrong with num_epochs=2", None, f"{2 * count:,}", f"{len(twice):,}")
    return "2, None"


def _shuffle(tried: SourceTrial) -> str:
    tried.needs("shuffle", "seed", all_of=True)
    count = len(tried.elements)
    same, orders = list(range(count)), []
    for seed in _SEEDS:
        orders.append(tried.order(f"with shuffle=True, seed={seed}", shuffle=True, seed=seed))
        if len({tuple(each) for each in (same, *orders)}) > 2:
            break
    if tried.order(f"with shuffle=True, seed={_SEEDS[0]}", shuffle=True, seed=_SEEDS[0]) != orders[0]:
        text = f"the order is another one in the second run with shuffle=True, seed={_SEEDS[0]}"
        raise CheckFailed(text, None, "the same order", "another")
    if count > 1 and all(each == same for each in orders):
        text = f"shuffle=True changes nothing, with seeds {_SEEDS[0]} to {_SEEDS[-1]}"
        raise CheckFailed(text, None, "random orders", "the order of the source")
    if count > 4 and len({tuple(each) for each in orders}) == 1:
        raise CheckFailed("all seeds give the same order", None, "another order for another seed", shown(orders[0]))
    data = tried.make(shuffle=True, seed=_SEEDS[0])
    passes = [tried.numbers(tried.taken(data.epoch(e)), f"with shuffle=True, in epoch {e}") for e in range(2)]
    if count > 4 and passes[0] == passes[1]:
        raise CheckFailed("all epochs have the same order", None, "another order in each epoch", shown(passes[0]))
    if "num_epochs" in tried.options:
        rows = [tried.elements[i] for each in passes[:2] for i in each]
        several = tried.make(shuffle=True, seed=_SEEDS[0], num_epochs=2)
        tried.compare(several, rows, "with shuffle=True, num_epochs=2, compared with .epoch(0) and .epoch(1)")
    return f"seeds {_SEEDS[0]} to {_SEEDS[len(orders) - 1]}"


def _shard(tried: SourceTrial) -> str:
    tried.needs("shard", all_of=True)
    orders: list[dict[str, Any]] = [{}, ORDER] if {"shuffle", "seed"} <= {*tried.options} else [{}]
    for n, order in itertools.product(tried.hosts, orders):
        parts = [tried.taken(tried.make(shard=(i, n), **order)) for i in range(n)]
        if not all(parts) and len(tried.elements) >= n:
            empty = next(i for i, each in enumerate(parts) if not each)
            raise CheckFailed(f"shard=({empty}, {n}) gives nothing", None, "examples for each host", "none")
        tried.numbers([each for part in parts for each in part], f"among all hosts with shard=(i, {n})")
    return ", ".join(map(str, tried.hosts))


_WRONG: dict[str, list[tuple[Any, type[Exception]]]] = {
    "num_epochs": [(0, ValueError), (1.5, TypeError)],
    "shard": [((2, 2), ValueError), (1, TypeError), ((0, 1 << 40), ValueError)],
}


def _options(tried: SourceTrial) -> str:
    names = [each for each in _WRONG if each in tried.options]
    if not names:
        raise NotApplicable("the source has none of " + ", ".join(f"{each}=" for each in _WRONG))
    for name in names:
        for value, kind in _WRONG[name]:
            try:
                tried.make(**{name: value})
            except kind:
                continue
            except Exception as error:
                got = f"{type(error).__name__}: {error}"
                raise CheckFailed(f"{name}={value!r} raises the wrong error", None, kind.__name__, got) from error
            raise CheckFailed(f"{name}={value!r} is not refused", None, f"a {kind.__name__}", "a source")
    return ", ".join(names)


_CHECKS: dict[str, Callable[[SourceTrial], str]] = {
    "rows": _rows,
    "batch": _batch,
    "epochs": _epochs,
    "shuffle": _shuffle,
    "shard": _shard,
    "options": _options,
}
