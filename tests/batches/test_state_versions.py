"""States that released versions saved are still loaded: tests/data/states has those of each version.

`python tests/batches/test_state_versions.py` writes those of this version, when it is released.
"""

import json
import os
import pathlib

import numpy as np
import pytest

import pipeline

STATES = pathlib.Path(__file__).parents[1] / "data" / "states"
DONE = 9  # batches delivered when the states were saved


def of_lines():
    queue = pipeline.string_input_producer(["lines.txt"], num_epochs=2, seed=3)
    reader = pipeline.TextLineReader()
    options = {"num_threads": 2, "seed": 5, "deterministic": True, "allow_smaller_final_batch": True}
    return pipeline.shuffle_batch(lambda: int(reader.read(queue).value), 7, 60, 30, **options)


def of_rows():
    source = pipeline.slice_input_producer([np.arange(50)], num_epochs=3, seed=3)
    return pipeline.shuffle_batch(source, 7, 60, 30, seed=5, deterministic=True)


def of_buckets():
    queue = pipeline.range_input_producer(50, num_epochs=3, seed=3)
    options = {"min_after_dequeue": 3, "seed": 5, "deterministic": True}
    return pipeline.bucket_by_sequence_length(
        lambda row: row % 20, lambda: int(queue.dequeue()), 4, [5, 12], dynamic_pad=False, **options
    )


LOOPS = {"lines": of_lines, "rows": of_rows, "buckets": of_buckets}


def rest_of(loop):
    return [[part.tolist() for part in batch] if isinstance(batch, tuple) else batch.tolist() for batch in loop]


@pytest.mark.parametrize("path", sorted(STATES.glob("*/*.json")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_state_of_a_released_version(path, monkeypatch):
    monkeypatch.chdir(STATES)  # a state knows files by the names they were given
    saved = json.loads(path.read_text())
    with LOOPS[path.stem]() as loop:
        loop.load_state_dict(saved["state"], allow={"mtime"})
        assert rest_of(loop) == saved["rest"]


def test_there_are_states_of_version_1():
    assert sorted(path.stem for path in STATES.glob("1/*.json")) == ["buckets", "lines", "rows"]


def test_a_state_of_a_later_version():
    state = json.loads((STATES / "1" / "rows.json").read_text())["state"] | {"version": 3, "made_by": "9.0"}
    with pytest.raises(pipeline.errors.InvalidArgumentError, match=r"version 3, of queue-runner 9\.0; .* up to 2"):
        of_rows().load_state_dict(state)


if __name__ == "__main__":
    os.chdir(STATES)
    for name, make in LOOPS.items():
        with make() as loop:
            for _ in range(DONE):
                next(loop)
            state = loop.state_dict()
            text = json.dumps({"state": state, "rest": rest_of(loop)})
        folder = pathlib.Path(str(state["version"]))
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.json").write_text(text + "\n")
