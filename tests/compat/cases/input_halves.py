"""Input halves of programs: segmentation, photographs, captions, sound and small pictures, from files to batches."""

import os
import threading
import wave

import numpy as np
from compat_cases import case


def picture(tf, number, height, width, channels=3):
    """Return a PNG with numbers that show their position."""
    values = np.arange(height * width * channels).reshape(height, width, channels) * 7 + number * 31
    with tf.Graph().as_default(), tf.Session() as sess:
        return sess.run(tf.image.encode_png((values % 251).astype(np.uint8)))


def example(tf, **features):
    kinds = {bytes: ("bytes_list", "BytesList"), int: ("int64_list", "Int64List"), float: ("float_list", "FloatList")}
    made = {}
    for name, values in features.items():
        field, kind = kinds[type(values[0])]
        made[name.replace("__", "/")] = tf.train.Feature(**{field: getattr(tf.train, kind)(value=values)})
    return tf.train.Example(features=tf.train.Features(feature=made))


def records(tf, path, messages):
    with tf.python_io.TFRecordWriter(path) as writer:
        for message in messages:
            writer.write(message.SerializeToString())
    return path


def delivered(tf, sess, fetches, most=20):
    """Return all deliveries of the runners, as lists, and the static shapes."""
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found = []
    try:
        while not coord.should_stop() and len(found) < most:
            found.append(sess.run(fetches))
    except tf.errors.OutOfRangeError as error:
        coord.request_stop(error)
    coord.request_stop()
    coord.join(threads)
    static = fetches.values() if isinstance(fetches, dict) else fetches
    return [str(each.get_shape()) for each in static], found, sorted(thread.name for thread in threads)


@case(graph=False, names=False)
def pictures_with_masks_through_a_queue_of_batches(tf, sess, tmp):
    messages = [
        example(
            tf,
            image__encoded=[picture(tf, i, 5 + i, 6)],
            image__filename=[b"n%d" % i],
            image__height=[5 + i],
            mask__encoded=[picture(tf, i + 9, 5 + i, 6, 1)],
        )
        for i in range(4)
    ]
    names = tf.train.string_input_producer([records(tf, tmp + "/a", messages)], num_epochs=1, shuffle=False)
    _, record = tf.TFRecordReader().read(names)
    text = tf.FixedLenFeature((), tf.string, default_value="")
    kinds = {"image/encoded": text, "image/filename": text, "mask/encoded": text}
    found = tf.parse_single_example(
        record, {**kinds, "image/height": tf.FixedLenFeature((), tf.int64, default_value=0)}
    )
    image = tf.to_float(tf.image.decode_png(found["image/encoded"], channels=3))
    label = tf.image.decode_image(found["mask/encoded"], channels=1)
    label.set_shape([None, None, 1])
    size = tf.to_int32(tf.to_float(tf.shape(image)[:2]) * 1.5)
    image = tf.squeeze(tf.image.resize_bilinear(tf.expand_dims(image, 0), size, align_corners=True), [0])
    label = tf.squeeze(tf.image.resize_nearest_neighbor(tf.expand_dims(label, 0), size, align_corners=True), [0])
    height, width = tf.shape(image)[0], tf.shape(image)[1]
    target = [height + tf.maximum(12 - height, 0), width + tf.maximum(12 - width, 0)]
    image = tf.image.pad_to_bounding_box(image - 127.5, 0, 0, *target) + 127.5
    label = tf.image.pad_to_bounding_box(tf.to_int32(label) - 255, 0, 0, *target) + 255
    fits = tf.Assert(tf.logical_and(target[0] >= 12, target[1] >= 12), ["too small", target])
    with tf.control_dependencies([fits]):
        image, label = (tf.slice(each, [0, 0, 0], tf.stack([12, 12, tf.shape(each)[2]])) for each in (image, label))
    image.set_shape([12, 12, 3])
    label.set_shape([12, 12, 1])
    image, label = tf.cond(
        tf.equal(found["image/height"] % 2, 0), lambda: (image, label), lambda: (image[:, ::-1], label[:, ::-1])
    )
    batch = tf.train.batch(
        {"image": image, "label": label, "name": found["image/filename"], "height": found["image/height"]},
        batch_size=2,
        num_threads=1,
        capacity=8,
        dynamic_pad=True,
        allow_smaller_final_batch=False,
    )
    keys = sorted(batch)
    queue = tf.FIFOQueue(4, [batch[key].dtype for key in keys], [batch[key].get_shape() for key in keys], keys)
    tf.train.queue_runner.add_queue_runner(tf.train.queue_runner.QueueRunner(queue, [queue.enqueue(batch)]))
    full = tf.to_float(queue.size()) * (1.0 / 4)
    tf.summary.scalar("fraction_of_4_full", full)
    return delivered(tf, sess, queue.dequeue())


