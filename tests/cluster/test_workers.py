"""Ray tasks as workers: order, retries, errors."""

import contextlib
import gc
import itertools
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import cluster_functions as functions
import numpy as np
import page_programs
import pytest
from cluster_nodes import SHORT

import pipeline

ray = pytest.importorskip("ray", reason="needs Ray: make test-cluster")
pytestmark = pytest.mark.usefixtures("cluster")


def mapped(function, items, workers, **options):
    """Iterate over the workers' results."""
    return iter(pipeline.dataset(items).map(function, workers=workers, **options))


def test_items_keep_their_order_and_every_node_works(tmp_path):
    function = functions.nodes_of_five_processes(str(tmp_path))
    found = list(pipeline.dataset(range(1000)).map(function, workers=pipeline.cluster.workers(5)).batch(20))
    assert np.concatenate([numbers for numbers, _ in found]).tolist() == list(range(1000))
    alive = {each["NodeID"] for each in ray.nodes() if each["Alive"]}
    assert {name for _, names in found for name in names.tolist()} == alive


def test_functions_of_the_program_and_lambdas_are_sent_along():
    offset = 7
    workers = pipeline.cluster.workers(2)
    assert list(mapped(lambda i: i + offset, range(5), workers)) == [7, 8, 9, 10, 11]


def test_batches_can_be_written_to():
    for images, _ in pipeline.dataset(range(300)).map(functions.row, workers=pipeline.cluster.workers(2)).batch(100):
        images += 1


def test_a_large_function_is_sent_once_for_each_machine():
    table = np.arange(50_000)
    workers = pipeline.cluster.workers(2)
    assert list(mapped(lambda i: int(table[i]), range(20), workers)) == list(range(20))


def test_setup_is_called_once_in_each_process():
    workers = pipeline.cluster.workers(2, setup=functions.get_ready)
    assert all(mapped(functions.ready, range(50), workers))


def test_setup_that_fails_ends_the_loop():
    workers = pipeline.cluster.workers(2, setup=functions.fails_to_get_ready)
    with pytest.raises(pipeline.errors.AbortedError, match=r"set-up of a worker failed on .*ValueError: no such model"):
        list(mapped(functions.row, range(50), workers))


def test_another_version_in_the_cluster(monkeypatch):
    monkeypatch.setattr(pipeline, "__version__", "99.0")
    workers = pipeline.cluster.workers(1)
    with pytest.raises(pipeline.errors.AbortedError, match=r"version mismatch: .* has queue-runner .* and not 99\.0"):
        list(mapped(functions.row, range(5), workers))


def test_an_error_names_the_item_and_the_others_come():
    workers = pipeline.cluster.workers(2)
    kept = list(mapped(functions.fails, range(40), workers, on_error="skip"))
    assert kept == [i for i in range(40) if i % 10 != 3]
    with pytest.raises(ValueError, match="no 3") as caught:
        list(mapped(functions.fails, range(40), workers))
    assert "fails" in str(caught.value.__cause__)
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__[0] == "fails: example 3"


@pytest.mark.parametrize(("function", "bad"), [(functions.deadly, 37), (functions.exits, 5)])
def test_an_item_that_kills_each_worker_is_named_or_skipped(function, bad):
    retries = 0 if SHORT else 1
    times = "" if SHORT else "each time, 2 times "
    workers = pipeline.cluster.workers(4, retries=retries)
    with pytest.raises(pipeline.errors.AbortedError, match=rf"died {times}\(") as caught:
        list(mapped(function, range(40), workers))
    assert caught.value.record_key == f"example {bad}"
    kept = list(mapped(function, range(40), workers, on_error="skip"))
    assert kept == [i for i in range(40) if i != bad]
    assert workers.client.retried >= 2 * retries


def test_a_result_that_cannot_be_sent():
    results = mapped(functions.unfit, range(2), pipeline.cluster.workers(1))
    with pytest.raises(RuntimeError, match="could not return the result"):
        next(results)


def test_results_of_wrong_shape():
    workers = pipeline.cluster.workers(1)
    dataset = pipeline.dataset(range(1, 9)).map(lambda i: np.zeros(i), workers=workers)
    with pytest.raises(pipeline.errors.InvalidArgumentError, match="has shape"):
        list(dataset.batch(4))
    assert [batch.shape for batch in dataset.batch(4, pad=0)] == [(4, 4), (4, 8)]


def test_a_function_that_cannot_be_pickled():
    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"cannot be sent to a cluster, as it cannot be pickled .*make these in setup="):
        mapped(lambda i: lock, range(5), pipeline.cluster.workers(1))


def test_a_module_that_workers_do_not_have(tmp_path):
    (tmp_path / "only_here.py").write_text("def function(i):\n    return i\n")
    sys.path.insert(0, str(tmp_path))
    try:
        import only_here

        (tmp_path / "only_here.py").unlink()
        source = mapped(only_here.function, range(5), pipeline.cluster.workers(1))
        with pytest.raises(pipeline.errors.AbortedError, match=r"cannot import the function .*only_here.*runtime_env"):
            list(source)
    finally:
        sys.path.remove(str(tmp_path))


