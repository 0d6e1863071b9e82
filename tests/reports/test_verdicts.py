"""Verdicts on hand-made models: one cause, one advice, and the speed-up to expect.

Private names: the model, and the function that judges it.
"""

import itertools
from dataclasses import replace

import pytest

from pipeline import QueueStats
from pipeline.reports.model import Edge, Level, Stage, Tank
from pipeline.reports.report import Report
from pipeline.reports.verdict import judge

STATS = QueueStats(2, 0, False, 1000, 950, 2, 0, 0, 0.0, 0.0, 0.0, 0.0, 10.0, 0, 0)


def part(number, name, taken, kind="function", **more):
    more.setdefault("cpu", more.get("wanted"))
    settings = {"taken": taken, "in_workers": False, **more.pop("settings", {})}
    return Stage(number, kind, name, elements=950, rate=95.0, busy=taken, settings=settings, **more)


def prefetch(number, waits_out=0.0, waits_in=0.0, wanted=None, capacity=2):
    tank = Tank(STATS._replace(capacity=capacity), 0, 1.0, 0.0, 0.0, (Level(1.0, 1),))
    more = {"waits_in": waits_in, "waits_out": waits_out, "cpu": wanted, "wanted": wanted, "tank": tank}
    return Stage(number, "step", f"prefetch({capacity})", elements=950, **more)


def verdict(*stages, waits_in, lock=None, wanted=None, processors=4, seconds=10.0, **loop):
    """Return the verdict on some seconds of consecutive stages and a loop with this waiting time."""
    given = {"elements": 950, "first_s": 0.1, "age_s": seconds, **loop}
    given = {"cpu": wanted, "wanted": wanted, "busy": 1 - waits_in} | given
    last = Stage(99, "loop", "images", waits_in=waits_in, settings={"kind": "dataset"}, **given)
    chained = [*stages, last]
    edges = tuple(Edge(a.id, b.id) for a, b in itertools.pairwise(chained))
    (found,) = judge(Report(seconds, lock is not None, tuple(chained), edges, processors, lock))
    for sentence in (found.starved, found.cause, found.advice):
        assert not sentence or (sentence.endswith(".") and ". " not in sentence)
    assert found.text == " ".join(filter(None, (found.starved, found.cause, found.advice)))
    assert found.advice or found.kind == "start"
    return found


def test_your_loop():
    got = verdict(part(1, "decode", 0.04), waits_in=0.04)
    assert (got.kind, got.stage, got.knob) == ("consumer", 99, "consumer")
    assert got.text.startswith("Bottleneck: your loop (96% of the time).")
    assert got.gain is None


@pytest.mark.parametrize(("waits", "gain"), [(0.06, "1.1"), (0.2, "1.2")])
def test_your_loop_that_waits_for_its_own_thread(waits, gain):
    got = verdict(part(1, "prep", waits), waits_in=waits)
    assert (got.stage, got.knob, got.value, got.least) == (1, "prefetch", 2, 1.0)
    assert got.text == (
        f"Your loop takes {1 - waits:.0%} of the time, and waits {waits:.0%} for `prep`. Try `.prefetch(2)` at the "
        f"end: up to {gain} times as fast."
    )


@pytest.mark.parametrize(("room", "knob"), [(0.31, "prefetch"), (0.1, "consumer")])
def test_your_loop_that_seldom_waits_for_a_prefetch(room, knob):
    """It waits for a longer time than the prefetch covers."""
    got = verdict(part(1, "load", 0.69), prefetch(2, waits_in=0.17, waits_out=room, capacity=8), waits_in=0.17)
    assert got.knob == knob
    assert (got.advice == "Try `prefetch(16)`: up to 1.2 times as fast.") == (knob == "prefetch")


def test_a_starved_function_may_not_wait_for_io():
    """Its threads may as well wait for the GIL."""
    settings = {"in_workers": True, "made_by": "pipeline.threads"}
    got = verdict(
        part(1, "parse", 0.47, settings=settings, threads=8, wanted=1.5, cpu=0.9), waits_in=0.98, processors=2
    )
    assert "waiting for I/O" not in got.text
    assert got.advice == "Measure again while the processors are free."


@pytest.mark.parametrize("state", ["running", "ended"])
def test_no_example_so_far_and_none_at_all(state):
    nothing = replace(part(1, "decode", 0.1), elements=0)
    got = verdict(nothing, waits_in=0.9, elements=0, state=state)
    assert got.kind == "start"
    assert ("is empty" in got.text) == (state == "ended")


@pytest.mark.parametrize("made", [0, 1100])
def test_a_source_that_is_not_empty_though_no_batch_came(made):
    """A filter dropped all, or too few were left for a batch."""
    given = replace(part(1, "range", 0.0, "source"), elements=made), replace(part(2, "keep", 0.9), elements=0)
    got = verdict(*given, waits_in=0.9, elements=0, state="ended", dropped=0 if made else 7)
    assert got.text == "'images' gave nothing: a filter kept none, or too few were left for a batch."


@pytest.mark.parametrize(
    ("counts", "name"),
    [((0, 0, 0), "read"), ((4, 0, 0), "fetch"), ((4, 4, 0), "decode"), ((4, 4, 4), "read")],
    ids=["no input", "first function", "second function", "a batch is being filled"],
)
def test_the_step_at_work_before_the_first_example(counts, name):
    kinds = ("read", "source"), ("fetch", "function"), ("decode", "function")
    parts = [
        replace(part(number, each, 0.0, kind), elements=count)
        for number, ((each, kind), count) in enumerate(zip(kinds, counts, strict=True), 1)
    ]
    batch = replace(part(4, "batch(8)", 0.0, "step"), elements=0)
    got = verdict(*parts, batch, waits_in=0.0, elements=0, first_s=None)
    assert got.text == f"No example has arrived in 10 s: `{name}` is at work."
    assert got.kind == "start"


def test_a_function_in_your_own_thread():
    got = verdict(part(1, "read", 0.1, "source"), part(2, "decode", 0.8), waits_in=0.9)
    assert (got.kind, got.stage, got.knob, got.value) == ("function", 2, "workers", 4)
    assert (got.least, got.gain) == (1.0, pytest.approx(4))  # never more than the workers
    assert got.text == (
        "Bottleneck: `decode` (80% of the time). Try `workers=pipeline.processes(4)`: up to 4 times as fast "
        "(`workers=4` may do for NumPy and images)."
    )


def test_an_unknown_kind_of_work_promises_no_least_gain():
    """It computes, but without a monitor it is unknown whether it holds the GIL."""
    got = verdict(part(2, "decode", 0.9), waits_in=0.9, wanted=1.0, processors=2)
    assert (got.knob, got.value, got.least) == ("workers", 2, 1.0)
    assert "Try `workers=pipeline.processes(2)`: up to 2 times as fast (`workers=2` may do" in got.text


@pytest.mark.parametrize(
    ("before", "behind", "epochs", "stage", "value", "left"),
    [
        (0.2, 0.79, 1, 3, 4, 0.2),  # they work at the same time
        (0.2, 0.79, 5, 3, 4, 0.2 + 0.79 * 0.8 / 4),
        (0.6, 0.4, 1, 1, 2, 0.4),
        (0.6, 0.4, 5, 1, 8, 0.08 + 0.32),
        (0.6, 0.4, 50, 1, 4, 0.6 / 4 + 0.98 * 0.4),
    ],
)
def test_workers_before_and_behind_a_cache(before, behind, epochs, stage, value, left):
    """Only the first epoch works on both sides, so other work can overlap with later ones only behind the cache."""
    first, cache = part(1, "slow", before), part(2, "cache", 0.0, "step", settings={"call": "cache"})
    later = [replace(each, elements=950 * epochs) for each in (cache, part(3, "aug", behind))]
    got = verdict(first, *later, prefetch(4, waits_in=0.99, wanted=0.05), waits_in=0.99)
    assert (got.stage, got.value) == (stage, value)
    assert got.gain == pytest.approx(1 / left, rel=0.03)
    assert got.least == pytest.approx(0.75 * min(got.gain, value), rel=0.03)


