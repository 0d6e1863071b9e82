import importlib

import pytest


@pytest.fixture(params=["compiled", "reference"])
def queues(request):
    """A module with the four queue classes and `set_random_seed`, compiled or in plain Python."""
    module = importlib.import_module({"compiled": "pipeline", "reference": "reference"}[request.param])
    yield module
    module.set_random_seed(None)
