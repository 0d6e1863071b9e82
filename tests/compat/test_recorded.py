"""The drop-in agrees with TensorFlow in each case. `record.py` writes the recordings."""

import compat_cases
import pytest

import pipeline.compat.v1 as tf


def names(family):
    """Return the case names in a family; for one that fails to load, a stand-in whose test fails for that reason."""
    try:
        return list(compat_cases.cases(family))
    except Exception:
        return ["all"]


# Their texts are those of compiled protobuf.
OF_PROTOBUF = [("files", "example_text"), ("queue_runners", "definitions_are_messages")]
ALL = [(family, name) for family in compat_cases.families() for name in names(family)]


@pytest.mark.parametrize(("family", "name"), ALL, ids=[f"{family}-{name}" for family, name in ALL])
def test_case(family, name):
    if (family, name) in OF_PROTOBUF:
        pytest.importorskip("google._upb._message", reason="protobuf has no compiled wheel for this Python")
    one = compat_cases.cases(family)[name]
    expected = compat_cases.read_recorded(family).get(name)
    if expected is None:
        pytest.fail(f"not recorded: make oracle FAMILY={family}")
    seen, error = compat_cases.observe(tf, one)
    if isinstance(error, ImportError) and "pip install" in str(error):
        pytest.skip(str(error))
    problems = compat_cases.differences(one, expected, seen)
    wrong = compat_cases.message_differs(one, error)
    if wrong:
        problems.append(wrong)
    if problems:
        raise AssertionError("\n".join(["", *problems])) from error


@pytest.mark.parametrize("family", compat_cases.families())
def test_nothing_is_recorded_that_no_case_makes(family):
    assert sorted(compat_cases.read_recorded(family).keys() - compat_cases.cases(family).keys()) == []