@pytest.mark.parametrize(("epochs", "knob", "left"), [(1, "prefetch", 0.5), (4, "workers", 0.49)])
def test_a_prefetch_behind_a_cache(epochs, knob, left):
    """In the first epoch it makes examples while the loop works, in later ones there is nothing to make."""
    cache = replace(part(2, "cache", 0.0, "step", settings={"call": "cache"}), elements=950 * epochs)
    got = verdict(part(1, "load", 0.5), cache, waits_in=0.51, cpu=0.1, wanted=0.1)
    assert (got.stage, got.knob) == (1, knob)
    assert got.gain == pytest.approx(1 / left, rel=0.03)


@pytest.mark.parametrize("factory", ["pipeline.threads", "pipeline.processes"])
def test_workers_that_use_all_processors_while_they_fill_a_cache(factory):
    """In later epochs nothing is left for them, so over all epochs they use one processor."""
    settings = {"in_workers": True, "made_by": factory}
    first = part(1, "dec", 0.6, settings=settings, threads=2, cpu=1.1, wanted=1.18)
    later = [part(2, "cache", 0.07, "step", settings={"call": "cache"}), part(3, "flip", 0.3)]
    ahead = prefetch(4, waits_in=0.59, wanted=0.35)
    got = verdict(first, *(replace(each, elements=950 * 5) for each in (*later, ahead)), waits_in=0.59, processors=2)
    assert got.text == (
        "Bottleneck: `dec` (2 workers, 60% busy, computing); all 2 processors are used. To go faster, do less work per "
        "example."
    )


@pytest.mark.parametrize("cpu", [0.5, 0.58])
def test_threads_that_hold_the_gil_while_they_fill_a_cache(cpu):
    settings = {"in_workers": True, "made_by": "pipeline.threads"}
    first = part(1, "parse", 0.6, settings=settings, threads=2, cpu=cpu, wanted=0.62)
    cache = replace(part(2, "cache", 0.07, "step", settings={"call": "cache"}), elements=950 * 5)
    got = verdict(first, cache, prefetch(4, waits_in=0.59, wanted=0.35), waits_in=0.59, processors=2)
    assert got.advice.startswith("Try `workers=pipeline.processes(2)`")


def test_a_prefetch_is_not_too_small_because_of_a_cache():
    """Its thread is slower than the loop in the first epoch, and faster in later ones."""
    cache = replace(part(2, "cache", 0.0, "step", settings={"call": "cache"}), elements=950 * 4)
    got = verdict(part(1, "load", 0.6), cache, prefetch(3, waits_in=0.44, waits_out=0.39, wanted=0.1), waits_in=0.44)
    assert (got.stage, got.knob) == (1, "workers")


UNLESS = ", unless it waits for one lock, disk or server"


def test_a_function_that_waits():
    got = verdict(part(2, "decode", 0.9), waits_in=0.9, lock=0.1, wanted=0.1)
    assert got.text == (
        "Bottleneck: `decode` (90% of the time, waiting for I/O). Try `workers=4`: 3 to 4 times as fast, unless it "
        "waits for one lock, disk or server; if it helps, try 10 next."
    )
    assert (got.least, got.gain) == pytest.approx((3, 4 / 0.9))


def test_a_function_that_computes_and_holds_the_lock():
    got = verdict(part(2, "decode", 0.9), waits_in=0.9, lock=0.9, wanted=1.0)
    assert (got.knob, got.value) == ("workers", 4)
    assert "(90% of the time, computing). Try `workers=pipeline.processes(4)`: 2.2 to 4 times as fast." in got.text
    assert got.gain == pytest.approx(4)


BRIEF = (
    "To go faster, write `decode` for whole batches in NumPy: `.batch(n).map_batches(decode)` instead of "
    "`.map(decode).batch(n)`"
)
COLUMNS = "Read its columns with `pipeline.csv(path, names=[...])`: up to 4 times as fast; batches become dicts"


@pytest.mark.parametrize(("csv", "advice"), [(False, BRIEF), (True, COLUMNS)], ids=["other", "csv"])
def test_a_function_too_short_for_workers(csv, advice):
    lines = replace(part(1, "text", 0.1, "source", settings={"csv_lines": csv}), rate=100_000.0)
    got = verdict(lines, part(2, "decode", 0.8), prefetch(3, waits_in=0.9), waits_in=0.9)
    assert (got.kind, got.stage, got.knob, got.gain) == ("function", 2, None, pytest.approx(4 if csv else 10))
    assert got.cause == "Bottleneck: `decode` (80% of the time, 8 µs per example)."
    assert got.advice.startswith(advice)


@pytest.mark.parametrize(
    ("size", "consumer", "ahead", "least", "gain"),
    [
        (8, 0.0, True, 2, 10),
        (64, 0.0, True, 5, 30),
        (64, 0.1, True, 5, 10),  # the loop takes its time as before
        (64, 0.1, False, 1 / 0.28, 1 / 0.13),
    ],
)
def test_lines_of_csv_gain_more_in_larger_batches(size, consumer, ahead, least, gain):
    """Each batch costs `csv` about the same."""
    lines = replace(part(1, "text", 0.1, "source", settings={"csv_lines": True}), rate=100_000.0)
    batches = part(3, f"batch({size})", 0.0, "step", settings={"call": "batch"})
    tail = [prefetch(4, waits_in=1 - consumer)] if ahead else []
    got = verdict(lines, part(2, "decode", 0.8), batches, *tail, waits_in=1 - consumer)
    assert (got.least, got.gain) == (pytest.approx(least), pytest.approx(gain))


def test_a_filter_that_keeps_little_is_timed_by_what_it_takes():
    got = verdict(replace(part(1, "read", 0.1, "source"), rate=1e5), part(2, "few", 0.8), waits_in=0.9)
    assert "8 µs per example" in got.text


def test_a_function_of_batches_too_short_for_workers():
    settings = {"taken": 0.1, "unit": "batches"}
    batches = replace(part(1, "batch(8)", 0.1, "step", settings=settings), rate=100_000.0)
    got = verdict(batches, part(2, "scale", 0.8), waits_in=0.9)
    assert got.text.endswith("(80% of the time, 8 µs per batch). To go faster, make larger batches.")


@pytest.mark.parametrize(
    ("made_by", "workers"), [("pipeline.threads", "2"), ("pipeline.processes", "pipeline.processes(2)")]
)
def test_workers_of_a_function_too_short_for_them(made_by, workers):
    pooled = {"settings": {"in_workers": True, "made_by": made_by}, "threads": 2}
    decode = replace(part(1, "decode", 0.1, **pooled), rate=25_000.0)
    got = verdict(decode, waits_in=0.9)
    assert (got.knob, got.gain) == (None, None)
    assert got.text.endswith(
        f"(2 workers, 10% busy, 8 µs per example). {BRIEF.replace('map(decode)', f'map(decode, workers={workers})')}."
    )


def test_a_filter_is_not_told_to_map_batches():
    lines = replace(part(1, "read", 0.1, "source"), rate=100_000.0)
    got = verdict(lines, part(2, "keep", 0.8, settings={"call": "filter"}), waits_in=0.9)
    assert got.text.endswith("To go faster, filter whole batches (`.batch(n).map_batches(f).unbatch()`).")


def test_many_short_steps():
    """The advice is in the names and sizes of the program."""
    lines = replace(part(1, "range", 0.38, "source"), rate=1e6)
    tiny = part(3, "tiny", 0.23, settings={"call": "map"})
    got = verdict(lines, tiny, part(2, "batch(8)", 0.31, "step", settings={"call": "batch"}), waits_in=0.92)
    assert got.text == (
        "No step stands out: `range` 38%, `batch(8)` 31%, `tiny` 23%. To go faster, write `tiny` for whole batches in "
        "NumPy: `.batch(256).map_batches(tiny)` instead of `.map(tiny).batch(8)`: up to 1.3 times as fast."
    )
    assert (got.least, got.gain) == (1.0, pytest.approx(1 / 0.77))


