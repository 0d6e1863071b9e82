"""Make shuffled batches from CSV files: the whole pipeline on one page.

    python examples/csv_batches.py examples/data/digits.csv

File names go into a queue, three threads read and decode blocks of lines, a shuffle queue mixes the rows, and the loop
gets batches. Each row in the example file is an 8x8 image and its digit.
"""

import sys

import numpy as np

import pipeline


def main(paths):
    files = pipeline.string_input_producer(paths, num_epochs=2, seed=1)
    reader = pipeline.TextLineReader()

    def block():
        """Return up to 256 rows; the threads call this until the files end."""
        _, lines = reader.read_up_to(files, 256)
        *pixels, labels = pipeline.decode_csv(lines, [np.float32] * 64 + [np.int32])
        return np.stack(pixels, axis=1) / 16, labels

    seen = np.zeros(10, int)
    total = np.zeros((10, 64))
    with pipeline.shuffle_batch(
        block,
        batch_size=128,
        capacity=2000,
        min_after_dequeue=1000,
        num_threads=3,
        enqueue_many=True,
        allow_smaller_final_batch=True,  # every image counts
    ) as batches:
        for images, labels in batches:  # float32 [128, 64] and int32 [128]; the last batch has 10 images
            np.add.at(seen, labels, 1)
            np.add.at(total, labels, images)

    print("images of each digit:", seen)
    print("the average 3:")
    for row in (total[3] / seen[3]).reshape(8, 8):
        print("  " + "".join(" .:-=+*#%@"[int(9.99 * value)] for value in row))


if __name__ == "__main__":
    main(sys.argv[1:] or ["examples/data/digits.csv"])
