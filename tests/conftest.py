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
    # As in a shell's background job. The processes that tests send Ctrl-C to would inherit it, and never end.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Refuse names of tests that differ from process to process: several processes could not share them."""
    odd = next((item.nodeid for item in items if " at 0x" in item.nodeid), None)
    if odd is not None:
        raise pytest.UsageError(f"the name of a test has an address, so give it ids=: {odd}")


def pytest_collection_finish():
    """Let `gc.collect` pass over what stays until the end: 1,500 calls of it took a third of the time of all tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_warning_is_held_back():
    """Those of the tests before do not count."""
    logs.limit.forget()


@pytest.fixture(autouse=True, scope="session")
def _cache_folder(tmp_path_factory):
    """Indexes of files do not stay in the cache folder of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="module")
def _nothing_of_before(request):
    """Runners that tests before have left would be started by the next `start_queue_runners` of a program, and fail
    there. Monitors look at all that lives: at the queues of thousands of producers that were never started."""
    pipeline.reset()
    if request.path.parent.name in ("reports", "types"):
        gc.collect()


@pytest.fixture(autouse=True)
def _processors(request, tmp_path_factory):
    """Tests marked as `alone` have the machine for themselves when several processes run tests (pytest-xdist)."""
    if not hasattr(request.config, "workerinput"):
        yield
        return
    folder = tmp_path_factory.getbasetemp().parent
    alone = request.node.get_closest_marker("alone") is not None
    with open(folder / "machine", "w") as machine:
        with open(folder / "gate", "w") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)  # whoever waits for the machine lets nobody pass
            fcntl.flock(machine, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@pytest.fixture(params=["compiled", "reference"])
def queues(request):
    """A module with the four queue classes and `set_random_seed`, compiled or in plain Python."""
    module = importlib.import_module({"compiled": "pipeline", "reference": "reference"}[request.param])
    yield module
    module.set_random_seed(None)