@pytest.mark.parametrize(
    ("parses", "advice"),
    [
        ("loads", "Read the file with `pipeline.jsonl(path)`."),
        ("", "To go faster, do more per call, such as `.batch(8, collate=list).map_batches(words)`."),
    ],
)
def test_short_functions_of_text_are_not_written_in_numpy(parses, advice):
    lines = replace(part(1, "text", 0.1, "source", settings={"source": "text"}), rate=1e5)
    batch = part(3, "batch(8)", 0.1, "step", settings={"call": "batch"})
    assert verdict(lines, part(2, "words", 0.7, settings={"parses": parses}), batch, waits_in=0.9).advice == advice


@pytest.mark.parametrize("rate", [1e5, 1e3])
def test_examples_are_parsed_by_the_source(rate):
    records = replace(part(1, "tfrecord", 0.1, "source", settings={"source": "tfrecord"}), rate=rate)
    got = verdict(records, part(2, "decode", 0.8, settings={"parses": "parse_single_example"}), waits_in=0.9)
    assert got.advice == "Let the source parse them instead of `decode`: `pipeline.tfrecord(paths, features)`."


@pytest.mark.parametrize(("lock", "how"), [(0.1, ", waiting for I/O"), (0.95, "")])
def test_a_source_that_may_wait_for_the_lock_does_not_wait_for_io(lock, how):
    given = part(1, "read", 0.8, "source", settings={"source": "callable"})
    got = verdict(given, prefetch(2, waits_in=0.8, wanted=0.01), waits_in=0.8, lock=lock)
    assert got.cause == f"Bottleneck: `read` (80% of the time{how})."


def test_json_lines_beside_a_function_that_takes_longer():
    lines = replace(part(1, "text", 0.05, "source", settings={"source": "text"}), rate=1e5)
    loads, label = (
        replace(each, rate=1e5)
        for each in (part(2, "fields", 0.31, settings={"parses": "loads"}), part(3, "label", 0.33))
    )
    batch = part(4, "batch(8)", 0.25, "step", settings={"call": "batch"})
    got = verdict(lines, loads, replace(label, settings={**label.settings, "call": "map"}), batch, waits_in=0.94)
    assert got.advice == "Read the file with `pipeline.jsonl(path)`."


def test_a_step_that_waits_may_gain_more_than_its_workers():
    """Another step of its thread works at the same time."""
    got = verdict(part(1, "load", 0.25), part(2, "fetch", 0.75), waits_in=1.0, wanted=0.02)
    assert (got.value, got.gain) == (3, pytest.approx(4))
    assert got.least == pytest.approx(0.75 * 3)


@pytest.mark.parametrize(
    ("source", "advice"),
    [("callable", "let `read` yield arrays of many examples, and add `.unbatch()`."), ("iterable", "pass arrays")],
)
def test_short_examples_without_a_function(source, advice):
    lines = replace(part(1, "read", 0.45, "source", settings={"source": source}), rate=1e6)
    got = verdict(lines, part(2, "batch(8)", 0.45, "step", settings={"call": "batch"}), waits_in=0.92)
    assert got.advice.startswith(f"To go faster, {advice}")


@pytest.mark.parametrize(
    ("reads", "end"),
    [(True, "reads this file."), (False, "goes; larger batches")],
    ids=["file", "memory"],
)
def test_many_compiled_steps(reads, end):
    lines = part(1, "csv", 0.44, "source", settings={"source": "csv", "reads_files": reads})
    got = verdict(lines, part(2, "shuffle(9)", 0.43, "step"), part(3, "batch(8)", 0.1, "step"), waits_in=0.97)
    assert f" one thread {end}" in got.advice
    assert got.text.startswith(
        "No step stands out, and all are compiled: `csv` 44%, `shuffle(9)` 43%, `batch(8)` 10%. This is about as fast "
        "as one thread "
    )


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"fields": 1}, "It is compiled; to go faster, make examples smaller before it."),
        ({"fields": 2}, "It is compiled; to go faster, drop unused fields before it."),
        (
            {"fields": 1, "converts": True},
            "It converts Python lists or numbers; to go faster, return arrays from `parse`.",
        ),
    ],
)
def test_a_batch_that_takes_most_of_the_time(settings, advice):
    """The filter before it returns no examples of its own."""
    steps = part(1, "parse", 0.2, settings={"call": "map"}), part(2, "keep", 0.1, settings={"call": "filter"})
    got = verdict(*steps, part(3, "batch(9)", 0.7, "step", settings={"call": "batch", **settings}), waits_in=1.0)
    assert (got.stage, got.advice) == (3, advice)


@pytest.mark.parametrize("functions", [False, True])
def test_only_functions_do_less_work(functions):
    given = part(1, "sort(9)", 0.97, "step", settings={"functions": functions, "fields": 2})
    got = verdict(given, prefetch(2, waits_in=0.97, wanted=0.1), waits_in=0.97)
    how = ", waiting for I/O" if functions else ""  # this library's steps never wait for it
    helps = "To go faster, do less work per example." if functions else "It is compiled; to go faster, drop unused "
    assert got.text.startswith(f"Bottleneck: `sort(9)` (97% of the time{how}). {helps}")


def test_a_users_source_that_workers_cannot_speed_up():
    given = replace(part(1, "read", 0.8, "source", settings={"source": "callable"}), rate=1e5)
    got = verdict(given, prefetch(2, waits_in=0.8), waits_in=0.95)
    assert "(80% of the time, 8 µs per example). To go faster, let `read` yield arrays of many examples" in got.text


def test_a_slow_collate():
    settings = {"call": "batch", "functions": True, "collate": "stack"}
    got = verdict(part(1, "batch(8)", 0.95, "step", settings=settings), waits_in=0.95, lock=0.1, wanted=0.1)
    assert (got.knob, got.value) == ("workers", 4)
    assert "Try `.batch(8, collate=list).map_batches(stack, workers=4)`: up to 4 times as fast." in got.text


THREADS = {"in_workers": True, "made_by": "pipeline.threads"}


def pooled(number, name, taken, busy, **more):
    return replace(part(number, name, taken, settings=THREADS, threads=4, wanted=0.1, **more), busy=busy)


@pytest.mark.parametrize("split", [False, True], ids=["one thread", "prefetch between"])
def test_workers_that_are_always_busy_before_a_slower_looking_step(split):
    """The next-busiest step bounds the gain."""
    first, last = pooled(1, "load", 0.39, 0.99), part(3, "crop", 0.6)
    between = [prefetch(2, waits_in=0.39)] if split else []
    got = verdict(first, *between, last, waits_in=0.99)
    assert (got.stage, got.knob, got.value) == (1, "workers", 7)
    assert got.gain == pytest.approx(1 / 0.61, rel=0.01)
    assert got.text.endswith(
        "`load` (4 workers, 99% busy, waiting for I/O). Try `workers=7`: up to 1.6 times as fast, unless they wait for "
        "one lock, disk or server."
    )


def test_a_thread_that_reads_ahead_without_a_pause():
    got = verdict(part(1, "load", 0.99), prefetch(2, waits_in=0.39), part(3, "crop", 0.6), waits_in=0.99)
    assert got.stage == 1


def test_workers_that_wait_for_busy_ones():
    got = verdict(pooled(1, "load", 0.3, 0.99), pooled(2, "crop", 0.69, 0.27), waits_in=0.99)
    assert (got.stage, got.value) == (1, 15)
    assert "ordered=False" not in got.text


def test_processes_that_wait_may_be_threads():
    settings = THREADS | {"made_by": "pipeline.processes"}
    got = verdict(replace(pooled(1, "load", 0.99, 0.99), settings=settings | {"taken": 0.99}), waits_in=0.99)
    assert "Try `workers=16`: up to 4 times as fast" in got.text
    assert got.text.endswith("; threads suffice, as it waits.")


def test_no_more_than_64_workers():
    got = verdict(replace(pooled(1, "load", 0.99, 0.99), threads=32), waits_in=0.99)
    assert (got.value, got.gain) == (64, pytest.approx(2, rel=0.1))
    got = verdict(replace(pooled(1, "load", 0.99, 0.99), threads=64), waits_in=0.99)
    assert (got.value, got.gain) == (None, None)