@case(graph=False, names=False)
def photographs_with_boxes_by_a_pool_and_a_join(tf, sess, tmp):
    paths = []
    for shard in range(3):
        messages = [
            example(
                tf,
                image__encoded=[picture(tf, 2 * shard + i, 16, 20)],
                image__class__label=[2 * shard + i],
                image__class__text=[b"word"],
                **{f"image__object__bbox__{side}": [0.1 * (j + 1) for j in range(i)] for side in ("xmin", "ymin") if i},
            )
            for i in range(2)
        ]
        paths.append(records(tf, f"{tmp}/train-{shard:05d}-of-00003", messages))
    data_files = tf.gfile.Glob(tmp + "/train-*")
    with tf.name_scope("batch_processing"):
        names = tf.train.string_input_producer(data_files, shuffle=True, seed=4, capacity=16, num_epochs=1)
        pool = tf.RandomShuffleQueue(capacity=30, min_after_dequeue=4, dtypes=[tf.string], seed=3)
        enqueue_ops = []
        for _ in range(2):
            _, value = tf.TFRecordReader().read(names)
            enqueue_ops.append(pool.enqueue([value]))
        tf.train.queue_runner.add_queue_runner(tf.train.queue_runner.QueueRunner(pool, enqueue_ops))
        serialized = pool.dequeue()
        made = []
        for _ in range(2):
            kinds = {
                "image/encoded": tf.FixedLenFeature([], dtype=tf.string, default_value=""),
                "image/class/label": tf.FixedLenFeature([1], dtype=tf.int64, default_value=-1),
                "image/class/text": tf.FixedLenFeature([], dtype=tf.string, default_value=""),
            }
            sides = ["image/object/bbox/" + side for side in ("xmin", "ymin")]
            kinds.update({side: tf.VarLenFeature(dtype=tf.float32) for side in sides})
            found = tf.parse_single_example(serialized, kinds)
            label = tf.cast(found["image/class/label"], dtype=tf.int32)
            boxes = tf.concat([tf.expand_dims(found[side].values, 0) for side in sides], axis=0)
            boxes = tf.transpose(tf.expand_dims(boxes, 0), [0, 2, 1])
            with tf.name_scope("eval_image", values=[serialized]):
                image = tf.image.decode_png(found["image/encoded"], channels=3)
                image = tf.image.convert_image_dtype(image, dtype=tf.float32)
                image = tf.expand_dims(tf.image.central_crop(image, central_fraction=0.875), 0)
                image = tf.squeeze(tf.image.resize_bilinear(image, [8, 8], align_corners=False), [0])
            image = tf.multiply(tf.subtract(image, 0.5), 2.0)
            made.append([image, label, tf.shape(boxes)[1]])
        images, labels, boxes = tf.train.batch_join(made, batch_size=2, capacity=4 * 2)
        images = tf.reshape(tf.cast(images, tf.float32), shape=[2, 8, 8, 3])
        tf.summary.image("images", images)
        batch = [images, tf.reshape(labels, [2]), boxes]
    shapes, found, threads = delivered(tf, sess, batch)
    rows = [row for each in found for row in zip(*each, strict=True)]
    return shapes, [list(row) for row in sorted(rows, key=lambda row: row[1])], threads


