import importlib
import signal

import pytest
from hypothesis import HealthCheck, settings

from pipeline import logs

# No test depends on how fast the machine is.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in a shell's background job. The processes that tests send Ctrl-C to would inherit it, and never end.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_warning_is_held_back():
    """Those of the tests before do not count."""
    logs.limit.forget()


@pytest.fixture(params=["compiled", "reference"])
def queues(request):
    """A module with the four queue classes and `set_random_seed`, compiled or in plain Python."""
    module = importlib.import_module({"compiled": "pipeline", "reference": "reference"}[request.param])
    yield module
    module.set_random_seed(None)
