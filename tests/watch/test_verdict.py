"""The verdict on models that are made by hand: which stage it names, what it tells you to turn, and what that gains."""

import pytest

from pipeline import QueueStats
from pipeline.watch.model import Edge, Level, Report, Stage, Tank
from pipeline.watch.verdict import judge

STATS = QueueStats(100, 50, False, 1000, 950, 90, 0, 0, 0.0, 0.0, 0.0, 0.0, 10.0, 0, 0)
EXECUTOR = {"buffersize": 8, "processes": False, "made_by": "pipeline.threads"}


def verdict(*, lock=0.0, held_back=0, size=50, capacity=100, processors=4, upstream=None, loop=None, **function):
    """The verdict on 10 s of one function (2), its queue (3) and a loop (4); `upstream` are more stages."""
    stats = STATS._replace(size=size, capacity=capacity)
    tank = Tank(stats, held_back, 50.0, 0.0, 0.0, (Level(10.0, size), Level(0.0, size)))
    made = {"threads": 4, "running": 4, "rate": 95.0, "busy": 1.0, "cpu": 0.1, "wanted": 0.1, **function}
    settings = {"num_threads": made["threads"], "enqueue_many": False, "kind": "batch"}
    given = {"waits_in": 0.0, "cpu": 0.1, "wanted": 0.1, "settings": settings, "age_s": 100.0, **(loop or {})}
    stages, edges = upstream or ((), ())
    stages = (
        *stages,
        Stage(2, "function", "decode", **made),
        Stage(3, "queue", "examples", elements=950, rate=95.0, tank=tank),
        Stage(4, "loop", "examples", **given),
    )
    edges = (*edges, Edge(2, 3), Edge(3, 4))
    (found,) = judge(Report(10.0, True, stages, edges, processors, lock))
    return found


def test_a_consumer_that_never_waits_is_slow():
    got = verdict(waits_out=0.75, busy=0.25)
    assert (got.stage, got.kind, got.knob, got.gain) == (4, "consumer", "consumer", pytest.approx(4))
    assert "the threads waited 75% of the time for room" in got.text


def test_threads_that_have_ended_wait_for_the_consumer_too():
    got = verdict(alive=0.5, longest=0.5)
    assert (got.kind, got.gain) == ("consumer", pytest.approx(2))


def test_a_queue_that_fills_is_ahead_of_its_consumer():
    """Nobody has waited for room yet, but half of what came is still there."""
    stats = STATS._replace(size=475, capacity=1000)
    tank = Tank(stats, 0, 50.0, 0.0, 0.0, (Level(10.0, 0), Level(0.0, 475)))
    stages = (
        Stage(2, "function", "decode", threads=1, running=1, rate=95.0, busy=1.0, cpu=0.1, wanted=0.1),
        Stage(3, "queue", "examples", elements=475, rate=47.5, tank=tank),
        Stage(4, "loop", "examples", waits_in=0.1, age_s=100.0, settings={"num_threads": 1}),
    )
    (got,) = judge(Report(10.0, True, stages, (Edge(2, 3), Edge(3, 4)), 4, 0.0))
    assert (got.kind, got.gain) == ("consumer", pytest.approx(2))


def test_both_sides_wait_by_turns():
    got = verdict(waits_out=0.5, loop={"waits_in": 0.6})
    assert (got.stage, got.kind, got.knob, got.value) == (3, "capacity", "capacity", 1000)
    assert got.gain == pytest.approx(2)  # then the threads work all the time


def test_a_function_that_waits_for_a_disk():
    got = verdict(loop={"waits_in": 0.6})
    assert (got.stage, got.kind, got.knob, got.value) == (2, "waiting", "num_threads", 10)
    assert got.gain == pytest.approx(2.5)  # then the consumer works all the time
    assert "waits for something outside" in got.text


def test_not_more_than_four_times_as_many_threads_are_proposed():
    got = verdict(loop={"waits_in": 0.99})
    assert (got.value, got.gain) == (16, 4)


def test_a_function_that_holds_the_lock():
    got = verdict(lock=0.97, cpu=0.98, wanted=1.0, loop={"waits_in": 0.9})
    assert (got.kind, got.knob, got.value, got.gain) == ("locked", "processes", 4, pytest.approx(3.8))
    assert got.text.startswith("decode takes 100% of the time of 4 threads and holds the interpreter's lock: more ")


