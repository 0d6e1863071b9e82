"""Counting: each batch of a deterministic loop is counted, and cut down to the share of this host."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline._delivery import History, Outlet
from pipeline._trail import Delivered, Trail
from pipeline.batches.content import content_of
from pipeline.batches.crew import asked_meanwhile
from pipeline.batches.numbered import NumberedSource
from pipeline.batches.request import Request


def counting_outlet(name: str, delivered: History, trail: Trail | None, take: Callable[..., Any], *args: Any) -> Outlet:
    """The outlet of a loop with this name that counts its batches; for the rest see Outlet. FailedPreconditionError for
    a signal handler that asks for a batch while its thread takes one."""
    return Outlet(delivered, trail, take, *args, asked=functools.partial(asked_meanwhile, name, "waits for one,"))


def counted(
    taken: Any,
    outlet: Outlet,
    request: Request,
    last: Delivered,
    draws: int,
    count: int,
    numbered: NumberedSource | None,
) -> Any:
    """Count what was taken from the queue; return what is this host's of it, None if that is nothing.

    Args:
        taken: What the queue gave.
        outlet: Which holds it.
        request: Of the loop.
        last: What was delivered before.
        draws: How many elements of this round that were.
        count: How many components an element has.
        numbered: What gives this host's elements alone; None if the queue has those of all hosts.
    """
    components = taken if count > 1 else [taken]
    begin, end, total, whole = 0, len(components[0]), len(components[0]), len(components[0])
    if request.shard is not None and request.shard[1] > 1:
        if numbered is not None:
            total = numbered.of_all_hosts(whole, request, draws)
        else:
            index, hosts = request.shard
            begin, end = index * whole // hosts, (index + 1) * whole // hosts
            components = [np.array(each[begin:end]) for each in components]
    content = content_of(request, last, components)
    own = None if begin == end else components if len(components) > 1 else components[0]
    outlet.follow(own, whole, begin, end, total, content)
    return own
