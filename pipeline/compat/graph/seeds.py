"""The two seeds of a random operation, derived from the graph's seed and its own."""

from __future__ import annotations

import hashlib

from pipeline.compat.graph.scopes import get_default_graph

_LARGEST = 2**31 - 1
_DEFAULT_GRAPH_SEED = 87654321


def seeds_or_none(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the pair of seeds; (None, None) if neither the graph nor the operation has one.

    In a seeded graph, operations without a seed of their own get 0, 1, 2 ... as they are made.

    Raises:
        TypeError: `op_seed` is no integer.
    """
    if isinstance(op_seed, (str, bytes)):
        raise TypeError(f"a seed is an integer, not {op_seed!r}")
    graph = get_default_graph()
    if graph.seed is not None:
        seeds = graph.seed, graph._next_op_seed() if op_seed is None else op_seed
    elif op_seed is not None:
        seeds = _DEFAULT_GRAPH_SEED, op_seed
    else:
        return None, None
    first, second = (int(each) % _LARGEST for each in seeds)
    return (0, _LARGEST) if (first, second) == (0, 0) else (first, second)


def get_seed(op_seed: int | None) -> tuple[int, int]:
    """Return the pair of seeds; (0, 0), which asks for an unpredictable generator, if there is none."""
    first, second = seeds_or_none(op_seed)
    return first or 0, second or 0


def shared_seed(graph_seed: int, shared_name: str) -> int:
    """Return the seed of a shared queue that has none of its own: the same for the same name."""
    return int(hashlib.md5(f"{graph_seed}{shared_name}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF
