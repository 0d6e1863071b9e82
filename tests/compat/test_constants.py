"""constant: its cost; cases/details.py compares its results with TensorFlow."""

import sys

import pytest

import pipeline.compat.v1 as tf


@pytest.mark.parametrize("one", [1.5, 7, True, "a"])
def test_elements_are_not_looked_at_one_by_one(one):
    calls = []
    with tf.Graph().as_default():
        tf.constant([[one] * 100] * 100)  # imports its dependencies
        sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
        try:
            tf.constant([[one] * 100] * 100)
        finally:
            sys.setprofile(None)
    assert 0 < len(calls) < 1000
