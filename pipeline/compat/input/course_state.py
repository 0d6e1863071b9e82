"""The state of a queue that is filled in order as plain data, and a queue that goes on from one."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

from pipeline.batches.replay import Replay
from pipeline.compat.queues.course import Course
from pipeline.errors import FailedPreconditionError, invalid
from pipeline.files.identity import difference, file_identity, merged, of_one
from pipeline.resume.checksum import is_changed, with_checksum
from pipeline.resume.journal import EVERY, unpacked
from pipeline.resume.mismatch import Comparison


def no_state(reason: str) -> FailedPreconditionError:
    """The error for an input to which there is no way back."""
    return FailedPreconditionError(
        None,
        None,
        f"state_dict: {reason}, so nobody could go back to where the input is. Read by readers and dequeues from "
        "string_input_producer and its relatives, in what a batch function batches; see docs/migrate.md",
    )


def state_of(course: Course) -> dict[str, Any]:
    """The state after what was delivered.

    Raises:
        FailedPreconditionError: There is no way back to that place.
    """
    delivered, total = course.delivered, course.total
    if course.loaded is not None and delivered == course.loaded["delivered"]:
        return copy.deepcopy(course.loaded)
    refuse(course)
    if course.drawn_from_rest:
        raise FailedPreconditionError(
            None,
            None,
            f"state_dict: the threads of '{course.name}' failed or were stopped, and the last batch was drawn from "
            "what its pool had left. No other run has this batch; go on from an earlier state",
        )
    resume_at, ended = course.pool.place(delivered, total)
    facts = _facts(course)
    columns = [f"{each['name']}.{column}" for each in facts for column in each["columns"]]
    state = {
        "delivered": delivered,
        "ended": total if ended else None,
        "queue": _queue_facts(course),
        "sources": facts,
        "journal": course.journal.packed(course.pool.oldest(delivered, total), resume_at, columns),
        "files": merged(getattr(thing, "_files", dict)() for thing in course.things),
    }
    return with_checksum(state)


def compare(course: Course, saved: dict[str, Any], allow: Collection[str], compared: Comparison) -> None:
    """Take down all in which a queue here differs from the one that a state is of.

    Raises:
        FailedPreconditionError: There is no way to any place of the input here.
        InvalidArgumentError: The state was changed since it was taken.
    """
    if is_changed(saved):
        raise invalid(
            f"load_state_dict: the state of '{course.name}' is damaged: its checksum is of another one. Something has "
            "changed it since state_dict returned it; go on from another state"
        )
    refuse(course)
    but = {"name", *allow}
    compared.facts(f"queue '{course.name}'", saved["queue"], _queue_facts(course))
    here, names = _facts(course), [each["name"] for each in saved["sources"]]
    if [each["name"] for each in here] != names:
        compared.note(f"queue '{course.name}': sources", names, [each["name"] for each in here])
    else:
        for one, other in zip(saved["sources"], here, strict=True):
            compared.facts(f"source '{one['name']}'", one, other, but)
    for name, noted in saved["files"].items():
        line = difference(name, noted, file_identity(name, noted[2] is not None), "mtime" in allow) if name else None
        if line is not None:
            compared.note(f"files: {name!r}", noted, None, line)
    for index, thing in enumerate(course.things):
        if hasattr(thing, "_remember_files"):
            line = thing._remember_files(of_one(saved["files"], index))
            if line is not None:
                compared.note(f"files of {thing.name!r}", None, None, line)


def go_on(course: Course, saved: dict[str, Any]) -> None:
    """Let a queue that nothing was taken for yet go on from a state that fits it."""
    journal, delivered, total = saved["journal"], saved["delivered"], saved["ended"]
    if not journal["first"]:
        course.go_on(None, saved)
        return
    entries = unpacked(journal, [len(facts["columns"]) for facts in saved["sources"]])
    held = course.pool.held(delivered, total)
    resume_at, ended = course.pool.place(delivered, total)
    course.go_on(Replay(entries, held, resume_at, ended, [], {}, EVERY, False), saved)


def refuse(course: Course) -> None:
    """Raise FailedPreconditionError if there is no way back to any place of the input."""
    reasons = course.reasons or [reason for thing in course.things if (reason := thing._no_state()) is not None]
    if reasons:
        raise no_state(f"of what '{course.name}' is filled with, {reasons[0]}")


def _facts(course: Course) -> list[dict[str, Any]]:
    return [{**thing._facts(), "columns": list(thing.columns)} for thing in course.things]


def _queue_facts(course: Course) -> dict[str, Any]:
    """What decides the elements, but for what they are taken from."""
    spec = course.queue.spec
    assert course.survey is not None
    return {
        "kind": spec.kind,
        "min_after_dequeue": course.held_back,
        "seeds": None if course.held_back is None else list(spec.seeds),
        "components": [
            [dtype.name, None if shape.sizes is None else list(shape.sizes)]
            for dtype, shape in zip(spec.dtypes, spec.shapes or (), strict=False)
        ],
        **course.survey.facts(),
    }
