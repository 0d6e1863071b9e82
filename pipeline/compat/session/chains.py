"""Chains: arithmetic with single numbers, one step after another, becomes one step that reads and writes memory once.

An image that is cast, scaled, clipped and moved goes through five steps, each of which would allocate an array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pipeline._chain import CODES, LONGEST, chained
from pipeline.compat.graph import dtypes
from pipeline.compat.session.op_errors import op_error
from pipeline.compat.session.steps import Step


class _Link(NamedTuple):
    """A step of a chain.

    Attributes:
        step: The step.
        array: The place of the array.
        number: The place of the number; None for a cast.
        code: Of the operation; None for a cast, and for what passes the array on.
    """

    step: Step
    array: int
    number: int | None
    code: int | None


def with_chains(steps: Iterable[Step], kept: Iterable[int]) -> list[Step]:
    """Return the steps with a single one for each chain.

    Args:
        steps: The steps.
        kept: The places whose values are needed after the last step.
    """
    steps = list(steps)
    readers = Counter(place for step in steps for place in step.inputs)
    readers.update(kept)
    made: list[Step | None] = []
    open_chains: dict[int, tuple[list[_Link], int]] = {}  # by the place of the result: the chain, and where its step is
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
    return [step for step in made if step is not None]


def _link(step: Step) -> _Link | None:
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
    return None if code is None else _Link(step, array, number, code)


def _joined(links: list[_Link]) -> Step:
    """Return the step for a chain."""
    first, last = links[0], links[-1]
    if len(links) == 1:
        return last.step
    numbers = [link.number for link in links if link.number is not None]
    codes = bytes([link.code for link in links if link.code is not None])
    return Step(_kernel(links, codes), False, (first.array, *numbers), last.step.outputs, last.step.op, False)


def _kernel(links: list[_Link], codes: bytes) -> Callable[..., Any]:
    def kernel(array: Any, *numbers: Any) -> Any:
        try:
            made = chained(array, codes, list(numbers))
        except TypeError:  # a number that is none: the step itself says so
            made = None
        return one_by_one(array, numbers) if made is None else made

    def one_by_one(value: Any, numbers: tuple[Any, ...]) -> Any:
        rest = iter(numbers)
        for link in links:
            given = [value] if link.number is None else [value, next(rest)]
            if link.step.inputs[0] != link.array:
                given.reverse()
            try:
                value = link.step.kernel(*given)
            except Exception as error:
                raise op_error(error, link.step.op) from error.__cause__
        return value

    return kernel