def test_a_run_that_other_programs_starve_gets_no_promise():
    begins = "Other programs took processor time: your threads waited 1.0 s per second for it. Bottleneck: "
    got = verdict(part(2, "decode", 0.9, wanted=1.2, cpu=0.2), waits_in=0.9, lock=0.1)
    assert got.text == f"{begins}`decode` (90% of the time). Measure again while the processors are free."
    assert (got.knob, got.gain, got.least) == (None, None, None)
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2, "wanted": 0.1}
    other = part(1, "read", 0.1, "source", wanted=1.1, cpu=0.1)
    got = verdict(other, part(2, "decode", 0.8, **pooled), waits_in=0.9)
    assert got.text == f"{begins}`decode` (2 workers, 80% busy, waiting for I/O). Try `workers=9`."
    assert (got.knob, got.gain, got.least) == ("workers", None, None)


@pytest.mark.parametrize(
    ("others", "value", "more"), [(0.15, 6, ""), (0.12, 8, ""), (0.1, 4, "; if it helps, try 9 next")]
)
def test_slightly_more_workers_are_advised_at_once_if_they_suffice(others, value, more):
    got = verdict(part(1, "read", others, "source"), part(2, "load", 1 - others), waits_in=1.0, wanted=0.01)
    assert got.value == value
    assert got.advice.endswith(f"{UNLESS}{more}.")


def test_a_starved_short_function_keeps_its_advice_without_a_promise():
    """Its calls are no shorter on a machine that is free."""
    lines = replace(part(1, "text", 0.1, "source", settings={"csv_lines": True}), rate=100_000.0)
    got = verdict(lines, part(2, "decode", 0.8, wanted=1.2, cpu=0.5), waits_in=0.9)
    assert got.text.endswith("µs per example). Read its columns with `pipeline.csv(path, names=[...])`.")
    assert got.starved
    assert (got.gain, got.least) == (None, None)


def test_a_starved_compiled_step_keeps_its_advice():
    ahead = prefetch(2, waits_in=0.97, wanted=2.0)
    got = verdict(
        part(1, "unbatch", 0.97, "step", settings={"call": "unbatch"}), replace(ahead, cpu=0.9), waits_in=0.97
    )
    assert got.starved
    assert got.advice == "It is compiled; to go faster, leave out `unbatch` if the batches fit."
    shared = part(1, "csv", 0.44, "source", settings={"source": "csv"}), part(2, "shuffle(9)", 0.43, "step")
    got = verdict(*shared, replace(ahead, cpu=0.9), waits_in=0.97)
    assert got.starved
    assert got.advice.startswith("This is about as fast as one thread goes")


def test_short_functions_beside_a_loop_that_takes_longer_are_read_ahead():
    """Whole batches gain no more, and are more work to write."""
    short = replace(part(1, "f", 0.26), rate=13_000.0)
    got = verdict(short, waits_in=0.26)
    assert got.text == (
        "Your loop takes 74% of the time, and waits 26% for `f`. Try `.prefetch(2)` at the end: up to 1.4 times as "
        "fast."
    )


def test_a_starved_function_that_hardly_computes_waits():
    """Each wait ends with another one, for a processor."""
    settings = {"in_workers": True, "made_by": "pipeline.threads"}
    given = part(1, "decode", 0.98, settings=settings, threads=2, wanted=0.9, cpu=0.03)
    got = verdict(given, waits_in=0.98, processors=2)
    assert got.text.endswith("`decode` (2 workers, 98% busy, waiting for I/O). Try `workers=8`.")
    assert (got.knob, got.value, got.gain) == ("workers", 8, None)


def test_a_function_that_computes_and_is_starved_is_measured_again():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.processes"}, "threads": 2}
    got = verdict(part(1, "decode", 0.98, **pooled, wanted=2.0, cpu=0.9), waits_in=0.98, processors=2)
    assert got.text.endswith("`decode` (2 workers, 98% busy). Measure again while the processors are free.")
    assert (got.knob, got.value, got.gain) == (None, None, None)


def test_more_threads_than_processors_starve_nobody():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.processes"}, "threads": 8}
    got = verdict(part(1, "decode", 0.98, **pooled, wanted=8.0, cpu=2.0), waits_in=0.98, processors=2)
    assert got.text.endswith("computing); all 2 processors are used. To go faster, do less work per example.")


def test_a_slow_source_that_takes_workers():
    settings = {"taken": 0.9, "takes_workers": "pipeline.dataset"}
    got = verdict(part(2, "Squares", 0.9, "source", settings=settings), waits_in=0.9, lock=0.1, wanted=0.1)
    assert (got.kind, got.knob, got.value) == ("source", "workers", 4)
    assert f"Try `pipeline.dataset(..., workers=4)`: 3 to 4 times as fast{UNLESS}; " in got.text


def test_nothing_is_said_of_less_than_half_a_processor():
    pooled = {
        "settings": {"in_workers": True, "made_by": "pipeline.processes"},
        "threads": 4,
        "wanted": 3.4,
        "cpu": 3.4,
    }
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=0.0)
    assert got.text.endswith("computing). To go faster, do less work per example.")


def test_a_function_that_computes_and_leaves_the_lock():
    got = verdict(part(2, "decode", 0.9), waits_in=0.9, lock=0.1, wanted=1.0)
    assert "computing). Try `workers=4`" in got.text


def test_work_that_fits_beside_your_loop():
    got = verdict(part(1, "batch(8)", 0.4, "step"), waits_in=0.4)
    assert (got.knob, got.value, got.gain) == ("prefetch", 2, pytest.approx(1 / 0.6))
    assert got.text == (
        "Your loop takes 60% of the time, and waits 40% for `batch(8)`. Try `.prefetch(2)` at the end: up to 1.7 times "
        "as fast."
    )
    assert got.least == 1.0


def test_a_function_behind_prefetch():
    got = verdict(part(1, "decode", 0.95), prefetch(2, waits_in=0.95), waits_in=0.95)
    assert (got.stage, got.knob, got.value) == (1, "workers", 4)
    assert "`workers=pipeline.processes(4)`: up to 4 times as fast " in got.text


def test_a_source_behind_prefetch():
    given = part(1, "read", 0.95, "source", settings={"source": "callable"})
    got = verdict(given, prefetch(2, waits_in=0.95, wanted=0.1), waits_in=0.95)
    assert (got.kind, got.stage, got.knob, got.value) == ("source", 1, "workers", 4)
    assert got.text.endswith("waiting for I/O). Move its slow part into `.map(..., workers=4)`: up to 4 times as fast.")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (0.1, "waiting for I/O). Faster storage or a local copy of its files would help."),
        (1.0, "computing). Try Parquet."),
    ],
    ids=["waits", "computes"],
)
def test_a_source_of_files(wanted, said):
    given = part(1, "csv", 0.95, "source", settings={"source": "csv", "lighter": "Try Parquet"})
    got = verdict(given, prefetch(2, waits_in=0.95, wanted=wanted), waits_in=0.95)
    assert (got.kind, got.stage, got.knob) == ("source", 1, None)
    assert got.text.endswith(said)


def test_a_prefetch_that_is_too_small():
    got = verdict(part(1, "decode", 0.5), prefetch(2, waits_out=0.5, waits_in=0.5), waits_in=0.5)
    assert (got.kind, got.knob, got.value) == ("prefetch", "prefetch", 8)
    assert got.text == (
        "Bottleneck: `prefetch(2)` is too small: your loop waited for it 50% of the time, and it was full 50% of the "
        "time. Try `prefetch(8)`: up to 2 times as fast."
    )


@pytest.mark.parametrize(("waits_in", "waits_out"), [(0.99, 0.0), (0.55, 0.45)], ids=["empty", "in turns"])
def test_a_prefetch_is_not_to_blame_for_busy_processes(waits_in, waits_out):
    processes = {"in_workers": True, "made_by": "pipeline.processes", "taken": 0.4}
    busy = Stage(1, "function", "tok", elements=950, rate=80_000.0, busy=0.89, threads=2, cpu=1.7, settings=processes)
    small = replace(prefetch(2, waits_out=waits_out, waits_in=waits_in), rate=1280.0)
    got = verdict(busy, replace(small, cpu=0.2, wanted=0.2), waits_in=waits_in, processors=2)
    assert got.cause.startswith("Bottleneck: `tok` (2 workers, 89% busy")
    assert got.knob is None


