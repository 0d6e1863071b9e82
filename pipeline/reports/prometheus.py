"""Metrics for Prometheus, by prometheus_client: a collector and a server for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.dtypes import integer
from pipeline.reports.model import Stage
from pipeline.reports.sampler import report

if TYPE_CHECKING:
    from pipeline.reports.sampler import Sampler


class Metric(NamedTuple):
    """One metric about stages.

    Attributes:
        name: Without "pipeline_" before it, and "_total" behind.
        text: Its description.
        value: Returns it for a stage; None if the stage has no such figure.
        counter: True if it only grows.
    """

    name: str
    text: str
    value: Callable[[Stage], float | None]
    counter: bool = False


def _of_stats(name: str) -> Callable[[Stage], float | None]:
    return lambda stage: None if stage.tank is None else float(getattr(stage.tank.stats, name))


def _of_progress(name: str) -> Callable[[Stage], float | None]:
    return lambda stage: None if stage.progress is None else getattr(stage.progress, name)


METRICS = (
    Metric("stage_elements", "Elements that came out of a stage.", lambda stage: stage.elements, True),
    Metric("stage_threads", "Threads of a stage that run.", lambda stage: stage.running),
    Metric("stage_errors", "Errors that a stage skipped.", lambda stage: stage.errors, True),
    Metric("stage_processors", "Processors kept busy, while a monitor runs.", lambda stage: stage.cpu),
    Metric("reader_bytes", "Bytes read from files.", lambda stage: stage.bytes, True),
    Metric("loop_dropped", "Examples that filled no batch.", lambda s: s.dropped if s.kind == "loop" else None, True),
    Metric("loop_first_batch_seconds", "Seconds from the first example to the first batch.", lambda s: s.first_s),
    Metric("queue_size", "Elements in a queue.", _of_stats("size")),
    Metric("queue_capacity", "Elements that fit; 2147483647 if unbounded.", _of_stats("capacity")),
    Metric(
        "queue_min_after_dequeue",
        "Elements that a shuffle queue holds back.",
        lambda stage: None if stage.tank is None else stage.tank.min_after_dequeue,
    ),
    Metric("queue_enqueued", "Elements that went in.", _of_stats("enqueued"), True),
    Metric("queue_enqueue_waits", "Calls that had to wait for room.", _of_stats("enqueue_waits"), True),
    Metric("queue_dequeue_waits", "Calls that had to wait for elements.", _of_stats("dequeue_waits"), True),
    Metric("queue_enqueue_wait_seconds", "Time that calls waited for room.", _of_stats("enqueue_wait_s"), True),
    Metric("queue_dequeue_wait_seconds", "Time that calls waited for elements.", _of_stats("dequeue_wait_s"), True),
    Metric("queue_full_seconds", "Time that a queue was full.", _of_stats("full_s"), True),
    Metric("queue_empty_seconds", "Time that a queue had no element to give.", _of_stats("empty_s"), True),
    Metric("queue_waiting_enqueues", "Calls that wait for room now.", _of_stats("waiting_enqueues")),
    Metric("queue_waiting_dequeues", "Calls that wait for elements now.", _of_stats("waiting_dequeues")),
    Metric("queue_closed", "1 if a queue is closed.", _of_stats("closed")),
    Metric("producer_position", "Elements that a producer has given.", _of_progress("position")),
    Metric("producer_epoch", "The epoch of its next element, from 1.", _of_progress("epoch")),
    Metric("producer_eta_seconds", "Seconds until its end.", _of_progress("eta_s")),
)


def _client() -> Any:
    try:
        import prometheus_client.core  # an extra for programs that serve metrics
    except ImportError as error:
        raise ImportError("metrics need prometheus_client: pip install prometheus_client") from error
    return prometheus_client


class MetricsCollector:
    """Gives metrics to your prometheus_client registry, if your program serves metrics already.

    Call `prometheus_client.REGISTRY.register(pipeline.MetricsCollector())`. Otherwise use `pipeline.monitor(port=...)`.

    Raises:
        ImportError: prometheus_client is missing.

    Thread safety: you may call `collect` from any thread at any time.

    Examples:
        >>> import prometheus_client
        >>> registry = prometheus_client.CollectorRegistry()
        >>> registry.register(pipeline.MetricsCollector())
        >>> text = prometheus_client.generate_latest(registry)
    """

    def __init__(self) -> None:
        self._core = _client().core

    def describe(self) -> list[Any]:
        """Return nothing: the metrics depend on live stages."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield the metrics with a sample per stage."""
        now = report()
        stages = list(now.named())
        for metric in METRICS:
            kind = self._core.CounterMetricFamily if metric.counter else self._core.GaugeMetricFamily
            family = kind(f"pipeline_{metric.name}", metric.text, labels=["kind", "name"])
            for name, stage in stages:
                value = metric.value(stage)
                if value is not None:
                    family.add_metric([stage.kind, name], value)
            yield family
        if now.lock is not None:
            text = "Share of the time that some thread held the GIL, while a monitor runs."
            yield self._core.GaugeMetricFamily("pipeline_interpreter_lock_ratio", text, value=now.lock)


class MetricsServer:
    """Serves the metrics by HTTP.

    Args:
        port: From 0, for any free port, to 65535.
        host: The address.

    Raises:
        ValueError: There is no such port.
        TypeError: The port is not an integer.
        ImportError: prometheus_client is not installed.
    """

    def __init__(self, port: int, host: str) -> None:
        self._port, self._host = integer(port, "port"), host
        if not 0 <= self._port < 1 << 16:
            raise ValueError(f"port must be from 0 to 65535, got {port}")
        self._collector = MetricsCollector()

    def open(self, sampler: Sampler) -> None:
        """Begin to serve.

        Raises:
            OSError: The port is in use, or may not be used, or there is no such address.
        """
        client = _client()
        registry = client.CollectorRegistry(auto_describe=False)
        registry.register(self._collector)
        try:
            self._server, self._thread = client.start_http_server(self._port, addr=self._host, registry=registry)
        except OSError as error:
            text = f"cannot serve metrics on {self._host}:{self._port}: {error.strerror or error}"
            raise OSError(error.errno, text) from error
        self._sampler = sampler
        sampler.port = self._server.server_port

    def sampled(self) -> None:
        """Metrics are read when they are asked for."""

    def close(self) -> None:
        """Serve no longer."""
        self._sampler.port = None
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
