"""Compare image programs in the drop-in and in TensorFlow: `python bench/runs/images.py TENSORFLOWS_PYTHON [NAME...]`.

Each program has the same kind of work as a well-known TensorFlow 1 input pipeline. The two sides take turns, each in
its own process; the medians count. With `--short` there are 2 turns with 2 seconds each, about 4 minutes in total.
"Times" is the drop-in's image rate divided by TensorFlow's, and "CPU" TensorFlow's CPU time per image divided by the
drop-in's. On a busy machine only CPU is meaningful.
"""

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

OURS, THEIRS = "pipeline.compat.v1", "tensorflow.compat.v1"
SECONDS = float(os.environ.get("SECONDS", "3"))
IMAGES = 64  # files per size


def main():
    if sys.argv[1] == "--measure":
        print(json.dumps(measure(*sys.argv[2:])))
        return
    if "--short" in sys.argv:
        sys.argv.remove("--short")
        os.environ |= {"TURNS": "2", "SECONDS": "2"}  # the measuring processes read them, too
    turns = int(os.environ.get("TURNS", "3"))
    chosen = sys.argv[2:] or list(PROGRAMS)
    unknown = [name for name in chosen if name not in PROGRAMS]
    if unknown:
        sys.exit(f"no program is named {', '.join(unknown)}; there are: {'; '.join(PROGRAMS)}")
    print(f"{'images/s, and CPU us an image':32} {'drop-in':>16} {'tensorflow':>16} {'times':>7} {'CPU':>6}")
    with tempfile.TemporaryDirectory() as folder:
        make_files(folder)
        for program in chosen:
            found = {OURS: [], THEIRS: []}
            for _ in range(turns):
                for name, python in ((OURS, sys.executable), (THEIRS, sys.argv[1])):
                    found[name].append(in_process(python, name, program, folder))
            rate, cost = {}, {}
            for name, results in found.items():
                rate[name], cost[name] = (statistics.median(each) for each in zip(*results, strict=True))
            print(
                f"{program:32} {rate[OURS]:>8,.0f} {cost[OURS]:>7,.0f} {rate[THEIRS]:>8,.0f} {cost[THEIRS]:>7,.0f} "
                f"{rate[OURS] / rate[THEIRS]:>7.2f} {cost[THEIRS] / cost[OURS]:>6.2f}",
                flush=True,
            )


def in_process(python, name, program, folder):
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), environment.get("PYTHONPATH")]))
    command = [python, "-W", "ignore", __file__, "--measure", name, program, folder]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def measure(name, program, folder):
    """Return a program's images per second, and the CPU microseconds per image."""
    tf = importlib.import_module(name)
    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    with tf.Graph().as_default(), tf.Session() as sess:
        make, *arguments = PROGRAMS[program]
        fetches, count = make(tf, folder, *arguments)
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        end = time.perf_counter() + SECONDS / 3
        while time.perf_counter() < end:  # the queues fill, so that everything runs at full speed
            sess.run(fetches)
        images, begin, used = 0, time.perf_counter(), time.process_time()
        while (now := time.perf_counter()) < begin + SECONDS:
            sess.run(fetches)
            images += count
        result = images / (now - begin), (time.process_time() - used) / images * 1e6
        coord.request_stop()
        coord.join(threads)
    return result


def make_files(folder):
    tf = importlib.import_module(OURS)
    rng = np.random.default_rng(0)
    for height, width in ((375, 500), (256, 256), (32, 32)):
        with tf.Graph().as_default(), tf.Session() as sess:
            image = tf.placeholder(tf.uint8, [height, width, 3])
            encoded = sess.make_callable(tf.image.encode_jpeg(image, quality=90), [image])
            contents = [encoded(picture(rng, height, width)) for _ in range(IMAGES)]
        with tf.python_io.TFRecordWriter(os.path.join(folder, f"{height}.tfrecords")) as writer:
            for index, each in enumerate(contents):
                image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[each]))
                label = tf.train.Feature(int64_list=tf.train.Int64List(value=[index % 10]))
                features = tf.train.Features(feature={"image": image, "label": label})
                writer.write(tf.train.Example(features=features).SerializeToString())
    rng.integers(0, 256, (10_000, 3073), dtype=np.uint8).tofile(os.path.join(folder, "cifar.bin"))


