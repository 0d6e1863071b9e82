"""Input programs whose state can be saved, by name; run as a script, one that saves its state after each batch.

    python stateful_graphs.py NAME FOLDER THREADS ROOM STATE

prints the number and the digest of each batch. It goes on from the file STATE if that is there.
"""

import gzip
import hashlib
import os
import pathlib
import struct
import sys

import numpy as np

import pipeline
import pipeline.compat.v1 as tf

EPOCHS = 2


def write(folder, sizes):
    """Write a text file, a gzipped one, one of fixed records and one of TFRecords for each number of lines."""
    start = 0
    for k, size in enumerate(sizes):
        numbers = range(start, start + size)
        start += size
        text = "".join(f"{number}\n" for number in numbers).encode()
        (folder / f"{k}.txt").write_bytes(text)
        (folder / f"{k}.gz").write_bytes(gzip.compress(struct.pack(f"<{size}q", *numbers)))
        (folder / f"{k}.bin").write_bytes(struct.pack(f"<{size}q", *numbers))
        with pipeline.TFRecordWriter(str(folder / f"{k}.tfrecord")) as writer:
            for number in numbers:
                writer.write(b"%d" % number)


class Settings:
    """How a graph is run; apart from the folder nothing of it may change what comes.

    Args:
        folder: Where the files are.
        threads: Threads that fill the queue.
        room: Of the queue, beyond what it must have.
        batch: Examples in a batch.
        pool: What stays in the pool of a shuffled one.
        numbers: How many numbers there are in an epoch.
    """

    def __init__(self, folder, threads=1, room=1, batch=4, pool=20, numbers=50):
        self.folder, self.threads, self.batch, self.pool = pathlib.Path(folder), threads, batch, pool
        self.room, self.numbers = batch + room, numbers

    def names(self, kind="txt", seed=1, **options):
        files = sorted(map(str, self.folder.glob(f"*.{kind}")))
        return tf.train.string_input_producer(files, num_epochs=EPOCHS, seed=seed, **options)

    def line(self):
        return tf.TextLineReader().read(self.names())

    def number(self, more=0, **options):
        return tf.train.range_input_producer(self.numbers + more, num_epochs=EPOCHS, seed=5, **options).dequeue()

    def in_order(self, tensors, **options):
        return tf.train.batch(tensors, self.batch, self.threads, self.room, allow_smaller_final_batch=True, **options)

    def shuffled(self, tensors, **options):
        return tf.train.shuffle_batch(
            tensors, self.batch, self.pool + self.room, self.pool, self.threads, 4, allow_smaller_final_batch=True,
            **options
        )  # fmt: skip


def tenfold(x):
    """What a Python function makes of a number."""
    y = tf.py_func(lambda each: np.int64(each * 10), [x], tf.int64)
    y.set_shape([])
    return y


def parsed(line):
    return tenfold(tf.string_to_number(line, tf.int64))


def fixed(s, kind, encoding):
    reader = tf.FixedLengthRecordReader(8, encoding=encoding)
    key, record = reader.read(s.names(kind))
    return s.shuffled([key, tf.reshape(tf.decode_raw(record, tf.int64), [])])


