"""Compare the drop-in with TensorFlow, each in its own process: `python bench/runs/compat.py TENSORFLOWS_PYTHON`."""

import importlib
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

OURS, THEIRS = "pipeline.compat.v1", "tensorflow.compat.v1"

BATCH, ROWS = 128, 10_000
REPEATS = 5  # The median counts.
SECONDS = 1.0  # Per measurement with batches.
RUNS = 5_000  # Single dequeues per measurement.


def main():
    if sys.argv[1] == "--measure":
        print(json.dumps(measure(sys.argv[2])))
        return
    interpreters = {OURS: sys.executable, THEIRS: sys.argv[1]}
    results = {name: in_process(python, name) for name, python in interpreters.items()}
    print(f"{'':48} {'drop-in':>14} {'tensorflow':>14} {'times':>7}")
    for what, (mine, unit, smaller_is_better) in results[OURS].items():
        other = results[THEIRS][what][0]
        ratio = other / mine if smaller_is_better else mine / other
        print(f"{what:48} {mine:>10,.1f} {unit:3} {other:>10,.1f} {unit:3} {ratio:>7,.1f}")


def in_process(python, name):
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), environment.get("PYTHONPATH")]))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # An installed package is imported from bytecode.
    command = [python, __file__, "--measure", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def measure(name):
    """Measure one module. Return, by title: the figure, its unit, and whether less is better."""
    tf = importlib.import_module(name)
    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    images = np.random.default_rng(0).random((ROWS, 784), np.float32)
    labels = np.arange(ROWS, dtype=np.int32)
    run, called = dequeues(tf)
    sliced = batches(tf, lambda: tf.train.batch(tf.train.slice_input_producer([images, labels]), BATCH))
    shuffled = batches(
        tf,
        lambda: tf.train.shuffle_batch(
            [images, labels], BATCH, capacity=ROWS + 3 * BATCH, min_after_dequeue=ROWS, enqueue_many=True
        ),
    )
    return {
        "Session.run of one dequeue": (run * 1e6, "us", True),
        "make_callable of one dequeue": (called * 1e6, "us", True),
        "slice_input_producer + batch(128), f32[784] + i32": (sliced / 1e3, "k/s", False),
        "shuffle_batch(enqueue_many), f32[784] + i32": (shuffled / 1e3, "k/s", False),
        "import, NumPy already imported": (imported(name) * 1e3, "ms", True),
    }


def dequeues(tf):
    """Return the seconds per dequeue, by Session.run and by a callable."""
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(2 * RUNS, tf.float32, shapes=[[]])
        taken = queue.dequeue()
        fill = queue.enqueue_many([np.arange(RUNS, dtype=np.float32)])
        call = sess.make_callable(taken)
        return timed_runs(sess, fill, lambda: sess.run(taken)), timed_runs(sess, fill, call)


def timed_runs(sess, fill, call):
    seconds = []
    for _ in range(REPEATS):
        sess.run(fill)
        start = time.perf_counter()
        for _ in range(RUNS):
            call()
        seconds.append((time.perf_counter() - start) / RUNS)
    return statistics.median(seconds)


def batches(tf, make):
    """Return the examples per second in the batches built by `make`."""
    with tf.Graph().as_default(), tf.Session() as sess:
        fetched = make()
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        rates = []
        sess.run(fetched)
        for _ in range(REPEATS):
            count, start = 0, time.perf_counter()
            while (now := time.perf_counter()) < start + SECONDS:
                sess.run(fetched)
                count += BATCH
            rates.append(count / (now - start))
        coord.request_stop()
        coord.join(threads)
    return statistics.median(rates)


def imported(name):
    """Return the seconds for an import in a new process."""
    code = f"import time, numpy; start = time.perf_counter(); import {name}; print(time.perf_counter() - start)"
    command = [sys.executable, "-W", "ignore", "-c", code]
    times = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(REPEATS)]
    return statistics.median(float(text.splitlines()[-1]) for text in times)


if __name__ == "__main__":
    main()
