"""Chains: successive arithmetic with single numbers becomes one step that reads and writes memory once.

A cast, scaled, clipped and moved image takes five steps, and each would allocate an array. Steps that take part of it,
or change its axes, go first: a byte crop is scaled instead of the whole image.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pipeline._chain import CODES, LONGEST, chained
from pipeline.compat.graph import dtypes
from pipeline.compat.session.op_errors import op_error
from pipeline.compat.session.steps import KernelStep

# These take part of an array or change its axes, without reading its values.
_VIEWS = frozenset(("ExpandDims", "Identity", "ImageCrop", "Reshape", "Slice", "Squeeze", "StridedSlice"))

_COLOURS = frozenset(("AdjustHue", "AdjustSaturation"))


class _Link(NamedTuple):
    """A step in a chain.

    Attributes:
        step: The step.
        array: The array's place.
        number: The number's place; None for a cast.
        code: The operation's code; None for a cast, and for steps that pass the array on.
        by_value: True if each result value depends on one value only.
    """

    step: KernelStep
    array: int
    number: int | None
    code: int | None
    by_value: bool = True


def with_chains(steps: Iterable[KernelStep], kept: Iterable[int]) -> list[KernelStep]:
    """Return the steps with each chain replaced by a single one.

    Args:
        steps: The steps.
        kept: Places with values needed after the last step.
    """
    kept = list(kept)
    steps = _views_first(list(steps), kept)
    readers = Counter(place for step in steps for place in step.inputs)
    readers.update(kept)
    made: list[KernelStep | None] = []
    open_chains: dict[int, tuple[list[_Link], int]] = {}  # from the result's place to the chain, and its step's index
    for step in steps:
        link = _link(step)
        if link is None:
            made.append(step)
            continue
        links, at = open_chains.pop(link.array, ([], -1))
        if links and (readers[link.array] > 1 or link.number is None or len(links) == LONGEST):
            links, at = [], -1
        if links:
            made[at] = None
        links = [*links, link]
        open_chains[step.outputs] = links, len(made)
        made.append(_joined(links))
    return _without_casts([step for step in made if step is not None], readers)


def _views_first(steps: list[KernelStep], kept: list[int]) -> list[KernelStep]:
    """Return the steps with each view before the arithmetic it reads, if nothing else reads the arithmetic's result."""
    readers: dict[int, set[int]] = {}
    makers: dict[Any, int] = {}
    for number, step in enumerate(steps):
        makers[step.outputs] = number
        for place in step.inputs:
            readers.setdefault(place, set()).add(number)
    behind: dict[int, list[int]] = {}  # from a view to the arithmetic moved behind it
    home: dict[int, int] = {}  # from this arithmetic to the view
    for number, step in enumerate(steps):
        if step.op.type not in _VIEWS or step.guarded:
            continue
        while (at := makers.get(steps[number].inputs[0])) is not None and (link := _link(steps[at])) is not None:
            view, result = steps[number], steps[at].outputs
            others = readers[result] - {number}
            movable = link.by_value or view.op.type == "Identity"
            if not movable or result in kept or any(steps[each].op.type != "Shape" for each in others):
                break
            for each in others:  # arithmetic keeps the shape
                steps[each] = steps[each]._replace(inputs=(link.array,))
            steps[number] = view._replace(inputs=(link.array, *view.inputs[1:]), outputs=result)
            inputs = tuple(result if place == link.array else place for place in steps[at].inputs)
            steps[at] = steps[at]._replace(inputs=inputs, outputs=view.outputs)
            makers[result], makers[view.outputs] = number, at
            readers[link.array] = readers[link.array] - {at} | others | {number}
            readers[result] = {at}
            if at in home:
                behind[home[at]].remove(at)
            home[at] = number
            behind.setdefault(number, []).insert(0, at)
    order = [each for number in range(len(steps)) if number not in home for each in (number, *behind.get(number, ()))]
    return [steps[each] for each in order]


def _without_casts(steps: list[KernelStep], readers: Mapping[int, int]) -> list[KernelStep]:
    """Return the steps with byte resizing in the form chains accept: images already at the size stay bytes."""
    makers = {step.outputs: number for number, step in enumerate(steps)}
    for step in steps:
        if isinstance(step.kernel, _Chain):
            place = step.inputs[0]
            while (at := makers.get(place)) is not None and readers[place] == 1 and not steps[at].guarded:
                kernel = steps[at].kernel
                if hasattr(kernel, "may_stay_bytes"):
                    steps[at] = steps[at]._replace(kernel=kernel.may_stay_bytes)
                if steps[at].op.type not in _VIEWS:
                    break
                place = steps[at].inputs[0]
    return steps


def _link(step: KernelStep) -> _Link | None:
    op = step.op
    if step.guarded or step.stateful or step.reads or step.outputs.__class__ is not int:
        return None
    if op.outputs[0].dtype is not dtypes.float32:
        return None
    if op.type == "Cast":
        return _Link(step, step.inputs[0], None, None) if op.inputs[0].dtype is dtypes.uint8 else None
    if len(step.inputs) != 2:
        return None
    scalars = [each.shape.sizes == () for each in op.inputs]
    if scalars[0] == scalars[1]:
        return None
    code = CODES.get((op.type, scalars[0]))
    array, number = step.inputs if scalars[1] else step.inputs[::-1]
    return None if code is None else _Link(step, array, number, code, op.type not in _COLOURS)


def _joined(links: list[_Link]) -> KernelStep:
    """Return the step for a chain."""
    first, last = links[0], links[-1]
    if len(links) == 1:
        return last.step
    numbers = [link.number for link in links if link.number is not None]
    return KernelStep(_Chain(links), False, (first.array, *numbers), last.step.outputs, last.step.op, False)


class _Chain:
    """A chain's kernel."""

    def __init__(self, links: list[_Link]) -> None:
        self._links = links
        self._codes = bytes([link.code for link in links if link.code is not None])

    def __call__(self, array: Any, *numbers: Any) -> Any:
        try:
            made = chained(array, self._codes, list(numbers))
        except TypeError:  # not a number: the step itself raises the error
            made = None
        return self._one_by_one(array, numbers) if made is None else made

    def _one_by_one(self, value: Any, numbers: tuple[Any, ...]) -> Any:
        rest = iter(numbers)
        for link in self._links:
            given = [value] if link.number is None else [value, next(rest)]
            if link.step.inputs[0] != link.array:
                given.reverse()
            try:
                value = link.step.kernel(*given)
            except Exception as error:
                raise op_error(error, link.step.op) from error.__cause__
        return value
