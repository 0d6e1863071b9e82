"""Program structures found in the wild: several queues, sources and Python functions together."""

import collections
import wave

import numpy as np
import pytest
from graph_pipelines import drain, graph_session, running  # noqa: F401  (a fixture)

import pipeline.compat.v1 as tf


def example(**features):
    """An Example with integers, or with bytes."""
    kinds = {
        int: lambda v: {"int64_list": tf.train.Int64List(value=v)},
        bytes: lambda v: {"bytes_list": tf.train.BytesList(value=v)},
    }
    feature = {name: tf.train.Feature(**kinds[type(values[0])](values)) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def write(path, records):
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
    return str(path)


def test_negatives_from_a_queue_of_their_own_and_batches_that_repeat(sess, tmp_path):
    """Readers in several threads; wrong captions are those of other examples; each batch is used three times."""
    records = [example(number=[i], vector=[np.full(4, i, np.float32).tobytes()]) for i in range(30)]
    names = tf.train.string_input_producer([write(tmp_path / "a", records)])

    def read():
        _, record = tf.TFRecordReader().read(names)
        kinds = {"number": tf.FixedLenFeature([], tf.int64), "vector": tf.FixedLenFeature([], tf.string)}
        parsed = tf.parse_single_example(record, kinds)
        return parsed["number"], tf.reshape(tf.decode_raw(parsed["vector"], tf.float32), [4])

    def shuffled(tensor):
        queue = tf.RandomShuffleQueue(40, 10, tf.float32, shapes=tensor.get_shape())
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(tensor)]))
        return queue.dequeue()

    sources = [(number, vector, shuffled(vector)) for number, vector in (read() for _ in range(3))]
    batch = [*tf.train.shuffle_batch_join(sources, 5, 40, 10), tf.random_normal([5, 2])]
    repeated = tf.FIFOQueue(9, [each.dtype for each in batch], shapes=[each.get_shape() for each in batch])
    thrice = [tf.tile(tf.expand_dims(each, 0), [3] + [1] * len(each.get_shape())) for each in batch]
    tf.train.add_queue_runner(tf.train.QueueRunner(repeated, [repeated.enqueue_many(thrice)]))
    taken = repeated.dequeue()
    with running(sess):
        seen = [sess.run(taken) for _ in range(9)]
    for first, *others in (seen[0:3], seen[3:6], seen[6:9]):
        for other in others:
            assert all((a == b).all() for a, b in zip(first, other, strict=True))
    for number, vector, wrong, noise in seen:
        assert (vector == number[:, None]).all()
        assert wrong.shape == (5, 4)
        assert noise.shape == (5, 2)
    assert any((wrong[:, 0] != number).any() for number, _, wrong, _ in seen)


def test_python_makes_buckets_and_says_how_many_examples_it_needs(sess):
    """`batch_size` is a Python function's result, and another function turns examples with any length into a batch."""
    rng = np.random.default_rng(0)
    waiting, buckets = collections.deque(), {4: [], 8: []}

    def one():
        labels = np.array([True, False][: 2 * int(rng.integers(0, 2))], bool)
        return np.arange(rng.integers(1, 9), dtype=np.int32).tobytes(), labels

    def needed():
        return np.int32(max(0, len(buckets) * 2 + 1 - len(waiting)))

    def padded(texts, labels):
        waiting.extend(zip(texts, labels, strict=True))
        while True:
            text, label = waiting.popleft()
            numbers = np.frombuffer(text, np.int32)
            width = 4 if len(numbers) <= 4 else 8
            buckets[width].append((np.pad(numbers, (0, width - len(numbers)), constant_values=-1), label))
            if len(buckets[width]) == 3:
                rows, labels = zip(*buckets[width], strict=True)
                buckets[width].clear()
                return np.stack(rows), labels

    text, label = tf.py_func(one, [], [tf.string, tf.bool])
    count = tf.py_func(needed, [], [tf.int32])
    texts, labels = tf.train.maybe_shuffle_batch(
        [text, label], count, 60, 20, keep_input=tf.size(label) > 0, shapes=((), (2,)), seed=1
    )
    rows, labels = tf.py_func(padded, [texts, labels], [tf.int32, tf.bool])
    rows.set_shape([3, None])
    labels.set_shape([3, 2])
    with running(sess):
        seen = [sess.run([rows, labels]) for _ in range(20)]
    assert {each.shape for each, _ in seen} == {(3, 4), (3, 8)}
    assert all((labels == [True, False]).all() for _, labels in seen)
    assert all((np.diff(row[row >= 0]) == 1).all() for rows, _ in seen for row in rows)


