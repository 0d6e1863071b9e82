"""Programs for text, sequences and tables: each from its files to its batches."""

import numpy as np


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def static(fetches):
    """Return each tensor's name, dtype and shape."""
    parts = fetches.values() if isinstance(fetches, dict) else fetches
    return [[each.name, each.dtype.name, str(each.get_shape())] for each in parts]


def drained(tf, sess, fetches, most=100):
    """Return all deliveries of the queue runners, and their threads' names."""
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found = []
    try:
        while len(found) < most:
            found.append(sess.run(fetches))
    except tf.errors.OutOfRangeError:
        found.append("end")
    coord.request_stop()
    coord.join(threads)
    plain = [dict(each) if isinstance(each, dict) else each for each in found]
    return sorted(thread.name for thread in threads), plain


def language_model(tf, raw, batch_size, num_steps):
    with tf.name_scope("Producer"):
        raw = tf.convert_to_tensor(raw, name="raw", dtype=tf.int32)
        batch_len = tf.size(raw) // batch_size
        data = tf.reshape(raw[0 : batch_size * batch_len], [batch_size, batch_len])
        epoch_size = (batch_len - 1) // num_steps
        enough = tf.assert_positive(epoch_size, message="too few words")
        with tf.control_dependencies([enough]):
            epoch_size = tf.identity(epoch_size, name="epoch_size")
        i = tf.train.range_input_producer(epoch_size, shuffle=False).dequeue()
        pair = []
        for shift in (0, 1):
            end = [batch_size, (i + 1) * num_steps + shift]
            part = tf.strided_slice(data, [0, i * num_steps + shift], end)
            part.set_shape([batch_size, num_steps])
            pair.append(part)
        return pair


def words_and_those_that_follow(tf, sess):
    pair = language_model(tf, [4, 3, 2, 1, 0, 5, 6, 1, 1, 1, 1, 0, 3, 4, 1], 3, 2)
    return static(pair), drained(tf, sess, pair, most=5)


def too_few_words_are_found_when_it_runs(tf, sess):
    x, _ = language_model(tf, [4, 3, 2, 1], 3, 2)
    try:
        drained(tf, sess, x)
    except tf.errors.InvalidArgumentError as error:
        return "too few words" in str(error)


def sequence(tf, length):
    example = tf.train.SequenceExample()
    example.context.feature["length"].int64_list.value.append(length)
    for i in range(length):
        example.feature_lists.feature_list["tokens"].feature.add().int64_list.value.append(i)
        example.feature_lists.feature_list["labels"].feature.add().float_list.value.extend([i * 0.5, length])
    return example.SerializeToString()


def padded_sequences(tf, sess, tmp):
    with tf.python_io.TFRecordWriter(f"{tmp}/records") as writer:
        for length in (1, 3, 2):
            writer.write(sequence(tf, length))
    _, serialized = tf.TFRecordReader().read(tf.train.string_input_producer([f"{tmp}/records"], num_epochs=1))
    context, lists = tf.parse_single_sequence_example(
        serialized,
        {"length": tf.FixedLenFeature([], tf.int64)},
        {
            "tokens": tf.FixedLenSequenceFeature([], tf.int64),
            "labels": tf.FixedLenSequenceFeature([2], tf.float32),
        },
    )
    parts = [context["length"], lists["tokens"], lists["labels"]]
    batch = tf.train.batch(parts, 2, dynamic_pad=True, allow_smaller_final_batch=True)
    mask = tf.sequence_mask(batch[0], dtype=tf.float32)
    backwards = tf.reverse_sequence(batch[1], batch[0], seq_axis=1)
    return static([*batch, mask, backwards]), drained(tf, sess, [*batch, mask, backwards])


def wide_and_deep_table(tf, sess, tmp):
    rows = [f"{20 + i},w{i % 3},,{i}.25,{'>50K' if i % 2 else '<=50K'}\n" for i in range(5)]
    files = [write(f"{tmp}/{name}.csv", "".join(rows)) for name in "ab"]
    queue = tf.train.string_input_producer(files, shuffle=False, num_epochs=1)
    _, lines = tf.TextLineReader().read_up_to(queue, 4)
    columns = tf.decode_csv(tf.expand_dims(lines, -1), [[0], [""], ["none"], [0.0], [""]])
    features = dict(zip(["age", "work", "edu", "hours", "income"], columns, strict=True))
    features = tf.train.batch(features, 4, enqueue_many=True, allow_smaller_final_batch=True, capacity=40)
    incomes = tf.lookup.KeyValueTensorInitializer(["<=50K", ">50K"], tf.constant([0, 1], tf.int64))
    label = tf.lookup.StaticHashTable(incomes, -1).lookup(features.pop("income"))
    work = tf.string_to_hash_bucket_fast(features["work"], 100)
    fetches = [*(features[key] for key in sorted(features)), label, work]
    return static(fetches), drained(tf, sess, fetches)