def several(s):
    """Two readers, a producer, random numbers and a counter for each example."""
    _, line = s.line()
    _, record = tf.TFRecordReader().read(s.names("tfrecord", 7))
    counter = tf.Variable(0, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    drawn = tf.random_uniform([], 0, 1000, tf.int32, seed=8)
    many = tf.random_normal([3], seed=9)
    return s.shuffled([parsed(line), record, s.number(-19), drawn, many, tf.assign_add(counter, 1)])


def kept(s):
    key, line = s.line()
    keep = tf.less(tf.random_uniform([], seed=2), 0.7)
    return tf.train.maybe_shuffle_batch(
        [key, parsed(line)], s.batch, s.pool + s.room, s.pool, keep, s.threads, 4, allow_smaller_final_batch=True
    )


def kept_rows(s):
    _, lines = tf.TextLineReader().read_up_to(s.names(), 5)
    values = tf.string_to_number(lines, tf.int64)
    return tf.train.maybe_batch(
        [lines, values], tf.not_equal(values % 3, 0), s.batch, s.threads, s.room + 5, enqueue_many=True,
        allow_smaller_final_batch=True,
    )  # fmt: skip


def variable(s):
    rows = tf.Variable(np.arange(50.0), trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    return s.shuffled(tf.train.slice_input_producer([np.arange(50), rows], num_epochs=EPOCHS, seed=5))


def table(s):
    values = tf.contrib.lookup.KeyValueTensorInitializer(list(range(70)), list(range(100, 170)), tf.int64, tf.int64)
    found = tf.contrib.lookup.HashTable(values, -1).lookup(tf.cast(s.number(), tf.int64))
    return s.shuffled([found])


def sparse(s):
    i = s.number()
    ends = tf.cast(tf.stack([[i % 3], [i % 3 + 1]]), tf.int64)
    return s.shuffled([i, tf.SparseTensor(ends, [i, i + 1], [5])])


def looped(s):
    i = tf.cast(s.number(), tf.int64)
    return s.in_order(
        [i, tf.map_fn(lambda x: x * 2 + tf.random_uniform([], 0, 99, tf.int64, seed=3), tf.stack([i, i]))]
    )


def padded(s):
    i = s.number()
    return s.in_order([i, tf.fill([i % 4 + 1], i)], dynamic_pad=True)


def augmented(s):
    """What is drawn for a batch after it was dequeued goes on, too."""
    batch = s.shuffled([s.number()])
    return [batch, tf.random_uniform([3], seed=6), tf.random_shuffle(batch, seed=7)]


def found_once(s):
    names = tf.train.match_filenames_once(str(s.folder / "*.txt"))
    files = tf.train.string_input_producer(names, num_epochs=9, seed=1)
    return s.in_order([tf.read_file(files.dequeue())])


def two_queues(s):
    return [s.in_order([s.number()]), s.shuffled([s.number(10)])]


def joined(s, join, **options):
    sources = [[key, parsed(line)] for key, line in (tf.TextLineReader().read(s.names(seed=k)) for k in range(3))]
    return join(sources, s.batch, allow_smaller_final_batch=True, **options)


def of_one_queue(s):
    files = s.names()
    sources = [list(tf.TextLineReader().read(files)) for _ in range(3)]
    return tf.train.batch_join(sources, s.batch, s.room, allow_smaller_final_batch=True)


def two_rows(s):
    """Two dequeues of one producer for each example."""
    queue = tf.train.range_input_producer(s.numbers, num_epochs=EPOCHS, seed=5)
    first = queue.dequeue()
    with tf.control_dependencies([first]):
        second = queue.dequeue()
    return s.shuffled([first, second])


def two_readers(s):
    """Two readers of one queue for each example: which gets a file first depends on how long the files are."""
    files = s.names()
    first = tf.TextLineReader().read(files)
    with tf.control_dependencies(list(first)):
        second = tf.TextLineReader().read(files)
    return s.shuffled([first.key, second.key])


def now_and_then(s):
    """What some examples take."""
    i, names = s.number(), tf.train.string_input_producer(["a", "b", "c"], seed=2)
    drawn = tf.cond(i % 2 > 0, lambda: tf.random_uniform([], seed=3), lambda: 0.0)
    return s.shuffled([i, drawn, tf.cond(i % 3 > 0, names.dequeue, lambda: tf.constant("-"))])


def missing_files(s):
    names = [str(s.folder / f"{name}.txt") for name in ("0", "1", "none", "3", "no", "4")]
    files = tf.train.string_input_producer(names, num_epochs=EPOCHS, seed=1)
    return s.shuffled(tf.TextLineReader(on_error="skip").read(files))


GRAPHS = {
    "lines": lambda s: s.shuffled(s.line()),
    "lines in order": lambda s: s.in_order(s.line()),
    "parsed": lambda s: s.shuffled([parsed(s.line()[1])]),
    "tfrecords": lambda s: s.in_order([tenfold(tf.string_to_number(tf.TFRecordReader().read(s.names("tfrecord"))[1]))]),
    "fixed": lambda s: fixed(s, "bin", None),
    "gzip": lambda s: fixed(s, "gz", "GZIP"),
    "whole files": lambda s: s.in_order([tf.WholeFileReader().read(s.names(shuffle=False))[0]]),
    "read up to": lambda s: s.shuffled(
        list(tf.TextLineReader().read_up_to(s.names(), 5)), enqueue_many=True
    ),
    "slices": lambda s: s.shuffled(tf.train.slice_input_producer([list(range(50))], num_epochs=EPOCHS, seed=5)),
    "numbers": lambda s: s.in_order([tenfold(s.number(shuffle=False))]),
    "many": lambda s: s.shuffled([tf.stack([tenfold(s.number())] * 3)], enqueue_many=True),
    "joined": lambda s: joined(s, tf.train.batch_join, capacity=s.room),
    "joined shuffled": lambda s: joined(
        s, tf.train.shuffle_batch_join, capacity=s.pool + s.room, min_after_dequeue=s.pool, seed=4
    ),
    "joined readers of one queue": of_one_queue,
    "several": several,
    "kept": kept,
    "kept rows": kept_rows,
    "variable": variable,
    "table": table,
    "sparse": sparse,
    "looped": looped,
    "padded": padded,
    "augmented": augmented,
    "found once": found_once,
    "two rows": two_rows,
    "two readers": two_readers,
    "now and then": now_and_then,
    "missing files": missing_files,
    "two queues": two_queues,
}  # fmt: skip


def digest(batch):
    """A digest of a batch."""
    return hashlib.blake2b(repr(batch).encode(), digest_size=8).hexdigest()


def initialize(sess):
    """Give variables and tables their first values."""
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])


def main(name, folder, threads, room, path):
    tf.config.experimental.enable_op_determinism()
    tf.set_random_seed(3)
    batch = GRAPHS[name](Settings(folder, int(threads), int(room), batch=32, pool=500, numbers=2600))
    with tf.Session() as sess:
        initialize(sess)
        step = 0
        if os.path.exists(path):
            run = pipeline.load_state(path)
            step = run["step"]
            pipeline.compat.input_state(sess).load_state_dict(run["input"])
        coord = tf.train.Coordinator()
        started = tf.train.start_queue_runners(sess, coord)
        try:
            while True:
                text = digest(sess.run(batch))
                step += 1
                print(step, text, flush=True)
                pipeline.save_state(path, {"step": step, "input": pipeline.compat.input_state(sess).state_dict()})
        except tf.errors.OutOfRangeError:
            print("end", step, flush=True)
        coord.request_stop()
        coord.join(started)


if __name__ == "__main__":
    main(*sys.argv[1:])
