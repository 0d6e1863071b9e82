"""The verdict on a run: which stage holds it back, judged by who waited for whom."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from pipeline.stats import QueueStats


class QueueUse(NamedTuple):
    """How a queue was used. Its times are in seconds, summed over the threads of each side."""

    name: str
    stats: QueueStats
    mean_size: float
    producers: int  # threads
    consumers: int


def bottleneck(
    use: QueueUse, examples: int, seconds: float, first_batch_s: float, settings: dict[str, Any]
) -> tuple[str, str]:
    """Return the stage that holds up the others, and a sentence that says so and names the option to change.

    Args:
        use: How the queue of examples was used.
        examples: How many came through.
        seconds: How long the run took.
        first_batch_s: Seconds until the first batch was complete.
        settings: The options of the run by name.
    """
    waited = share(use.stats.dequeue_wait_s, seconds, use.consumers)
    blocked = share(use.stats.enqueue_wait_s, seconds, use.producers)
    if examples == 0:
        return "start", "No batch came through: the run ended before the first one was complete."
    if settings["shuffle"] and first_batch_s > seconds / 2:
        return "shuffle", (
            f"Filling the shuffle queue took {first_batch_s / seconds:.0%} of the time: "
            f"a lower --min-after-dequeue (now {settings['min_after_dequeue']:,}) starts sooner and shuffles less."
        )
    if waited >= blocked:
        threads, processors = use.producers, os.cpu_count() or 1
        if threads < processors:
            advice = f"more --threads (now {threads}, on {processors} processors) read and decode more at once."
        else:
            advice = (
                f"--threads {threads} is enough for {processors} processors, "
                "so only fewer columns, or columns that are easier to parse, will help."
            )
        slow = f"The reader threads are the bottleneck: the consumer waited {waited:.0%} of the time"
        return "readers", f"{slow}; {advice}"
    return "consumer", (
        f"The consumer is the bottleneck: the reader threads waited {blocked:.0%} of the time for room; "
        f"a larger --batch-size (now {settings['batch_size']:,}) takes more at a time."
    )


def share(waited: float, seconds: float, threads: int = 1) -> float:
    """Return the share of the run, from 0 to 1, that each of so many threads waited on average."""
    return min(1.0, waited / (threads * seconds)) if seconds > 0 else 0.0
