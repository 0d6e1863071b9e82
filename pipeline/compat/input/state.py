"""input_state: where the batch functions of a session are in their input, as plain data, and a session that goes on."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

from pipeline import __version__
from pipeline.compat.graph.default_session import get_default_session
from pipeline.compat.graph.graph import Graph
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.input.course_state import compare, go_on, no_state, refuse, state_of
from pipeline.compat.queues.course import Course
from pipeline.compat.queues.effects import origin, within
from pipeline.compat.session.ordering import needed
from pipeline.compat.session.session import BaseSession
from pipeline.errors import FailedPreconditionError, OpError, invalid
from pipeline.explain.wording import named
from pipeline.logs import logger
from pipeline.resume.form import check_form
from pipeline.resume.mismatch import Comparison

FORMAT = "queue-runner/input-state"
VERSION = 1

# What a caller may allow to differ.
ALLOWED = ("num_epochs", "mtime")

_TAKES = ("QueueDequeue", "ReaderRead", "RecordInput", "Unstage", "MapUnstage", "OrderedMapUnstage", "BarrierTake")

_DRAWN = "drawn before the session"  # what `load_state_dict` found

_log = logger("pipeline.compat")


def input_state(sess: Any = None) -> InputState:
    """Return what says where a session is in the input of its batch functions, and lets another one go on there.

    It is for graphs that were built after `tf.config.experimental.enable_op_determinism()`. With a program's next run:

        pipeline.compat.input_state(sess).load_state_dict(state)    # before tf.train.start_queue_runners
        ...
        state = pipeline.compat.input_state(sess).state_dict()      # after any Session.run

    Args:
        sess: A session, also a monitored one. Or a graph, to load a state before there is a session: those that are
            made of it go on from the state, such as the one of a MonitoredSession. None is the default session.

    Raises:
        TypeError: It is neither.
        ValueError: There is no default session.
    """
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError("input_state: there is no default session; pass the session")
    while not isinstance(sess, (BaseSession, Graph)):
        inner = getattr(sess, "_creator", None)
        inner = getattr(sess, "_sess", None) if inner is None else inner.tf_sess
        if inner is None:
            raise TypeError(f"input_state takes a session or a graph, not {sess!r:.80}")
        sess = inner
    return InputState(sess)


class InputState:
    """The place of a session in its input; see `input_state`.

    Thread safety: every method may be called from every thread.

    Args:
        where: The session, or a graph.
    """

    def __init__(self, where: BaseSession | Graph) -> None:
        self._where = where

    def state_dict(self) -> dict[str, Any]:
        """Return the place after the last `Session.run` that took a batch and ended without an error.

        Returns:
            Plain data: JSON, msgpack and pickle take it and give it back unchanged. It holds no examples. Queues of
            batch functions that no run has dequeued from are not in it: they begin at the start. Random ops that ran
            together with a dequeue, such as those that augment batches, go on where they are now.

        Raises:
            FailedPreconditionError: There is no way back to that place, and why; or this is a graph, not a session.
        """
        sess = self._where
        if isinstance(sess, Graph):
            raise FailedPreconditionError(None, None, "state_dict: a graph is nowhere in its input; pass the session")
        _check_in_order(sess.graph)
        courses = [each for each in _courses(sess) if each.delivered or each.loaded is not None]
        for course in courses:
            refuse(course)
        _check_alone(sess, courses)
        return {
            "format": FORMAT,
            "version": VERSION,
            "made_by": __version__,
            "queues": {course.name: state_of(course) for course in courses},
            "drawn": {**(sess._resources.find(_DRAWN) or {}), **_drawn(sess)},
        }

    def load_state_dict(self, state: Any, *, allow: Collection[str] = ()) -> None:
        """Let the session give the batches that would have come after those of a state.

        To be called after variables are initialised, and before the queue runners are started. Of a graph, the state
        is looked at when the first of its queue runners starts in a session.

        Args:
            state: What `state_dict` returned.
            allow: Differences to accept: "num_epochs", or "mtime" (the date, of files that are compared by nothing
                else).

        Raises:
            InvalidArgumentError: It is no state, or one of a later version.
            StateMismatchError: The program differs from the one that saved it, or files have changed; nothing was
                loaded.
            FailedPreconditionError: Queue runners were started already; a variable is not initialised; or there is no
                way to a place in this input.
            ValueError: `allow` names something else.
            TypeError: The state is not a dict, or `allow` is a str.
        """
        _check_state(state)
        if isinstance(allow, str):
            raise TypeError(f"allow must be a collection of names, such as {{{allow!r}}}, not {allow!r}")
        unknown = sorted(set(allow) - set(ALLOWED))
        if unknown:
            raise ValueError(f"allow: only {', '.join(ALLOWED)} can be allowed to differ, not {', '.join(unknown)}")
        saved, accepted, where = copy.deepcopy(state), frozenset(allow), self._where
        graph = where if isinstance(where, Graph) else where.graph
        _check_in_order(graph)
        if isinstance(where, Graph):
            where._begins_with = lambda sess: _load(sess, saved, accepted)
        else:
            _check_not_begun(where)
            _load(where, saved, accepted)


def _load(sess: BaseSession, saved: dict[str, Any], allow: Collection[str]) -> None:
    saved, runners, compared = copy.deepcopy(saved), sess.graph._in_order, Comparison()
    try:
        queues = saved["queues"]
        for name in queues:
            if name not in runners:
                compared.note(f"queue '{name}'", "filled by a batch function", "no such queue")
        courses = {name: runners[name].course(sess) for name in queues if name in runners}
        for name, course in courses.items():
            compare(course, queues[name], allow, compared)
        compared.conclude()
        _check_alone(sess, list(courses.values()))
        for name, course in courses.items():
            if course.loaded is not None:
                raise FailedPreconditionError(None, None, f"load_state_dict: '{name}' goes on from a state already")
        for name, course in courses.items():
            go_on(course, queues[name])
        _draw_on(sess, saved["drawn"])
    except OpError:
        raise
    except Exception as error:  # it was edited by hand
        raise invalid(f"load_state_dict: the state is damaged: {named(error)}") from error


def _check_state(state: Any) -> None:
    check_form(state, FORMAT, VERSION, "state_dict of input_state")
    missing = [key for key in ("queues", "drawn") if not isinstance(state.get(key), dict)]
    if missing:
        raise invalid(f"load_state_dict: the state is not whole: it has no {', '.join(missing)}")


def _check_in_order(graph: Graph) -> None:
    if not graph._in_order:
        raise FailedPreconditionError(
            None,
            None,
            "input_state: the graph has no batch function whose order is fixed. Call "
            "tf.config.experimental.enable_op_determinism() before the graph is built",
        )


def _check_not_begun(sess: BaseSession) -> None:
    runners = [*sess.graph.get_collection(GraphKeys.QUEUE_RUNNERS), *sess.graph._in_order.values()]
    begun = next((each for each in runners if sess in each._running), None)
    if begun is not None:
        raise FailedPreconditionError(
            None,
            None,
            f"load_state_dict: the queue runner of '{begun.name}' was started already. Load the state before "
            "tf.train.start_queue_runners; for a monitored session, before it is made: "
            "input_state(tf.get_default_graph()).load_state_dict(state)",
        )


def _drawn(sess: BaseSession) -> dict[str, Any]:
    """Where the random ops are that ran on batches."""
    drawing: list[Any] = [op for op in within(sess._ran_on_batches) if hasattr(op.kernel, "position")]
    return {
        op.name: {
            "kind": op.type,
            "seeds": list(op.kernel.seeds),
            "position": op.kernel.position(sess._plain_run),
        }
        for op in sorted(drawing, key=lambda op: op.name)
    }


def _draw_on(sess: BaseSession, drawn: dict[str, Any]) -> None:
    """Let random ops go on where they were. The model may have others by now; those begin at the start."""
    sess._resources.get(_DRAWN, lambda: drawn)
    for name, each in drawn.items():
        op: Any = sess.graph._ops.get(name)
        if op is not None and op.type == each["kind"] and list(getattr(op.kernel, "seeds", ())) == each["seeds"]:
            op.kernel.go_to(sess._plain_run, each["position"])
        else:
            _log.warning("random op '%s' is not in this graph, or has other seeds; its numbers begin anew", name)


def _courses(sess: BaseSession) -> list[Course]:
    """The queues of batch functions whose threads were started, or that go on from a state."""
    found = (sess._resources.find(("course", each.queue_op)) for each in sess.graph._in_order.values())
    return [each for each in found if each is not None]


def _check_alone(sess: BaseSession, courses: list[Course]) -> None:
    """Refuse what somebody else takes from as well, and what was taken past the batch functions."""
    graph = sess.graph
    for op in within(sess._ran):
        if op.type.startswith(_TAKES) and not (
            op.type.startswith("QueueDequeue") and origin(op.inputs[0]).name in graph._in_order
        ):
            raise no_state(f"'{op.name}' was run by itself, and takes from what no batch function fills")
    runners = {*graph.get_collection(GraphKeys.QUEUE_RUNNERS), *graph._in_order.values()}
    for course in courses:
        others = needed([op for each in runners if each.name != course.name for op in each.enqueue_ops], set())
        rival = None if course.survey is None else course.survey.rival(sess._ran, others)
        if rival is not None:
            raise no_state(f"'{rival}' too takes from what '{course.name}' is filled with, or puts into it")
