"""More program structures found in the wild: arrays from threads, ops made at run time, crops, mixed sources."""

import threading

import numpy as np
from graph_pipelines import drain, graph_session, running  # noqa: F401  (a fixture)

import pipeline.compat.v1 as tf


class Windows:
    """The program's threads normalize arrays from files and feed them; each takes a part of the table."""

    def __init__(self, table, coord, epochs=None):
        self.table, self.coord, self.epochs, self.kept = table, coord, epochs, {}
        self.shape = [8, 1, 2]
        self.places = [
            tf.placeholder(tf.float32, None),
            tf.placeholder(tf.string, None),
            tf.placeholder(tf.int32, None),
        ]
        self.queue = tf.PaddingFIFOQueue(5, ["float32", "string", "int32"], shapes=[self.shape, [], [None]])
        self.enqueue = self.queue.enqueue(self.places)

    def fill(self, sess, threads, start):
        epoch = 0
        while self.epochs is None or epoch < self.epochs:
            epoch += 1
            for name in self.table[start::threads]:
                if name not in self.kept:
                    try:
                        with np.load(name) as file:
                            self.kept[name] = {"data": file["data"], "at": file["at"]}
                    except OSError:
                        continue
                if self.coord.should_stop():
                    return
                data = self.kept[name]["data"] - self.kept[name]["data"].mean(axis=0, keepdims=True)
                values = data.reshape(self.shape), name, self.kept[name]["at"]
                try:
                    sess.run(self.enqueue, feed_dict=dict(zip(self.places, values, strict=True)))
                except tf.errors.CancelledError:
                    return

    def start(self, sess, threads):
        made = [threading.Thread(target=self.fill, args=(sess, threads, i), daemon=True) for i in range(threads)]
        for thread in made:
            thread.start()
        return made


def test_windows_of_arrays_from_threads_of_the_program(sess, tmp_path):
    names = []
    for number in range(7):
        names.append(str(tmp_path / f"{number}.npz"))
        np.savez(names[-1], data=np.random.default_rng(number).normal(size=(8, 2)), at=np.arange(number % 3))
    table = [*names, str(tmp_path / "missing.npz")]
    coord = tf.train.Coordinator()
    trained, checked = Windows(table, coord), Windows(table, coord, epochs=1)
    batch, rest, close = trained.queue.dequeue_many(4), checked.queue.dequeue_up_to(3), checked.queue.close()
    threads = trained.start(sess, 3)
    for _ in range(5):
        data, _, places = sess.run(batch)
        assert data.shape == (4, 8, 1, 2)
        assert abs(data.mean(axis=1)).max() < 1e-6
        assert places.shape[0] == 4
    fillers = checked.start(sess, 2)
    ender = threading.Thread(target=lambda: (coord.join(fillers), sess.run(close)))
    ender.start()
    found = drain(sess, rest)
    ender.join()
    assert sorted(name.decode() for _, batch, _ in found for name in batch) == names
    assert [len(batch) for _, batch, _ in found] == [3, 3, 1]
    coord.request_stop()
    sess.run(trained.queue.close(cancel_pending_enqueues=True))
    for thread in threads:
        thread.join()


def test_sequences_of_lines_and_a_fetched_batch_that_is_fed_again(sess, tmp_path):
    """Each reading is a sequence: `read_up_to` with its line count; the batch is fed where it was made."""
    names = []
    for label in range(6):
        rows = "".join(f"{t * 0.5},{label + t},{-t},{10 * label},{label % 3}\n" for t in range(4))
        names.append(str(tmp_path / f"{label}.csv"))
        (tmp_path / f"{label}.csv").write_text(rows)
    queue = tf.train.string_input_producer(string_tensor=names, num_epochs=1, shuffle=False)
    reader = tf.TextLineReader(skip_header_lines=0, name="TextLineReader")
    features, labels = [], []
    for _ in range(2):
        _, lines = reader.read_up_to(queue, 4)
        columns = tf.decode_csv(records=lines, record_defaults=[[0.0]] * 4 + [[0]], name="decode_csv")
        features.append(tf.stack(columns[1:4]))
        labels.append(tf.one_hot(columns[-1][0], 3))
    x, y = tf.transpose(tf.stack(features), [0, 2, 1]), tf.stack(labels)
    ends = x[:, -1]
    with running(sess) as coord:
        seen = []
        try:
            while not coord.should_stop():
                rows, hot = sess.run([x, y])
                seen += zip(sess.run(ends, feed_dict={x: rows, y: hot}).tolist(), hot.argmax(axis=1), strict=True)
        except tf.errors.OutOfRangeError:
            pass
    assert sorted(seen) == [([label + 3, -3, 10 * label], label % 3) for label in range(6)]


