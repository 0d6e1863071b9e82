"""monitor: the sampler with the views that somebody asked for."""

from __future__ import annotations

import os

from pipeline.watch.prometheus import MetricsServer
from pipeline.watch.sampler import Sampler, View
from pipeline.watch.show import Show
from pipeline.watch.tensorboard import Curves


def monitor(
    *,
    interval: float = 0.1,
    show: bool | str = True,
    logdir: str | os.PathLike[str] | None = None,
    port: int | None = None,
    host: str = "127.0.0.1",
) -> Sampler:
    """Watch all pipelines of this process while the body of `with pipeline.monitor():` runs, or from `start` to `stop`.

    One thread looks at them, some dozen times a second; the pipelines themselves do nothing more than before. If a view
    cannot begin, `start` and `with` raise, and the pipelines go on.

    Args:
        interval: Seconds between two samples.
        show: A live table at the lower end of a terminal (extra `monitor`); the picture of the run in a notebook; where
            there is neither, a line to stderr every few seconds, and the report at the end. "plain": lines everywhere.
            False: nothing. At most one monitor of a process shows something.
        logdir: A directory for TensorBoard: the curves are written there, a point a second.
        port: Serve metrics for Prometheus by HTTP on this port; 0 takes one that is free (see `port` of the result).
        host: The address to serve them on. Others than this machine reach them only if you name another, such as
            "0.0.0.0".

    Returns:
        The sampler, a context manager. Its `report()` gives the model of the run, and `listeners` are called with one
        after each sample.

    Raises:
        ValueError: `interval` is not above 0, `show` is something else, or `port` is not from 0 to 65535.
        TypeError: `interval` is not a number, `logdir` not a path, `port` not an integer, or `host` not text.
        ImportError: prometheus_client is missing; it names the extra.
        OpError, OSError: Of `start`: `logdir` cannot be written or is a file, or the port is in use.
    """
    if show not in (True, False, "plain"):
        raise ValueError(f"show must be True, False or 'plain', got {show!r}")
    views: list[View] = []
    if port is not None:  # first, as a port that is in use shall leave no file behind
        views.append(MetricsServer(port, host))
    if logdir is not None:
        views.append(Curves(logdir))
    if show:
        views.append(Show(plain=show == "plain"))
    return Sampler(interval, views=views)
