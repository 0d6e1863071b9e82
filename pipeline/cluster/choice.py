"""workers: Ray tasks as workers for functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from pipeline import logs
from pipeline.cluster.connect import connect
from pipeline.cluster.executor import RayWorkers
from pipeline.dtypes import integer

_WHAT = "cluster.workers"


def workers(
    count: int | None = None,
    *,
    num_cpus: float = 1,
    resources: Mapping[str, float] | None = None,
    setup: Callable[[], Any] | None = None,
    retries: int = 3,
    address: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> RayWorkers:
    """Run functions on the machines of a Ray cluster, as `workers=` for `map`, `filter` and `flat_map`.

        decoded = pipeline.dataset(paths).map(decode, workers=pipeline.cluster.workers(16))
        for images, labels in decoded.batch(64):
            train_step(images, labels)

    Examples keep their order. If a worker or machine dies, Ray repeats its chunk. If this fails each time, the failing
    example raises an AbortedError with its name.

    Args:
        count: Chunks to work on at once; None for as many as fit on the cluster now.
        num_cpus: Processors per chunk, as Ray counts them.
        resources: Other resources it occupies, as for `ray.remote`.
        setup: Called once in each worker process. If it fails, your iterator raises its error.
        retries: How often to repeat a chunk after its worker died.
        address: "host:port", "auto" for the cluster on this machine, or "local" for a new one. None for this process's
            cluster, or the choice of `ray.init`.
        options: More options for `ray.remote`: "runtime_env", "memory", "scheduling_strategy" and others.

    Returns:
        An executor. Your program's functions and lambdas are sent along; modules must be on every machine.

    Raises:
        ImportError: Ray is not installed, or older than 2.40.
        UnavailableError: There is no cluster at the address.
        FailedPreconditionError: The cluster runs another version of Ray or Python, or this process is in another one.
        ValueError: `count` is less than 1, `retries` is negative, or Ray rejects an option.
        TypeError: `count` or `retries` is not an integer, or `setup` cannot be pickled.

    Thread safety: you may call it, and the result's methods, from any thread.
    """
    if setup is not None and not callable(setup):
        raise TypeError(f"{_WHAT}: setup must be callable, not {setup!r:.80}")
    again = integer(retries, f"{_WHAT}: retries")
    if again < 0:
        raise ValueError(f"{_WHAT}: retries must not be negative, got {retries}")
    number = None if count is None else integer(count, f"{_WHAT}: count")
    if number is not None and number < 1:
        raise ValueError(f"{_WHAT}: count must be at least 1, got {count}")
    ray = connect(_WHAT, address)
    wanted = {"CPU": num_cpus, **(resources or {})}
    room = _room(ray, wanted)
    if not room:
        have = "; ".join(str(each["Resources"]) for each in ray.nodes() if each["Alive"])
        logs.logger("pipeline.cluster").warning(
            "%s: no node has %s, so nothing will start until one is added: %s", _WHAT, wanted, have
        )
    more = {"num_cpus": num_cpus, "resources": dict(resources or {}), **(options or {})}
    return RayWorkers(ray, number or max(1, room), setup, again, more)


def _room(ray: Any, wanted: Mapping[str, float]) -> int:
    """Return how many such calls fit on the cluster."""
    needed = {name: amount for name, amount in wanted.items() if amount}
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return sum(
        min((math.floor(node.get(name, 0) / each) for name, each in needed.items()), default=1) for node in nodes
    )
