"""What a trace tells of pipelines of every kind: waits, batches and who ran. `traces.sound` has what all promise."""

import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from ahead_functions import square
from helpers import LIMIT, run_in_thread, wait_blocked, wait_until
from traces import batches, load, names, sound, spans, traced, waits

import pipeline
import pipeline.compat.v1 as tf
from pipeline import spans as noted

sampled = pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="stacks are not sampled here")


def rows(count=600):
    """Numbers, each in a row."""

    def numbers():
        for i in range(count):
            yield np.full(4, i)

    return numbers


def firsts(loop):
    """The numbers in each batch of a loop over `rows`, and the statistics of its queue."""
    with loop as taken:
        found = [batch[:, 0].tolist() for batch in taken]
        return found, taken.queue.stats()


def agree(events, queue, stats):
    """Check that the waits of a trace are those that the statistics of a queue count."""
    for side, seconds in (("enqueue", stats.enqueue_wait_s), ("dequeue", stats.dequeue_wait_s)):
        found = waits(events, queue, side)
        assert sum(each["args"]["waited_us"] for each in found) == pytest.approx(seconds * 1e6, abs=1e-3 * len(found))
        assert all(each["dur"] >= each["args"]["waited_us"] for each in found)


def test_waits_are_those_that_the_statistics_count(tmp_path):
    loop = pipeline.batch(rows(), 30, capacity=32, name="numbers")
    events, (found, stats) = traced(tmp_path / "t.json", lambda: firsts(loop))
    assert len(found) == 20
    assert stats.dequeue_waits + stats.enqueue_waits > 0
    assert waits(events, "numbers", "dequeue")
    agree(events, "numbers", stats)


def test_batches_of_a_queue_in_order_begin_and_end(tmp_path):
    loop = pipeline.batch(rows(), 30, capacity=64, name="numbers")
    events, (found, _) = traced(tmp_path / "t.json.gz", lambda: firsts(loop))
    ways = batches(events)
    assert [(way["first_arrival"], way["last_arrival"]) for *_, way in ways] == [(b[0], b[-1]) for b in found]
    assert [way["batch"] for *_, way in ways] == list(range(1, 21))
    assert {(way["loop"], way["queue"], way["elements"]) for *_, way in ways} == {("numbers", "numbers", 30)}
    ends = sorted(each["ts"] + each["dur"] for each in spans(events, "next"))
    assert [end for _, _, end, _ in ways] == pytest.approx(ends[: len(ways)], abs=1e-6)


def test_the_consumer_has_spans_for_next_and_for_the_time_between(tmp_path):
    loop = pipeline.batch(rows(), 100, name="numbers")
    events, _ = traced(tmp_path / "t.json", lambda: firsts(loop))
    (main,) = {each["tid"] for each in spans(events, "next")}
    assert names(events)[main] == threading.current_thread().name
    assert len(names(events)) == 2, names(events)  # not the thread that waits for a stop
    assert len(spans(events, "next")) == 7  # the last one finds the end
    between = [each["name"] for each in spans(events, "consumer")]
    assert between == ["between batches of 'numbers'"] * 6


@pytest.mark.parametrize("held_back", [50, 300])
def test_a_deterministic_shuffle_knows_the_elements_of_each_batch(tmp_path, held_back):
    loop = pipeline.shuffle_batch(rows(), 32, 400, held_back, seed=3, deterministic=True, name="numbers")
    events, (found, _) = traced(tmp_path / "t.json", lambda: firsts(loop))
    told = [(way["first_arrival"], way["last_arrival"]) for *_, way in batches(events)]
    assert told == [(min(batch), max(batch)) for batch in found]


def test_a_resumed_shuffle_knows_the_elements_of_each_batch(tmp_path):
    def loop():
        numbers = pipeline.range_input_producer(600, shuffle=False, num_epochs=1)
        return pipeline.shuffle_batch(lambda: numbers.dequeue(), 32, 400, 100, seed=3, deterministic=True)

    with loop() as first:
        for _ in range(5):
            next(first)
        state = first.state_dict()

    def go_on():
        with loop() as second:
            second.load_state_dict(state)
            return [batch.tolist() for batch in second]

    events, found = traced(tmp_path / "t.json", go_on)
    # 160 were drawn: numbers up to 260 were in the pool, and go in first.
    told = [way["last_arrival"] for *_, way in batches(events)]
    assert told == [max(batch) - 160 if max(batch) >= 260 else 0 for batch in found]


