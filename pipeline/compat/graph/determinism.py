"""enable_op_determinism: whether what is added to a graph from now on gives the same results in every run."""

from __future__ import annotations


class _Switch:
    """Of the process, as in TensorFlow."""

    on = False


def enable_op_determinism() -> None:
    """Let batches depend on the input and the seeds alone: not on the number of threads, and not on their timing.

    This holds for what batch functions (`tf.train.batch`, its seven relatives, and the buckets of
    `tf.contrib.training`) add to a graph after the call, in the whole process; call it before you build the graph. It
    cannot be undone. The threads of their queue runners put examples into the queue in the order in which they took
    them from queues and readers. Sources of a join take turns, an op each. Shuffled batches draw each example from
    exactly the `min_after_dequeue + 1` that came first of those that are left.

    From then on random ops and shuffles need a seed, their own or that of `tf.set_random_seed`: without one they raise
    RuntimeError, as in TensorFlow.

    Thread safety: call it before other threads add to a graph.
    """
    _Switch.on = True


def is_op_determinism_enabled() -> bool:
    """Whether `enable_op_determinism` was called."""
    return _Switch.on
