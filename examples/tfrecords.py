"""Write TFRecord files with Examples and read them back as shuffled batches.

    python examples/tfrecords.py [FOLDER]

Without a folder it creates a temporary one. Needs `pip install google-crc32c`.
"""

import pathlib
import sys
import tempfile

import numpy as np

import pipeline
from pipeline import proto

FEATURES = {
    "image": pipeline.FixedLenFeature([64], np.float32),
    "label": pipeline.FixedLenFeature([], np.int64),
}


def example(image, label):
    """Return an image and its digit as a serialized Example."""
    values = {
        "image": proto.Feature(float_list=proto.FloatList(value=image)),
        "label": proto.Feature(int64_list=proto.Int64List(value=[label])),
    }
    return proto.Example(features=proto.Features(feature=values)).SerializeToString()


def write(folder, shards=4):
    """Put the digits into files, one after the other."""
    digits = np.loadtxt(pathlib.Path(__file__).parent / "data" / "digits.csv", delimiter=",", dtype=int)
    for shard in range(shards):
        with pipeline.TFRecordWriter(folder / f"digits-{shard}.tfrecord.gz", "GZIP") as writer:
            for *image, label in digits[shard::shards].tolist():
                writer.write(example(image, label))


def main(folder):
    files = pipeline.string_input_producer(sorted(folder.glob("*.tfrecord.gz")), num_epochs=1, seed=1)
    reader = pipeline.TFRecordReader(options="GZIP")

    def block():
        """Return up to 256 examples; the threads call this until the files end."""
        _, records = reader.read_up_to(files, 256)
        return pipeline.parse_example(records, FEATURES)

    count = np.zeros(10, int)
    with pipeline.shuffle_batch(
        block, 100, capacity=2000, min_after_dequeue=1000, num_threads=2, seed=1, enqueue_many=True,
        allow_smaller_final_batch=True,
    ) as batches:  # fmt: skip
        for batch in batches:  # float32 [100, 64] and int64 [100]
            count += np.bincount(batch["label"], minlength=10)
    print(f"{count.sum()} examples; of each digit:", *count)


if __name__ == "__main__":
    if sys.argv[1:]:
        main(pathlib.Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            write(pathlib.Path(made))
            main(pathlib.Path(made))