def test_a_free_shuffle_says_what_its_batches_begin_with(tmp_path):
    loop = pipeline.shuffle_batch(rows(), 30, 200, 100, name="numbers")
    events, (found, _) = traced(tmp_path / "t.json", lambda: firsts(loop))
    ways = batches(events)
    assert len(ways) == len(found)
    assert {way["begins"] for *_, way in ways} == {"when the queue could give the batch"}
    assert [way["first_to_leave"] for *_, way in ways] == list(range(0, 600, 30))


@sampled
def test_a_run_that_goes_on_already(tmp_path):
    """The thread that waits when the trace starts, and still does when it stops, is shown with its queue."""
    loop = pipeline.batch(rows(), 30, capacity=32, name="numbers")
    with loop as taken:
        next(taken)
        wait_until(lambda: taken.queue.stats().waiting_enqueues, "the thread to wait")
        with pipeline.trace(tmp_path / "t.json", interval=0.001):
            wait_until(lambda: not noted.events, "the trace")
        events = sound(load(tmp_path / "t.json")["traceEvents"])
        (wait,) = spans(events, "wait")
        assert (wait["name"], wait["args"]["queue"]) == ("wait: enqueue of 'numbers'", "numbers")
        assert "rows" in names(events)[wait["tid"]]
        before = taken.queue.stats().dequeued
        events, _ = traced(tmp_path / "u.json", lambda: [next(taken) for _ in range(5)])
        assert [way["first_arrival"] for *_, way in batches(events)] == list(range(before, before + 150, 30))


def test_calls_of_a_slow_function_are_exact(tmp_path):
    """Each call waits in a queue that this test fills; nothing else takes longer."""
    gate = pipeline.FIFOQueue(1, "int64", shapes=[()], name="gate")

    def guarded():
        gate.dequeue()
        return np.zeros(3)

    def body():
        loop = pipeline.batch(guarded, 1, name="numbers")
        call = run_in_thread(lambda: [next(loop) for _ in range(3)])
        for _ in range(3):
            wait_until(lambda: gate.stats().waiting_dequeues, "the function to be called")
            threading.Event().wait(0.02)  # so that calls are long
            gate.enqueue(0)
        call.result()
        gate.close()
        loop.close()

    events, _ = traced(tmp_path / "t.json", body)
    calls = [each for each in spans(events, "function") if each["name"].endswith("guarded") and "args" in each]
    exact = [each for each in calls if "sampled" not in each["args"]]
    assert len(exact) >= 3
    inside = waits(events, "gate", "dequeue")
    assert len(inside) >= 3
    for wait in inside:
        assert any(c["tid"] == wait["tid"] and c["ts"] <= wait["ts"] <= c["ts"] + c["dur"] for c in exact)


@sampled
def test_what_a_thread_does_between_exact_spans_is_sampled(tmp_path):
    done, seen = threading.Event(), threading.Event()

    def busy():
        """Runs until it was seen."""
        while not seen.is_set():
            sum(range(1000))
        if done.is_set():
            raise pipeline.errors.OutOfRangeError(None, None, "the end")
        return 1

    loop = pipeline.batch(busy, 1, name="numbers")
    with loop:
        seen.set()
        next(loop)
        seen.clear()
        call = run_in_thread(lambda: [*loop])
        with pipeline.trace(tmp_path / "t.json", interval=0.001) as trace:
            wait_until(lambda: trace._tracer.samples > 5, "samples")
        done.set()
        seen.set()
        call.result()
    events = sound(load(tmp_path / "t.json")["traceEvents"])
    found = [each for each in spans(events, "function") if each["name"].endswith("busy")]
    assert found
    assert all(each["args"]["sampled"] and __file__ in each["args"]["place"] for each in found)


def test_a_join_and_several_loops(tmp_path):
    one = pipeline.batch_join([rows(), rows()], 32, name="joined")
    two = pipeline.batch(rows(), 25, name="numbers", num_threads=2)
    with pipeline.trace(tmp_path / "t.json", interval=0.001) as trace:
        with one as a, two as b:
            next(a), next(b)
            wait_blocked(a.queue, enqueues=2)  # a thread that has ended before anybody looked has no name
            before = trace._tracer.samples
            wait_until(lambda: trace._tracer.samples > before + 1, "a sample")
            pairs = 1 + len(list(zip(a, b, strict=False)))
        joined, numbers = a.queue.stats(), b.queue.stats()
    events = sound(load(tmp_path / "t.json")["traceEvents"])
    by_loop = [way["loop"] for *_, way in batches(events)]
    assert by_loop.count("numbers") == pairs
    assert by_loop.count("joined") >= pairs
    agree(events, "joined", joined)
    agree(events, "numbers", numbers)
    assert sum("QueueRunnerThread-joined" in name for name in names(events).values()) == 2


