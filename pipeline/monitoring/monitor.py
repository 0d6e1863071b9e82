"""monitor: the sampler with the views that somebody asked for."""

from __future__ import annotations

import os

from pipeline.monitoring.prometheus import MetricsServer
from pipeline.monitoring.sampler import Sampler, View
from pipeline.monitoring.show import Show
from pipeline.monitoring.tensorboard import Curves


def monitor(
    *,
    interval: float = 0.1,
    show: bool | str = True,
    logdir: str | os.PathLike[str] | None = None,
    port: int | None = None,
    host: str = "127.0.0.1",
) -> Sampler:
    """Watch all pipelines, in a `with` block or from `start` to `stop`.

    One thread looks at them ten times a second; they do nothing more.

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
    if not isinstance(host, str):  # None would be every address of this machine
        raise TypeError(f"host must be a name or an address as text, got {type(host).__name__} {host!r:.80}")
    views: list[View] = []
    if port is not None:  # first, as a port that is in use shall leave no file behind
        views.append(MetricsServer(port, host))
    if logdir is not None:
        views.append(Curves(logdir))
    if show:
        views.append(Show(plain=show == "plain"))
    return Sampler(interval, views=views)