def picture(rng, height, width):
    """Return coloured blocks with some noise, whose JPEG is about as large as a photograph's."""
    coarse = rng.integers(0, 256, (height // 16 + 1, width // 16 + 1, 3)).astype(np.float32)
    blocks = coarse[np.arange(height) // 16][:, np.arange(width) // 16]
    return np.clip(blocks * 0.7 + rng.normal(30, 12, blocks.shape), 0, 255).astype(np.uint8)


# Programs: each returns what to fetch, and its image count.


def distorted(tf, folder, threads):
    """Decode JPEG, resize a random part, mirror, distort colours; batch_join."""

    def one():
        contents, label = example(tf, folder, 375)
        image = tf.image.convert_image_dtype(tf.image.decode_jpeg(contents, channels=3), tf.float32)
        whole = tf.constant([0.0, 0.0, 1.0, 1.0], shape=[1, 1, 4])
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.shape(image),
            bounding_boxes=whole,
            min_object_covered=0.1,
            aspect_ratio_range=[0.75, 1.33],
            area_range=[0.05, 1.0],
            max_attempts=100,
            use_image_if_no_bounding_boxes=True,
        )
        image = tf.image.resize_images(tf.slice(image, begin, size), [299, 299])
        image.set_shape([299, 299, 3])
        image = tf.image.random_flip_left_right(image)
        image = tf.image.random_brightness(image, max_delta=32.0 / 255.0)
        image = tf.image.random_saturation(image, lower=0.5, upper=1.5)
        image = tf.image.random_hue(image, max_delta=0.2)
        image = tf.image.random_contrast(image, lower=0.5, upper=1.5)
        image = tf.clip_by_value(image, 0.0, 1.0)
        return [(image - 0.5) * 2.0, label]

    return tf.train.batch_join([one() for _ in range(threads)], 32, capacity=2 * threads * 32), 32


def example(tf, folder, size):
    """Return an Example's JPEG and label."""
    names = tf.train.string_input_producer([os.path.join(folder, f"{size}.tfrecords")])
    _, record = tf.TFRecordReader().read(names)
    features = tf.parse_single_example(
        record, {"image": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}
    )
    return features["image"], features["label"]


def domain(tf, folder, size, threads):
    """Decode JPEG, resize to the same size, scale to -1 to 1; shuffle_batch with one example."""
    contents, _ = example(tf, folder, size)
    image = tf.image.resize_images(tf.image.decode_jpeg(contents, channels=3), (size, size))
    image = tf.image.convert_image_dtype(image, dtype=tf.float32) / 127.5 - 1.0
    image.set_shape([size, size, 3])
    return tf.train.shuffle_batch([image], 1, capacity=103, min_after_dequeue=100, num_threads=threads)


def two_domains(tf, folder, size, threads):
    """Use two readers; a run takes a batch from each."""
    return [domain(tf, folder, size, threads), domain(tf, folder, size, threads)], 2


def one_domain(tf, folder, size, threads):
    """Use one reader."""
    return domain(tf, folder, size, threads), 1


def cifar(tf, folder, threads):
    """Read fixed-length records, crop, mirror, change brightness and contrast, standardize; shuffle_batch."""
    names = tf.train.string_input_producer([os.path.join(folder, "cifar.bin")])
    _, value = tf.FixedLengthRecordReader(record_bytes=3073).read(names)
    record = tf.decode_raw(value, tf.uint8)
    label = tf.cast(tf.slice(record, [0], [1]), tf.int32)
    image = tf.transpose(tf.reshape(tf.slice(record, [1], [3072]), [3, 32, 32]), [1, 2, 0])
    image = tf.image.resize_image_with_crop_or_pad(tf.cast(image, tf.float32), 24, 24)
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, max_delta=63)
    image = tf.image.random_contrast(image, lower=0.2, upper=1.8)
    image = tf.image.per_image_standardization(image)
    return tf.train.shuffle_batch([image, label], 128, 2128, 1000, num_threads=threads), 128


PROGRAMS = {
    "distorted 375 x 500, 4 threads": (distorted, 4),
    "two domains, 32 px, 8 threads": (two_domains, 32, 8),
    "two domains, 256 px, 8 threads": (two_domains, 256, 8),
    "one domain, 256 px, 1 thread": (one_domain, 256, 1),
    "one domain, 256 px, 8 threads": (one_domain, 256, 8),
    "one domain, 256 px, 16 threads": (one_domain, 256, 16),
    "one domain, 32 px, 1 thread": (one_domain, 32, 1),
    "one domain, 32 px, 8 threads": (one_domain, 32, 8),
    "one domain, 32 px, 16 threads": (one_domain, 32, 16),
    "CIFAR, 1 thread": (cifar, 1),
    "CIFAR, 4 threads": (cifar, 4),
}

if __name__ == "__main__":
    main()
