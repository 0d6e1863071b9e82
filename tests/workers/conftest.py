"""Fixtures for tests of worker processes."""

import pytest
import worker_functions as functions
from helpers import wait_until
from orchestration import fresh_collection, no_thread_left


@pytest.fixture
def nothing_left():
    """Begin after other tests' workers have ended, and check that this test's threads and workers end."""
    wait_until(functions.no_worker_left, "the workers of other tests to end")
    with fresh_collection(), no_thread_left():
        yield
    wait_until(functions.no_worker_left, "the workers to end")
