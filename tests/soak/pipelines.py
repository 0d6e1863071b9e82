"""The pipelines of `make soak`: each reads examples from files, shuffles them and counts the resulting ids.

Each takes the inputs, their kind, epochs, threads, the way to end ("end", "leave" or "raise"), the example count before
that, and a random generator. It returns the ids with their counts, how it ended, and how many calls timed out.
"""

import collections
import itertools
import threading

import numpy as np
from soak.files import LONGEST, WIDTH

import pipeline
import pipeline.compat.v1 as tf
from pipeline import errors
from pipeline.runners import registry

_FEATURES = {
    "id": pipeline.FixedLenFeature([], "int64"),
    "values": pipeline.FixedLenFeature([WIDTH], "float32"),
}


class Planned(Exception):
    """A decoder raises this on purpose."""


class Fuse:
    """Raises Planned after this many examples; never for None."""

    def __init__(self, after):
        self._left = after
        self._lock = threading.Lock()

    def burn(self, count):
        with self._lock:
            if self._left is not None:
                self._left -= count
                if self._left < 0:
                    raise Planned


def note(found, ids, values):
    """Count the ids; the values must belong to them."""
    ids = np.asarray(ids)
    assert (np.asarray(values) == (ids % 97)[:, None]).all()
    found.update(ids.tolist())


def _reader(kind):
    options = {"on_error": "skip", "max_record_bytes": LONGEST}
    if kind == "csv":
        return pipeline.TextLineReader(**options)
    return pipeline.TFRecordReader(options="GZIP" if kind == "gzip" else None, **options)


def _decoded(kind, values):
    if kind == "csv":
        ids, *columns = pipeline.decode_csv(values, [np.int64] + [np.float32] * WIDTH)
        return ids, np.stack(columns, axis=1)
    features = pipeline.parse_example(values, _FEATURES)
    return features["id"], features["values"]


def native_queues(inputs, kind, epochs, threads, ending, after, rng):
    """Queues, runners and a Coordinator by hand; dequeues with short timeouts."""
    fuse = Fuse(after if ending == "raise" else None)
    reader, seed = _reader(kind), rng.randrange(1 << 30)
    collection = pipeline.string_input_producer([one.path for one in inputs], num_epochs=epochs, seed=seed)
    queue = pipeline.RandomShuffleQueue(400, 100, ["int64", "float32"], [(), (WIDTH,)], seed=seed)

    def fill():
        values = reader.read_up_to(collection, 64).values
        fuse.burn(len(values))
        queue.enqueue_many(_decoded(kind, values))

    coord = pipeline.Coordinator()
    pipeline.add_queue_runner(pipeline.QueueRunner(queue, [fill] * threads))
    pipeline.start_queue_runners(coord=coord)
    found, timeouts, how = collections.Counter(), 0, "end"
    try:
        while ending != "leave" or found.total() < after:
            try:
                note(found, *queue.dequeue_up_to(rng.randrange(1, 90), timeout=rng.choice([0.0005, 0.002, None])))
            except errors.DeadlineExceededError:
                timeouts += 1
        how = "leave"
    except errors.OutOfRangeError:
        pass
    coord.request_stop()
    try:
        coord.join(stop_grace_period_secs=30)
    except Planned:
        how = "raise"
    registry.reset()
    return found, how, timeouts


def native_batches(inputs, kind, epochs, threads, ending, after, rng):
    """`shuffle_batch` over a callable."""
    fuse = Fuse(after if ending == "raise" else None)
    reader, seed = _reader(kind), rng.randrange(1 << 30)
    files = pipeline.string_input_producer([one.path for one in inputs], num_epochs=epochs, seed=seed)

    def block():
        values = reader.read_up_to(files, 128).values
        fuse.burn(len(values))
        return _decoded(kind, values)

    options = {"num_threads": threads, "enqueue_many": True, "allow_smaller_final_batch": True, "seed": seed}
    found, how = collections.Counter(), "end"
    try:
        with pipeline.shuffle_batch(block, rng.randrange(1, 90), 400, 100, **options) as batches:
            for ids, values in batches:
                note(found, ids, values)
                if ending == "leave" and found.total() >= after:
                    how = "leave"
                    break
    except Planned:
        how = "raise"
    registry.reset()
    return found, how, 0


def drop_in(inputs, kind, epochs, threads, ending, after, rng):
    """A TensorFlow 1 program; runs with short timeouts."""
    fuse = Fuse(after if ending == "raise" else None)
    options = {"on_error": "skip", "max_record_bytes": LONGEST}
    found, timeouts, how = collections.Counter(), 0, "end"

    def check(values):
        fuse.burn(len(values))
        return values

    with tf.Graph().as_default():
        tf.set_random_seed(rng.randrange(1 << 30))
        names = [one.path.encode("utf-8", "surrogateescape") for one in inputs]
        files = tf.train.string_input_producer(names, num_epochs=epochs)
        if kind == "csv":
            reader = tf.TextLineReader(**options)
        else:
            packing = tf.python_io.TFRecordCompressionType.GZIP if kind == "gzip" else None
            reader = tf.TFRecordReader(options=packing and tf.python_io.TFRecordOptions(packing), **options)
        _, values = reader.read_up_to(files, 64)
        if ending == "raise":
            values = tf.py_func(check, [values], tf.string)
            values.set_shape([None])
        if kind == "csv":
            ids, *columns = tf.decode_csv(values, [tf.constant([], tf.int64)] + [tf.constant([], tf.float32)] * WIDTH)
            numbers = tf.stack(columns, axis=1)
        else:
            features = tf.parse_example(
                values,
                {"id": tf.FixedLenFeature([], tf.int64), "values": tf.FixedLenFeature([WIDTH], tf.float32)},
            )
            ids, numbers = features["id"], features["values"]
        batch = tf.train.shuffle_batch(
            [ids, numbers],
            rng.randrange(1, 90),
            400,
            100,
            num_threads=threads,
            enqueue_many=True,
            allow_smaller_final_batch=True,
        )
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coord = tf.train.Coordinator()
            tf.train.start_queue_runners(session, coord)
            try:
                for _ in itertools.count():
                    limit = tf.RunOptions(timeout_in_ms=rng.choice([0, 0, 1, 2]))
                    try:
                        note(found, *session.run(batch, options=limit))
                    except tf.errors.DeadlineExceededError:
                        timeouts += 1
                    if ending == "leave" and found.total() >= after:
                        how = "leave"
                        break
            except tf.errors.OutOfRangeError:
                pass
            coord.request_stop()
            try:
                coord.join(stop_grace_period_secs=30)
            except (Planned, tf.errors.OpError) as error:
                if "Planned" not in f"{type(error).__name__} {error}":
                    raise
                how = "raise"
    return found, how, timeouts


PIPELINES = [native_queues, native_batches, drop_in]