@case(graph=False, names=False)
def captions_prefetched_and_padded(tf, sess, tmp):
    messages = []
    for i in range(5):
        message = tf.train.SequenceExample()
        message.context.feature["image/data"].bytes_list.value.append(picture(tf, i, 4, 4))
        message.context.feature["image/id"].int64_list.value.append(i)
        for word in range(i + 2):
            message.feature_lists.feature_list["caption"].feature.add().int64_list.value.append(10 * i + word)
        messages.append(message)
    records(tf, tmp + "/words-0", messages[:3])
    records(tf, tmp + "/words-1", messages[3:])
    data_files = []
    for pattern in (tmp + "/words-?").split(","):
        data_files.extend(sorted(tf.gfile.Glob(pattern)))
    filenames = tf.train.string_input_producer(data_files, shuffle=False, capacity=1, num_epochs=1, name="filenames")
    values = tf.FIFOQueue(capacity=13, dtypes=[tf.string], name="fifo_input_queue")
    _, value = tf.TFRecordReader().read(filenames)
    tf.train.queue_runner.add_queue_runner(tf.train.queue_runner.QueueRunner(values, [values.enqueue([value])]))
    tf.summary.scalar(f"queue/{values.name}/fraction_of_13_full", tf.cast(values.size(), tf.float32) * (1.0 / 13))
    context, lists = tf.parse_single_sequence_example(
        values.dequeue(),
        context_features={
            "image/data": tf.FixedLenFeature([], tf.string),
            "image/id": tf.FixedLenFeature([], tf.int64),
        },
        sequence_features={"caption": tf.FixedLenSequenceFeature([], dtype=tf.int64)},
    )
    with tf.name_scope("decode", values=[context["image/data"]]):
        image = tf.image.convert_image_dtype(tf.image.decode_png(context["image/data"], channels=3), tf.float32)
    image = tf.image.resize_images(image, size=[6, 6], method=tf.image.ResizeMethod.BILINEAR)
    image = tf.image.resize_image_with_crop_or_pad(image, 4, 4)
    length = tf.shape(lists["caption"])[0]
    input_length = tf.expand_dims(tf.subtract(length, 1), 0)
    input_seq, target_seq = (tf.slice(lists["caption"], [begin], input_length) for begin in (0, 1))
    indicator = tf.ones(input_length, dtype=tf.int32)
    batch = tf.train.batch_join(
        [[image, input_seq, target_seq, indicator]], batch_size=2, capacity=8, dynamic_pad=True, name="batch_and_pad"
    )
    lengths = tf.add(tf.reduce_sum(batch[3], 1), 1)
    tf.summary.scalar("caption_length/batch_min", tf.reduce_min(lengths))
    tf.summary.scalar("caption_length/batch_mean", tf.reduce_mean(lengths))
    return delivered(tf, sess, [*batch, lengths])


