"""Every public step has a case in tests/support/steps.py, which holds all promises of datasets."""

import inspect

import chains
import pytest
from dataset_contract import check, stream
from steps import JOINING, STEPS

import pipeline

VALUES = [float(i) for i in range(21)]
SOURCES = {"list": pipeline.dataset(VALUES), "stream": stream(VALUES)}


def test_no_step_is_missing():
    """The methods of Dataset that return datasets, and the functions that join datasets."""
    methods = {
        name
        for name, member in vars(pipeline.Dataset).items()
        if inspect.isfunction(member)
        and not name.startswith("_")
        and "Dataset[" in str(inspect.signature(member).return_annotation)
    }
    home = inspect.getmodule(pipeline.zip)
    joining = {name for name in pipeline.__all__ if inspect.getmodule(getattr(pipeline, name)) is home}
    assert joining - {"Dataset"} == set(JOINING)
    assert {step.name for step in STEPS.values()} == methods - {"epoch"} | set(JOINING)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("name", STEPS)
def test_all_promises(name, kind):
    step = STEPS[name]
    if kind == "stream" and step.needs_index:
        pytest.skip("it needs an index")
    data = step.over(SOURCES[kind])
    found = list(data)
    if step.plain:
        assert chains.plain(found) == chains.plain(step.elements(VALUES))
    check(data, found)
