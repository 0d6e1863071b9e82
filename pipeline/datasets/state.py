"""State: a dataset iterator's position as plain data, and the checks before it is loaded."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.datasets.mixes import Matched, check_left_out, check_mixes, saved_mixes
from pipeline.datasets.moving import Moving, Pairs, check_batches, check_hosts
from pipeline.diagnostics.wording import count, named
from pipeline.dtypes import items, one_of
from pipeline.errors import InvalidArgumentError, StateMismatchError, invalid
from pipeline.files.identity import difference, file_identity
from pipeline.orders.seeds import Seed, given_seed
from pipeline.resume.form import check_form
from pipeline.resume.mismatch import Comparison
from pipeline.resume.plain import not_plain
from pipeline.stages.node import Node, facts_of, seeds_of
from pipeline.stages.run import Run
from pipeline.stages.stream import fitting

if TYPE_CHECKING:
    from pipeline.datasets.record import Record

FORMAT = "queue-runner/dataset"
VERSION = 3

# Differences accepted by `allow`, and the recipe options concerned. "shard" has no effect: another number of hosts is
# always allowed, and older programs pass it.
ALLOWED = {
    "batch_size": {"n", "max_tokens"},
    "num_epochs": {"num_epochs"},
    "shard": set[str](),
    "mtime": set[str](),
    "weights": {"weights"},
}

_KEYS = {
    *("format", "version", "made_by", "delivered", "ended", "fingerprint", "epoch", "recipe", "seeds", "state"),
    *("mixes", "files", "checksum"),
}

# Names for batch options in `allow` and the batch functions.
_BATCH_WORDS = {"n": "batch_size"}

_LONGEST = 200  # a recipe's maximum length in an error


def state_of(node: Node, run: Run, record: Record, summed: bool, ended: bool) -> dict[str, Any]:
    """Return an iterator's state.

    Args:
        node: The recipe.
        run: The iterator's epoch, seeds, and opened files.
        record: The position after the last delivered element.
        summed: True if there is a checksum.
        ended: True if it was the last element.
    """
    state = {
        "format": FORMAT,
        "version": VERSION,
        "made_by": __version__,
        "delivered": {"batches": record.batches, "elements": record.examples},
        "ended": ended,
        "fingerprint": f"{record.examples}-{record.value:016x}" if summed else None,
        "epoch": run.epoch,
        "recipe": _plain(facts_of(node)),
        "seeds": [list(run.seeds.pair(seed)) for seed in seeds_of(node)],
        "state": copy.deepcopy(record.state),
        "mixes": saved_mixes(node, run.mixed),
        "files": _plain(run.files.listed()),
    }
    state["checksum"] = _checksum(state)
    return state


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))  # turns tuples into lists


def _checksum(state: Mapping[str, Any]) -> str:
    import hashlib  # imported lazily: loading OpenSSL costs 3 ms

    text = json.dumps({key: value for key, value in state.items() if key != "checksum"}, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def loaded_state(state: Any, node: Node, epoch: int, allow: Collection[str]) -> dict[str, Any]:
    """Check a state, and adopt its seeds if the recipe's were drawn.

    Returns:
        The state, adapted to the recipe here.

    Raises:
        StateMismatchError: It was saved by another recipe, or over other files.
        InvalidArgumentError: It is not a state, is damaged, or has another version.
        TypeError, ValueError: `allow` is not a collection of names, or has an unknown one.
    """
    for name in items(allow, "load_state_dict: allow", "names"):
        one_of(list(ALLOWED), name, "load_state_dict: allow: a name")
    check_form(state, FORMAT, VERSION, "state_dict of a dataset's iterator")
    if missing := sorted(_KEYS - set(state)):
        raise invalid(f"load_state_dict: the state is damaged: it has no {', '.join(missing)}")
    _check_whole(state)
    matched = _matched(state, node, epoch, allow)
    here = _plain(facts_of(matched.node))
    found = copy.deepcopy(state)
    with fitting():
        if matched.recipe != here:
            pairs = Pairs(matched.node, matched.recipe)
            check_batches(pairs)
            check_hosts(pairs, state["ended"])
            found["state"] = Moving(pairs).state(found["state"])
        notes, seeds = matched.notes(node, found), matched.seeds(state["seeds"])
    if seeds is None:
        raise invalid("load_state_dict: the state is damaged: its seeds do not match its recipe")
    if left_out := matched.left_out():
        check_left_out(node, found["state"], epoch, notes, left_out)
    _adopt(seeds)
    now = _plain(facts_of(node))
    if state["recipe"] != now:
        found["recipe"], found["mixes"] = now, saved_mixes(node, notes)
        found["seeds"] = [list(seed.pair) for seed in seeds_of(node)]
        found["checksum"] = _checksum(found)
    return found  # type: ignore[no-any-return]


def _matched(state: Mapping[str, Any], node: Node, epoch: int, allow: Collection[str]) -> Matched:
    """Match a recipe with a state's recipe; raise the errors of `loaded_state` if they differ."""
    comparison = Comparison()
    but = {option for name in allow for option in ALLOWED[name]}
    try:
        _check_values(state)
        matched = Matched(node, state["recipe"], state["mixes"], _same(but) if "weights" in allow else None)
        here = _plain(facts_of(matched.node))
        if state["epoch"] != epoch:
            comparison.note("epoch", state["epoch"], epoch)
        if state["fingerprint"] is None and node.summed is not None:
            text = "the state was saved without .checksum(): a fingerprint would leave out the examples before it"
            comparison.note("checksum", False, True, text)
        _compare_steps(matched.recipe, here, comparison)
        _compare(matched.recipe, here, but, comparison)
        for name, identity in state["files"].items():
            if not name:
                continue
            found = difference(name, identity, file_identity(name), "mtime" in allow)
            if found is not None:
                comparison.note("files", name, None, found)
    except (InvalidArgumentError, StateMismatchError):
        raise
    except Exception as error:
        raise invalid(f"load_state_dict: the state is damaged: {named(error)}") from error
    comparison.conclude()
    return matched