def test_folds_of_a_partition(sess):
    """A list of names is partitioned in the graph: the producer learns the row count at run time."""
    names, labels = tf.constant([f"f{i}" for i in range(9)]), tf.range(9)
    fold = [1 if 3 <= i < 6 else 0 for i in range(9)]
    parts = zip(tf.dynamic_partition(names, fold, 2), tf.dynamic_partition(labels, fold, 2), strict=True)
    train, held_out = (tf.train.slice_input_producer(part, num_epochs=1, shuffle=False) for part in parts)
    batches = [tf.train.batch(each, 3) for each in (train, held_out)]
    with running(sess):
        found = [drain(sess, each) for each in batches]
    assert [[rows.tolist() for _, rows in each] for each in found] == [[[0, 1, 2], [6, 7, 8]], [[3, 4, 5]]]
    assert found[1][0][0].tolist() == [b"f3", b"f4", b"f5"]


def test_sounds_by_balanced_lists_of_several_sets(sess, tmp_path):
    """Lists with names and labels, each class half the batch; Python reads the sounds, then they are cut or padded."""
    for at in range(12):
        with wave.open(str(tmp_path / f"{at}.wav"), "wb") as sound:
            sound.setparams((1, 2, 8000, 0, "NONE", None))
            sound.writeframes(np.full(30 + at, at, np.int16).tobytes())
    for part in range(4):
        lines = [f"{at},{int(at % 3 == 0)}" for at in range(part % 2, 12, 2)]
        (tmp_path / f"{part}.csv").write_text("\n".join(lines) + "\n")

    def sound(name):
        def read(name):
            with wave.open(str(tmp_path / f"{name.decode()}.wav"), "rb") as file:
                return np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32)

        samples = tf.reshape(tf.py_func(read, [name], [tf.float32]), (-1, 1, 1))
        longer = tf.cond(
            tf.size(samples) <= 36,
            lambda: tf.reshape(tf.image.resize_image_with_crop_or_pad(samples, 36, 1), (36, 1, 1)),
            lambda: tf.random_crop(samples, (36, 1, 1)),
        )
        return tf.squeeze(longer)

    def listed(part, epochs=None):
        names = tf.train.string_input_producer([str(tmp_path / f"{part}.csv")], num_epochs=epochs)
        _, line = tf.TextLineReader().read(names)
        return tf.decode_csv(line, [["none"], [0]])

    def balanced(parts):
        names, labels = tf.train.batch_join([listed(part) for part in parts], 4)
        (names,), labels = tf.contrib.training.stratified_sample([names], labels, [0.5, 0.5], 4, enqueue_many=True)
        return tf.stack([sound(name) for name in tf.unstack(names)]), labels, names

    mixed = tf.train.shuffle_batch_join([balanced([0, 1]), balanced([2, 3])], 8, 64, 16, enqueue_many=True)
    name, label = listed(0, epochs=1)
    plain = tf.train.batch_join([(sound(name), label, name)], 4, allow_smaller_final_batch=True)
    with running(sess):
        seen = [sess.run(mixed) for _ in range(12)]
        end = drain(sess, plain)
    for sounds, labels, names in [*seen, *end]:
        numbers = np.array([int(each) for each in names])
        assert sounds.shape == (len(names), 36)
        assert (sounds.max(axis=1) == numbers).all()
        assert (labels == (numbers % 3 == 0)).all()
    assert 0.2 < np.mean([labels for _, labels, _ in seen]) < 0.8
    assert [len(labels) for _, labels, _ in end] == [4, 2]