def test_a_prefetch_with_small_batches_costs_more_than_it_gains():
    """Waiting 98% of the time and having no room 36% of it is waiting for the GIL."""
    small = replace(prefetch(2, waits_out=0.36, waits_in=0.98), rate=20_000.0)
    got = verdict(part(1, "add", 0.3), small, waits_in=0.98)
    assert (got.kind, got.knob, got.value, got.gain) == ("prefetch", "prefetch", None, None)
    assert got.text.endswith(
        "as the batches are too small for a thread of their own. Leave out `.prefetch(2)`, or make larger batches."
    )


@pytest.mark.parametrize(("longest", "value"), [(0.2, 16), (0.01, 8), (2.0, 64)])
def test_a_prefetch_is_as_deep_as_the_longest_call_needs(longest, value):
    """A loop that takes 12.5 ms per batch takes 16 during one of 0.2 s."""
    unequal = part(1, "load", 0.5, settings={"longest_s": longest})
    ahead = replace(prefetch(2, waits_out=0.4, waits_in=0.5, capacity=1), rate=40.0)
    got = verdict(unequal, ahead, waits_in=0.5)
    assert (got.knob, got.value) == ("prefetch", value)


@pytest.mark.parametrize("empty", [0.02, 0.98])
def test_a_prefetch_is_not_too_small_if_its_loop_waits_for_the_gil(empty):
    """Its loop waits 97% of the time, though there is a batch."""
    got = verdict(part(1, "parse", 0.6), prefetch(2, waits_out=0.29, waits_in=empty), waits_in=0.97)
    assert (got.kind, got.stage) == ("function", 1)


def test_a_prefetch_is_not_too_small_if_its_thread_waits_for_the_gil():
    workers = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2, "wanted": 1.0}
    got = verdict(part(1, "parse", 0.6, **workers), prefetch(2, waits_out=0.36, waits_in=0.98), waits_in=0.98)
    assert (got.kind, got.stage, got.knob, got.value) == ("function", 1, "workers", 4)
    assert "; its 2 threads take turns at Python's lock (GIL). Try `workers=pipeline.processes(4)`" in got.text


def test_threads_that_share_the_gil_with_your_loop_get_processes():
    """Together they use one processor: neither more threads nor a prefetch would help."""
    workers = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2, "wanted": 0.45}
    got = verdict(part(1, "parse", 0.6, **workers), waits_in=0.5, wanted=0.5, processors=2)
    assert got.text.startswith("Bottleneck: `parse` (2 workers, 60% busy, computing); its 2 threads take turns at ")
    assert (got.knob, got.value) == ("workers", 2)


@pytest.mark.parametrize("lock", [None, 0.97])
@pytest.mark.parametrize(
    ("busy", "cpu", "room", "waits", "loop"), [(0.68, 0.91, 0.01, 0.99, 0.02), (0.65, 0.72, 0.5, 0.5, 0.24)]
)
def test_threads_that_hold_the_gil_before_a_step_that_seems_slower(lock, busy, cpu, room, waits, loop):
    """The thread that reads ahead waits for the GIL wherever it is, and so does the loop."""
    tokens = replace(crew(1, "tokens", busy, 2, 0.07), cpu=cpu, wanted=cpu + 0.05)
    ahead = prefetch(3, waits_out=room, waits_in=waits, wanted=0.05)
    got = verdict(tokens, part(2, "batch(64)", 0.15, "step"), ahead, waits_in=waits, lock=lock, wanted=loop)
    assert got.stage == 1
    assert "; its 2 threads take turns at Python's lock (GIL). Try `workers=pipeline.processes(" in got.text


@pytest.mark.parametrize("cpu", [None, 0.4], ids=["no clocks", "less than all of the time"])
def test_a_thread_that_hardly_works_does_not_make_a_small_step_the_bottleneck(cpu):
    given = part(1, "range", 0.01, "source", settings={"source": "iterable"}), crew(2, "tokens", 0.68, 2, 0.07)
    tokens, ahead = replace(given[1], cpu=cpu, wanted=cpu), prefetch(4, waits_out=0.01, waits_in=0.99, wanted=cpu)
    got = verdict(given[0], tokens, part(3, "batch(64)", 0.15, "step"), ahead, waits_in=0.99)
    assert (got.stage, got.knob, got.least) == (2, "workers", 1.0)


def test_threads_that_compute_without_the_gil_before_a_prefetch_that_is_too_small():
    """They use about one processor, but never wait for more."""
    numbers = replace(crew(1, "numbers", 0.5, 2, 0.4), cpu=0.95, wanted=0.95)
    got = verdict(numbers, prefetch(2, waits_out=0.4, waits_in=0.5, wanted=0.01), waits_in=0.5, wanted=0.01)
    assert got.knob == "prefetch"


def test_a_loop_that_seldom_waits_for_a_function_that_is_always_busy():
    ahead = prefetch(2, waits_in=0.16, waits_out=0.02, wanted=0.01)
    got = verdict(part(1, "load", 0.98), ahead, waits_in=0.16, wanted=0.01)
    assert (got.stage, got.knob, got.value) == (1, "workers", 2)
    assert got.gain == pytest.approx(1 / 0.84)
    got = verdict(part(1, "load", 0.98), ahead, waits_in=0.07, wanted=0.01)
    assert got.kind == "consumer"


@pytest.mark.parametrize("lock", [None, 1.0])
def test_a_loop_that_waits_for_the_gil_held_by_a_function_in_a_prefetch(lock):
    """It seems to work all the time, as it waits after each sleep; how long it needs is unknown."""
    ahead = prefetch(2, waits_in=0.02, waits_out=0.02, wanted=0.98)
    got = verdict(part(1, "tokens", 0.96), ahead, waits_in=0.02, wanted=0.02, lock=lock, processors=2)
    assert got.text == (
        "Bottleneck: `tokens` (96% of the time, computing). Try `workers=pipeline.processes(2)`: up to 2 times as fast."
    )


def test_a_loop_that_waits_for_the_gil_held_by_two_functions_in_a_prefetch():
    ahead = prefetch(3, waits_in=0.02, waits_out=0.02, wanted=0.98)
    got = verdict(part(1, "clean", 0.4), part(2, "tokens", 0.55), ahead, waits_in=0.02, wanted=0.02, processors=2)
    assert got.text == (
        "Bottleneck: `tokens` (55% of the time, computing). Try `workers=pipeline.processes(2)`: up to 2 times as fast."
    )


@pytest.mark.parametrize(
    ("busy", "cpu", "loop", "lock"),
    [(0.85, 0.86, 0.01, None), (0.96, 0.98, 0.9, None), (0.96, 0.1, 0.02, None), (0.96, 0.98, 0.02, 0.3)],
    ids=["waits for room", "two processors", "waits for I/O", "releases the GIL"],
)
def test_a_loop_that_works_beside_a_function_in_a_prefetch(busy, cpu, loop, lock):
    ahead = prefetch(2, waits_in=0.02, waits_out=0.98 - busy, wanted=cpu)
    got = verdict(part(1, "tokens", busy), ahead, waits_in=0.02, wanted=loop, lock=lock, processors=2)
    assert got.kind == "consumer"


def test_workers_that_are_busy():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2}
    got = verdict(part(1, "decode", 0.9, **pooled), waits_in=0.9)  # `busy` means the same as `taken` here
    assert (got.knob, got.value) == ("workers", 8)
    assert got.text.endswith("`decode` (2 workers, 90% busy). Try `workers=8`: up to 4 times as fast.")
    assert (got.least, got.gain) == (1.0, pytest.approx(4))


@pytest.mark.parametrize("threads", [2, 4])
def test_busy_threads_that_hold_the_lock_get_processes_one_per_processor(threads):
    """They wait for the GIL, not for I/O, and together keep one processor busy."""
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": threads, "wanted": 1.0}
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=0.99, processors=2)
    assert (got.knob, got.value, got.gain) == ("workers", 2, pytest.approx(2))
    assert got.text.endswith(
        f"computing); its {threads} threads take turns at Python's lock (GIL). Try `workers=pipeline.processes(2)`: up "
        "to 2 times as fast."
    )
    got = verdict(part(1, "decode", 0.3, **pooled), waits_in=0.98, lock=0.99, processors=2)
    assert "`workers=pipeline.processes(2)`" in got.text  # though they are seldom at work
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=0.99, processors=1)
    assert (got.knob, got.gain) == (None, None)
    assert "the only processor is used" in got.text


