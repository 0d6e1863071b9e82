"""RayWorkers.submit at bad moments: before, during and after `shutdown`, and with Ctrl-C; Ray takes no call here.

Private names: `_todo`, where Ctrl-C strikes, and `_unfinished`, where no call may remain.
"""

import sys
import threading
import types

import pytest

from pipeline.cluster.executor import RayWorkers
from pipeline.workers.pool import BrokenWorkers


class Metric:
    def __init__(self, *args):
        pass


@pytest.fixture
def ray(monkeypatch):
    metrics = types.SimpleNamespace(Counter=Metric, Gauge=Metric)
    monkeypatch.setitem(sys.modules, "ray.util.metrics", metrics)

    def refuse(*parts):
        raise ConnectionError("no room")

    return types.SimpleNamespace(
        cloudpickle=types.SimpleNamespace(dumps=lambda function: b"pickled"),
        ObjectRef=type("ObjectRef", (), {}),
        put=lambda value: None,
        cancel=refuse,
        is_initialized=lambda: True,
        get_runtime_context=lambda: types.SimpleNamespace(get_worker_id=lambda: "this one"),
        remote=lambda **options: lambda function: types.SimpleNamespace(remote=refuse),
    )


@pytest.fixture
def workers(ray):
    made = RayWorkers(ray, 2, None, 0, {})
    yield made
    made.client.close()


def refused(future):
    """Return whether the thread has handed the call to Ray."""
    return isinstance(future.exception(timeout=120), BrokenWorkers)


def test_shutdown_while_a_function_is_pickled(ray, workers):
    before = set(threading.enumerate())
    assert refused(workers.submit(len, []))
    (thread,) = set(threading.enumerate()) - before
    begun, go_on, found = threading.Event(), threading.Event(), []

    def dumps(function):
        begun.set()
        assert go_on.wait(120)
        return b"pickled"

    def submit():
        try:
            found.append(workers.submit(len, []))
        except RuntimeError as error:
            found.append(str(error))

    ray.cloudpickle.dumps = dumps
    submitting = threading.Thread(target=submit)
    submitting.start()
    assert begun.wait(120)
    workers.shutdown()
    thread.join(120)
    go_on.set()
    submitting.join()
    assert found == ["cannot schedule new futures after shutdown"]


@pytest.mark.parametrize("started", [False, True])
def test_ctrl_c_while_the_thread_is_started(monkeypatch, workers, started):
    start = threading.Thread.start

    def strike(thread):
        monkeypatch.setattr(threading.Thread, "start", start)
        if started:
            start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", strike)
    with pytest.raises(KeyboardInterrupt):
        workers.submit(len, [])
    assert refused(workers.submit(len, []))


def test_there_is_one_thread(workers):
    assert refused(workers.submit(len, []))
    other = threading.Thread(target=workers.client.work, daemon=True)
    other.start()
    other.join(120)
    assert not other.is_alive()
    assert refused(workers.submit(len, []))


def test_ctrl_c_while_a_call_is_put(workers):
    def strike(todo):
        workers.client._todo = todos
        raise KeyboardInterrupt

    todos = workers.client._todo
    workers.client._todo = types.SimpleNamespace(put=strike, get=todos.get)
    with pytest.raises(KeyboardInterrupt):
        workers.submit(len, [])
    ending = threading.Thread(target=workers.shutdown, daemon=True)
    ending.start()
    ending.join(120)
    assert not ending.is_alive()
    assert not workers.client._unfinished