def test_several_consumers_of_one_loop(tmp_path):
    loop = pipeline.batch(rows(900), 30, name="numbers")

    def body():
        with loop:
            calls = [run_in_thread(lambda: [batch[0, 0] for batch in loop]) for _ in range(3)]
            return sum(len(call.result()) for call in calls)

    events, count = traced(tmp_path / "t.json", body)
    assert count == len(batches(events)) == 30
    assert sum(way["elements"] for *_, way in batches(events)) == 900


@pytest.mark.parametrize("deterministic", [False, True])
def test_buckets(tmp_path, deterministic):
    def lengths():
        for i in range(200):
            yield np.zeros(1 + i % 7)

    def body():
        loop = pipeline.bucket_by_sequence_length(
            len, lengths, batch_size=8, bucket_boundaries=[3, 5], dynamic_pad=True, deterministic=deterministic
        )
        with loop as taken:
            return sum(1 for _ in taken)

    events, count = traced(tmp_path / "t.json", body)
    assert len(batches(events)) == count
    assert [way["elements"] for *_, way in batches(events)] == [1] * count  # its queue holds whole batches


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_chunks_of_map_ahead(tmp_path, kind):
    with kind(2) as executor:
        source = pipeline.map_ahead(square, range(40), executor, chunksize=10)
        events, found = traced(tmp_path / "t.json", lambda: [*np.concatenate([*pipeline.batch(source, 20)])])
    assert found == [i * i for i in range(40)]
    chunks = [each for each in events if each.get("cat") == "map_ahead"]
    assert [each["ph"] for each in chunks].count("b") == [each["ph"] for each in chunks].count("e") == 4
    assert {each["args"]["items"] for each in chunks} == {f"items {i} to {i + 9}" for i in range(0, 40, 10)}
    assert {each["args"]["outcome"] for each in chunks} == {"done"}


def test_queue_runners_of_your_own(tmp_path):
    def body():
        queue = pipeline.FIFOQueue(4, "int64", shapes=[()], name="mine")
        coord = pipeline.Coordinator()
        runner = pipeline.QueueRunner(queue, [lambda: queue.enqueue(7)] * 2)
        threads = runner.create_threads(coord=coord, start=True)
        for _ in range(50):
            queue.dequeue_many(10)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=LIMIT)
        return queue.stats()

    events, stats = traced(tmp_path / "t.json", body)
    assert waits(events, "mine", "enqueue")
    assert waits(events, "mine", "dequeue")
    agree(events, "mine", stats)


def test_the_drop_in(tmp_path):
    """Queue runners of a session, and a dequeue by `Session.run`."""

    def body():
        with tf.Graph().as_default(), tf.Session() as sess:
            numbers = tf.train.range_input_producer(300, shuffle=False, num_epochs=1)
            taken = tf.train.batch([numbers.dequeue()], 10, name="graph_batch")
            sess.run(tf.local_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess, coord)
            found = [number for _ in range(30) for number in sess.run(taken)]
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=LIMIT)
            return found

    events, found = traced(tmp_path / "t.json", body)
    assert found == list(range(300))
    queues = {each["args"]["queue"] for each in spans(events, "wait")}
    assert any("input_producer" in name for name in queues) or any("graph_batch" in name for name in queues)
    assert any("graph_batch" in each["name"] for each in events if each["ph"] == "C")


def test_readers(tmp_path):
    """Calls that take long are exact, and the queue of the names has its level."""
    (tmp_path / "lines.txt").write_text("".join(f"{i}\n" for i in range(200_000)))
    reader = pipeline.TextLineReader(name="lines")

    def body():
        files = pipeline.string_input_producer([str(tmp_path / "lines.txt")], num_epochs=1, name="files")
        loop = pipeline.batch(lambda: np.array(reader.read_up_to(files, 20_000).values), 5000, enqueue_many=True)
        with loop as taken:
            return sum(1 for _ in taken)

    events, count = traced(tmp_path / "t.json", body)
    assert count == len(batches(events)) == 40
    assert "elements in 'files'" in {each["name"] for each in events if each["ph"] == "C"}
    calls = [each for each in spans(events, "function") if "sampled" not in each["args"]]
    assert len([each for each in calls if each["name"].endswith("<lambda>")]) >= 10


def test_nothing_is_noted_while_nobody_traces(tmp_path):
    traced(tmp_path / "t.json", lambda: firsts(pipeline.batch(rows(), 30, capacity=32)))
    noted.events.clear()
    firsts(pipeline.batch(rows(), 30, capacity=32))
    assert not noted.on
    assert not noted.events