def test_a_consumer_that_waits_for_the_lock_does_not_work():
    """It was busy, it seems, but had no processor, and no queue was waited for."""
    got = verdict(lock=0.97, cpu=0.98, wanted=1.0, loop={"waits_in": 0.02, "cpu": 0.02})
    assert (got.kind, got.gain) == ("locked", pytest.approx(3.8))


def test_a_function_that_computes_without_the_lock():
    got = verdict(threads=1, cpu=0.95, wanted=0.99, loop={"waits_in": 0.9, "wanted": 0.01})
    assert (got.kind, got.knob, got.value, got.gain) == ("computing", "num_threads", 4, pytest.approx(4))


def test_the_share_with_the_lock_bounds_what_threads_gain():
    got = verdict(threads=1, cpu=0.95, wanted=1.0, lock=0.5, loop={"waits_in": 0.9})
    assert (got.kind, got.gain) == ("computing", pytest.approx(2))


def test_all_processors_are_busy():
    got = verdict(cpu=3.9, wanted=4.0, loop={"waits_in": 0.9})
    assert (got.kind, got.knob, got.gain) == ("processors", "function", 1)


def test_a_crowd():
    got = verdict(threads=32, cpu=3.9, wanted=31.0, loop={"waits_in": 0.9})
    assert (got.kind, got.knob, got.value, got.gain) == ("crowded", "num_threads", 4, 1)


def test_a_processor_that_others_use_is_no_disk():
    """The thread sleeps 4 of 10 ms and waits 5.5 for a processor, which other programs use."""
    assert verdict(threads=1, cpu=0.05, wanted=0.6, loop={"waits_in": 0.9}).kind == "waiting"
    assert verdict(threads=1, cpu=0.3, wanted=1.0, loop={"waits_in": 0.9}).kind == "computing"


def test_single_examples_of_little_work():
    got = verdict(threads=1, rate=500_000.0, cpu=0.9, wanted=0.9, lock=0.9, loop={"waits_in": 0.8, "cpu": 0.2})
    assert (got.kind, got.knob, got.gain) == ("singles", "enqueue_many", pytest.approx(5))


def test_an_iterator_gives_one_at_a_time():
    settings = {"num_threads": 4, "in_turns": True}
    got = verdict(loop={"waits_in": 0.9, "settings": settings})
    assert (got.kind, got.knob, got.gain) == ("turns", "function", 4)


def test_threads_that_wait_for_a_reader():
    reader = Stage(1, "reader", "lines")
    got = verdict(doing={"turn": 0.75}, loop={"waits_in": 0.9}, upstream=([reader], [Edge(1, 2)]))
    assert (got.stage, got.kind, got.knob, got.value, got.gain) == (1, "reader", "readers", 4, 4)


def test_shards_of_different_length():
    got = verdict(alive=0.4, longest=1.0, loop={"waits_in": 0.9})
    assert (got.stage, got.kind, got.knob, got.gain) == (2, "uneven", "files", pytest.approx(2.5))


def test_a_producer_that_is_slow():
    tank = Tank(STATS, 0, 0.0, 0.0, 0.9)
    stages = (
        Stage(0, "function", "fill", threads=1, running=1, busy=1.0, cpu=0.0, wanted=0.0),
        Stage(1, "queue", "numbers", elements=950, tank=tank, waits_out=0.0),
    )
    got = verdict(waits_in=0.9, busy=0.1, loop={"waits_in": 0.9}, upstream=(stages, (Edge(0, 1), Edge(1, 2))))
    assert (got.stage, got.kind, got.knob, got.value) == (0, "waiting", "enqueue_ops", 4)


def test_an_executor_with_few_workers():
    workers = Stage(1, "workers", "load", threads=2, settings=EXECUTOR)
    upstream = ([workers], [Edge(1, 2)])
    got = verdict(threads=1, doing={"results": 1.0}, loop={"waits_in": 0.75}, upstream=upstream)
    assert (got.stage, got.kind, got.knob, got.value, got.gain) == (1, "workers", "workers", 8, 4)


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_of_an_executor_that_hold_the_lock(threads):
    workers = Stage(1, "workers", "load", threads=threads, cpu=0.97, wanted=0.99, settings=EXECUTOR)
    upstream = ([workers], [Edge(1, 2)])
    loop = {"waits_in": 0.75, "cpu": 0.01}
    got = verdict(threads=1, lock=0.98, doing={"results": 1.0}, loop=loop, upstream=upstream)
    assert (got.stage, got.kind, got.knob, got.value, got.gain) == (1, "locked", "processes", 4, pytest.approx(3.8))
    assert "workers=pipeline.processes(4)" in got.text


