"""Use Grain and TensorFlow datasets, and iterators over them, as sources of examples.

    python examples/other_pipelines.py [grain] [tensorflow]

Without arguments it uses the installed ones. Install them with `pip install grain` or `pip install tensorflow`.
"""

import importlib.util
import sys

import pipeline


def grain():
    import grain  # here, because it may not be installed

    data = grain.MapDataset.range(1000).map(lambda n: {"number": n, "square": n * n})
    # By index: shuffled here. An iterator is read once, in its own order.
    return pipeline.grain(data, shuffle=True, seed=1), iter(data.to_iter_dataset())


def tensorflow():
    import tensorflow as tf  # here, because it may not be installed

    data = tf.data.Dataset.range(1000).map(lambda n: {"number": n, "square": n * n})
    return pipeline.tf_data(data), data.as_numpy_iterator()


def right(source):
    """Return how many squares are right."""
    with pipeline.shuffle_batch(source, 100, min_after_dequeue=300, seed=2) as batches:
        return sum(int((batch["number"] ** 2 == batch["square"]).sum()) for batch in batches)


def main(names):
    for make in (grain, tensorflow):
        name = make.__name__
        if name in names or (not names and importlib.util.find_spec(name)):
            dataset, iterator = make()
            print(f"{name}: {right(dataset):,} right of the dataset, {right(iterator):,} of its iterator")


if __name__ == "__main__":
    main(sys.argv[1:])
