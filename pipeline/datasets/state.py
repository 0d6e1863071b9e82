"""State: where an iterator of a dataset stands, as plain data, and what must be equal for it to be loaded."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from pipeline import __version__
from pipeline.datasets.node import Node, Opening, facts_of, seeds_of
from pipeline.datasets.resized import resized
from pipeline.datasets.seed import Seed
from pipeline.diagnostics.wording import named
from pipeline.dtypes import items, one_of
from pipeline.errors import InvalidArgumentError, StateMismatchError, invalid
from pipeline.files.identity import difference, file_identity
from pipeline.resume.form import check_form
from pipeline.resume.mismatch import Comparison

FORMAT = "queue-runner/dataset"
VERSION = 2

# What a caller may allow to differ, and the options of a recipe that this is about.
ALLOWED = {"batch_size": {"n"}, "num_epochs": {"num_epochs"}, "shard": {"i", "shard"}, "mtime": set[str]()}

_KEYS = {
    "format",
    "version",
    "made_by",
    "delivered",
    "fingerprint",
    "epoch",
    "recipe",
    "seeds",
    "position",
    "things",
    "files",
    "checksum",
}


def state_of(
    node: Node,
    epoch: int,
    seeds: Mapping[Seed, tuple[int, int]],
    delivered: tuple[int, int, int],
    position: Any,
    opening: Opening,
) -> dict[str, Any]:
    """Return the state of an iterator.

    Args:
        node: The recipe.
        epoch: Which pass it is.
        seeds: Those that the iterator uses instead of the recipe's.
        delivered: Batches, examples, and the fingerprint of their order.
        position: Where the next element comes from.
        opening: What knows the things that functions read from, and the files that were read.
    """
    batches, examples, value = delivered
    state = {
        "format": FORMAT,
        "version": VERSION,
        "made_by": __version__,
        "delivered": {"batches": batches, "elements": examples},
        "fingerprint": f"{examples}-{value:016x}",
        "epoch": epoch,
        "recipe": facts_of(node),
        "seeds": [list(seeds.get(seed) or seed.pair) for seed in seeds_of(node)],
        "position": position,
        "things": opening.things.facts(),
        "files": opening.files(),
    }
    state = json.loads(json.dumps(state))  # lists where there were tuples
    assert isinstance(state, dict)
    state["checksum"] = _checksum(state)
    return state


def _checksum(state: Mapping[str, Any]) -> str:
    import hashlib  # 3 ms, as it loads OpenSSL, which a program that saves no state need not wait for

    text = json.dumps({key: value for key, value in state.items() if key != "checksum"}, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _not_plain(value: Any, place: str) -> str | None:
    """Return what in a state is no plain data, such as the NumPy number that a framework has made of an integer."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return None
    if isinstance(value, dict):
        inner = [(f"{place}[{key!r:.80}]", each) for key, each in value.items()]
        if keys := [key for key in value if not isinstance(key, (str, int))]:
            return f"a key of state{place} is {keys[0]!r:.80}"
    elif isinstance(value, (list, tuple)):
        inner = [(f"{place}[{i}]", each) for i, each in enumerate(value)]
    else:
        return f"state{place} is {value!r:.80}, of type {type(value).__module__}.{type(value).__qualname__}"
    return next((odd for where, each in inner if (odd := _not_plain(each, where)) is not None), None)


def check_state(state: Any, node: Node, epoch: int, allow: Collection[str]) -> None:
    """Raise what says why a state cannot be loaded.

    Raises:
        StateMismatchError: It was saved by another recipe, or over other files.
        InvalidArgumentError: It is no state, is damaged, or of another version.
        TypeError, ValueError: `allow` is no collection of names, or names something else.
    """
    for name in items(allow, "load_state_dict: allow", "names"):
        one_of(list(ALLOWED), name, "load_state_dict: allow: a name")
    check_form(state, FORMAT, VERSION, "state_dict of a dataset's iterator")
    if missing := sorted(_KEYS - set(state)):
        raise invalid(f"load_state_dict: the state is damaged: it has no {', '.join(missing)}")
    _check_whole(state)
    comparison = Comparison()
    try:
        _check_values(state)
        if state["epoch"] != epoch:
            comparison.note("epoch", state["epoch"], epoch)
        but = {option for name in allow for option in ALLOWED[name]}
        _compare(state["recipe"], json.loads(json.dumps(facts_of(node))), but, comparison)
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
    if len(state["seeds"]) != len(seeds_of(node)):
        raise invalid("load_state_dict: the state is damaged: it has another number of seeds than its recipe")


