"""Tutorial-style programs, on files that they make themselves."""

import pathlib

import numpy as np
import pytest
from helpers import run_in_thread

import pipeline.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default() as graph:
        yield graph


def consume(fetches, limit=None):
    """Return the usual loop's results: until the input ends, or for n steps."""
    seen = []
    with tf.Session() as sess:
        sess.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            while not coord.should_stop() and (limit is None or len(seen) < limit):
                seen.append(sess.run(fetches))
        except tf.errors.OutOfRangeError:
            assert limit is None
        finally:
            coord.request_stop()
        run_in_thread(coord.join, threads).result()
        assert not any(thread.is_alive() for thread in threads)
    return seen


def encoded(array):
    with tf.Graph().as_default(), tf.Session() as sess:
        return sess.run(tf.image.encode_png(array))


def int64s(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def test_images_and_labels_from_a_numpy_table():
    for i in range(6):
        name = f"{'cat' if i % 2 else 'dog'}.{i}.png"
        pathlib.Path(name).write_bytes(encoded(np.full((6 + i, 5, 3), 10 * i, np.uint8)))
    files = sorted(path.name for path in pathlib.Path().glob("*.png"))
    table = np.array([files, [int(name.startswith("dog")) for name in files]]).transpose()
    names, labels = list(table[:, 0]), [int(each) for each in table[:, 1]]  # the names are NumPy's strings
    name, label = tf.train.slice_input_producer([tf.cast(names, tf.string), tf.cast(labels, tf.int32)], shuffle=False)
    image = tf.image.decode_png(tf.read_file(name), channels=3)
    image = tf.image.resize_image_with_crop_or_pad(image, 4, 4)
    images, classes, kept = tf.train.batch([image, label, name], batch_size=4, num_threads=1, capacity=16)
    assert images.shape.as_list() == [4, 4, 4, 3]
    steps = consume([images, classes, kept], limit=3)
    assert [each.decode() for step in steps for each in step[2]] == (files * 2)[:12]
    assert [each for step in steps for each in step[1]] == [0, 0, 0, 1, 1, 1] * 2
    values = [int(image[0, 0, 0]) for step in steps for image in step[0]]
    assert values == [10, 30, 50, 0, 20, 40] * 2


def test_fixed_length_records_with_labels():
    rows = np.random.RandomState(0).randint(0, 256, (10, 1 + 3 * 8 * 8)).astype(np.uint8)
    rows[:, 0] = np.arange(10)
    for number in range(2):
        pathlib.Path(f"batch_{number}.bin").write_bytes(rows[5 * number : 5 * number + 5].tobytes())
    with tf.device("/cpu:0"):
        queue = tf.train.string_input_producer(["batch_0.bin", "batch_1.bin"], num_epochs=2)
        _, value = tf.FixedLengthRecordReader(record_bytes=193).read(queue)
        row = tf.decode_raw(value, tf.uint8)
        label = tf.cast(tf.strided_slice(row, [0], [1]), tf.int32)
        depth_major = tf.reshape(tf.strided_slice(row, [1], [193]), [3, 8, 8])
        image = tf.cast(tf.transpose(depth_major, [1, 2, 0]), tf.float32)
        with tf.name_scope("data_augmentation"):
            image = tf.image.random_flip_left_right(tf.random_crop(image, [6, 6, 3]))
            image = tf.image.random_contrast(tf.image.random_brightness(image, max_delta=63), lower=0.2, upper=1.8)
            image = tf.image.per_image_standardization(image)
        image.set_shape([6, 6, 3])
        label.set_shape([1])
        images, labels = tf.train.shuffle_batch([image, label], 4, num_threads=4, capacity=20, min_after_dequeue=8)
        tf.summary.image("images", images)
    assert str(images) == 'Tensor("shuffle_batch:0", shape=(4, 6, 6, 3), dtype=float32, device=/device:CPU:0)'
    steps = consume([images, tf.reshape(labels, [4])])
    assert sorted(label for step in steps for label in step[1]) == sorted([*range(10)] * 2)
    assert all(abs(image.mean()) < 1e-3 for step in steps for image in step[0])


def test_examples_through_one_queue_of_many_readers():
    for shard in range(2):
        with tf.python_io.TFRecordWriter(f"train-{shard}") as writer:
            for i in range(6):
                features = {
                    "encoded": tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[encoded(np.full((9, 7 + i, 3), 20 * i, np.uint8))])
                    ),
                    "label": int64s(6 * shard + i),
                    "xmin": tf.train.Feature(float_list=tf.train.FloatList(value=[0.1] * (i % 3))),
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())
    files = tf.train.string_input_producer(sorted(tf.gfile.Glob("train-*")), capacity=16, num_epochs=1)
    examples = tf.RandomShuffleQueue(capacity=20, min_after_dequeue=4, dtypes=[tf.string])
    enqueues = [examples.enqueue([tf.TFRecordReader().read(files)[1]]) for _ in range(3)]
    tf.train.add_queue_runner(tf.train.QueueRunner(examples, enqueues))
    serialized = examples.dequeue()
    joined = []
    for thread in range(4):
        parsed = tf.parse_single_example(
            serialized,
            {
                "encoded": tf.FixedLenFeature([], tf.string, default_value=""),
                "label": tf.FixedLenFeature([1], tf.int64, default_value=-1),
                "xmin": tf.VarLenFeature(tf.float32),
            },
        )
        image = tf.image.convert_image_dtype(tf.image.decode_png(parsed["encoded"], channels=3), tf.float32)
        image = tf.image.resize_images(image, [5, 5], method=thread % 4)
        image.set_shape([5, 5, 3])
        joined.append([image, parsed["label"], tf.size(parsed["xmin"].values)])
    images, labels, boxes = tf.train.batch_join(joined, batch_size=4, capacity=32)
    assert [each.shape.as_list() for each in (images, labels, boxes)] == [[4, 5, 5, 3], [4, 1], [4]]
    steps = consume([images, labels, boxes])
    found = {int(label[0]): (image.mean(), count) for step in steps for image, label, count in zip(*step, strict=True)}
    assert sorted(found) == list(range(12))
    for label, (mean, count) in found.items():
        assert mean == pytest.approx(20 * (label % 6) / 255, abs=1e-3)
        assert count == label % 3


