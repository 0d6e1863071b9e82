"""Makes tanks.svg from a run: of a shuffle_batch over a text file whose function waits too long for each example."""

import time
from pathlib import Path

import pipeline

HERE = Path(__file__).parent
DIGITS = HERE.parents[1] / "examples" / "data" / "digits.csv"

files = pipeline.string_input_producer([DIGITS], num_epochs=6, name="file_names")
reader = pipeline.TextLineReader()


def decode():
    _, line = reader.read(files)
    time.sleep(0.004)
    return pipeline.decode_csv(line, [[0.0]] * 65)


with pipeline.shuffle_batch(decode, 32, capacity=1000, min_after_dequeue=400, num_threads=4) as batches:
    next(batches)
    with pipeline.monitor():
        for _ in range(90):
            next(batches)
        pipeline.draw(batches).save(HERE / "tanks.svg")
