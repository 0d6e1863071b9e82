"""tensorflow: TensorFlow 1's queues, through compat.v1, with blocks if the API has them."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow.compat.v1 as tf
from measuring import main, workers
from workloads import BATCH, CHAINS, DECODED, MIDDLE, WORKS, decode, jpegs, padded_rows, path, rows

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

READ = 1024  # records at a time


def ways(directory, work):
    if work in ("parquet", "arrow", "tar") or work in CHAINS:
        return {}
    return {"TF1 queues": lambda: run(lambda: graph(directory, work))}


def run(make):
    """Yield a graph's batches, from a session with its threads."""
    with tf.Graph().as_default(), tf.Session() as session:
        batch = make()
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        call = session.make_callable(batch)
        try:
            while True:
                yield call()
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=10, ignore_live_threads=True)


def graph(directory, work):
    if pool := WORKS[work].pool:
        data = tf.constant(rows(directory, work))
        return tf.train.shuffle_batch([data], BATCH, pool + 3 * BATCH, pool, enqueue_many=True)
    if work == "padded":
        values, splits = padded_rows(directory)
        begin, end = tf.train.slice_input_producer([splits[:-1], splits[1:]], shuffle=False, capacity=4096)
        row = tf.constant(values)[begin:end]
        return tf.train.batch([row], BATCH, capacity=8 * BATCH, shapes=[[None]], dynamic_pad=True)
    if work.startswith("decode"):
        number = tf.train.range_input_producer(DECODED, shuffle=False, capacity=4096).dequeue()
        example = tf.py_func(decode, [number], tf.float32)
        return tf.train.batch([example], BATCH, num_threads=workers(work), capacity=8 * BATCH, shapes=[[32]])
    if work == "jpeg":
        names, labels = jpegs(directory)
        name, label = tf.train.slice_input_producer([names, np.array(labels)], capacity=2 * BATCH)
        image = tf.image.decode_and_crop_jpeg(tf.read_file(name), MIDDLE, 3)
        image = tf.ensure_shape(image, WORKS[work].shape)
        return tf.train.batch([image, label], BATCH, num_threads=2, capacity=2 * BATCH)
    files = tf.train.string_input_producer([path(directory, work)], shuffle=False)
    reader = tf.TFRecordReader() if work == "tfrecord" else tf.TextLineReader()
    values = reader.read_up_to(files, READ).values
    if work == "csv":
        values = tf.stack(tf.decode_csv(values, [np.float32([0.0])] * WORKS["csv"].shape[0]), axis=1)
    return tf.train.batch([values], BATCH, capacity=4096, enqueue_many=True)


if __name__ == "__main__":
    main("TF1 queues", tf.__version__, ways)