def test_a_prefetch_queue_of_dictionaries():
    with tf.python_io.TFRecordWriter("data") as writer:
        for i in range(5):
            feature = {"x": int64s(i), "w": int64s(*range(i))}
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    queue = tf.train.string_input_producer(["data"], num_epochs=1, name="filenames")
    _, serialized = tf.TFRecordReader().read(queue)
    parsed = tf.parse_single_example(
        serialized, {"x": tf.FixedLenFeature([], tf.int64), "w": tf.VarLenFeature(tf.int64)}
    )
    dense = {"x": parsed["x"], "w": tf.sparse_tensor_to_dense(parsed["w"], default_value=-1)}
    batch = tf.train.batch(dense, 2, dynamic_pad=True, allow_smaller_final_batch=True)
    names = sorted(batch)
    prefetch = tf.PaddingFIFOQueue(
        capacity=8,
        dtypes=[batch[name].dtype for name in names],
        shapes=[batch[name].get_shape() for name in names],
        names=names,
        name="prefetch",
    )
    tf.train.add_queue_runner(tf.train.QueueRunner(prefetch, [prefetch.enqueue(batch)] * 2))
    steps = consume(prefetch.dequeue())
    assert sorted(len(step["x"]) for step in steps) == [1, 2, 2]
    for step in steps:
        width = max(step["x"])
        assert step["w"].tolist() == [[*range(x), *[0] * (width - x)] for x in step["x"]]


def test_records_may_be_text():
    with tf.python_io.TFRecordWriter("text") as writer:
        writer.write("é")
        writer.write(b"b")
    assert list(tf.python_io.tf_record_iterator("text")) == ["é".encode(), b"b"]
