"""Researchers' programs: images through several ops, one after another."""

import numpy as np
from compat_cases import case, table

IMAGE = np.random.RandomState(4).randint(0, 256, (14, 18, 3)).astype(np.uint8)
MASK = (IMAGE[:, :, :1] > 127).astype(np.uint8)


def file_of(tf, image):
    return tf.image.encode_png(tf.constant(image))


def crop(tf, image, top, left, height, width):
    """Cut a part out, as the networks' own preprocessing did before there was an op."""
    sizes = tf.shape(image)
    is_image = tf.Assert(tf.equal(tf.rank(image), 3), ["Rank of image must be equal to 3."])
    with tf.control_dependencies([is_image]):
        size = tf.stack([height, width, sizes[2]])
    large = tf.logical_and(tf.greater_equal(sizes[0], height), tf.greater_equal(sizes[1], width))
    with tf.control_dependencies([tf.Assert(large, ["Crop size greater than the image size."])]):
        image = tf.slice(image, tf.to_int32(tf.stack([top, left, 0])), size)
    return tf.reshape(image, size)


@case(atol=1e-3)
def resized_cropped_and_the_mean_taken_away(tf):
    image = tf.image.decode_png(file_of(tf, IMAGE), channels=3)
    sizes = tf.shape(image)
    height, width = tf.to_float(sizes[0]), tf.to_float(sizes[1])
    small = tf.convert_to_tensor(10, dtype=tf.int32)
    scale = tf.cond(tf.greater(height, width), lambda: tf.to_float(small) / width, lambda: tf.to_float(small) / height)
    size = [tf.to_int32(tf.rint(height * scale)), tf.to_int32(tf.rint(width * scale))]
    image = tf.squeeze(tf.image.resize_bilinear(tf.expand_dims(image, 0), size, align_corners=False))
    image.set_shape([None, None, 3])
    image = crop(tf, image, (tf.shape(image)[0] - 8) / 2, (tf.shape(image)[1] - 8) / 2, 8, 8)
    image.set_shape([8, 8, 3])
    channels = tf.split(axis=2, num_or_size_splits=3, value=tf.to_float(image))
    for i, mean in enumerate([123.68, 116.78, 103.94]):
        channels[i] -= mean
    return tf.concat(axis=2, values=channels)


@case(values=False, graph=False, names=False)
def image_and_mask_scaled_mirrored_and_cropped_together(tf):
    image = tf.image.decode_png(file_of(tf, IMAGE), channels=3)
    label = tf.image.decode_png(file_of(tf, MASK), channels=1)
    red, green, blue = tf.split(axis=2, num_or_size_splits=3, value=image)
    image = tf.cast(tf.concat(axis=2, values=[blue, green, red]), dtype=tf.float32)
    image -= np.array((104.0, 116.0, 122.0), dtype=np.float32)
    scale = tf.random_uniform([1], minval=0.5, maxval=1.5, dtype=tf.float32, seed=None)
    height = tf.to_int32(tf.multiply(tf.to_float(tf.shape(image)[0]), scale))
    width = tf.to_int32(tf.multiply(tf.to_float(tf.shape(image)[1]), scale))
    size = tf.squeeze(tf.stack([height, width]), squeeze_dims=[1])
    image = tf.image.resize_images(image, size)
    label = tf.squeeze(tf.image.resize_nearest_neighbor(tf.expand_dims(label, 0), size), squeeze_dims=[0])
    mirror = tf.less(tf.stack([1.0, tf.random_uniform([1], 0, 1.0, dtype=tf.float32)[0], 1.0]), 0.5)
    mirror = tf.boolean_mask([0, 1, 2], mirror)
    image, label = tf.reverse(image, mirror), tf.reverse(label, mirror)
    both = tf.concat(axis=2, values=[image, tf.cast(label, dtype=tf.float32) - 255])
    sizes = tf.shape(image)
    both = tf.image.pad_to_bounding_box(both, 0, 0, tf.maximum(9, sizes[0]), tf.maximum(8, sizes[1]))
    both = tf.random_crop(both, [9, 8, 4])
    last = tf.shape(image)[-1]
    image, label = both[:, :, :last], tf.cast(both[:, :, last:] + 255, dtype=tf.uint8)
    image.set_shape((9, 8, 3))
    label.set_shape((9, 8, 1))
    return image, label