def next_or_closed(iterator):
    with contextlib.suppress(pipeline.CancelledError):
        next(iterator, None)


def test_a_loop_that_is_left_takes_its_tasks_back(tmp_path):
    began, after = tmp_path / "began", tmp_path / "after"
    began.mkdir()
    after.mkdir()
    workers = pipeline.cluster.workers(2)
    with workers:
        source = mapped(functions.notes_and_works(str(began)), range(9), workers)
        consumer = threading.Thread(target=next_or_closed, args=(source,))
        consumer.start()
        while not os.listdir(began):
            pass
        source.close()
        consumer.join()
        assert [i for _, i in mapped(functions.row, range(2), workers)] == [0, 1]
    function = functions.nodes_of_five_processes(str(after))  # all five processors are free again
    found = mapped(function, range(5), pipeline.cluster.workers(5))
    assert [i for i, _ in found] == list(range(5))


def test_a_task_that_is_taken_back_as_it_ends(cluster):
    """Only its own thread may cancel a task, or Ray may end the process."""
    tries = 100 if SHORT else 2000
    done = subprocess.run(
        [sys.executable, "-c", TAKES_BACK, cluster.address, str(tries)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["worker.io"]


TAKES_BACK = """
import sys
import threading
import time
from concurrent.futures import wait
from pathlib import Path

import pipeline
import ray

ray.init(address=sys.argv[1], log_to_driver=False)
cancel, names = ray.cancel, set()


def noted(*args, **kwargs):
    names.add(Path(f"/proc/self/task/{threading.get_native_id()}/comm").read_text().strip())
    cancel(*args, **kwargs)


ray.cancel = noted
workers = pipeline.cluster.workers(4)
wait([workers.submit(time.sleep, 0.1) for _ in range(4)])
for number in range(int(sys.argv[2])):
    futures = [workers.submit(time.sleep, 0.01) for _ in range(4)]
    wait(futures[:1])
    for each in futures[1:]:
        each.cancel()
workers.shutdown()
print(*names)
"""


def test_workers_that_nobody_has_any_more_end_their_thread():
    before = set(threading.enumerate())
    dataset = pipeline.dataset(itertools.count()).map(functions.slow_row, workers=pipeline.cluster.workers(2))
    batches = iter(dataset.batch(8))
    del dataset
    next(batches)
    (thread,) = [each for each in set(threading.enumerate()) - before if each.name == "pipeline-cluster"]
    batches.close()
    del batches
    for _ in range(600):
        gc.collect()
        thread.join(0.1)
        if not thread.is_alive():
            break
    assert not thread.is_alive()


@pytest.mark.parametrize("method", ["shutdown", "with"])
def test_after_shutdown(method):
    workers = pipeline.cluster.workers(2)
    first = workers.submit(int, "5")
    if method == "with":
        with workers:
            pass
    else:
        workers.shutdown()
    assert first.done()
    assert first.result() == 5
    with pytest.raises(RuntimeError, match="after shutdown"):
        workers.submit(int, "5")


def test_resources_that_no_node_has_are_a_warning(caplog):
    pipeline.cluster.workers(2, resources={"decoder": 1})
    assert "no node has {'CPU': 1, 'decoder': 1}" in caplog.text


def test_as_many_as_the_cluster_has_room_for():
    """By its private name in the standard library's executors."""
    assert pipeline.cluster.workers()._max_workers == 5
    assert pipeline.cluster.workers(num_cpus=2)._max_workers == 2


def test_another_cluster():
    with pytest.raises(pipeline.errors.FailedPreconditionError, match=r"is in the cluster at .* already, not at"):
        pipeline.cluster.workers(2, address="127.0.0.1:1")


def test_the_example_gives_the_same_on_one_machine(cluster):
    command = [sys.executable, "examples/cluster.py"]
    done = subprocess.run([*command, cluster.address], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    example = {"__name__": "example", "__file__": os.path.abspath(command[1])}
    exec(Path(command[1]).read_text(), example)
    alone = iter(example["images"](None))
    count = sum(len(batch["label"]) for batch in alone)
    assert done.stdout == f"{count} images, {alone.fingerprint()}\n"


def test_the_page_runs(cluster, monkeypatch, tmp_path):
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    for chosen in page_programs.programs(Path("docs/cluster.md").read_text())[0]:
        page_programs.run(page_programs.script(chosen), tmp_path)


def test_reports_and_metrics_show_the_nodes():
    workers = pipeline.cluster.workers(2)
    with iter(pipeline.dataset(range(100)).map(functions.row, workers=workers).batch(10)) as batches:
        for _ in batches:
            pass
        report = batches.report()
    (stage,) = [each for each in report.stages if each.settings.get("remote")]
    remote = stage.settings["remote"]
    assert 2 <= sum(node["calls"] for node in remote["nodes"].values()) <= 100
    assert remote["in_flight"] == 0
    assert re.search(r"0 chunks in flight, \d+ begun again, \S+/\w{6}: ", str(report))
    # Ray shows metric names only to Prometheus.
    assert workers.client._metrics._calls.info["name"].endswith("pipeline_cluster_calls")