def sound_from_a_thread_of_the_programs_own(tf, sess, tmp):
    for number, count in enumerate((30, 7, 24)):
        with wave.open(f"{tmp}/p{number}.wav", "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            samples = np.concatenate((np.zeros(5), np.arange(1, count) * 100 * (number + 1), np.zeros(4)))
            file.writeframes(samples.astype("<i2").tobytes())

    def pieces():
        for name in sorted(os.listdir(tmp)):
            with wave.open(os.path.join(tmp, name)) as file:
                audio = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768
            loud = np.nonzero(np.abs(audio) > 1e-3)[0]
            audio = audio[loud[0] : loud[-1] + 1].reshape(-1, 1)
            audio = np.pad(audio, [[3, 0], [0, 0]], "constant")
            while len(audio) > 3:
                yield audio[: 3 + 8], int(name[1])
                audio = audio[8:]

    audio_in = tf.placeholder(dtype=tf.float32, shape=None)
    number_in = tf.placeholder(dtype=tf.int32, shape=())
    audio = tf.PaddingFIFOQueue(4, ["float32"], shapes=[(None, 1)])
    numbers = tf.PaddingFIFOQueue(4, ["int32"], shapes=[()])
    enqueue, enqueue_number = audio.enqueue([audio_in]), numbers.enqueue([number_in])
    coord = tf.train.Coordinator()

    def feed():
        while not coord.should_stop():
            for piece, number in pieces():
                if coord.should_stop():
                    return
                try:
                    sess.run(enqueue, feed_dict={audio_in: piece})
                    sess.run(enqueue_number, feed_dict={number_in: number})
                except tf.errors.CancelledError:
                    return

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    runners = tf.train.start_queue_runners(sess=sess, coord=coord)
    batch = [audio.dequeue_many(3), numbers.dequeue_many(3)]
    one_hot = tf.one_hot(batch[1], 4)
    decoded = tf.cast((tf.clip_by_value(batch[0], -1, 1) + 1) / 2 * 255 + 0.5, tf.int32)
    found = [sess.run([*batch, one_hot, decoded]) for _ in range(5)]
    coord.request_stop()
    for queue in (audio, numbers):
        sess.run(queue.close(cancel_pending_enqueues=True))
    coord.join([thread, *runners])
    return [str(each.get_shape()) for each in (*batch, one_hot, decoded)], found


@case(graph=False, names=False)
def small_pictures_of_records_and_of_files(tf, sess, tmp):
    for number in range(2):
        rows = (np.arange(3 * (2 + 48)) * (number + 3) % 255).astype(np.uint8).reshape(3, 50)
        rows.tofile(f"{tmp}/data_batch_{number}.bin")
        with open(f"{tmp}/face{number}.png", "wb") as file:
            file.write(picture(tf, number, 10, 9))
    names = [os.path.join(tmp, f"data_batch_{number}.bin") for number in range(2)]
    if not all(tf.gfile.Exists(name) for name in names):
        raise ValueError("no file")
    queue = tf.train.string_input_producer(names, num_epochs=1, seed=7)
    key, value = tf.FixedLengthRecordReader(record_bytes=50).read(queue)
    record = tf.decode_raw(value, tf.uint8)
    label = tf.cast(tf.strided_slice(record, [1], [2]), tf.int32)
    label.set_shape([1])
    depth_major = tf.reshape(tf.strided_slice(record, [2], [50]), [3, 4, 4])
    image = tf.cast(tf.transpose(depth_major, [1, 2, 0]), tf.float32)
    padded = tf.image.resize_image_with_crop_or_pad(image, 6, 6)
    image = tf.image.per_image_standardization(tf.random_crop(padded, [6, 6, 3], seed=1))
    small = tf.train.batch(
        [image, label, key], batch_size=4, num_threads=1, capacity=12, allow_smaller_final_batch=True
    )
    tf.summary.image("images", small[0])

    files = tf.train.string_input_producer(tf.train.match_filenames_once(tmp + "/*.png"), num_epochs=2, shuffle=False)
    _, content = tf.WholeFileReader().read(files)
    face = tf.image.crop_to_bounding_box(tf.image.decode_png(content, channels=3), 1, 0, 8, 8)
    face = tf.image.resize_images(tf.to_float(face), [4, 4], method=tf.image.ResizeMethod.AREA)
    face = tf.subtract(tf.div(tf.reshape(face, [4, 4, 3]), 127.5), 1.0)
    faces = tf.train.batch([face], batch_size=2, capacity=6)
    first = delivered(tf, sess, [small[0], tf.squeeze(small[1], [1]), faces], most=2)
    return first, tf.train.match_filenames_once("x").dtype.name
