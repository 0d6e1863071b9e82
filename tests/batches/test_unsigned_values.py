"""Unsigned and signed integers in one component are an error: nothing is wrapped or rounded to fit."""

import itertools

import numpy as np
import pytest

import pipeline

INTEGERS = r"dtype (u?int\d+).* (?!\1)u?int\d+ "

MIXED = {
    "2**63 before int64": ([np.uint64(2**63), np.int64(-1)], TypeError, INTEGERS),
    "2**63 after int64": ([np.int64(-1), np.uint64(2**63)], TypeError, INTEGERS),
    "-1 after uint8": ([np.uint8(200), -1], TypeError, INTEGERS),
    "int8 after uint8": ([np.uint8(200), np.int8(-1)], TypeError, INTEGERS),
    "numbers of Python": ([2**63 + 1, -1], (TypeError, ValueError), f"no other dtype holds|{INTEGERS}"),
}


def called(values):
    return itertools.chain(values).__next__


WAYS = {
    "batch of a list": lambda values: pipeline.batch(values, 2),
    "batch of a function": lambda values: pipeline.batch(called(values), 2),
    "batch of a dict": lambda values: pipeline.batch([{"n": value} for value in values], 2),
    "padded": lambda values: pipeline.batch(called([np.asarray(value) for value in values]), 2, dynamic_pad=True),
    "threads": lambda values: pipeline.batch(called(values), 2, num_threads=2, deterministic=True),
    "shuffle_batch": lambda values: pipeline.shuffle_batch(called(values), 2, 10, 1),
    "batch_join": lambda values: pipeline.batch_join([called(values[:1]), called(values[1:])], 2),
    "dataset": lambda values: iter(pipeline.dataset(values).batch(2)),
    "workers": lambda values: iter(pipeline.dataset(values).map(lambda x: x, workers=2).batch(2)),
}


@pytest.mark.parametrize("mixed", MIXED)
@pytest.mark.parametrize("way", WAYS)
def test_mixed_integers_are_refused(way, mixed):
    values, kind, text = MIXED[mixed]
    with WAYS[way](values) as batches, pytest.raises(kind, match=text):
        next(batches)


@pytest.mark.parametrize("way", WAYS)
def test_unsigned_integers_keep_their_values(way):
    values = [np.uint64(2**63), np.uint64(2**64 - 1)]
    with WAYS[way](values) as batches:
        got = next(batches)
    got = got["n"] if isinstance(got, dict) else got
    assert got.dtype == np.uint64
    assert sorted(got.tolist()) == [2**63, 2**64 - 1]
