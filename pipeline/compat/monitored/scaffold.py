"""Scaffold: operations that initialise a session and check whether it is ready."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import add_to_collection, device, get_collection, get_default_graph, name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.arrays.joining import concat
from pipeline.compat.ops.control.flow import group, no_op
from pipeline.compat.ops.lookup.tables import tables_initializer
from pipeline.compat.ops.summaries.summary import merge_all
from pipeline.compat.ops.variables.collections import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from pipeline.compat.platform import tf_logging
from pipeline.compat.values.constants import constant

_PARTS = ("init_op", "init_feed_dict", "ready_op", "ready_for_local_init_op", "local_init_op", "local_init_feed_dict",
          "summary_op", "saver")  # fmt: skip


class Scaffold:
    """Operations that initialise a graph's variables and check the result.

    Args:
        init_op: Initialises the global variables; all by default.
        init_feed_dict: Feeds for `init_op`.
        init_fn: Called as `init_fn(scaffold, session)` after `init_op`.
        ready_op: Returns the names of uninitialised variables.
        ready_for_local_init_op: The same for variables needed by `local_init_op`.
        local_init_op: Initialises local variables and tables.
        summary_op: The merged summaries.
        saver: Without effect: there are no checkpoints.
        copy_from_scaffold: A Scaffold that supplies missing values.
        local_init_feed_dict: Feeds for `local_init_op`.

    Raises:
        TypeError: `copy_from_scaffold` is not a Scaffold.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Any = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        self._user_init_fn: Any = init_fn
        self.init_op, self.init_feed_dict, self.ready_op = init_op, init_feed_dict, ready_op
        self.ready_for_local_init_op, self.local_init_op = ready_for_local_init_op, local_init_op
        self.local_init_feed_dict, self.summary_op, self.saver = local_init_feed_dict, summary_op, saver
        if copy_from_scaffold is not None:
            if not isinstance(copy_from_scaffold, Scaffold):
                raise TypeError("copy_from_scaffold is not a Scaffold instance.")
            if init_fn is None:
                self._user_init_fn = copy_from_scaffold._user_init_fn
            for part in _PARTS:
                if getattr(self, part) is None:
                    setattr(self, part, getattr(copy_from_scaffold, part))

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """The function with only the session as its argument, or None."""
        given = self._user_init_fn
        return None if given is None else lambda sess: given(self, sess)

    def finalize(self) -> Scaffold:
        """Make the missing operations, and finalise the graph."""
        if self.init_op is None:
            self.init_op = self.get_or_default("init_op", GraphKeys.INIT_OP, _init_op)
        if self.ready_op is None:
            self.ready_op = self.get_or_default("ready_op", GraphKeys.READY_OP, _ready_op)
        if self.ready_for_local_init_op is None:
            self.ready_for_local_init_op = self.get_or_default(
                "ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: _ready_op(global_variables())
            )
        if self.local_init_op is None:
            self.local_init_op = self.get_or_default(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op
            )
        if self.summary_op is None:
            self.summary_op = self.get_or_default("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        get_default_graph().finalize()
        tf_logging.info("Graph was finalized.")
        return self

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """Return a collection's only member; if it is empty, make one and add it.

        Raises:
            RuntimeError: The collection has several members.
        """
        found = get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use by passing '
                f"it to the tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)"
            )
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Operation:
        """Return an operation that initialises local variables and tables."""
        return group(local_variables_initializer(), tables_initializer(), no_op(name="init"))


def _init_op() -> Operation:
    return group(global_variables_initializer(), no_op(name="init"), get_collection("saved_model_initializers"))


def _ready_op(variables: Any = None) -> Tensor:
    missing = report_uninitialized_variables(variables)
    with name_scope("report_uninitialized_resources"), device("/cpu:0"):
        resources = constant([], dtypes.string)
    return concat([missing, resources], 0)