def _same(but: Collection[str]) -> Callable[[Any, Node], bool]:
    """Return a check for whether a recipe can continue from a saved one's state, except for some options."""

    def same(saved: Any, node: Node) -> bool:
        comparison, here = Comparison(), _plain(facts_of(node))
        _compare_steps(saved, here, comparison)
        _compare(saved, here, but, comparison)
        return not comparison

    return same


def _adopt(pairs: Sequence[tuple[Seed, Any]]) -> None:
    """Use saved seeds; raise StateMismatchError if the user gave a different one."""
    for seed, pair in pairs:
        if not seed.drawn and list(seed.pair) != list(pair):
            given = given_seed(pair), given_seed(seed.pair)  # the seed given by the user
            then, now = given if None not in given else (pair, list(seed.pair))
            raise StateMismatchError([("seed", then, now)])
    for seed, pair in pairs:
        if seed.drawn:
            seed.adopt((pair[0], pair[1]))


def _check_whole(state: Mapping[str, Any]) -> None:
    """Raise the error for a state that is not plain data, or was edited."""
    try:
        odd = not_plain(state, "", False)
    except RecursionError:
        raise invalid("load_state_dict: the state contains itself, or is nested too deeply") from None
    if odd is not None:
        raise TypeError(f"load_state_dict: a state must be plain data, as in JSON, but {odd}")
    if _checksum(state) != state["checksum"]:
        raise invalid("load_state_dict: the state is damaged, or was edited: its checksum does not match")


def _check_values(state: Mapping[str, Any]) -> None:
    """Raise ValueError if a common value of states has the wrong type."""
    check_mixes(state["mixes"])
    if type(state["ended"]) is not bool:
        raise ValueError("ended must be True or False")
    counts = [state["epoch"], *state["delivered"].values()]
    seeds = [number for pair in state["seeds"] for number in pair]
    if not all(type(number) is int for number in [*counts, *seeds]) or not all(0 <= each < 2**62 for each in counts):
        raise ValueError("epoch, delivered and seeds must be integers")
    if not all(0 <= each < 2**64 for each in seeds):
        raise ValueError("seeds must have 64 bits")
    if set(state["delivered"]) != {"batches", "elements"} or any(len(pair) != 2 for pair in state["seeds"]):
        raise ValueError("delivered must have batches and elements, and each of seeds two numbers")
    if state["fingerprint"] is not None:
        int(state["fingerprint"].partition("-")[2], 16)
    for name, noted in state["files"].items():
        _check_digests(noted) if not name else _check_identity(name, noted)


def _check_identity(name: str, noted: Any) -> None:
    """Raise ValueError unless this can identify a file."""
    size, time, digest = noted
    for each in (size, time):
        if each is not None and (isinstance(each, bool) or not isinstance(each, (int, float))):
            raise ValueError(f"files: '{name}' has no size and time, but {noted!r:.80}")
    if digest is not None and not isinstance(digest, (int, str)):
        raise ValueError(f"files: '{name}' has no checksum, but {digest!r:.80}")