@pytest.mark.parametrize(("made_by", "processes"), [("pipeline.threads", False), ("pipeline.processes", True)])
def test_workers_are_proposed_as_they_can_be_typed(made_by, processes):
    """Somebody else holds the lock: threads that wait, and processes, are none the worse."""
    settings = EXECUTOR | {"processes": processes, "made_by": made_by}
    busy = 0.99 if processes else 0.1
    workers = Stage(1, "workers", "load", threads=1, cpu=busy, wanted=busy, settings=settings)
    upstream = ([workers], [Edge(1, 2)])
    got = verdict(threads=1, lock=0.98, doing={"results": 1.0}, loop={"waits_in": 0.75}, upstream=upstream)
    assert (got.kind, got.value) == ("workers", 4)
    assert "its only worker is waited for" in got.text
    assert f"workers={made_by}(4) " in got.text


def test_an_executor_that_gets_too_little():
    workers = Stage(1, "workers", "load", threads=8, settings=EXECUTOR | {"buffersize": 2})
    upstream = ([workers], [Edge(1, 2)])
    got = verdict(threads=1, doing={"results": 1.0}, loop={"waits_in": 0.9}, upstream=upstream)
    assert (got.kind, got.knob, got.value, got.gain) == ("buffersize", "buffersize", 16, 4)


def test_a_pool_that_took_long_to_fill():
    """The threads needed 6 of 10 s for all examples, and the consumer 4: they could have worked at once."""
    got = verdict(held_back=900, longest=0.6, alive=0.6, loop={"first_s": 6.0, "age_s": 10.0, "waits_in": 0.6})
    assert (got.stage, got.kind, got.knob, got.gain) == (3, "pool", "min_after_dequeue", pytest.approx(10 / 6))
    later = verdict(held_back=900, waits_out=0.5, loop={"first_s": 6.0, "age_s": 100.0})
    assert later.kind == "consumer"  # that was long ago


def test_a_pool_that_cannot_be_smaller_is_not_told_to_be():
    """Its first batch waited for something else, such as processes that started."""
    settings = {"num_threads": 4, "batch_size": 32}
    late = {"first_s": 6.0, "age_s": 10.0, "waits_in": 0.6, "settings": settings}
    kinds = [verdict(held_back=n, longest=0.6, alive=0.6, loop=late).kind for n in (1, 32, 33)]
    assert kinds[:2] == ["consumer", "consumer"]
    assert kinds[2] == "pool"


def test_a_pool_that_gains_nothing_is_not_told_to_be_smaller():
    """The threads worked all the time: the same examples would have taken as long."""
    got = verdict(held_back=900, loop={"first_s": 6.0, "age_s": 10.0, "waits_in": 0.6})
    assert got.knob != "min_after_dequeue"


def test_buckets_that_took_long_to_fill():
    settings = {"kind": "bucket_by_sequence_length", "num_threads": 1}
    got = verdict(longest=0.6, alive=0.6, loop={"first_s": 6.0, "age_s": 10.0, "waits_in": 0.6, "settings": settings})
    assert (got.stage, got.kind, got.knob) == (4, "buckets", "batch_size")


def test_nobody_watches():
    got = verdict(cpu=None, wanted=None, loop={"waits_in": 0.9})
    assert (got.kind, got.knob, got.gain) == ("function", "num_threads", None)
    assert "only `with pipeline.monitor():` can tell" in got.text


def test_nothing_has_come_yet():
    tank = Tank(STATS._replace(size=300), 1000, 0.0, 0.0, 1.0)
    for size, kind in ((300, "pool"), (0, "start")):
        full = Tank(tank.stats._replace(size=size), 1000, 0.0, 0.0, 1.0)
        stages = (Stage(1, "queue", "pool", tank=full), Stage(2, "loop", "pool", settings={}))
        (got,) = judge(Report(1.0, False, stages, (Edge(1, 2),), 4))
        assert (got.stage, got.kind, got.gain) == (1, kind, None)


def test_loops_that_have_not_begun_get_no_verdict():
    assert judge(Report(1.0, False, (Stage(1, "loop", "batch", "not started"),), (), 4)) == []