def two_languages(tf, sess, tmp):
    def ids(name, text):
        queue = tf.train.string_input_producer([write(f"{tmp}/{name}", text)], num_epochs=1, shuffle=False)
        _, line = tf.TextLineReader().read(queue)
        return tf.string_to_number(tf.string_split([line]).values, tf.int32)

    source, target = ids("source", "1 2 3\n4 5\n6\n7 8 9 10\n"), ids("target", "1\n2 3\n4 5 6\n7\n")
    inputs, outputs = tf.concat([[101], target], 0), tf.concat([target, [102]], 0)
    batch = tf.train.batch([source, inputs, outputs, tf.size(source)], 2, dynamic_pad=True, capacity=8)
    weights = tf.to_float(tf.not_equal(batch[2], 0))
    return static([*batch, weights]), drained(tf, sess, [*batch, weights])


def sparse_rows(tf, sess, tmp):
    file = write(f"{tmp}/rows", "1 1:0.5 3:2\n0 2:1\n-1\n")
    _, line = tf.TextLineReader().read(tf.train.string_input_producer([file], num_epochs=1))
    words = tf.string_split([line]).values
    pairs = tf.reshape(tf.string_split(words[1:], ":").values, [-1, 2])
    places, values = tf.split(pairs, 2, 1)
    places = tf.string_to_number(tf.reshape(places, [-1]), tf.int64)
    values = tf.string_to_number(tf.reshape(values, [-1]))
    row = tf.SparseTensor(tf.expand_dims(places, 1), values, [5])
    label = tf.string_to_number(words[0], tf.int32)
    labels, rows = tf.train.batch([label, row], 2, allow_smaller_final_batch=True)
    fetches = [labels, tf.sparse_tensor_to_dense(rows)]
    return static(fetches), str(rows.get_shape()), drained(tf, sess, fetches)


def lines_of_digits_alone(tf, sess, tmp):
    file = write(f"{tmp}/rows", "1,2\nx,5\n3,4\n,\n6,7\n")
    _, line = tf.TextLineReader().read(tf.train.string_input_producer([file], num_epochs=1))
    good = tf.strings.regex_full_match(line, r"\d+,\d+")
    columns = tf.decode_csv(tf.where(good, line, "0,0"), [[0], [0]])
    batch = tf.train.maybe_batch(columns, good, 2, allow_smaller_final_batch=True)
    return static(batch), drained(tf, sess, batch)


def characters(tf, sess, tmp):
    with tf.gfile.GFile(write(f"{tmp}/input.txt", "hello world, the fox")) as file:
        text = file.read()
    known = {char: i for i, char in enumerate(sorted(set(text)))}
    data = np.array([known[char] for char in text[:18]], np.int32)
    x, y = (np.array(np.split(each.reshape(2, -1), 3, 1)) for each in (data, np.roll(data, -1)))
    pair = tf.train.slice_input_producer([x, y], shuffle=False, num_epochs=1)
    steps = [tf.squeeze(step, [1]) for step in tf.split(tf.one_hot(pair[0], len(known)), 3, 1)]
    return static([*pair, *steps]), drained(tf, sess, [*pair, steps[1]])


def lines_that_a_function_parses(tf, sess, tmp):
    def parsed(line):
        numbers = np.array([int(word) for word in line.split()], np.int32)
        return numbers, np.int64(len(numbers)), line.upper()

    file = write(f"{tmp}/rows", "1 2 3\n4 5\n\n6 7 8 9\n")
    _, line = tf.TextLineReader().read(tf.train.string_input_producer([file], num_epochs=1))
    numbers, length, text = tf.py_func(parsed, [line], [tf.int32, tf.int64, tf.string])
    numbers.set_shape([None])
    length.set_shape([])
    batch = tf.train.batch([numbers, length, tf.reshape(text, [])], 2, dynamic_pad=True)
    return static(batch), drained(tf, sess, batch)