def test_busy_threads_where_another_thread_holds_the_lock():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2, "wanted": 0.1}
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=0.95)
    assert (got.knob, got.gain) == (None, None)
    assert "98% busy); the GIL is held 95% of the time." in got.text  # it waits for the GIL rather than for I/O


@pytest.mark.parametrize(("processors", "lock", "most"), [(2, 0.1, 2.5), (4, 0.1, 4), (4, 0.4, 2.5)])
def test_no_more_than_processors_and_the_lock_allow(processors, lock, most):
    """The threads use 0.8 of one processor, between their waits."""
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2, "wanted": 0.8}
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=lock, processors=processors)
    assert got.gain == pytest.approx(most)
    assert f"waiting for I/O). Try `workers=8`: up to {most} times as fast, unless they wait for one lock" in got.text


def test_busy_processes_of_which_it_is_not_known_whether_they_compute():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.processes"}, "threads": 2}
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, processors=2)
    assert (got.least, got.gain) == (1.0, pytest.approx(4))
    assert got.text.endswith("Try `workers=pipeline.processes(8)`: up to 4 times as fast.")


def test_busy_processes_get_no_more_of_them_than_there_are_processors():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.processes"}, "threads": 2, "wanted": 2.0}
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=0.0)
    assert "Try `workers=pipeline.processes(4)`" in got.text
    pooled["threads"], pooled["wanted"] = 4, 4.0
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=0.0)
    assert "all 4 processors are used" in got.text


def test_workers_whose_results_take_long():
    """Threads' results take no time: idle threads wait for one of them."""
    settings = {"in_workers": True, "made_by": "pipeline.processes", "moved": (1_000, 10**9)}
    pooled = {"settings": settings, "threads": 2}
    got = verdict(part(1, "decode", 0.4, **pooled), waits_in=0.95)
    assert got.text == (
        "Bottleneck: copying the results of `decode` (2 workers, 40% busy; 1.1 MB at a time). Return less, such as "
        "smaller dtypes, or leave out `workers=`."
    )
    settings["made_by"] = "pipeline.threads"
    got = verdict(part(1, "decode", 0.4, **pooled), waits_in=0.95)
    assert got.text.endswith("as examples take unequal time. If any order will do, pass `ordered=False`.")


@pytest.mark.parametrize("workers", [2, 8])
@pytest.mark.parametrize("copied", [3 * 10**10, 10**9], ids=["large", "small"])
def test_a_batch_that_copies_the_results_of_processes(workers, copied):
    """Their arrays are in shared memory. One thread would take too long for the work of eight processes."""
    settings = {"in_workers": True, "made_by": "pipeline.processes", "moved": (1_000, copied)}
    big = part(1, "decode", 0.18, settings=settings, threads=workers)
    batch = part(2, "batch(9)", 0.8, "step", settings={"call": "batch"})
    got = verdict(replace(big, busy=0.3), batch, waits_in=0.98)
    assert (got.stage == 1) == ("copying the results of `decode`" in got.text) == (copied > 10**10)
    assert got.text.endswith("or leave out `workers=`.") == (got.stage == 1 and workers == 2)


def test_short_calls_whose_inputs_take_long():
    settings = {"in_workers": True, "made_by": "pipeline.processes", "moved": (10**8, 1_000)}
    short = replace(part(1, "decode", 0.4, settings=settings, threads=2), rate=650.0)
    assert "sending inputs to `decode` (2 workers, 40% busy; 105 kB at a time)" in verdict(short, waits_in=0.95).text


def test_processes_that_wait_for_the_slowest():
    settings = {"in_workers": True, "made_by": "pipeline.processes", "moved": (1_000, 1_000)}
    got = verdict(part(1, "decode", 0.4, settings=settings, threads=2), waits_in=0.95)
    assert got.text.endswith("as examples take unequal time. If any order will do, pass `ordered=False`.")


def test_workers_whose_inputs_take_long():
    settings = {"in_workers": True, "made_by": "pipeline.processes", "moved": (10**9, 1_000)}
    given = replace(part(1, "decode", 0.45, settings=settings, threads=2), busy=0.07)
    source = part(2, "read", 0.5, "source", settings={"source": "callable"}, wanted=1.7, cpu=0.1)
    for stages in ([given], [source, given]):  # also on a busy machine, and behind a source that takes longer
        got = verdict(*stages, waits_in=0.95)
        assert got.text.removeprefix(got.starved).lstrip() == (
            "Bottleneck: sending inputs to `decode` (2 workers, 7% busy; 1.1 MB at a time). Send less, such as file "
            "names, or leave out `workers=`."
        )
    assert got.starved


def test_unequal_examples_on_a_busy_machine():
    """Idle workers are as idle on a machine that is free."""
    other = part(2, "read", 0.1, "source", wanted=1.7, cpu=0.1)
    got = verdict(other, crew(1, "load", 0.23, workers=16, taken=0.85), waits_in=0.95)
    assert got.starved
    assert got.advice == "If any order will do, pass `ordered=False`."


def test_threads_that_hold_the_lock_on_a_busy_machine():
    pooled = {"settings": THREADS, "threads": 4, "wanted": 2.0, "cpu": 0.9}
    got = verdict(part(1, "parse", 0.98, **pooled), waits_in=0.98, lock=0.95, processors=2)
    assert got.starved
    assert got.advice == "Try `workers=pipeline.processes(2)`."


def test_two_functions_that_wait_get_more_workers_at_once():
    first, last = crew(1, "load", 0.98, taken=0.1), crew(2, "augment", 0.97)
    got = verdict(first, last, prefetch(3, waits_in=0.99, wanted=0.01), waits_in=0.99, lock=0.1)
    assert (got.stage, got.knob, got.value) == (1, "workers", 16)
    assert got.text == (
        "Bottleneck: `load` and `augment` (4 workers each, 98% and 97% busy, waiting for I/O). Try `workers=16` for "
        "both: up to 4 times as fast, unless they wait for one lock, disk or server."
    )


def test_a_prefetch_that_takes_longer_than_all_steps():
    """In one thread they would take 79% of the time, also on a busy machine."""
    ahead = replace(prefetch(3, waits_in=0.84, waits_out=0.1), rate=32_000.0, cpu=0.5, wanted=1.1)
    got = verdict(part(1, "arrays", 0.2, "source"), part(2, "shuffle(9)", 0.5, "step"), ahead, waits_in=0.93)
    assert got.starved
    assert got.advice == "Leave out `.prefetch(2)`, or make larger batches."


@pytest.mark.parametrize(("idle", "least"), [(None, 2.25), (2.5, 2.25), (1.0, 1.0)])
def test_other_programs_that_use_the_other_processors_void_the_least_gain(idle, least):
    """Though the threads did not wait for their one processor."""
    loop = Stage(9, "loop", "images", elements=950, waits_in=0.98, busy=0.02, cpu=1.0, wanted=1.0, age_s=10.0)
    stages = part(1, "decode", 0.98), loop
    (got,) = judge(Report(10.0, True, stages, (Edge(1, 9),), 4, 0.95, idle=idle))
    assert (got.value, got.gain) == (4, pytest.approx(4))
    assert got.least == pytest.approx(least, rel=0.1)


def test_threads_that_waited_for_processors_promise_no_least_gain():
    got = verdict(part(2, "decode", 0.9), waits_in=0.9, lock=0.9, wanted=1.0)
    assert got.least > 1
    got = verdict(part(2, "decode", 0.9, wanted=0.4, cpu=0.1), waits_in=0.9, lock=0.9, wanted=1.0)
    assert not got.starved
    assert (got.least, got.value) == (1.0, 4)
    assert ": up to 4 times as fast" in got.text
    got = verdict(part(2, "fetch", 0.9, wanted=0.04, cpu=0.03), waits_in=0.9, lock=0.1, wanted=0.05)
    assert got.least == pytest.approx(3)  # it needs no processor