def _check_digests(noted: Any) -> None:
    """Raise ValueError unless these are digests of opened files; see `merged`."""
    for index, first, following, digest, *unopened in noted:
        numbers = [index, first, following, *unopened]
        if not all(type(each) is int and 0 <= each < 2**62 for each in numbers) or not isinstance(digest, str):
            raise ValueError(f"files: {[index, first, following, digest]!r:.80} is not a digest of files")


def _compare(saved: Any, here: Any, but: Collection[str], comparison: Comparison) -> None:
    """Record differences between two recipes, except hosts, which `check_hosts` compares, and steps."""
    if saved[0] != here[0] and "shard" in (saved[0], here[0]):  # without a shard there is one host
        saved = saved if saved[0] == "shard" else ["shard", here[1], [saved]]
        here = here if here[0] == "shard" else ["shard", saved[1], [here]]
    if saved[0] != here[0] or len(saved[2]) != len(here[2]):  # recorded by `_compare_steps`
        return
    ignored = {*but, "shard"} - ({"n", "max_tokens"} if saved[0] != "batch" else set())
    if saved[0] == "shard":
        ignored |= {"i", "n"}
    if saved[0] != "mix":
        ignored -= {"weights"}
    was, now = _hosts_of_source(saved[1]), _hosts_of_source(here[1])
    if was != now:  # a position in one shard does not determine the others
        text = (
            f"{saved[0]}: shard= had {count(was, 'host')} when the state was saved and has {now} now: only "
            f"{saved[0]}(...).shard(i, n) resumes with another number"
        )
        comparison.note(f"{saved[0]}: shard", saved[1].get("shard"), here[1].get("shard"), text)
    name = f" {saved[1]['name']!r}" if "name" in saved[1] else ""
    words = _BATCH_WORDS if saved[0] == "batch" else {}
    options, options_here = (
        {words.get(key, key): value for key, value in each.items() if key not in ignored}
        for each in (saved[1], here[1])
    )
    comparison.facts(f"{saved[0]}{name}", options, options_here)
    for one, other in zip(saved[2], here[2], strict=True):
        _compare(one, other, but, comparison)


def _compare_steps(saved: Any, here: Any, comparison: Comparison) -> None:
    """Record different steps in two recipes, except `shard`."""
    then, now = _steps(saved), _steps(here)
    if then == now:
        return
    if max(len(then), len(now)) <= _LONGEST:
        text = f"the recipe was {then} when the state was saved and is {now} now"
    else:
        one, other = _first_difference(saved, here)
        text = f"the recipe had {one} when the state was saved and has {other} instead now"
    comparison.note("the recipe", then, now, text + _of_mixes(saved, here))


def _of_mixes(saved: Any, here: Any) -> str:
    """Return a hint for a mix with another number of inputs; "" if there is none."""
    saved, here = _unsharded(saved), _unsharded(here)
    if saved[0] != here[0]:
        return ""
    was, now = len(saved[2]), len(here[2])
    if saved[0] == "mix" and was != now:
        return f"; mix had {count(was, 'input')} and has {now}: pass allow={{'weights'}} to accept that"
    return next(filter(None, map(_of_mixes, saved[2], here[2])), "")


def _steps(recipe: Any) -> str:
    """Return a recipe's steps, such as "arrays().map().batch()"."""
    kind, _, inputs = _unsharded(recipe)
    if len(inputs) == 1:
        return f"{_steps(inputs[0])}.{kind}()"
    return f"{kind}({', '.join(map(_steps, inputs))})"


def _first_difference(saved: Any, here: Any) -> tuple[str, str]:
    """Return the last differing steps of two recipes."""
    saved, here = _unsharded(saved), _unsharded(here)
    if saved[0] != here[0] or len(saved[2]) != len(here[2]):
        kinds = [f"{kind} of {len(inputs)} datasets" if len(inputs) > 1 else kind for kind, _, inputs in (saved, here)]
        return kinds[0], kinds[1]
    pairs = zip(saved[2], here[2], strict=True)
    return next(_first_difference(*pair) for pair in pairs if _steps(pair[0]) != _steps(pair[1]))


def _unsharded(recipe: Any) -> Any:
    """Return a recipe without `shard` as its last step."""
    return _unsharded(recipe[2][0]) if recipe[0] == "shard" else recipe


def _hosts_of_source(options: Mapping[str, Any]) -> int:
    """Return the number of hosts in a source's `shard=`."""
    return options["shard"][1] if "shard" in options else 1
