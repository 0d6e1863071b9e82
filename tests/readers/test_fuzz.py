"""Every reader and decoder on slightly damaged and on random bytes; `make fuzz` runs longer."""

import pytest

pytest.importorskip("PIL")
pytest.importorskip("lmdb")

from fuzz.mutating import mutated
from fuzz.targets import SEEDS, TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

_QUIET = settings(deadline=None, max_examples=60, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_good(name):
    for data in SEEDS[name]:
        TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
@_QUIET
@given(seed=st.integers(0, 2**32))
def test_nearly_good(name, seed):
    TARGETS[name](mutated(SEEDS[name], seed))


@pytest.mark.parametrize("name", TARGETS)
@settings(_QUIET, max_examples=20)
@given(data=st.binary(max_size=300))
def test_any_bytes(name, data):
    TARGETS[name](data)
