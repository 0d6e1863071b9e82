import pipeline.compat.v1 as tf
for _ in range(13):
    tf.train.string_input_producer(["a.csv", "b.csv"])

import pipeline.compat.v1 as tf
import threading
from threading import Thread, Lock
def tensor_thread():
    data = tf.zeros([2, 3], dtype=tf.int32)
    with tf.Session() as sess:
        threads = tf.train.start_queue_runners(sess=sess)
        enum_threads = threading.enumerate()
        counts_threads = threading.active_count()
        data = sess.run(data)
        print("data: {}".format(data))
        print("Threads of number: {}".format(enum_threads))
        print("Counts of thread: {}".format(counts_threads))
if __name__ == "__main__":
    tensor_thread()
    print("starting")
