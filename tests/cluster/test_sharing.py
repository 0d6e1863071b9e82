"""Several programs: a queue shared by name, and batches made by one program for the others."""

import contextlib
import signal
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

import pipeline

ray = pytest.importorskip("ray", reason="needs Ray: make test-cluster")
pytestmark = pytest.mark.usefixtures("cluster")


def queue_of(capacity=10, **more):
    return pipeline.cluster.RemoteQueue(capacity, ["float32", "int64"], [(2,), ()], **more)


def rows(*numbers):
    return np.array([[each, -each] for each in numbers], np.float32), np.array(numbers)


def test_rows_of_several_blocks_and_single_ones():
    queue = queue_of()
    queue.enqueue_many(rows(0, 1, 2))
    queue.enqueue(([3, -3], 3))
    queue.enqueue_many(rows(4, 5))
    assert queue.size() == 6
    first, second = queue.dequeue_many(5), queue.dequeue()
    assert first[0].tolist() == rows(0, 1, 2, 3, 4)[0].tolist()
    assert first[1].tolist() == [0, 1, 2, 3, 4]
    assert second[1] == 5
    assert queue.size() == 0


def test_elements_with_names():
    queue = pipeline.cluster.RemoteQueue(5, ["int64", "int64"], [(), ()], ["b", "a"])
    queue.enqueue({"a": 1, "b": 2})
    assert queue.dequeue() == {"a": 1, "b": 2}


def test_a_shuffle_queue_gives_each_row_once():
    queue = pipeline.cluster.RemoteQueue(100, ["int64"], [()], min_after_dequeue=0, seed=1)
    queue.enqueue_many((np.arange(50),))
    queue.close()
    found = queue.dequeue_up_to(30).tolist() + queue.dequeue_up_to(30).tolist()
    assert found != list(range(50))
    assert sorted(found) == list(range(50))


def test_closing():
    queue = queue_of()
    queue.enqueue_many(rows(1, 2))
    queue.close()
    assert queue.is_closed()
    with pytest.raises(pipeline.CancelledError, match="closed"):
        queue.enqueue(([1, 1], 1))
    with pytest.raises(pipeline.OutOfRangeError, match="insufficient elements"):
        queue.dequeue_many(3)
    assert queue.dequeue_up_to(3)[1].tolist() == [1, 2]
    with pytest.raises(pipeline.OutOfRangeError):
        queue.dequeue()


def test_timeouts_lose_and_keep_nothing():
    queue = queue_of(2)
    with pytest.raises(pipeline.DeadlineExceededError, match="fewer than 1 rows arrived within"):
        queue.dequeue(timeout=0.01)
    with pytest.raises(pipeline.DeadlineExceededError, match="2 of 3 rows are in it"):
        queue.enqueue_many(rows(1, 2, 3), timeout=0.01)
    assert queue.dequeue_many(2)[1].tolist() == [1, 2]
    assert queue.size() == 0


def test_a_full_queue_holds_back():
    queue = queue_of(3)
    producer = threading.Thread(target=queue.enqueue_many, args=(rows(*range(20)),))
    producer.start()
    assert [int(queue.dequeue()[1]) for _ in range(20)] == list(range(20))
    producer.join()


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: queue_of(0.5), TypeError, "capacity|integer"),
        (
            lambda: pipeline.cluster.RemoteQueue(5, ["int64"], None),
            pipeline.InvalidArgumentError,
            "shapes must be given",
        ),
        (lambda: queue_of(min_after_dequeue=10), pipeline.InvalidArgumentError, "must be < capacity 10"),
        (lambda: queue_of().enqueue(([1, 2, 3], 1)), pipeline.InvalidArgumentError, "hape"),
        (
            lambda: (queue_of(7, shared_name="same"), queue_of(8, shared_name="same")),
            pipeline.InvalidArgumentError,
            "made with",
        ),
    ],
)
def test_bad_queues(make, error, text):
    with pytest.raises(error, match=text):
        make()


