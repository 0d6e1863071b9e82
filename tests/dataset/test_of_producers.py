"""A producer is a dataset, as well as a source for `batch`: its elements in order, with states."""

import json

import numpy as np
import pytest
from orchestration import no_thread_left

import pipeline

ROWS = np.arange(6)

MAKE = {
    "range": lambda: pipeline.range_input_producer(6, num_epochs=2, seed=3),
    "slice": lambda: pipeline.slice_input_producer([ROWS, 2 * ROWS], num_epochs=2, seed=3),
    "input": lambda: pipeline.input_producer(ROWS, num_epochs=2, seed=3),
    "string": lambda: pipeline.string_input_producer(["a", "b", "c"], num_epochs=2, seed=3),
}


@pytest.mark.parametrize("kind", MAKE)
def test_elements_are_those_of_batch(kind):
    batches = pipeline.batch(MAKE[kind](), 1, deterministic=True)
    expected = [np.asarray(batch).reshape(-1).tolist() for batch in batches]
    with no_thread_left():
        got = [np.asarray(element).reshape(-1).tolist() for element in pipeline.dataset(MAKE[kind]())]
    assert got == expected
    assert len(got) == (6 if kind == "string" else 12)


@pytest.mark.parametrize("kind", MAKE)
def test_it_resumes_everywhere(kind):
    def chain():
        return iter(pipeline.dataset(MAKE[kind]()).map(lambda element: element, workers=2).shuffle(3, seed=1))

    with chain() as elements:
        states, got = [elements.state_dict()], []
        for element in elements:
            got.append(repr(element))
            states.append(elements.state_dict())
    for i, state in enumerate(states):
        with chain() as resumed:
            resumed.load_state_dict(json.loads(json.dumps(state)))
            assert [repr(element) for element in resumed] == got[i:]


def test_there_is_one_pass():
    dataset = pipeline.dataset(pipeline.range_input_producer(6, num_epochs=1))
    with pytest.raises(ValueError, match="'input_producer' is a producer, whose elements are taken"):
        dataset.repeat(2)
