"""monitor: a sampler with views; and PIPELINE_MONITOR for unchanged programs."""

from __future__ import annotations

import os
import sys
from typing import Any

from pipeline.diagnostics import live
from pipeline.reports.prometheus import MetricsServer
from pipeline.reports.sampler import Sampler, View
from pipeline.reports.show import Show

_NAME = "PIPELINE_MONITOR"


def monitor(
    *,
    interval: float = 0.1,
    show: bool | str = True,
    logdir: str | os.PathLike[str] | None = None,
    port: int | None = None,
    host: str = "127.0.0.1",
) -> Sampler:
    """Watch all pipelines, in a `with` block or from `start` to `stop`.

    One thread looks at them ten times a second; the pipelines do no extra work.

    Args:
        interval: Seconds between two looks.
        show: A live table, or lines where there is no terminal. "plain" for
            lines everywhere, False for nothing.
        logdir: Directory for TensorBoard curves, a point a second.
        port: Port for Prometheus metrics; 0 takes a free one.
        host: Address for the metrics; "0.0.0.0" for other machines.

    Returns:
        A context manager. `report()` tells what is slow; each of its
        `listeners` is called with a report after a look.

    Raises:
        ValueError, TypeError, ImportError: An argument or a library is wrong.
        OpError, OSError: `logdir` cannot be written, or the port is in use.

    Examples:
        >>> with pipeline.monitor(show=False) as monitor:
        ...     batches = list(pipeline.arrays(np.arange(100)).batch(10))
    """
    if show not in (True, False, "plain"):
        raise ValueError(f"show must be True, False or 'plain', got {show!r}")
    if not isinstance(host, str):  # None would mean all addresses
        raise TypeError(f"host must be a name or an address as text, got {type(host).__name__} {host!r:.80}")
    views: list[View] = []
    if port is not None:  # first, because a used port must leave no file behind
        views.append(MetricsServer(port, host))
    if logdir is not None:
        from pipeline.reports.tensorboard import Curves  # needs protobuf

        views.append(Curves(logdir))
    if show:
        views.append(Show(plain=show == "plain"))
    return Sampler(interval, views=views)


def arm() -> None:
    """If PIPELINE_MONITOR asks for it, let a monitor begin with the first iterator, or the first queue runner."""
    value = os.environ.get(_NAME, "").strip()
    if value.lower() not in ("", "0", "false", "no", "off"):
        live.groups.on_next = live.loops.on_next = lambda: _start(value)


def _start(value: str) -> None:
    """Start a monitor until the program ends. If it cannot start, stderr says why."""
    live.groups.on_next = live.loops.on_next = None
    processes = sys.modules.get("multiprocessing.process")  # a worker has it; it shows nothing, its parent does
    if processes is not None and processes.parent_process() is not None:
        return
    options: dict[str, Any] = {}
    if value.lower() == "plain":
        options["show"] = "plain"
    elif value.lower() not in ("1", "true", "yes", "on"):
        if os.sep not in value and not os.path.isdir(value):
            _say(value, "must be 1, plain, a directory such as ./logs, or 0")
            return
        options["logdir"] = value
    try:
        monitor(**options).start()
    except Exception as error:
        _say(value, error)


def _say(value: str, text: object) -> None:
    """Print to stderr, because the program may not have configured logging."""
    if sys.stderr is not None:
        print(f"{_NAME}={value}: {text}", file=sys.stderr)