PRODUCER = """
import sys
import numpy as np
import pipeline

queue = pipeline.cluster.RemoteQueue(
    10, ["float32", "int64"], [(2,), ()], shared_name=sys.argv[2], address=sys.argv[1]
)
queue.enqueue_many((np.zeros((3, 2), np.float32), np.arange(3)))
"""


def run(program, *args):
    done = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_rows_outlive_the_program_that_enqueued_them(cluster):
    queue = queue_of(shared_name="outlive")
    run(PRODUCER, cluster.address, "outlive")
    assert queue.dequeue_many(3)[1].tolist() == [0, 1, 2]


def test_a_queue_ends_with_the_program_that_made_it(cluster):
    run(PRODUCER, cluster.address, "ended")
    assert queue_of(shared_name="ended").size() == 0  # a new queue


def test_a_queue_can_be_handed_to_tasks():
    queue = queue_of()

    @ray.remote
    def enqueue(given):
        given.enqueue_many((np.zeros((2, 2), np.float32), np.arange(2)))

    ray.get(enqueue.remote(queue))
    assert queue.dequeue_many(2)[1].tolist() == [0, 1]


@contextlib.contextmanager
def struck(queue, strike):
    """Strike a queue call with Ctrl-C: `strike` sends it, in a thread, once Ray has the call.

    `_ray` is private; it is replaced because nothing else shows that moment.
    """

    def get(references):
        asked.set()
        return ray.get(references)

    def wait():
        assert asked.wait(60)
        strike()

    asked = threading.Event()
    queue._ray = types.SimpleNamespace(get=get, is_initialized=ray.is_initialized, exceptions=ray.exceptions)
    thread = threading.Thread(target=wait)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    thread.join()


def ctrl_c():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def test_ctrl_c_in_a_producer_that_waits_for_room():
    queue = queue_of(4, shared_name="struck producer")
    other = queue_of(4, shared_name="struck producer")

    def strike():
        while other.size() < 4:
            pass
        ctrl_c()

    with struck(queue, strike):
        queue.enqueue_many(rows(*range(10)))
    assert other.dequeue_many(4)[1].tolist() == [0, 1, 2, 3]
    other.close()
    rest = other.dequeue_up_to(4)[1].tolist() if other.size() else []
    assert rest in ([], [4])  # the waiting row may have found room


def test_ctrl_c_in_a_consumer_that_waits_for_rows():
    queue = queue_of(shared_name="struck consumer")
    other = queue_of(shared_name="struck consumer")

    def strike():
        ctrl_c()
        other.enqueue_many(rows(*range(8)))

    with struck(queue, strike):
        queue.dequeue_many(4)
    assert other.dequeue_many(8, timeout=60)[1].tolist() == list(range(8))
    assert other.size() == 0


CONSUMES = """
import sys
import pipeline

queue = pipeline.cluster.RemoteQueue(
    10, ["float32", "int64"], [(2,), ()], shared_name=sys.argv[2], address=sys.argv[1]
)
print(queue.dequeue_many(2)[1].tolist())
"""


def test_a_program_that_ends_has_received_its_rows(cluster):
    queue = queue_of(shared_name="received")
    queue.enqueue_many(rows(0, 1, 2))
    assert run(CONSUMES, cluster.address, "received") == "[0, 1]\n"
    for _ in range(1000):
        # Rows are kept privately until the queue learns of their arrival.
        if not ray.get(queue._actor.__ray_call__.remote(lambda rows: len(rows._handed))):
            break
    else:
        pytest.fail("the queue was not told")
    assert queue.dequeue()[1] == 2


# serve and consume ---------------------------------------------------------------------------------------------------


def served(name, count=30, **more):
    return pipeline.cluster.serve(pipeline.batch(range(count * 4), 4), name, **more)


def consumed(consumer):
    return [batch.tolist() for batch in consumer]


