import fcntl
import gc
import importlib
import signal

import pytest
from hypothesis import HealthCheck, settings

import pipeline
from pipeline import logs

# No test depends on how fast the machine is.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # SIGINT is ignored in a shell's background jobs. Processes started by tests would inherit this and never react to
    # Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Refuse test names that differ between processes: pytest-xdist could not distribute them."""
    odd = next((item.nodeid for item in items if " at 0x" in item.nodeid), None)
    if odd is not None:
        raise pytest.UsageError(f"the name of a test has an address, so give it ids=: {odd}")


def pytest_collection_finish():
    """Freeze long-lived objects so that `gc.collect` skips them: 1,500 calls took a third of the suite's time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_warning_is_held_back():
    """Forget log lines of earlier tests."""
    logs.limit.forget()


@pytest.fixture(autouse=True, scope="session")
def _cache_folder(tmp_path_factory):
    """Keep indexes of files out of the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="module")
def _nothing_of_before(request):
    """Forget runners and queues of earlier tests.

    The next `start_queue_runners` of a program would start those runners and fail. Monitors look at every live queue,
    including thousands made by producers that were never started.
    """
    pipeline.reset()
    if request.path.parent.name in ("reports", "types"):
        gc.collect()


@pytest.fixture(autouse=True)
def _processors(request, tmp_path_factory):
    """Give a test marked `alone` the whole machine when pytest-xdist runs several processes."""
    if not hasattr(request.config, "workerinput"):
        yield
        return
    folder = tmp_path_factory.getbasetemp().parent
    alone = request.node.get_closest_marker("alone") is not None
    with open(folder / "machine", "w") as machine:
        with open(folder / "gate", "w") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)  # while one process waits for exclusive use, no other may start a test
            fcntl.flock(machine, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@pytest.fixture(params=["compiled", "reference"])
def queues(request):
    """A module with the four queue classes and `set_random_seed`, compiled or in plain Python."""
    module = importlib.import_module({"compiled": "pipeline", "reference": "reference"}[request.param])
    yield module
    module.set_random_seed(None)
