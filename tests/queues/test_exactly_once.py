"""Every element is delivered once, is still in a queue, or was held by a thread that reported it: under stress.

`tests/stress/chain.py` stresses native queues, `tests/stress/session.py` sessions; `make stress` does so with a million
elements.
"""

import pytest
from stress import chain, session
from stress.histories import Hurried
from stress.ledger import Ledger
from stress.queues import HOOKED

COUNT = 2000


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # where Python cannot raise
@pytest.mark.parametrize("seed", range(1, 11))
def test_chains_of_three_queues(seed):
    with Hurried():
        ledger = chain.run(seed, COUNT)
    offered = len(ledger.stored) + len(ledger.refused) + sum(map(len, ledger.unsure))
    assert offered >= COUNT  # elements a mover was unsure about count twice
    print(ledger.summary())


@pytest.mark.parametrize("seed", range(1, 3))
def test_sessions_with_runners_and_coordinators(seed):
    pytest.importorskip("google.protobuf", reason="monitored sessions need protobuf")
    with Hurried():
        ledger = session.run(seed, COUNT)
    assert len(ledger.stored) + len(ledger.refused) <= COUNT
    print(ledger.summary())


# The accounts find planted faults -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("account", "number", "text"),
    [
        ("delivered", 3, "came out twice"),
        ("left", 3, "came out twice"),
        ("delivered", 77, "never put in"),
        ("reported", 3, "reported as not taken"),
        ("stored", 8, "were lost"),
    ],
)
def test_wrong_accounts(account, number, text):
    ledger = Ledger()
    ledger.note("put", "stored", range(5))
    ledger.note("got", "delivered", [0, 2, 3])
    ledger.note("raised", "reported", [1])
    ledger.note("rest", "left", [4])
    ledger.doubt("interrupted", [5, 6])
    ledger.note("got", "delivered", [5])
    ledger.check()
    ledger.note("wrong", account, [number])
    with pytest.raises(AssertionError, match=text):
        ledger.check()


class Forgetful(HOOKED["FIFOQueue"]):
    """Drops some single elements on the way out."""

    def dequeue(self, name=None, *, timeout=None):
        value = super().dequeue(timeout=timeout)
        return super().dequeue(timeout=timeout) if value[1] % 3 == 0 else value


class Repeating(HOOKED["FIFOQueue"]):
    """Stores some single elements twice."""

    def enqueue(self, vals, name=None, *, timeout=None):
        super().enqueue(vals, timeout=timeout)
        if vals[1] % 3 == 0:
            super().enqueue(vals, timeout=timeout)


@pytest.mark.parametrize(("cls", "text"), [(Forgetful, "were lost"), (Repeating, "came out twice")])
def test_a_faulty_queue_is_found(cls, text, monkeypatch):
    monkeypatch.setattr(chain, "build", lambda draw, name: cls(20, ["int64"] * 2, [(), ()], name=name))
    with pytest.raises(AssertionError, match=r"seed 1, 2000 elements") as caught:
        chain.run(1, COUNT)
    assert text in str(caught.value.__cause__)