@case(graph=False, names=False)
def decoded_by_what_the_rank_and_the_channels_are(tf, sess):
    fed = tf.placeholder(tf.uint8)
    image = tf.cond(tf.equal(tf.rank(fed), 4), lambda: fed[0], lambda: fed)
    colour = tf.cond(tf.equal(tf.shape(image)[2], 1), lambda: tf.image.grayscale_to_rgb(image), lambda: image[:, :, :3])
    colour.set_shape([None, None, 3])
    padded = tf.image.resize_image_with_crop_or_pad(colour, 3, 3)
    part = IMAGE[:2, :4]
    values = [sess.run([colour, padded], {fed: each}) for each in (part, part[None], part[:, :, :1])]
    return image.get_shape(), colour.get_shape(), padded.get_shape(), values


def a_png_with_alpha_given_to_decode_jpeg(tf):
    contents = file_of(tf, np.dstack([IMAGE[:3, :4], IMAGE[:3, :4, 1]]))
    return [tf.image.decode_jpeg(contents, channels=channels) for channels in (0, 1, 3, 4)]


@case(values=False, graph=False, names=False)
def distorted_by_a_random_selector(tf):
    def selected(image, function, count):
        number = tf.random_uniform([], maxval=count, dtype=tf.int32)
        chosen = lambda: function(image, count - 1)  # noqa: E731
        for i in range(count - 1):
            chosen = lambda i=i, other=chosen: tf.cond(tf.equal(number, i), lambda: function(image, i), other)  # noqa: E731
        return chosen()

    def distorted(image, order):
        steps = [
            lambda x: tf.image.random_brightness(x, max_delta=32.0 / 255.0),
            lambda x: tf.image.random_saturation(x, lower=0.5, upper=1.5),
            lambda x: tf.image.random_hue(x, max_delta=0.2),
            lambda x: tf.image.random_contrast(x, lower=0.5, upper=1.5),
        ]
        with tf.name_scope("distort_color"):
            for i in ([0, 1, 2, 3], [1, 0, 3, 2])[order]:
                image = steps[i](image)
            return tf.clip_by_value(image, 0.0, 1.0)

    with tf.name_scope("distort_image", "distort_image"):
        image = tf.image.convert_image_dtype(tf.image.decode_png(file_of(tf, IMAGE), channels=3), dtype=tf.float32)
        box = tf.constant([0.0, 0.0, 1.0, 1.0], dtype=tf.float32, shape=[1, 1, 4])
        tf.summary.image("boxes", tf.image.draw_bounding_boxes(tf.expand_dims(image, 0), box))
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.shape(image),
            bounding_boxes=box,
            min_object_covered=0.1,
            aspect_ratio_range=(0.75, 1.33),
            area_range=(0.05, 1.0),
            max_attempts=100,
            use_image_if_no_bounding_boxes=True,
        )
        image = tf.slice(image, begin, size)
        image.set_shape([None, None, 3])
        image = selected(image, lambda x, method: tf.image.resize_images(x, [6, 6], method), 4)
        image.set_shape([6, 6, 3])
        image = selected(tf.image.random_flip_left_right(image), distorted, 2)
        return tf.multiply(tf.subtract(image, 0.5), 2.0)


@case(graph=False, names=False)
def files_of_a_list_batched_with_their_labels(tf, sess, tmp):
    names = [f"{tmp}/{i}.png" for i in range(4)]
    for i, name in enumerate(names):
        sess.run(tf.write_file(name, file_of(tf, IMAGE[: 4 + i] + np.uint8(i))))
    images, labels = tf.convert_to_tensor(names, dtype=tf.string), tf.convert_to_tensor([0, 1, 2, 3], dtype=tf.int32)
    name, label = tf.train.slice_input_producer([images, labels], shuffle=False)
    image = tf.image.decode_png(tf.read_file(name), channels=3)
    image = tf.image.resize_image_with_crop_or_pad(image, 6, 5)
    batches = tf.train.batch([tf.to_float(image) / 127.5 - 1.0, label], batch_size=3)
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coordinator)
    values = [sess.run(batches) for _ in range(2)]
    coordinator.request_stop()
    coordinator.join(threads)
    shapes = [each.get_shape() for each in (image, *batches)]
    return shapes, [each.name for each in batches], values, sorted(thread.name for thread in threads)


table(
    a_jpeg_of_four_channels=(
        lambda tf: tf.image.decode_jpeg(tf.image.encode_jpeg(tf.constant(IMAGE)), channels=4),
        "JPEG does not support 4 channels",
    ),
    decode_png_of_two_channels=(
        lambda tf: tf.image.decode_png(file_of(tf, IMAGE), channels=2),
        "`channels` must be 0, 1, 3 or 4 but got 2",
    ),
)
