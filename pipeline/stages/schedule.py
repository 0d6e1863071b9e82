"""Schedule: a mix's weights in each phase, and the examples or tokens drawn before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.stages.stream import whole


class Schedule(NamedTuple):
    """Weights by phase.

    Attributes:
        starts: The number of examples or tokens before each phase, ascending from 0.
        weights: Each phase's weights.
    """

    starts: list[int]
    weights: list[NDArray[np.float64]]

    def plain(self) -> list[Any]:
        """Return plain data: the weights alone if there is one phase."""
        weights = [[float(each) for each in phase] for phase in self.weights]
        return weights[0] if len(weights) == 1 else [list(each) for each in zip(self.starts, weights, strict=True)]

    def by_slot(self, inputs: Sequence[int | None]) -> Schedule:
        """Return the schedule by slot, given the input in each slot; weights are 0 if the input is gone."""
        return Schedule(self.starts, [_by_slot(each, inputs) for each in self.weights])

    def of(self, slots: Sequence[int]) -> Schedule:
        """Return the schedule for the inputs in some slots."""
        return Schedule(self.starts, [each[list(slots)] for each in self.weights])

    def draws(self, slot: int, begin: float, end: float) -> bool:
        """Return whether a slot has a weight at some point between two example or token counts."""
        ends = [*self.starts[1:], np.inf]
        phases = zip(self.starts, ends, self.weights, strict=True)
        return any(start < end and begin < stop and weights[slot] > 0 for start, stop, weights in phases)

    def until_then(self, drawn: int, other: Schedule) -> Schedule:
        """Return this schedule for the first examples or tokens, then another."""
        old = [(start, w) for start, w in zip(*self, strict=True) if start < drawn]
        now = int(np.searchsorted(other.starts, drawn, "right")) - 1
        new = [(max(start, drawn), w) for start, w in zip(other.starts[now:], other.weights[now:], strict=True)]
        starts, weights = zip(*old, *new, strict=True)
        return Schedule(list(starts), list(weights))

    def at(self, drawn: int, ended: NDArray[np.bool_]) -> tuple[int, NDArray[np.float64] | None]:
        """Return the phase after some number of examples or tokens, and its weights.

        If all inputs with a weight have ended, the next phase begins early. The weights are None if there is none.
        """
        phase = int(np.searchsorted(self.starts, drawn, "right")) - 1
        while phase < len(self.starts):
            weights = np.where(ended, 0.0, self.weights[phase])
            if weights.any():
                return phase, weights
            phase += 1
        return phase, None

    def until(self, phase: int) -> float:
        """Return the number of examples or tokens before the next phase."""
        return self.starts[phase + 1] if phase + 1 < len(self.starts) else np.inf


def _by_slot(weights: NDArray[np.float64], inputs: Sequence[int | None]) -> NDArray[np.float64]:
    return np.array([0.0 if each is None else weights[each] for each in inputs])


def schedule_of(plain: Any, count: int) -> Schedule:
    """Return the schedule from plain data, with weight 0 for missing slots."""
    phases = [[0, plain]] if not isinstance(plain[0], list) else plain
    weights = [np.pad(np.array(each, np.float64), (0, count - len(each))) for _, each in phases]
    return Schedule([whole(start) for start, _ in phases], weights)


class MixNotes:
    """Notes on a mix in all of an iterator's passes, for states.

    An input keeps its slot when others are added or left out, because its random numbers depend on the slot.

    Args:
        inputs: The recipe's input in each slot; None if it is gone.
        furthest: The furthest pass, and the examples or tokens drawn in it.
        before: Earlier weights by slot, as [pass, drawn, weights] with the point up to which they held.
        ended: The last complete pass, or None.

    Thread safety: one thread at a time changes `furthest` and `ended`; others may read them.
    """

    def __init__(
        self,
        inputs: list[int | None],
        furthest: tuple[int, int] = (0, 0),
        before: Sequence[Any] = (),
        ended: int | None = None,
    ) -> None:
        self.inputs, self.furthest, self.before, self.ended = inputs, furthest, list(before), ended

    def slots(self) -> list[int]:
        """Return each recipe input's slot."""
        found = {each: slot for slot, each in enumerate(self.inputs) if each is not None}
        return [found[i] for i in range(len(found))]

    def gone(self) -> list[int]:
        """Return the slots of missing inputs."""
        return [slot for slot, each in enumerate(self.inputs) if each is None]

    def note(self, epoch: int, drawn: int) -> None:
        """Note the amount drawn if it is the largest yet."""
        if (epoch, drawn) > self.furthest:
            self.furthest = epoch, drawn

    def in_effect(self, schedule: Schedule, epoch: int) -> Schedule:
        """Return a pass's schedule by slot: first from earlier states, then the recipe's."""
        schedules = [schedule_of(plain, len(self.inputs)) for _, _, plain in self.before]
        schedules.append(schedule.by_slot(self.inputs))
        found = schedules[0]
        for (until, drawn, _), following in zip(self.before, schedules[1:], strict=True):
            if epoch == until:
                found = found.until_then(drawn, following)
            elif epoch > until:
                found = following
        return found

    def needed_again(self, schedule: Schedule, epoch: int, drawn: int) -> list[int]:
        """Return the slots of missing inputs with elements that must be drawn again.

        Args:
            schedule: The pass's schedule, by slot.
            epoch, drawn: The pass, and the amount already drawn in it.
        """
        furthest, most = self.furthest
        end = 0.0 if epoch > furthest else most if epoch == furthest else np.inf
        return [slot for slot in self.gone() if schedule.draws(slot, drawn, end)]
