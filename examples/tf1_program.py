"""Run a TensorFlow 1 input program with one line changed: the first import.

    python examples/tf1_program.py

It reads the digits from their CSV file through queues, and trains softmax regression on the batches with NumPy, like a
program whose model has moved out of TensorFlow.
"""

import numpy as np

import pipeline.compat.v1 as tf  # was: import tensorflow as tf


def read_digit(files):
    reader = tf.TextLineReader()
    _, line = reader.read(files)
    columns = tf.decode_csv(line, record_defaults=[[0]] * 65)
    image = tf.cast(tf.stack(columns[:64]), tf.float32) / 16.0
    return image, columns[64]


def inputs(filename, epochs):
    with tf.name_scope("input"):
        files = tf.train.string_input_producer([filename], num_epochs=epochs)
        image, label = read_digit(files)
        return tf.train.shuffle_batch(
            [image, label], batch_size=100, capacity=1500, min_after_dequeue=500, num_threads=2
        )


def train(weights, images, labels):
    """Change the weights; return the images guessed right before."""
    scores = images @ weights
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    weights -= 0.5 * images.T @ (chances - np.eye(10)[labels]) / len(labels)
    return scores.argmax(axis=1) == labels


def main(_):
    images, labels = inputs("examples/data/digits.csv", epochs=5)
    weights, right = np.zeros((64, 10)), []
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            while not coord.should_stop():
                right.append(train(weights, *sess.run([images, labels])).mean())
        except tf.errors.OutOfRangeError:
            first, last = np.mean(right[:10]), np.mean(right[-10:])
            print(f"{len(right)} steps; right in the first ten: {first:.0%}, in the last: {last:.0%}")
        finally:
            coord.request_stop()
            coord.join(threads)


if __name__ == "__main__":
    tf.app.run()
