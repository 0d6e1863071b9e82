"""More input halves of programs: faces, picture pairs, styles, boxes, and video frames."""

import os

import numpy as np
from compat_cases import case

HEIGHT, WIDTH = 12, 16
SIDES = ("ymin", "xmin", "ymax", "xmax")


def picture(tf, number, height=HEIGHT, width=WIDTH, channels=3):
    """Return a PNG with numbers that show their position."""
    values = np.arange(height * width * channels).reshape(height, width, channels) * 5 + number * 17
    with tf.Graph().as_default(), tf.Session() as sess:
        return sess.run(tf.image.encode_png((values % 241).astype(np.uint8)))


def files(tf, tmp, count, **size):
    paths = [os.path.join(tmp, f"{number}.png") for number in range(count)]
    for number, path in enumerate(paths):
        with open(path, "wb") as file:
            file.write(picture(tf, number, **size))
    return paths


def records(tf, tmp, messages):
    path = os.path.join(tmp, "records")
    with tf.python_io.TFRecordWriter(path) as writer:
        for each in messages:
            writer.write(each.SerializeToString())
    return path


def ints(tf, *values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def floats(tf, *values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def texts(tf, *values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def until_the_end(tf, sess, coord, threads, fetches, **feeds):
    """Return all deliveries of the runners."""
    found = []
    try:
        while not coord.should_stop():
            found.append(sess.run(fetches, **feeds))
    except tf.errors.OutOfRangeError:
        found.append("end")
    finally:
        coord.request_stop()
    coord.join(threads)
    return found


FLIP, CROP, STANDARDIZE, ROTATE = 1, 2, 4, 8


@case(graph=False, rtol=1e-4, atol=1e-4)
def faces_by_a_queue_of_paths_that_the_program_fills(tf, sess, tmp):
    paths = files(tf, tmp, 6)
    size = (8, 8)
    with tf.variable_scope("input"), tf.device("/cpu:0"):
        indices = tf.train.range_input_producer(len(paths), num_epochs=None, shuffle=False, seed=None, capacity=32)
        epoch = indices.dequeue_many(4, "index_dequeue")
        batch_size = tf.placeholder(tf.int32, name="batch_size")
        paths_in = tf.placeholder(tf.string, shape=(None, 1), name="image_paths")
        labels_in = tf.placeholder(tf.int32, shape=(None, 1), name="labels")
        control_in = tf.placeholder(tf.int32, shape=(None, 1), name="control")
        queue = tf.FIFOQueue(
            capacity=2000, dtypes=[tf.string, tf.int32, tf.int32], shapes=[(1,), (1,), (1,)], shared_name=None
        )
        fill = queue.enqueue_many([paths_in, labels_in, control_in], name="enqueue_op")

        def flag(control, what):
            return tf.equal(tf.mod(tf.floor_div(control, what), 2), 1)

        made = []
        for _ in range(1):
            names, label, control = queue.dequeue()
            images = []
            for name in tf.unstack(names):
                image = tf.image.decode_image(tf.read_file(name), 3)
                image = tf.cond(
                    flag(control[0], ROTATE),
                    lambda image=image: tf.py_func(lambda x: np.ascontiguousarray(x[::-1]), [image], tf.uint8),
                    lambda image=image: tf.identity(image),
                )
                image = tf.cond(
                    flag(control[0], CROP),
                    lambda image=image: tf.random_crop(image, (*size, 3), seed=1),
                    lambda image=image: tf.image.resize_image_with_crop_or_pad(image, *size),
                )
                image = tf.cond(
                    flag(control[0], FLIP),
                    lambda image=image: tf.image.flip_left_right(image),
                    lambda image=image: tf.identity(image),
                )
                image = tf.cond(
                    flag(control[0], STANDARDIZE),
                    lambda image=image: (tf.cast(image, tf.float32) - 127.5) / 128.0,
                    lambda image=image: tf.image.per_image_standardization(image),
                )
                image.set_shape((*size, 3))
                images.append(image)
            made.append([images, label])
        batch = tf.train.batch_join(
            made,
            batch_size=batch_size,
            shapes=[(*size, 3), ()],
            enqueue_many=True,
            capacity=4 * 4 * 100,
            allow_smaller_final_batch=True,
        )
        image_batch, label_batch = tf.identity(batch[0], "image_batch"), tf.identity(batch[1], "label_batch")
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(coord=coord, sess=sess)
    chosen = sess.run(epoch)
    labels = np.expand_dims(np.array([10, 11, 12, 13, 14, 15])[chosen], 1)
    chosen = np.expand_dims(np.array(paths)[chosen], 1)
    for control in (0, FLIP | STANDARDIZE, ROTATE):
        sess.run(fill, {paths_in: chosen, labels_in: labels, control_in: np.ones_like(labels) * control})
    found = [sess.run([image_batch, label_batch], {batch_size: count}) for count in (4, 5, 3)]
    sess.run(fill, {paths_in: chosen[:2], labels_in: labels[:2], control_in: np.ones_like(labels[:2]) * CROP})
    crops = sess.run([image_batch, label_batch], {batch_size: 2})
    coord.request_stop()
    sess.run(queue.close())
    coord.join(threads)
    return [str(image_batch.get_shape()), str(label_batch.get_shape())], found, [crops[0].shape, crops[1]]


@case(graph=False, rtol=1e-4, atol=1e-4, within=1)
def pairs_of_pictures_with_a_supervisor(tf, sess, tmp):
    paths = files(tf, tmp, 5)

    def lab(image):
        pixels = tf.reshape(image, [-1, 3])
        with tf.name_scope("srgb_to_xyz"):
            linear = tf.cast(pixels <= 0.04045, dtype=tf.float32)
            exponential = tf.cast(pixels > 0.04045, dtype=tf.float32)
            rgb = (pixels / 12.92 * linear) + (((pixels + 0.055) / 1.055) ** 2.4) * exponential
            xyz = tf.matmul(rgb, tf.constant([[0.41, 0.21, 0.02], [0.36, 0.71, 0.12], [0.18, 0.07, 0.95]]))
        with tf.name_scope("xyz_to_cielab"):
            normal = tf.multiply(xyz, [1 / 0.950456, 1.0, 1 / 1.088754])
            small = tf.cast(normal <= (6 / 29) ** 3, dtype=tf.float32)
            large = tf.cast(normal > (6 / 29) ** 3, dtype=tf.float32)
            f = (normal / (3 * (6 / 29) ** 2) + 4 / 29) * small + (normal ** (1 / 3)) * large
            made = tf.matmul(f, [[0.0, 500.0, 0.0], [116.0, -500.0, 200.0], [0.0, 0.0, -200.0]])
            made += tf.constant([-16.0, 0.0, 0.0])
        return tf.reshape(made, tf.shape(image))

    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(3)
        names = [each for each in tf.gfile.Glob(os.path.join(tmp, "*.png")) if each in paths]
        names = sorted(names, key=lambda path: int(os.path.splitext(os.path.basename(path))[0]))
        with tf.name_scope("load_images"):
            queue = tf.train.string_input_producer(names, shuffle=False, num_epochs=1)
            path, contents = tf.WholeFileReader().read(queue)
            raw = tf.image.convert_image_dtype(tf.image.decode_png(contents), dtype=tf.float32)
            assertion = tf.assert_equal(tf.shape(raw)[2], 3, message="image does not have 3 channels")
            with tf.control_dependencies([assertion]):
                raw = tf.identity(raw)
            raw.set_shape([None, None, 3])
            width = tf.shape(raw)[1]
            left, right = raw[:, : width // 2, :] * 2 - 1, raw[:, width // 2 :, :] * 2 - 1
            channels = tf.unstack(lab(raw), axis=2)
            lightness = tf.expand_dims(channels[0] / 50 - 1, axis=2)

        def transform(image):
            r = tf.image.resize_images(image, [10, 10], method=tf.image.ResizeMethod.AREA)
            offset = tf.cast(tf.floor(tf.random_uniform([2], 0, 10 - 8 + 1, seed=5)), dtype=tf.int32) * 0 + 1
            return tf.image.crop_to_bounding_box(r, offset[0], offset[1], 8, 8)

        with tf.name_scope("input_images"):
            left = transform(left)
        with tf.name_scope("target_images"):
            right = transform(right)
        batch = tf.train.batch([path, left, right, transform(lightness)], batch_size=2)
        tf.summary.image("inputs", batch[1])
        with tf.name_scope("convert"):
            shown = tf.image.resize_images((batch[1] + 1) / 2, size=[8, 12], method=tf.image.ResizeMethod.BICUBIC)
            shown = tf.image.convert_image_dtype(shown, dtype=tf.uint8, saturate=True)
            encoded = tf.map_fn(tf.image.encode_png, shown, dtype=tf.string, name="input_pngs")
            again = tf.map_fn(lambda each: tf.image.decode_png(each, channels=3), encoded, dtype=tf.uint8)
        step = tf.Variable(0, name="global_step", trainable=False)
        count = tf.assign_add(step, 1)
        supervisor = tf.train.Supervisor(
            logdir=None, init_op=tf.global_variables_initializer(), save_summaries_secs=0, saver=None, graph=graph
        )
        found = []
        with supervisor.managed_session() as managed:
            for _ in range(2):
                if supervisor.should_stop():
                    break
                names, *values, _ = managed.run([batch[0], *batch[1:], shown, again, count])
                found.append([[os.path.basename(name) for name in names.tolist()], *values])
        shapes = [str(each.get_shape()) for each in (*batch, shown, encoded, again)]
    return shapes, found


@case(graph=False, rtol=1e-4, atol=1e-3)
def styles_by_sides_that_keep_their_ratio(tf, sess, tmp):
    paths = [*files(tf, tmp, 2), *(os.path.join(tmp, f"w{i}.png") for i in range(2))]
    for number, path in enumerate(paths[2:]):
        with open(path, "wb") as file:
            file.write(picture(tf, number, 21, 10))

    def smallest_size_at_least(height, width, side):
        side = tf.convert_to_tensor(side, dtype=tf.int32)
        height, width, side = tf.to_float(height), tf.to_float(width), tf.to_float(side)
        scale = tf.cond(tf.greater(height, width), lambda: side / width, lambda: side / height)
        return tf.to_int32(height * scale), tf.to_int32(width * scale)

    def keeping_the_ratio(image, side):
        side = tf.convert_to_tensor(side, dtype=tf.int32)
        shape = tf.shape(image)
        new_height, new_width = smallest_size_at_least(shape[0], shape[1], side)
        resized = tf.image.resize_bilinear(tf.expand_dims(image, 0), [new_height, new_width], align_corners=False)
        resized = tf.squeeze(resized)
        resized.set_shape([None, None, 3])
        return resized

    def crop(image, top, left, height, width):
        original = tf.shape(image)
        rank = tf.Assert(tf.equal(tf.rank(image), 3), ["Rank of image must be equal to 3."])
        with tf.control_dependencies([rank]):
            cropped_shape = tf.stack([height, width, original[2]])
        fits = tf.Assert(
            tf.logical_and(tf.greater_equal(original[0], height), tf.greater_equal(original[1], width)),
            ["Crop size greater than the image size."],
        )
        offsets = tf.to_int32(tf.stack([top, left, 0]))
        with tf.control_dependencies([fits]):
            image = tf.slice(image, offsets, cropped_shape)
        return tf.reshape(image, cropped_shape)

    def central_crop(image, height, width):
        image_height, image_width = tf.shape(image)[0], tf.shape(image)[1]
        return crop(image, (image_height - height) / 2, (image_width - width) / 2, height, width)

    def less_means(image, means):
        if image.get_shape().ndims != 3:
            raise ValueError("Input must be of size [height, width, C>0]")
        channels = tf.split(axis=2, num_or_size_splits=image.get_shape().as_list()[-1], value=image)
        for i, mean in enumerate(means):
            channels[i] -= mean
        return tf.concat(axis=2, values=channels)

    queue = tf.train.string_input_producer(paths, shuffle=False, num_epochs=2)
    _, content = tf.WholeFileReader().read(queue)
    image = keeping_the_ratio(tf.image.decode_png(content, channels=3), 9)
    cropped = tf.to_float(central_crop(image, 8, 8))
    cropped.set_shape([8, 8, 3])
    fixed, whole = tf.train.batch([less_means(cropped, [123.68, 116.78, 103.94]), image], 2, dynamic_pad=True)
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found = until_the_end(tf, sess, coord, threads, [fixed, whole, tf.shape(whole)])
    return [str(fixed.get_shape()), str(whole.get_shape())], found


@case(graph=False, rtol=1e-4, atol=1e-4)
def boxes_of_objects_cut_with_their_picture(tf, sess, tmp):
    messages = []
    for number in range(4):
        sides = {
            f"image/object/bbox/{side}": floats(tf, *(start + 0.07 * j for j in range(number + 1)))
            for side, start in (("ymin", 0.1), ("xmin", 0.2), ("ymax", 0.5), ("xmax", 0.6))
        }
        feature = {
            "image/encoded": texts(tf, picture(tf, number)),
            "image/format": texts(tf, b"png"),
            "image/shape": ints(tf, HEIGHT, WIDTH, 3),
            "image/object/bbox/label": ints(tf, *range(1, number + 2)),
            **sides,
        }
        messages.append(tf.train.Example(features=tf.train.Features(feature=feature)))
    queue = tf.train.string_input_producer([records(tf, tmp, messages)], num_epochs=1, shuffle=False)
    _, record = tf.TFRecordReader(options=None).read(queue)
    kinds = {
        "image/encoded": tf.FixedLenFeature((), tf.string, default_value=""),
        "image/format": tf.FixedLenFeature((), tf.string, default_value="jpeg"),
        "image/shape": tf.FixedLenFeature([3], tf.int64),
        "image/object/bbox/label": tf.VarLenFeature(dtype=tf.int64),
        **{f"image/object/bbox/{side}": tf.VarLenFeature(dtype=tf.float32) for side in SIDES},
    }
    found = tf.parse_single_example(record, kinds)
    labels = tf.sparse_tensor_to_dense(found["image/object/bbox/label"], default_value=-1)
    sides = [tf.expand_dims(found[f"image/object/bbox/{side}"].values, 0) for side in SIDES]
    boxes = tf.transpose(tf.concat(sides, 0), [1, 0])
    image = tf.image.decode_png(found["image/encoded"], channels=3)
    image.set_shape([None, None, 3])
    if image.dtype != tf.float32:
        image = tf.image.convert_image_dtype(image, dtype=tf.float32)
    begin, size, distorted = tf.image.sample_distorted_bounding_box(
        tf.shape(image),
        bounding_boxes=tf.expand_dims(tf.minimum(tf.maximum(boxes, 0.0), 1.0), 0),
        min_object_covered=0.0,
        aspect_ratio_range=(1.2, 1.4),
        area_range=(0.99, 1.0),
        max_attempts=1,
        use_image_if_no_bounding_boxes=True,
    )
    window = distorted[0, 0] * 0.0 + [0.05, 0.1, 0.9, 0.95]  # always the same part
    with tf.control_dependencies([tf.assert_equal(tf.size(begin), tf.size(size))]):
        cut = tf.image.crop_to_bounding_box(image, 1, 2, 10, 13)
    with tf.name_scope("bboxes_resize"):
        moved = boxes - tf.stack([window[0], window[1], window[0], window[1]])
        scale = tf.stack([window[2] - window[0], window[3] - window[1]] * 2)
        moved = moved / scale
    with tf.name_scope("bboxes_filter_overlap"):
        top, left = tf.maximum(moved[:, 0], 0.0), tf.maximum(moved[:, 1], 0.0)
        bottom, right = tf.minimum(moved[:, 2], 1.0), tf.minimum(moved[:, 3], 1.0)
        inside = tf.maximum(bottom - top, 0.0) * tf.maximum(right - left, 0.0)
        volume = (moved[:, 2] - moved[:, 0]) * (moved[:, 3] - moved[:, 1])
        scores = tf.where(tf.greater(volume, 0.0), inside / volume, tf.zeros_like(inside))
        mask = scores > 0.85
        labels, kept = tf.boolean_mask(labels, mask), tf.boolean_mask(moved, mask)
    cut = tf.image.resize_images(cut, (6, 6), method=tf.image.ResizeMethod.BILINEAR, align_corners=False)
    cut = tf.image.flip_left_right(cut)
    kept = tf.stack([kept[:, 0], 1 - kept[:, 3], kept[:, 2], 1 - kept[:, 1]], axis=-1)
    cut = tf.multiply(cut, 255.0) - tf.constant([123.0, 117.0, 104.0], dtype=cut.dtype)
    drawn = tf.image.draw_bounding_boxes(tf.expand_dims(cut, 0) + 0.0, tf.expand_dims(kept, 0))[0]
    best = tf.argmax(tf.where(mask, scores, tf.ones_like(scores) * -1), 0)
    batch = tf.train.batch(
        [cut, labels, kept, drawn, best, found["image/shape"]], 2, num_threads=1, capacity=10, dynamic_pad=True
    )
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    return [str(each.get_shape()) for each in batch], until_the_end(tf, sess, coord, threads, batch)


@case(graph=False, rtol=1e-4, atol=1e-5)
def frames_of_videos_of_one_length(tf, sess, tmp):
    size, most = 4, 5
    messages = []
    for number in range(5):
        message = tf.train.SequenceExample()
        message.context.feature["video_id"].bytes_list.value.append(b"v%d" % number)
        message.context.feature["labels"].int64_list.value.extend([number, number + 2])
        for frame in range(2 * number + 1):
            rows = ((np.arange(size) + 3 * frame + number) % 256).astype(np.uint8).tobytes()
            message.feature_lists.feature_list["rgb"].feature.add().bytes_list.value.append(rows)
            message.feature_lists.feature_list["audio"].feature.add().bytes_list.value.append(rows[:2])
        messages.append(message)

    def of_length(tensor, axis, new_size, fill_value=0):
        tensor = tf.convert_to_tensor(tensor)
        shape = tf.unstack(tf.shape(tensor))
        pad_shape = shape[:]
        pad_shape[axis] = tf.maximum(0, new_size - shape[axis])
        shape[axis] = tf.minimum(shape[axis], new_size)
        shape = tf.stack(shape)
        resized = tf.concat(
            [
                tf.slice(tensor, tf.zeros_like(shape), shape),
                tf.fill(tf.stack(pad_shape), tf.cast(fill_value, tensor.dtype)),
            ],
            axis,
        )
        new_shape = tensor.get_shape().as_list()
        new_shape[axis] = new_size
        resized.set_shape(new_shape)
        return resized

    with tf.name_scope("train_input"):
        data_files = tf.gfile.Glob(records(tf, tmp, messages))
        queue = tf.train.string_input_producer(data_files, num_epochs=1, shuffle=True)
        data = []
        for _ in range(1):
            _, serialized = tf.TFRecordReader().read(queue)
            contexts, features = tf.parse_single_sequence_example(
                serialized,
                context_features={
                    "video_id": tf.FixedLenFeature([], tf.string),
                    "labels": tf.VarLenFeature(tf.int64),
                },
                sequence_features={name: tf.FixedLenSequenceFeature([], dtype=tf.string) for name in ("rgb", "audio")},
            )
            labels = tf.cast(tf.sparse_to_dense(contexts["labels"].values, (8,), 1, validate_indices=False), tf.bool)
            matrices = []
            for name, length in (("rgb", size), ("audio", 2)):
                decoded = tf.reshape(tf.cast(tf.decode_raw(features[name], tf.uint8), tf.float32), [-1, length])
                frames = tf.minimum(tf.shape(decoded)[0], most)
                decoded = decoded * (4.0 / 255.0) + (4.0 / 512.0) - 2.0
                matrices.append(of_length(decoded, 0, most))
            matrix = tf.concat(matrices, 1)
            data.append(
                [
                    tf.expand_dims(contexts["video_id"], 0),
                    tf.expand_dims(matrix, 0),
                    tf.expand_dims(labels, 0),
                    tf.expand_dims(frames, 0),
                ]
            )
        batch = tf.train.batch_join(data, batch_size=2, capacity=10, allow_smaller_final_batch=True, enqueue_many=True)
        _, matrix, labels, frames = batch
        mask = tf.sequence_mask(frames, most)
        normal = tf.nn.l2_normalize(matrix, 2)
        means = tf.reduce_sum(matrix, axis=1) / tf.expand_dims(tf.cast(frames, tf.float32), 1)
        values, indices = tf.nn.top_k(tf.cast(labels, tf.float32), 2)
        tf.summary.histogram("model/input_raw", matrix)
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    fetches = [*batch, mask, normal, means, values, indices]
    return [str(each.get_shape()) for each in fetches], until_the_end(tf, sess, coord, threads, fetches)
