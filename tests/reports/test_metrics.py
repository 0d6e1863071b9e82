"""Metrics: a running pipeline is scraped over HTTP, as by Prometheus."""

import contextlib
import errno
import itertools
import pathlib
import socket
import sys
import threading
import urllib.error
import urllib.request

import numpy as np
import prometheus_client
import pytest
from helpers import LIMIT, run_in_thread, wait_until
from orchestration import threads_since
from prometheus_client.parser import text_string_to_metric_families

import pipeline
from pipeline.reports.prometheus import METRICS


def scraped(port, host="127.0.0.1"):
    """Return the server's values, by (sample name, stage kind, stage name)."""
    with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=LIMIT) as answer:
        text = answer.read().decode()
    return {
        (sample.name, sample.labels.get("kind"), sample.labels.get("name")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def loop():
    with pipeline.batch(itertools.count(), 10, capacity=40, name="numbers") as loop:
        yield loop


def test_a_running_pipeline_is_scraped(loop):
    with pipeline.monitor(port=0) as monitor:
        for _ in range(3):
            next(loop)
        name = "step", "prefetch(4)"
        wait_until(lambda: scraped(monitor.port)[("pipeline_queue_waiting_enqueues", *name)] == 1, "a full queue")
        found = scraped(monitor.port)
        assert found[("pipeline_queue_size", *name)] == 4
        assert found[("pipeline_queue_capacity", *name)] == 4
        assert found[("pipeline_queue_enqueued_total", *name)] == 7
        assert found[("pipeline_stage_elements_total", *name)] == 3
        assert found["pipeline_stage_elements_total", "loop", "numbers"] == 3
        assert found[("pipeline_queue_closed", *name)] == 0
        assert found["pipeline_loop_first_batch_seconds", "loop", "numbers"] > 0
        next(loop)
        assert scraped(monitor.port)["pipeline_stage_elements_total", "loop", "numbers"] == 4
    with pytest.raises(urllib.error.URLError):
        scraped(monitor.port or 1)
    assert monitor.port is None


def test_names_are_stable():
    """Dashboards depend on these names: one may be added, none removed."""
    assert [("pipeline_" + metric.name + "_total" * metric.counter) for metric in METRICS] == [
        "pipeline_stage_elements_total",
        "pipeline_stage_threads",
        "pipeline_stage_errors_total",
        "pipeline_stage_processors",
        "pipeline_reader_bytes_total",
        "pipeline_loop_dropped_total",
        "pipeline_loop_first_batch_seconds",
        "pipeline_queue_size",
        "pipeline_queue_capacity",
        "pipeline_queue_min_after_dequeue",
        "pipeline_queue_enqueued_total",
        "pipeline_queue_enqueue_waits_total",
        "pipeline_queue_dequeue_waits_total",
        "pipeline_queue_enqueue_wait_seconds_total",
        "pipeline_queue_dequeue_wait_seconds_total",
        "pipeline_queue_full_seconds_total",
        "pipeline_queue_empty_seconds_total",
        "pipeline_queue_waiting_enqueues",
        "pipeline_queue_waiting_dequeues",
        "pipeline_queue_closed",
        "pipeline_producer_position",
        "pipeline_producer_epoch",
        "pipeline_producer_eta_seconds",
    ]


def test_the_docs_list_them():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "dashboards.md").read_text()
    for metric in METRICS:
        assert f"| `pipeline_{metric.name}{'_total' * metric.counter}` | " in page


def test_a_registry_of_the_program(tmp_path):
    """A program that serves metrics anyway registers the collector; no monitor runs."""
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    registry = prometheus_client.CollectorRegistry()
    registry.register(pipeline.MetricsCollector())
    files = pipeline.string_input_producer([str(tmp_path / "a.txt")], num_epochs=1, name="names", collection=[])
    reader = pipeline.TextLineReader(name="rows_of_this_test")
    with pipeline.batch(lambda: reader.read(files)[1], 2, name="texts") as loop:
        assert next(loop).tolist() == [b"one", b"two"]
        value = registry.get_sample_value
        assert value("pipeline_producer_epoch", {"kind": "producer", "name": "names"}) == 1
        assert value("pipeline_stage_elements_total", {"kind": "loop", "name": "texts"}) == 1
        assert value("pipeline_reader_bytes_total", {"kind": "reader", "name": "rows_of_this_test"}) == 14
        assert value("pipeline_interpreter_lock_ratio") is None
        text = prometheus_client.generate_latest(registry).decode()
        assert text.count("# TYPE pipeline_queue_size gauge") == 1


def test_two_queues_of_one_name():
    """An index distinguishes them; a closed one no longer keeps the name for itself."""
    queues = [pipeline.FIFOQueue(size, ["int32"], name="twins") for size in (5, 7)]
    queues[1].enqueue(1)
    with pipeline.monitor(port=0) as monitor:

        def sizes():
            found = scraped(monitor.port)
            return [found["pipeline_queue_size", "queue", name] for name in ("twins", "twins_2")]

        assert sizes() == [0, 1]
        queues[0].close()
        assert sizes() == [1, 0]


def test_a_name_with_anything_in_it():
    queue = pipeline.FIFOQueue(5, ["int32"], name='a"b\\c\nd é')
    with pipeline.monitor(port=0) as monitor:
        assert scraped(monitor.port)["pipeline_queue_capacity", "queue", queue.name] == 5


def test_a_port_in_use(loop):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monitor, begun = pipeline.monitor(port=port), threads_since()
        with pytest.raises(OSError, match=f"cannot serve metrics on 127.0.0.1:{port}: ") as caught:
            monitor.start()
        assert caught.value.errno == errno.EADDRINUSE
        assert not [thread for thread in begun() if thread.name == "pipeline-sampler"]
        assert len(next(loop)) == 10  # the pipeline continues
        assert not pipeline.report().watched
    with monitor:  # the same monitor, once the port is free
        assert scraped(port)


@pytest.mark.parametrize("port", [-1, 1 << 16])
def test_no_such_port(port):
    with pytest.raises(ValueError, match=f"port must be from 0 to 65535, got {port}"):
        pipeline.monitor(port=port)


def test_not_a_port():
    with pytest.raises(TypeError):
        pipeline.monitor(port="9090")


def test_no_such_address():
    with pytest.raises(OSError, match=r"cannot serve metrics on no\.such\.host\.invalid:0: "):
        pipeline.monitor(port=0, host="no.such.host.invalid").start()


def test_without_the_client(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "prometheus_client", None)
    for make in (pipeline.MetricsCollector, lambda: pipeline.monitor(port=0)):
        with pytest.raises(ImportError, match=r"pip install prometheus_client"):
            make()


def test_scraped_while_loops_come_and_go():
    """Many threads scrape while queues are made, filled and dropped; none gets an error."""
    errors = []
    with pipeline.monitor(port=0) as monitor:

        def scrape():
            try:
                for _ in range(10):
                    scraped(monitor.port)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=scrape) for _ in range(4)]
        for thread in threads:
            thread.start()
        for epoch in range(20):
            with pipeline.shuffle_batch(np.arange(50), 5, seed=epoch) as batches:
                assert sum(map(len, batches)) == 50
        for thread in threads:
            thread.join()
    assert errors == []