def test_a_source_of_text_that_computes():
    given = part(1, "jsonl", 0.95, "source", settings={"source": "jsonl", "lighter": "Try Parquet"})
    got = verdict(given, prefetch(2, waits_in=0.95, wanted=1.0), waits_in=0.95)
    assert got.advice == "Try Parquet."


def test_a_function_of_whole_batches_is_not_told_to_become_one():
    batches = part(2, "batch(32)", 0.35, "step", settings={"unit": "batches", "call": "batch"})
    scale = replace(part(3, "scale", 0.22, settings={"call": "map"}), rate=1e5)
    numbers = replace(part(1, "range", 0.23, "source", settings={"source": "iterable"}), rate=1e6)
    got = verdict(numbers, replace(batches, rate=1e5), scale, waits_in=0.93)
    assert got.advice == "To go faster, start from an array: `pipeline.dataset(np.arange(n))`."


def test_unbatch_is_not_told_to_drop_fields():
    given = part(1, "unbatch", 0.97, "step", settings={"call": "unbatch"})
    got = verdict(given, prefetch(2, waits_in=0.97, wanted=0.1), waits_in=0.97)
    assert got.advice == "It is compiled; to go faster, leave out `unbatch` if the batches fit."


@pytest.mark.parametrize(("seconds", "said"), [(5.0, "Let it run for 10 s or more"), (30.0, "found no better number")])
def test_workers_that_change_their_number_themselves(seconds, said):
    """The number is still being searched, so none can be suggested."""
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads", "auto": True}, "threads": 1}
    got = verdict(part(1, "decode", 0.9, **pooled), waits_in=0.9, seconds=seconds)
    assert (got.kind, got.knob, got.value, got.gain) == ("function", None, None, None)
    assert got.cause.startswith("Bottleneck: `decode` (1 worker, 90% busy)")
    assert '`workers="auto"` ' in got.text
    assert said in got.text


def test_workers_that_idle_while_your_loop_works():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2}
    got = verdict(part(1, "decode", 0.5, **pooled), waits_in=0.5)
    assert (got.knob, got.value) == ("prefetch", 2)


def test_a_file_whose_parsing_computes():
    ahead = prefetch(3, waits_in=1.0, wanted=1.0)
    got = verdict(replace(part(1, "jsonl", 0.6, "source"), rate=30_000.0), ahead, waits_in=0.98)
    assert got.cause == "Bottleneck: `jsonl` (60% of the time, computing)."


def test_a_pool_that_fills():
    stages = part(1, "read", 0.7, "source"), part(2, "shuffle(1,000)", 0.1, "step")
    got = verdict(*stages, waits_in=0.8, first_s=8.0)
    assert (got.kind, got.stage, got.knob) == ("pool", 2, "buffer_size")


def test_busy_workers_while_a_pool_fills():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 4, "wanted": 1.0}
    stages = part(1, "decode", 0.85, **pooled), part(2, "shuffle(1,000)", 0.02, "step"), prefetch(3, waits_in=1.0)
    got = verdict(*stages, waits_in=1.0, first_s=10.0, processors=16)
    assert (got.kind, got.stage) == ("function", 1)
    assert got.cause.startswith("Bottleneck: `decode` (4 workers, 85% busy")


def test_a_slow_source_while_a_pool_fills():
    stages = part(1, "read", 0.9, "source", settings={"source": "callable"}), part(2, "shuffle(1,000)", 0.1, "step")
    got = verdict(*stages, waits_in=1.0, first_s=8.0)
    assert (got.kind, got.stage, got.knob) == ("source", 1, "workers")


def test_a_queue_that_others_fill_too_slowly():
    live = Stage(1, "queue", "live", waits_in=0.9, tank=Tank(STATS, 0, 1.0, 0.0, 0.9), settings={"capacity": 2})
    got = verdict(live, part(2, "doubled", 0.1), waits_in=0.9)
    assert got.text == (
        "Bottleneck: the code that fills queue 'live': 90% of the time was spent waiting for it. Let more threads "
        "fill it."
    )


def crew(number, name, busy, workers=4, taken=0.9):
    return replace(pooled(number, name, taken, busy), threads=workers)


def test_workers_behind_the_workers_of_a_light_step():
    """More workers for the slow step would gain nothing."""
    got = verdict(crew(1, "light", 0.01, taken=0.0), crew(2, "slow", 0.6), waits_in=0.95)
    assert (got.stage, got.knob, got.value, got.least) == (2, "workers", None, 1.0)
    assert got.text.endswith(
        "`slow` (4 workers, 60% busy, waiting for I/O); they wait for the workers of `light`. Leave out `workers=` of "
        "`light`: up to 1.7 times as fast."
    )
    got = verdict(crew(1, "light", 0.01, taken=0.0), crew(2, "slow", 0.92), waits_in=0.95)
    assert "`workers=16`" in got.text


def test_workers_behind_the_workers_of_a_step_that_works():
    """Your thread alone could not do its work."""
    got = verdict(crew(1, "load", 0.7), crew(2, "crop", 0.8), waits_in=0.95)
    assert got.advice == "Try one function for both, with `workers=8`."


def test_processes_behind_one_that_computes():
    """Your thread would do the first one's work in turn with the loop's."""
    settings = {"in_workers": True, "made_by": "pipeline.processes"}
    both = [
        replace(part(n, "mid", 0.4, threads=1, wanted=0.87, settings=settings | {"twin": n}), busy=0.87) for n in (1, 2)
    ]
    got = verdict(*both, waits_in=0.95, processors=2, lock=0.1)
    assert got.text == (
        "Bottleneck: `mid (2)` (1 worker, 87% busy, computing); it waits for the worker of `mid (1)`. Try one function "
        "for both, with `workers=pipeline.processes(2)`."
    )


def test_a_function_that_waits_and_computes():
    """Threads wait at the same time, but compute in turn."""
    got = verdict(part(1, "both", 1.0), waits_in=1.0, wanted=0.44, lock=0.4)
    assert got.text == (
        "Bottleneck: `both` (100% of the time, 56% waiting, 44% computing). Try `workers=3`: 1.7 to 2.3 times as fast, "
        "unless it waits for one lock, disk or server."
    )


@pytest.mark.parametrize(
    ("busy", "cause"),
    [
        (0.5, "Your loop takes 50% of the time, and waits 40% for `mid` and 10% for other iterators."),
        (0.58, "Your loop takes 60% of the time, and waits 40% for `mid`."),
    ],
)
def test_a_loop_that_waits_for_other_iterators_too(busy, cause):
    assert verdict(part(1, "mid", 0.4), waits_in=0.4, busy=busy).cause == cause


def test_a_loop_that_waits_for_other_iterators_only():
    got = verdict(part(1, "mid", 0.01), waits_in=0.01, busy=0.2)
    assert (got.kind, got.knob) == ("consumer", "consumer")
    assert got.cause == "Bottleneck: other iterators in the same thread (79% of the time)."
    got = verdict(part(1, "mid", 0.01), waits_in=0.01, busy=0.2, seconds=0.5)
    assert got.cause == "Too short to judge (0.50 s); so far other iterators in the same thread took longest."


@pytest.mark.parametrize("waits", [0.19, 0.2, 0.21])
@pytest.mark.parametrize("lock", [None, 0.97])
def test_a_loop_that_computes_for_most_of_the_time(waits, lock):
    got = verdict(part(1, "mid", waits), waits_in=waits, lock=lock, wanted=1.0)
    assert got.cause == f"Your loop takes {1 - waits:.0%} of the time, and waits {waits:.0%} for `mid`."
    assert got.advice.startswith("Try `")


def test_a_loop_that_waits_for_a_processor_does_not_make_a_function_short():
    mid = replace(part(1, "mid", 0.2), rate=800.0)
    got = verdict(mid, waits_in=0.2, wanted=1.0, cpu=0.82)
    assert got.advice.startswith("Try `.prefetch(2)`")


def test_an_advice_numbers_functions_of_one_name():
    lines = replace(part(1, "range", 0.1, "source"), rate=100_000.0)
    got = verdict(lines, part(2, "f", 0.8, settings={"twin": 2}), waits_in=0.9)
    assert got.advice.startswith("To go faster, write `f (2)` for whole batches")


