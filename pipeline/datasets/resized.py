"""resized: the position of a state for batches of another size, or why there is none."""

from __future__ import annotations

import json
from typing import Any

from pipeline.errors import StateMismatchError
from pipeline.flow.stream import later


def resized(position: Any, saved: Any, here: Any) -> Any:
    """Return the position where batches of another size continue at the same example.

    Args:
        position: That of the state.
        saved, here: The recipes, as `facts_of` gives them; they differ in nothing but the sizes of batches.

    Raises:
        StateMismatchError: Something behind the batches has counted those of the other size.
    """
    if saved == here:
        return position
    kind, options, inputs = saved
    ahead = position["later"] if isinstance(position, dict) and "later" in position else 0
    if kind == "batch":
        at = position["at"] if ahead else position
        if isinstance(at, list) and len(at) == 2:
            count, inner = at
            if ahead and inputs != here[2]:
                raise _refused(saved, here, "prefetch")
            inner = later(inner, ahead * options["n"])
            return [count + ahead, resized(inner, inputs[0], here[2][0])]
    elif kind in ("take", "skip", "repeat") and isinstance(position, list):
        *counts, inner = position
        return [*counts, None if inner is None else resized(inner, inputs[0], here[2][0])]
    elif kind == "concatenate" and isinstance(position, list):
        i, count, inner, *early = position
        inner = None if inner is None else resized(inner, inputs[i], here[2][i])
        return [i, count, inner, *([[k, resized(at, inputs[k], here[2][k])] for k, at in each] for each in early)]
    elif kind == "checksum":
        return resized(position, inputs[0], here[2][0])
    elif kind in ("interleave", "mix") and '"later"' not in json.dumps(position):
        return position
    raise _refused(saved, here, kind)


def _refused(saved: Any, here: Any, kind: str) -> StateMismatchError:
    was, now = _sizes(saved), _sizes(here)
    text = (
        f"batch: n was {was} when the state was saved and is {now} now: allow={{'batch_size'}} is not possible, as "
        f"the {kind} behind it had counted batches of {was}"
    )
    return StateMismatchError([("batch: n", was, now)], text)


def _sizes(recipe: Any) -> Any:
    """The size of the first batch of a recipe."""
    kind, options, inputs = recipe
    if kind == "batch":
        return options["n"]
    return next((found for each in inputs if (found := _sizes(each)) is not None), None)