# Safety, as docs/security.md promises it ------------------------------------------------------------------------------


def asked(port, method="GET", **headers):
    """Return the status, the headers and the text of a request."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read().decode()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the address 127.0.0.2 without setting it up")
def test_only_this_machine_is_served_unless_asked():
    """A server for all addresses would answer at 127.0.0.2, too."""
    queue = pipeline.FIFOQueue(5, ["int32"])
    with pipeline.monitor(port=0) as monitor:
        assert scraped(monitor.port)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", monitor.port), LIMIT).close()
    with pipeline.monitor(port=0, host="0.0.0.0") as monitor:
        assert ("pipeline_queue_size", "queue", queue.name) in scraped(monitor.port, "127.0.0.2")


def test_a_name_forges_no_metric():
    name = 'x"} 1\npipeline_queue_size{kind="queue",name="forged"} 7\n# HELP <script>alert(1)</script>'
    queue = pipeline.FIFOQueue(5, ["int32"], name=name)
    with pipeline.monitor(port=0) as monitor:
        found = scraped(monitor.port)
        assert asked(monitor.port)[1].get_content_type() == "text/plain"  # no browser runs it
    assert ("pipeline_queue_size", "queue", "forged") not in found
    assert found["pipeline_queue_size", "queue", queue.name] == 0


@pytest.mark.parametrize("name", ["a\ud800", "a\0b", "\x1b[2J"], ids=["surrogate", "null", "escape"])
def test_no_name_ends_the_metrics(name):
    queue = pipeline.FIFOQueue(5, ["int32"], name=name)
    other = pipeline.FIFOQueue(6, ["int32"], name="beside it")
    with pipeline.monitor(port=0) as monitor:
        found = scraped(monitor.port)
    assert found["pipeline_queue_capacity", "queue", other.name] == 6
    assert 5 in [value for (metric, *_), value in found.items() if metric == "pipeline_queue_capacity"], queue.name


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_requests_change_nothing(method):
    queue = pipeline.FIFOQueue(5, ["int32"], name="unchanged")
    queue.enqueue(1)
    with pipeline.monitor(port=0) as monitor:
        status, _, text = asked(monitor.port, method)
        assert status == 405 or "pipeline_queue_size" in text  # older versions of prometheus_client answer as to GET
        assert scraped(monitor.port)["pipeline_queue_size", "queue", "unchanged"] == 1


def test_pages_of_other_sites_cannot_read_it():
    with pipeline.monitor(port=0) as monitor:
        _, headers, _ = asked(monitor.port, Origin="http://evil.example")
    assert not [name for name in headers if name.lower().startswith("access-control-")]


def test_an_idle_connection_does_not_hold_the_monitor():
    with pipeline.monitor(port=0) as monitor, contextlib.ExitStack() as connections:
        for _ in range(3):
            connections.enter_context(socket.create_connection(("127.0.0.1", monitor.port), LIMIT))
        assert asked(monitor.port)[0] == 200
        run_in_thread(monitor.stop).result()
    assert monitor.port is None