def test_several_functions_that_wait_get_more_workers_at_once():
    given = crew(1, "load", 0.96), crew(2, "read", 0.84), crew(3, "crop", 0.9)
    got = verdict(*given, prefetch(3, waits_in=0.99, wanted=0.01), waits_in=0.99, lock=0.1)
    assert "`load`, `read` and `crop` (4 workers each, 96%, 84% and 90% busy" in got.cause
    assert got.advice.startswith("Try `workers=16` for all: up to ")


@pytest.mark.parametrize(("first", "later", "told"), [(4, 0.01, True), (1, 0.02, True), (4, 0.3, False)])
def test_a_pool_that_fills_before_a_loop_that_keeps_up(first, later, told):
    """It is the buffer at any share of the run: a deeper prefetch would not fill it sooner."""
    waits = first / 10 + later
    ahead = prefetch(2, waits_in=waits, waits_out=0.9 - waits)
    given = part(1, "read", first / 10, "source"), part(2, "shuffle(600)", 0.05, "step"), ahead
    got = verdict(*given, waits_in=waits, first_s=float(first))
    assert (got.kind == "pool") == told
    if told:
        assert got.text == (
            f"Your loop waited {first}.0 s ({first}0%) until the buffer of `shuffle(600)` was full. A smaller "
            "`buffer_size` starts sooner and shuffles less."
        )


@pytest.mark.parametrize(("waits_out", "knob"), [(0.1, "workers"), (0.3, "workers"), (0.5, "prefetch")])
def test_unequal_times_of_a_function_that_is_slower_than_the_loop_need_workers_first(waits_out, knob):
    """A deeper prefetch evens out the times, and workers lower them."""
    ahead = prefetch(2, waits_out=waits_out, waits_in=0.5, wanted=0.01)
    got = verdict(part(1, "load", 1 - waits_out - 0.01), ahead, waits_in=0.5)
    assert got.knob == knob
    assert (got.least, got.gain) == (1.0, pytest.approx(2))


@pytest.mark.parametrize(("cpu", "gain"), [(1.0, 2.0), (0.9, 2 / 0.9), (0.6, 2 / 0.85)])
def test_threads_that_take_turns_leave_some_time_unused(cpu, gain):
    """Processes do not: no processor idles while the GIL changes hands."""
    pooled = {"settings": THREADS, "threads": 2, "wanted": cpu}
    got = verdict(part(1, "decode", 0.9, **pooled), waits_in=0.98, lock=0.95, processors=2)
    assert got.advice.startswith("Try `workers=pipeline.processes(2)`: ")
    assert got.gain == pytest.approx(gain)


def test_busy_threads_that_hold_the_lock_on_a_busy_machine():
    """Waits for a processor between two turns do not mean that they run at the same time."""
    pooled = {"settings": THREADS, "threads": 2, "wanted": 1.3, "cpu": 0.9}
    got = verdict(part(1, "decode", 0.77, **pooled), waits_in=0.98, processors=2)
    assert got.advice == "Try `workers=pipeline.processes(2)`: up to 2.2 times as fast."


@pytest.mark.parametrize(
    ("waits", "advice"),
    [
        (0.08, "The dataset keeps up; change nothing in it."),
        (0.17, "It waits 17% of the time for the dataset, so less waiting makes it at most 1.2 times as fast."),
    ],
)
def test_a_loop_that_waits_a_little_for_workers(waits, advice):
    got = verdict(crew(1, "load", 0.7), waits_in=waits)
    assert (got.kind, got.advice) == ("consumer", advice)
    assert got.cause == f"Bottleneck: your loop ({1 - waits:.0%} of the time)."


@pytest.mark.parametrize(
    ("seconds", "state", "advice"),
    [
        (0.5, "running", "s or more."),
        (0.5, "ended", "`.repeat(3)` at the end."),
        (0.013, "ended", "`.repeat(200)` at the end."),
        (0.015, "ended", "`.repeat(100)` at the end."),
    ],
)
def test_a_short_run_names_the_busiest_step(seconds, state, advice):
    got = verdict(part(1, "decode", 0.9), waits_in=0.9, seconds=seconds, state=state)
    assert got.cause == f"Too short to judge ({seconds:.2f} s); so far `decode` took longest."
    assert got.advice.startswith("Let it run for 1 s or more")
    assert got.advice.endswith(advice)


def test_a_short_run_names_the_step_at_work_for_longest_even_if_it_is_compiled():
    given = part(1, "range", 0.02, "source"), part(2, "batch(2)", 0.45, "step")
    assert verdict(*given, waits_in=0.9, seconds=0.5).cause.endswith("; so far `batch(2)` took longest.")
    assert verdict(*given, waits_in=0.5, seconds=0.5).cause.endswith("; so far your loop took longest.")
    ahead = prefetch(2, waits_in=0.9, waits_out=0.3)
    got = verdict(replace(part(1, "load", 0.5), busy=0.7), ahead, waits_in=0.9, seconds=0.5)
    assert got.cause.endswith("; so far `load` took longest.")


@pytest.mark.parametrize(("rate", "least"), [(583.0, 1.6), (95.0, 1.7)])
def test_short_calls_that_wait_beside_a_loop_that_may_hold_the_gil(rate, least):
    """After each they wait up to 5 ms for it: 60 batches of 20 calls took 2.05 s, and by three threads 1.26 s."""
    load = replace(part(1, "load", 1.0), rate=rate)
    got = verdict(load, prefetch(2, waits_in=0.56, wanted=0.0), waits_in=0.56, cpu=0.44)
    assert (got.value, round(got.least, 1), round(got.gain, 1)) == (3, least, 2.3)


def test_every_step_has_an_advice():
    """Also a compiled step with less than half of the time, next to a short function."""
    mapped = replace(part(2, "f", 0.3, settings={"call": "map"}), rate=1000.0)
    got = verdict(part(1, "unbatch", 0.4, "step"), mapped, part(3, "batch(8)", 0.2, "step"), waits_in=0.95)
    assert got.advice


def test_many_python_objects_are_not_sent_to_processes():
    """Sending takes longer than the work, unlike for arrays; threads send nothing."""
    given = {"wanted": 1.0, "settings": {"objects": 10_000}}
    got = verdict(replace(part(1, "split", 0.95, **given), rate=500.0), waits_in=0.95, wanted=1.0)
    assert got.cause.endswith(
        "computing); processes would not help, as its examples consist of many Python objects, which take long to send."
    )
    assert got.advice == "To go faster, pass and return arrays."
    got = verdict(replace(part(1, "split", 0.6, **given), rate=500.0), waits_in=0.83, wanted=1.0)
    assert got.advice == "To go faster, pass and return arrays."  # a prefetch would not help: the loop frees them
    given["settings"] = {"objects": 10}
    got = verdict(replace(part(1, "split", 0.95, **given), rate=500.0), waits_in=0.95, wanted=1.0)
    assert "`workers=pipeline.processes(4)`" in got.advice


def test_large_results_are_not_sent_to_processes():
    """Leaving out `workers=` was advised with processes: the advice without must not lead back."""
    given = {"wanted": 1.0, "settings": {"objects": 1, "bytes": 4_000_000}}
    got = verdict(replace(part(1, "big", 0.6, **given), rate=6000.0), waits_in=0.95, wanted=1.0)
    assert got.cause.endswith("computing); processes would not help, as results of 4 MB take long to send.")
    assert got.advice == "To go faster, do less work per example."
    got = verdict(replace(part(1, "crop", 0.95, **given), rate=300.0), waits_in=0.95, wanted=1.0)
    assert "`workers=pipeline.processes(4)`" in got.advice


def test_a_prefetch_with_small_batches_is_left_out_on_a_busy_machine_too():
    """Each handover of the GIL waits for a processor then: without the thread it takes a seventh of the time."""
    small = replace(prefetch(2, waits_out=0.36, waits_in=0.98), rate=20_000.0)
    got = verdict(part(1, "add", 0.3), replace(small, cpu=0.4, wanted=1.1), waits_in=0.98, processors=2)
    assert got.starved
    assert got.advice == "Leave out `.prefetch(2)`, or make larger batches."