def test_crops_of_views_that_lie_side_by_side(sess, tmp_path):
    """A picture holds small views of one scene; each reader returns several crops, as equally shaped tensors."""
    rows, columns, views, patch = 10, 12, 4, 6
    names = []
    for number in range(3):
        names.append(str(tmp_path / f"{number}.png"))
        picture = np.random.default_rng(number).integers(0, 255, (rows * views, columns * views, 3), np.uint8)
        (tmp_path / f"{number}.png").write_bytes(sess.run(tf.image.encode_png(picture)))

    def crops(name):
        picture = tf.image.decode_image(tf.read_file(name), channels=3)
        gamma = tf.random_uniform(shape=[], minval=0.4, maxval=1.0)
        picture = tf.to_float(picture[: rows * views, : columns * views, :]) / 255.0
        field = 2.0 * (tf.image.adjust_gamma(picture, gamma=gamma) - 0.5)
        field = tf.transpose(tf.reshape(field, [rows, views, columns, views, 3]), [0, 2, 1, 3, 4])
        field = field[:, :, views // 2 - 1 : views // 2 + 1, views // 2 - 1 : views // 2 + 1, :]
        centre, centres, fields = field[:, :, 1, 1, :], [], []
        for _ in range(3):
            row = tf.random_uniform(shape=[], minval=0, maxval=tf.shape(field)[0] - patch, dtype=tf.int32)
            column = tf.random_uniform(shape=[], minval=0, maxval=tf.shape(field)[1] - patch, dtype=tf.int32)
            centres.append(centre[row : row + patch, column : column + patch, :])
            fields.append(field[row : row + patch, column : column + patch, :, :, :])
        return centres, fields

    queue = tf.train.slice_input_producer([names], shuffle=True)
    sources = [crops(queue[0]) for _ in range(2)]
    shapes = [[patch, patch, 3], [patch, patch, 2, 2, 3]]
    batch = tf.train.shuffle_batch_join(sources, 4, capacity=8, min_after_dequeue=0, enqueue_many=True, shapes=shapes)
    assert [each.get_shape().as_list() for each in batch] == [[4, *shape] for shape in shapes]
    with running(sess):
        for _ in range(5):
            centres, fields = sess.run(batch)
            assert (centres == fields[:, :, :, 1, 1]).all()
            assert -1 <= centres.min() < centres.max() <= 1


def test_operations_that_a_thread_makes_as_it_reads(tmp_path):
    """A thread makes new operations for each reading, in the graph common to all threads."""
    for number in range(2):
        (tmp_path / f"{number + 1}_walk.csv").write_text("".join(f"{number},{t}\n" for t in range(6)))
    tf.reset_default_graph()
    queue = tf.train.string_input_producer([str(tmp_path / f"{number}_walk.csv") for number in (1, 2)], shuffle=False)
    reader = tf.TextLineReader()
    padded = tf.PaddingFIFOQueue(4, ["float32"], shapes=[(None, 2)])
    kind = tf.placeholder(dtype=tf.int32, shape=None)
    kinds = tf.PaddingFIFOQueue(4, ["int32"], shapes=[()])
    add_kind, batch, batch_kinds = kinds.enqueue([kind]), padded.dequeue_many(2), kinds.dequeue_many(2)
    coord = tf.train.Coordinator()

    def fill(sess):
        while not coord.should_stop():
            key, lines = reader.read_up_to(queue, 3)
            columns = tf.transpose(tf.decode_csv(lines, record_defaults=[[1.0] for _ in range(2)]), [1, 0])
            add = padded.enqueue(tf.pad(columns, [[1, 0], [0, 0]], "CONSTANT"))
            try:
                _, name = sess.run([add, key])
                sess.run(add_kind, {kind: int(name[0].decode().rsplit("/")[-1].split("_")[0])})
            except tf.errors.CancelledError:
                return

    with tf.Session() as sess:
        runners = tf.train.start_queue_runners(sess, coord)
        thread = threading.Thread(target=fill, args=(sess,))
        thread.start()
        seen = [sess.run([batch, batch_kinds]) for _ in range(4)]
        coord.request_stop()
        sess.run([each.close(cancel_pending_enqueues=True) for each in (padded, kinds)])
        coord.join([*runners, thread])
    for rows, labels in seen:
        assert rows.shape == (2, 4, 2)
        assert (rows[:, 0] == 0).all()
        assert (rows[:, 1:, 0] + 1 == labels[:, None]).all()
    tf.reset_default_graph()


def record(**features):
    kinds = {int: "int64_list", bytes: "bytes_list"}
    lists = {int: tf.train.Int64List, bytes: tf.train.BytesList}
    made = {name: tf.train.Feature(**{kinds[type(v)]: lists[type(v)](value=[v])}) for name, v in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


def test_two_sources_mixed_by_chance_without_what_is_invalid(sess, tmp_path):
    """Records from two sources are mixed by arithmetic with a random 0 or 1; flagged ones are left out."""
    names = []
    for source in range(2):
        names.append(str(tmp_path / f"{source}"))
        with tf.python_io.TFRecordWriter(names[-1]) as writer:
            for number in range(12):
                pixels = np.full((4, 4, 1), 20 * number, np.uint8)
                png = sess.run(tf.image.encode_png(pixels))
                writer.write(record(png=png, kind=10 * (source + 1) + number % 3, wrong=int(number == 5), error=0))

    def read(name):
        _, serialized = tf.TFRecordReader().read(tf.train.string_input_producer([name], capacity=8))
        kinds = {name: tf.FixedLenFeature([], tf.int64) for name in ("kind", "wrong", "error")}
        features = tf.parse_single_example(serialized, {**kinds, "png": tf.FixedLenFeature([], tf.string)})
        image = tf.reshape(tf.cast(tf.image.decode_png(features["png"], channels=3), tf.float32), (4, 4, 3))
        dark = tf.where(image < 100, x=tf.zeros_like(image), y=tf.ones_like(image) * 255.0)
        shape = dark.shape
        counts = tf.py_func(lambda x: np.cumsum(x / 255, axis=0).astype(np.float32), [dark], tf.float32, stateful=False)
        counts = tf.reshape(counts, shape)
        image = (image - tf.reduce_min(image)) / (tf.reduce_max(image) - tf.reduce_min(image) + 1)
        image += tf.random_uniform(shape=image.shape, minval=0.0, maxval=1.0 / 256)
        image = tf.transpose(tf.image.resize_images(image, (2, 2)), [2, 0, 1])
        return image, counts, features["kind"], tf.equal(features["wrong"] + features["error"], 0)

    def kinds_in_order(batch):
        before = tf.identity(batch)
        for place, kind in enumerate((10, 11, 12, 20, 21, 22)):
            same = tf.equal(before, tf.constant(kind, dtype=tf.int64))
            batch = tf.where(same, tf.ones_like(batch) * place, batch)
        return tf.squeeze(tf.one_hot(tf.cast(batch, tf.int32), 6, on_value=1, off_value=0, axis=1))

    first = tf.floor(tf.random_uniform(shape=(), minval=0.0, maxval=1.0, dtype=tf.float32) + 0.5)
    pairs = zip(read(names[0]), read(names[1]), strict=True)
    image, counts, kind, valid = [
        tf.cast(a, tf.float32) * first + tf.cast(b, tf.float32) * (1 - first) for a, b in pairs
    ]
    images, counted, classes = tf.train.maybe_shuffle_batch(
        [image, counts, tf.cast(kind, tf.int64)],
        batch_size=4,
        capacity=60,
        min_after_dequeue=8,
        keep_input=tf.cast(valid, tf.bool),
        num_threads=2,
    )
    hot = kinds_in_order(classes)
    dense = tf.reshape(tf.where(tf.equal(hot, 1))[:, 1], (int(hot.get_shape()[0]),))
    halves = [tf.slice(images, [at, 0, 0, 0], [2, -1, -1, -1]) for at in (0, 2)]
    assert [each.get_shape().as_list() for each in (*halves, dense)] == [[2, 3, 2, 2], [2, 3, 2, 2], [4]]
    with running(sess):
        seen = [sess.run([*halves, counted, classes, dense]) for _ in range(12)]
    assert {kind for *_, places in seen for kind in places.tolist()} == set(range(6))
    for *_, counted, classes, places in seen:
        assert [(10, 11, 12, 20, 21, 22)[place] for place in places] == classes.tolist()
        assert set(counted[:, -1].ravel().tolist()) <= {0.0, 4.0}