def test_shares_are_disjoint_and_complete():
    found = {}
    with served("shares", consumers=3) as server:
        consumers = [pipeline.cluster.consume("shares", (i, 3)) for i in range(3)]
        threads = [
            threading.Thread(target=lambda i=i, each=each: found.update({i: consumed(each)}))
            for i, each in enumerate(consumers)
        ]
        for each in threads:
            each.start()
        server.join()
        for each in threads:
            each.join()
    for i in range(3):
        assert [batch[0] // 4 for batch in found[i]] == list(range(i, 30, 3))


def test_first_come_first_served():
    with served("first") as server:
        one, two = (pipeline.cluster.consume("first") for _ in range(2))
        found = [next(one).tolist(), next(two).tolist(), *consumed(one), *consumed(two)]
        server.join()
    assert sorted(number for batch in found for number in batch) == list(range(120))


CONSUMER = """
import os, signal, sys
import pipeline

consumer = pipeline.cluster.consume("returning", (0, 2), address=sys.argv[1])
for count, batch in enumerate(consumer):
    print(consumer.number, flush=True)
    if count == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_consumer_that_is_killed_and_comes_back_goes_on(cluster):
    with served("returning", 20, consumers=2) as server:
        other = threading.Thread(target=consumed, args=(pipeline.cluster.consume("returning", (1, 2)),))
        other.start()
        command = [sys.executable, "-c", CONSUMER, cluster.address]
        first = subprocess.run([*command, "4"], capture_output=True, text=True, timeout=200)
        second = subprocess.run([*command, "99"], capture_output=True, text=True, timeout=200)
        server.join()
        other.join()
    assert first.stdout.split() == ["0", "2", "4", "6", "8"]
    assert second.stdout.split() == ["8", "10", "12", "14", "16", "18"]  # the first had not yet confirmed 8


def test_an_error_of_the_loop_ends_its_consumers():
    batches = iter(pipeline.dataset([1, 2, 3, 0]).map(lambda i: 6 // i).batch(1))
    with pipeline.cluster.serve(batches, "failing") as server:
        consumer = pipeline.cluster.consume("failing")
        with pytest.raises(ZeroDivisionError):
            consumed(consumer)
        with pytest.raises(ZeroDivisionError):
            server.join()


WAITS = """
import sys, threading
import pipeline
import ray

server = pipeline.cluster.serve(iter(threading.Event().wait, None), "waits", address=sys.argv[1])
ray.shutdown()
try:
    server.join()
except pipeline.AbortedError as error:
    print(error)
"""


def test_a_server_whose_batches_do_not_come_when_the_program_leaves_the_cluster(cluster):
    """Its thread may also be stuck within Ray forever, if Ray was shut down during its call."""
    done = subprocess.run([sys.executable, "-c", WAITS, cluster.address], capture_output=True, text=True, timeout=120)
    assert done.stdout == "what was served as 'waits' cannot continue: this process has left the Ray cluster\n"
    assert done.returncode == 0, done.stderr


def test_consumers_of_a_server_that_has_ended():
    with served("ended"):
        consumer = pipeline.cluster.consume("ended")
        next(consumer)
    with pytest.raises(pipeline.AbortedError, match="what was served as 'ended' ended with"):
        consumed(consumer)
    with pytest.raises(pipeline.NotFoundError, match="nothing is served as 'ended'"):
        pipeline.cluster.consume("ended")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: served("bad", consumers=0), ValueError, "consumers must be at least 1"),
        (lambda: served(3), TypeError, "name must be a string"),
        (lambda: served("taken"), pipeline.AlreadyExistsError, "'taken' is already served"),
        (lambda: pipeline.cluster.consume("taken"), ValueError, r"'taken' needs shard=\(index, 2\)"),
        (lambda: pipeline.cluster.consume("taken", (2, 2)), ValueError, r"'taken' has 2 shares, got shard=\(2, 2\)"),
    ],
)
def test_bad_arguments(call, error, text):
    with served("taken", consumers=2), pytest.raises(error, match=text):
        call()