def _check_whole(state: Mapping[str, Any]) -> None:
    """Raise what says that a state is no plain data, or was edited."""
    try:
        odd = _not_plain(state, "")
    except RecursionError:
        raise invalid("load_state_dict: the state holds itself, or is nested too deeply") from None
    if odd is not None:
        raise TypeError(f"load_state_dict: a state is plain data, as JSON has it, and here {odd}")
    if _checksum(state) != state["checksum"]:
        raise invalid("load_state_dict: the state is damaged, or was edited: its checksum does not fit")


def _check_values(state: Mapping[str, Any]) -> None:
    """Raise ValueError if the values that every recipe's state has are not of their kinds."""
    counts = [state["epoch"], *state["delivered"].values()]
    seeds = [number for pair in state["seeds"] for number in pair]
    if not all(type(number) is int for number in [*counts, *seeds]) or not all(0 <= each < 2**62 for each in counts):
        raise ValueError("epoch, delivered and seeds must be integers")
    if set(state["delivered"]) != {"batches", "elements"} or any(len(pair) != 2 for pair in state["seeds"]):
        raise ValueError("delivered must have batches and elements, and each of seeds two numbers")
    int(state["fingerprint"].partition("-")[2], 16)
    for name, noted in state["files"].items():
        _check_digests(noted) if not name else _check_identity(name, noted)
    if not isinstance(state["things"], list) or not all(isinstance(thing["name"], str) for thing in state["things"]):
        raise ValueError("things must be a list of facts with a name")
    pairs = [thing["seeds"] for thing in state["things"] if thing.get("seeds") is not None]
    if not all(isinstance(pair, list) and list(map(type, pair)) == [int, int] for pair in pairs):
        raise ValueError("seeds of things must be two integers each")


def _check_identity(name: str, noted: Any) -> None:
    """Raise ValueError if this is not what tells a file from a changed one."""
    size, time, digest = noted
    for each in (size, time):
        if each is not None and (isinstance(each, bool) or not isinstance(each, (int, float))):
            raise ValueError(f"files: '{name}' has no size and time, but {noted!r:.80}")
    if digest is not None and not isinstance(digest, (int, str)):
        raise ValueError(f"files: '{name}' has no checksum, but {digest!r:.80}")


def _check_digests(noted: Any) -> None:
    """Raise ValueError if these are not the digests of the files that readers have opened; see `merged`."""
    for index, first, following, digest, *unopened in noted:
        numbers = [index, first, following, *unopened]
        if not all(type(each) is int and 0 <= each < 2**62 for each in numbers) or not isinstance(digest, str):
            raise ValueError(f"files: {[index, first, following, digest]!r:.80} is not a digest of files")


def position_here(state: Mapping[str, Any], node: Node, allow: Collection[str]) -> Any:
    """Return where a recipe continues from a state that `check_state` has passed.

    Raises:
        StateMismatchError: Batches may have another size, and have, and something has counted those of the state.
    """
    if "batch_size" not in allow:
        return state["position"]
    return resized(state["position"], state["recipe"], json.loads(json.dumps(facts_of(node))))


def _compare(saved: Any, here: Any, but: Collection[str], comparison: Comparison) -> None:
    """Note how two recipes differ."""
    if saved[0] != here[0]:
        comparison.note("the recipe", saved[0], here[0], f"the recipe had {saved[0]} where it has {here[0]} now")
        return
    comparison.facts(saved[0], saved[1], here[1], but)
    if len(saved[2]) != len(here[2]):
        comparison.note(f"{saved[0]}: inputs", len(saved[2]), len(here[2]))
    for one, other in zip(saved[2], here[2], strict=False):
        _compare(one, other, but, comparison)