@pytest.mark.parametrize("readers", [1, 4])
def test_neighbours_of_records_named_in_other_records(sess, tmp_path, readers):
    """Sparse id lists go through the pool; the graph turns them into file names and reads these files."""
    for at in range(5):
        (tmp_path / f"{at:04}_n.txt").write_text(f"text {at}")
    records = [example(name=[b"r%d" % i], near=[(i + j) % 5 for j in range(1, 4)]) for i in range(40)]
    names = tf.train.string_input_producer([write(tmp_path / "a", records)], num_epochs=1)
    reader = tf.TFRecordReader()

    def read():
        _, record = reader.read(names)
        parsed = tf.parse_single_example(
            record, {"name": tf.FixedLenFeature([], tf.string), "near": tf.VarLenFeature(tf.int64)}
        )
        return parsed["name"], parsed["near"]

    name, near = tf.train.shuffle_batch_join([read() for _ in range(readers)], 2, 30, 10)
    near = tf.reshape(tf.sparse.to_dense(near), tf.parallel_stack([2, 3]))
    chosen = tf.random_uniform([2], 0, 3, dtype=tf.int32)
    texts = []
    for at in range(2):
        label = tf.as_string(near[at][chosen[at]])
        file = tf.where(tf.equal(tf.strings.length(label), 1), tf.constant("000") + label, label) + "_n.txt"
        texts.append(tf.read_file(tf.constant(f"{tmp_path}/") + file))
    with tf.control_dependencies([tf.assert_equal(tf.shape(near), [2, 3])]):
        text = tf.stack(texts)
    with running(sess):
        found = drain(sess, [name, near, chosen, text])
    assert sorted(each for names, *_ in found for each in names.tolist()) == sorted(b"r%d" % i for i in range(40))
    for names, near, chosen, text in found:
        for at in range(2):
            number = int(names[at][1:])
            assert near[at].tolist() == [(number + j) % 5 for j in range(1, 4)]
            assert text[at] == b"text %d" % near[at][chosen[at]]


def test_speech_by_the_length_of_its_text(sess, tmp_path):
    """Sentences as bytes, sounds by a Python function, batches of sentences with similar length."""
    letters = "PE abcdefgh"
    sentences = ["abc", "a", "hgfedc bca", "bad", "cab dab", "face", "egg", "dead bee"]
    sounds = [np.arange(len(each) * 2, dtype=np.float32).reshape(-1, 2) + i for i, each in enumerate(sentences)]
    paths = []
    for number, sound in enumerate(sounds):
        paths.append(str(tmp_path / f"{number}.npy"))
        np.save(paths[-1], sound)
    codes = [np.array([letters.index(each) for each in f"{text}E"], np.int32) for text in sentences]

    def load(path):
        sound = np.load(path.decode())
        padded = np.pad(sound, [[0, -len(sound) % 4], [0, 0]], mode="constant")
        return path, padded.reshape(-1, 8), padded * 2

    path, length, text = tf.train.slice_input_producer(
        [paths, list(map(len, codes)), [each.tobytes() for each in codes]], num_epochs=1
    )
    text = tf.decode_raw(text, tf.int32)
    name, reduced, doubled = tf.py_func(load, [path], [tf.string, tf.float32, tf.float32])
    for tensor, shape in ((name, ()), (text, (None,)), (reduced, (None, 8)), (doubled, (None, 2))):
        tensor.set_shape(shape)
    lengths, batch = tf.contrib.training.bucket_by_sequence_length(
        length,
        [text, reduced, doubled, name],
        batch_size=2,
        bucket_boundaries=[4, 7],
        num_threads=3,
        capacity=8,
        dynamic_pad=True,
        allow_smaller_final_batch=True,
    )
    assert [each.get_shape().as_list() for each in batch] == [[None, None], [None, None, 8], [None, None, 2], [None]]
    with running(sess):
        found = drain(sess, [lengths, *batch])
    seen = []
    for counts, *parts in found:
        assert len({sum(count >= each for each in (4, 7)) for count in counts}) == 1
        assert parts[0].shape[1] == max(counts)
        for count, words, few, many, path in zip(counts, *parts, strict=True):
            number = paths.index(path.decode())
            seen.append(number)
            assert count == len(codes[number])
            assert words.tolist() == codes[number].tolist() + [0] * (len(words) - count)
            assert np.array_equal(many[: len(sounds[number])], sounds[number] * 2)
            assert not many[len(sounds[number]) :].any()
            assert np.array_equal(few.reshape(-1, 2) * 2, many)
    assert sorted(seen) == list(range(8))
