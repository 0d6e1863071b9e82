"""tensorflow: tf.data."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from measuring import main, workers
from workloads import (
    BATCH,
    COLUMNS,
    DECODED,
    LINES,
    MIDDLE,
    PACKED,
    POOL,
    STRIDE,
    TOKENS,
    WEIGHTS,
    WINDOW,
    WORKS,
    decode,
    doubled,
    jpegs,
    padded_rows,
    passes,
    path,
    rows,
    two_arrays,
)

TUNED = tf.data.AUTOTUNE


def ways(directory, work):
    if work in ("parquet", "arrow", "tar"):
        return {}
    made = {"tf.data": lambda: numpy(dataset(directory, work))}
    if work == "csv":
        made["CsvDataset"] = lambda: numpy(csv(path(directory, work)))
    return made


def numpy(data):
    """Return an endless iterator over batches as arrays, which share the tensors' memory."""
    return iter(data.prefetch(TUNED).as_numpy_iterator())


def dataset(directory, work):
    data = tf.data.Dataset
    if pool := WORKS[work].pool:
        return data.from_tensor_slices(rows(directory, work)).repeat().shuffle(pool).batch(BATCH)
    if work == "once":
        kept = data.from_tensor_slices(rows(directory, "f32_784")).map(doubled).cache(path(directory, "once.tfdata"))
        for _ in kept:  # to fill it
            pass
        return kept.repeat().shuffle(POOL).batch(BATCH)
    if work == "padded":
        values, splits = padded_rows(directory)
        ragged = tf.RaggedTensor.from_row_splits(values, splits)
        return data.from_tensor_slices(ragged).map(whole).repeat().padded_batch(BATCH, [None])
    if work.startswith("decode"):
        return data.range(DECODED).repeat().map(python, num_parallel_calls=workers(work)).batch(BATCH)
    if work == "jpeg":
        names, labels = jpegs(directory)
        files = data.from_tensor_slices((names, np.array(labels))).shuffle(len(names)).repeat()
        return files.map(image, num_parallel_calls=TUNED).batch(BATCH)
    if work == "mix":
        inputs = [data.from_tensor_slices(each).repeat() for each in two_arrays(directory)]
        return data.sample_from_datasets(inputs, WEIGHTS, seed=1).batch(BATCH)
    if work == "pack":
        values, splits = padded_rows(directory)
        ragged = tf.RaggedTensor.from_row_splits(values, splits)
        parts = data.from_tensor_slices(ragged).map(whole).repeat().flat_map(two_parts)
        return parts.unbatch().batch(PACKED, drop_remainder=True).batch(BATCH)
    if work == "filter":
        kept = data.range(DECODED).repeat().filter(passes)
        return kept.map(python, num_parallel_calls=2).batch(BATCH)
    if work == "window":
        windows = data.from_tensor_slices(rows(directory, "f32_4")).repeat().window(WINDOW, STRIDE, drop_remainder=True)
        return windows.flat_map(lambda window: window.batch(WINDOW)).batch(BATCH)
    if work == "tokens":  # it has no random access: shuffle with a buffer as large as elsewhere
        rest = 2 * TOKENS % (2 * PACKED)
        records = tf.data.FixedLengthRecordDataset(path(directory, work), 2 * PACKED, footer_bytes=rest)
        shuffled = records.repeat().shuffle(POOL).batch(BATCH)
        return shuffled.map(lambda rows: tf.io.decode_raw(rows, tf.uint16), num_parallel_calls=TUNED)
    if work == "indexed":  # as above; all lines fit into memory
        return tf.data.TextLineDataset(path(directory, work)).shuffle(LINES).repeat().batch(BATCH)
    if work == "tfrecord":
        return tf.data.TFRecordDataset(path(directory, work)).repeat().batch(BATCH)
    text = tf.data.TextLineDataset(path(directory, work)).repeat().batch(BATCH)
    return text if work == "lines" else text.map(table, num_parallel_calls=TUNED)


def two_parts(row):
    half = tf.shape(row)[0] // 2
    first = tf.data.Dataset.from_tensors(row[:half])
    return first.concatenate(tf.data.Dataset.from_tensors(row[half:]))


def whole(row):
    return row.to_tensor() if isinstance(row, tf.RaggedTensor) else row


def image(name, label):
    return tf.io.decode_and_crop_jpeg(tf.io.read_file(name), MIDDLE, 3), label


def csv(name):
    columns = tf.data.experimental.CsvDataset(name, [tf.float32] * COLUMNS)
    return columns.repeat().batch(BATCH).map(lambda *values: tf.stack(values, axis=1), num_parallel_calls=TUNED)


def python(number):
    return tf.ensure_shape(tf.numpy_function(decode, [number], tf.float32), [32])


def table(text):
    return tf.stack(tf.io.decode_csv(text, [0.0] * COLUMNS), axis=1)


if __name__ == "__main__":
    main("tf.data", tf.__version__, ways)
