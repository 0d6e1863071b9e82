"""Typed programs, as users write them: they run, and `make lint` checks them strictly, by mypy and pyright."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pipeline
import pipeline.compat.v1 as tf

Example = tuple[NDArray[np.float32], int]


def test_a_queue() -> None:
    queue = pipeline.FIFOQueue(10, ["float32", "int32"], shapes=[(2,), ()], name="examples")
    queue.enqueue_many((np.ones((3, 2), np.float32), [1, 2, 3]), timeout=5)
    features, labels = queue.dequeue_many(2)
    assert features.shape == (2, 2)
    assert labels.tolist() == [1, 2]
    stats: pipeline.QueueStats = queue.stats()
    size: int = stats.size
    assert size == queue.size() == 1
    queue.close()
    try:
        queue.dequeue_many(2)
    except pipeline.OutOfRangeError as error:
        message: str = error.message
        assert "is closed" in message


def test_a_loop(tmp_path: Path) -> None:
    def source() -> list[Example]:
        return [(np.full(3, number, np.float32), number) for number in range(8)]

    batches: pipeline.types.DatasetIterator[Any]
    with pipeline.shuffle_batch(source(), 4, capacity=20, min_after_dequeue=4, seed=1, deterministic=True) as batches:
        labels: list[int] = []
        for _, numbers in batches:
            labels += numbers.tolist()
        state: dict[str, Any] = batches.state_dict()
        pipeline.save_state(tmp_path / "state.json", state)
    assert sorted(labels) == list(range(8))
    assert pipeline.load_state(tmp_path / "state.json") == state


def test_files_and_threads(tmp_path: Path) -> None:
    (tmp_path / "numbers.csv").write_text("1,2.5\n3,4.5\n")
    files = pipeline.string_input_producer([str(tmp_path / "numbers.csv")], num_epochs=1)
    coord = pipeline.Coordinator()
    pipeline.start_queue_runners(coord=coord)
    keys, lines = pipeline.TextLineReader().read_up_to(files, 10)
    numbers, values = pipeline.decode_csv(lines, [np.int32, np.float32])
    assert len(keys) == len(numbers) == len(values) == 2
    coord.request_stop()
    coord.join()


def test_arrays() -> None:
    rows: list[NDArray[np.int64]] = [np.array([1, 2]), np.array([3, 4])]
    assert pipeline.stack(rows).shape == (2, 2)
    assert pipeline.concatenate(rows).shape == (4,)
    frozen: NDArray[np.int64] = pipeline.freeze(rows[0])
    assert not frozen.flags.writeable
    config: dict[str, dict[str, Any]] = pipeline.show_config("dicts")
    assert "version" in config["NumPy"]


def test_the_drop_in() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.train.input_producer(tf.constant([1, 2, 3]), num_epochs=1, shuffle=False)
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coord)
        assert session.run(queue.dequeue()) == 1
        coord.request_stop()
        coord.join(threads)
