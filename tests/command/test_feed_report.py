"""The report of a `feed` run: its figures, the table, and the verdict in terms of command line options."""

from dataclasses import replace

import pytest

from pipeline import QueueStats
from pipeline.command import cli
from pipeline.command.report import FeedReport
from pipeline.reports.model import Edge, Stage, Tank, Verdict
from pipeline.reports.report import Report as Run

AS_FAST = "This is about as fast as one thread reads these files."
NO_SHUFFLE = "If the examples are in random order already, try --no-shuffle"
FEWER = "In a program, `pipeline.csv(..., columns=[...])` reads fewer columns."
STATS = QueueStats(100, 0, True, 7, 7, 9, 0, 0, 0.0, 0.0, 0.0, 0.0, 10.0, 0, 0)


def report(
    kind="function",
    knob=None,
    text="Bottleneck: `decode` (90% of the time). Try x.",
    examples=1000,
    verdicts=None,
    **changes,
):
    """Return the report for a 10 s run with a verdict."""
    tank = Tank(STATS._replace(capacity=5000, high_water=4321), 50, 40.0, 0.5, 0.1)
    stages = (
        Stage(1, "function", "decode", threads=4),
        Stage(2, "step", "prefetch(5000)", tank=tank),
        Stage(3, "loop", "examples", threads=1),
    )
    cause, _, advice = text.removesuffix(".").partition(". ")
    value = None if "too small" in text else 8
    made = Verdict(3, 1, kind, f"{cause}.", f"{advice}.", knob, value, 2.0)
    found = (made,) if verdicts is None else verdicts
    run = Run(10.0, True, stages, (Edge(1, 2), Edge(2, 3)), 4, 0.0, found)
    settings = {"threads": 2, "batch_size": 10, "capacity": 5000, "min_after_dequeue": 50, "epochs": 1, "shuffle": True}
    settings |= {"format": "csv", "files": ["rows.csv"]}
    made = FeedReport(examples, 100, 5_000_000, 10.0, 0.1, run, {"int64": 3, "bytes": 1}, False, settings)
    return made._replace(**changes)


@pytest.mark.parametrize(
    ("kind", "option", "advice", "gain"),
    [
        ("source", None, FEWER, None),
        ("function", "--threads", "Try --threads 8: up to 2 times as fast.", 2.0),
        ("consumer", None, "Your files keep up with a loop that does nothing else.", None),
        ("prefetch", "--capacity", "Try --capacity 130: up to 2 times as fast.", 2.0),
    ],
)
def test_advice_is_an_option_of_the_command(kind, option, advice, gain, capsys):
    """Not the verdict's proposal for a dataset in a program."""
    text = "Bottleneck: `read` (90% of the time, computing). Try `workers=8`: 2.0 times as fast."
    got = report(kind, text=text).bottleneck()
    cause = "Bottleneck: `read` (90% of the time, computing)."
    want = {"stage": "decode", "kind": kind, "cause": cause, "advice": advice, "knob": option, "gain": gain}
    assert got == {**want, "least": gain and 1.0, "text": f"{cause} {advice}"}
    with pytest.raises(SystemExit):
        cli.main(["feed", "--help"])
    assert option is None or option in capsys.readouterr().out


def test_threads_that_hold_the_gil_need_a_program():
    text = "Bottleneck: `decode` (90% of the time). Try `workers=pipeline.processes(8)`: up to 2 times as fast."
    advice = "In a program, pass `workers=pipeline.processes(8)` to `map`: up to 2 times as fast."
    assert report(text=text).bottleneck()["text"].endswith(f"(90% of the time). {advice}")


@pytest.mark.parametrize("cached", [False, True])
def test_files_that_are_waited_for(cached):
    """Unless they come out of memory: then the threads waited for the GIL."""
    cause = "Bottleneck: `read` (90% of the time, waiting for I/O)."
    made = report("source", text=f"{cause} Try x.", columns={"int64": 1}, cached=cached)
    assert made.bottleneck()["text"] == (
        f"Bottleneck: `read` (90% of the time). {AS_FAST}"
        if cached
        else f"{cause} Faster storage or a local copy of the files would help."
    )


PARQUET = "Convert to Parquet, for example with pyarrow.json.read_json"


@pytest.mark.parametrize(
    ("form", "columns", "advice"),
    [
        ("jsonl", {"int": 2, "list": 1}, f"{PARQUET}: up to 10 times as fast."),
        ("jsonl", {"ListValue": 1}, f"{PARQUET}: up to 10 times as fast."),
        ("jsonl", {"int": 2}, f"{PARQUET}: 1.5 to 5 times as fast."),
        ("tar", {"uint8": 1}, "In a program, pass `decoders={'jpg': bytes}`, and decode in `.map(decode, workers=4)`."),
        ("tar", {"bytes": 1}, AS_FAST),
        ("parquet", {"list of int64": 1}, AS_FAST),
        ("csv", {"int64": 4}, FEWER),
        ("csv", {"int64": 3}, AS_FAST),
        ("lines", {"bytes": 1}, AS_FAST),
    ],
)
@pytest.mark.parametrize("does", [", computing", ", 20 µs per example", ""])
def test_sources_that_take_most_of_the_time(does, form, columns, advice):
    settings = {**report().settings, "format": form}
    cause = f"Bottleneck: `{form}` (57% of the time{does})."
    made = report("source", text=f"{cause} Try x.", settings=settings, columns=columns)
    assert made.bottleneck()["text"] == f"{cause} {advice}"


@pytest.mark.parametrize(
    ("examples", "advice"), [(999 * 20, "Join the files: fewer and larger ones are"), (1e5, FEWER)]
)
def test_many_short_files(examples, advice):
    settings = {**report().settings, "files": ["rows.csv"] * 20}
    text = "Bottleneck: `csv` (57% of the time). Try x."
    assert (
        report("source", text=text, settings=settings, examples=int(examples)).bottleneck()["advice"].startswith(advice)
    )


def fast(batch_size, microseconds, form="csv", text="Bottleneck: `csv` (30% of the time). Try x.", **changes):
    """Return the report for a run with short batches."""
    batches = round(10e6 / microseconds)
    settings = {**report().settings, "format": form, "batch_size": batch_size}
    figures = {"examples": batch_size * batches, "bytes": 15 * batch_size * batches, "settings": settings}
    return report("source", text=text, **{**figures, **changes})._replace(batches=batches)


@pytest.mark.parametrize(
    ("batch_size", "microseconds", "form", "advice"),
    [
        (128, 112, "csv", "up to 4 times as fast."),  # measured: 3.2
        (128, 102, "lines", "up to 4 times as fast."),  # 1.5 to 2.7
        (16, 74, "csv", "1.9 to 25 times as fast."),  # 17
        (4, 73, "csv", "8 to 98 times as fast."),  # 67
        (128, 17, "npy", "1.8 to 2.9 times as fast."),  # 2.7
        (4, 73, "jsonl", ""),
        (4, 73, "images", ""),
        (128, 2421, "csv", ""),
        (4, 10_000, "csv", ""),
        (512, 213, "csv", ""),
        (1024, 277, "csv", ""),
    ],
)
@pytest.mark.parametrize(
    "text",
    ["Bottleneck: `csv` (30% of the time). Try x.", "No step stands out. Leave out x.", "`shuffle(9)` (30%). Try x."],
)
def test_small_batches(batch_size, microseconds, form, advice, text):
    """Whichever step takes most of the rest."""
    got = fast(batch_size, microseconds, form, text).bottleneck()
    if advice:
        per_s = round(1e6 / microseconds)
        cause = f"Bottleneck: small batches ({batch_size} examples, {per_s:,} per second)."
        assert got["text"] == f"{cause} Try --batch-size 1024: {advice}"
        assert (got["stage"], got["kind"], got["knob"]) == ("prefetch(5000)", "prefetch", "--batch-size")
    else:
        assert got["knob"] != "--batch-size"


def test_a_busy_machine():
    """Batches cost the same there; but a thread without a processor looks as if it waits for I/O."""
    text = "Bottleneck: `csv` (57% of the time, waiting for I/O). Measure again while the processors are free."
    for made, want in (
        (fast(4, 73, text=text), "Try --batch-size 1024: 8 to 98 times as fast."),
        (report("source", text=text), FEWER),
        (report("source", text=text, columns={"int64": 1}), "Measure again while the processors are free."),
    ):
        starved = (replace(made.run.verdict, starved="Other programs took time."),)
        got = made._replace(run=replace(made.run, verdicts=starved)).bottleneck()["text"]
        assert got.startswith("Other programs took time. Bottleneck: ")
        assert got.endswith(f"). {want}")
        assert "I/O" not in got


@pytest.mark.parametrize("form", ["csv", "tar"])
def test_a_loop_that_waits_until_the_buffer_is_full(form):
    text = "Your loop waited 1.0 s (83%) until the buffer of `shuffle(1,152)` was full. Try x."
    made = report("pool", text=text, first_batch_s=8.3, settings={**report().settings, "format": form})
    assert made.bottleneck()["text"] == (
        "Bottleneck: filling the buffer of `shuffle` took 83% of the time. A smaller --min-after-dequeue starts sooner "
        "and shuffles less."
    )


def test_the_loop_is_the_one_of_feed():
    got = report("consumer", text="Bottleneck: your loop (80% of the time). Try x.").bottleneck()["text"]
    assert got == (
        "Bottleneck: the loop that counts batches (80% of the time). Your files keep up with a loop that does nothing "
        "else."
    )


@pytest.mark.parametrize("examples", [1000, 40])
def test_busy_threads_that_fill_the_buffer(examples):
    """Most of the run went by until the first batch."""
    text = "Bottleneck: `_decoded` (2 workers, 88% busy); the GIL is held 92% of the time. Do less."
    made = report(text=text, examples=examples, first_batch_s=8.1)
    steps = (Stage(1, "function", "_decoded"), Stage(2, "step", "shuffle(60)"))
    got = made._replace(run=replace(made.run, stages=steps)).bottleneck()
    assert (got["kind"], got["stage"]) == ("pool", "shuffle")
    assert got["text"] == (
        "Bottleneck: filling the buffer of `shuffle` took 81% of the time, by `decode` (2 workers, 88% busy). A "
        "smaller --min-after-dequeue starts sooner and shuffles less."
        if examples > 60
        else "Too short to judge. The run ended before the buffer was full: try --epochs 6."
    )


@pytest.mark.parametrize(
    ("name", "words", "advice"),
    [
        ("shuffle(1,152)", "shuffle", f"{NO_SHUFFLE}: up to 2 times as fast."),
        ("batch(128)", "batch(128)", AS_FAST),
    ],
)
def test_parts_that_the_user_has_not_written_are_named_in_words(name, words, advice):
    text = f"Bottleneck: `{name}` (90% of the time). To go faster, do less work per example."
    made = report("step", text=text)
    got = made.bottleneck()
    assert got["text"] == f"Bottleneck: `{words}` (90% of the time). {advice}"
    parts = Stage(1, "function", "_decoded", elements=5), Stage(2, "step", name, elements=5)
    table = made._replace(run=Run(10.0, True, parts, (), 4, 0.0, made.run.verdicts)).to_text()
    assert "\ndecode " in table
    assert f"\n{words} " in table


def steps(*shares):
    """Return a run's steps in one thread with their names and shares of the time."""
    named = (("csv", "source"), ("shuffle(1,152)", "step"))
    made = [
        Stage(number, kind, name, settings={"taken": share, "in_workers": False})
        for number, ((name, kind), share) in enumerate(zip(named, shares, strict=True), 1)
    ]
    made.append(Stage(3, "step", "prefetch(32)", settings={"taken": 0.9}, tank=Tank(STATS, 0, 0.0, 0.0, 0.9)))
    return Run(10.0, True, tuple(made), (), 4, 0.0)


SHARED = (
    "No step stands out: `csv` 44%, `shuffle` 43%. If the examples are in random order already, try --no-shuffle: up "
    "to 4 times as fast."
)


def shared(kind, text, value=8, shares=(0.44, 0.43), **changes):
    """Return the report for a run with these shares of the time in `csv` and `shuffle`."""
    made = report(kind, text=text, **changes)
    verdict = replace(made.run.verdict, value=value)
    return made._replace(run=replace(steps(*shares), verdicts=(verdict,)))


NO_STEP = (
    "No step stands out, and all are compiled: `csv` 44%, `shuffle` 43%. This is about as fast as one thread reads."
)


@pytest.mark.parametrize("kind", ["source", "step"])
@pytest.mark.parametrize("text", [NO_STEP, "Bottleneck: `csv` (44% of the time, computing). Read less."])
def test_two_steps_share_a_thread(kind, text):
    """Whichever is longer in this run, the advice is the same in the next one."""
    assert shared(kind, text).bottleneck()["text"] == SHARED
    got = shared(kind, text, shares=(0.43, 0.44)).bottleneck()
    assert got["text"] == SHARED.replace("`csv` 44%, `shuffle` 43%", "`shuffle` 44%, `csv` 43%")
    assert (got["knob"], got["gain"], got["least"]) == ("--no-shuffle", 4.0, 1.0)


def test_the_longest_step_is_named():
    """Also where the verdict on programs names another one."""
    got = shared("step", NO_STEP, shares=(0.5, 0.2)).bottleneck()
    assert got["text"] == f"Bottleneck: `csv` (50% of the time). {FEWER}"
    got = shared("step", "Bottleneck: `batch(10)` (12% of the time). It is compiled.", shares=(0.2, 0.5)).bottleneck()
    assert got["text"] == f"Bottleneck: `shuffle` (50% of the time). {NO_SHUFFLE}: up to 4 times as fast."


def test_advice_on_json_lines_is_the_same_for_each_step():
    settings = {**report().settings, "format": "jsonl", "batch_size": 128}
    for shares in ((0.34, 0.33), (0.33, 0.34), (0.5, 0.2), (0.2, 0.5)):
        got = shared("step", NO_STEP, shares=shares, settings=settings, columns={"int": 3}).bottleneck()
        assert (got["advice"], got["gain"], got["least"]) == (f"{PARQUET}: 3 to 15 times as fast.", 15.0, 3.0)


def test_small_batches_are_not_the_cause_where_they_take_long():
    """Then the steps are named, as without a prefetch."""
    text = "Bottleneck: `prefetch(9)`, as the batches are too small for a thread of their own. Make larger batches."
    assert shared("prefetch", text, None).bottleneck()["text"] == SHARED
    got = shared("prefetch", text, None, (0.5, 0.2)).bottleneck()
    assert got["text"] == f"Bottleneck: `csv` (50% of the time). {FEWER}"


def test_a_run_that_ends_while_the_buffer_is_filled():
    got = report("pool", text="Bottleneck: filling the buffer took 100% of the time. Try x.", examples=40).bottleneck()
    assert (got["text"], got["knob"]) == (
        "Too short to judge. The run ended before the buffer was full: try --epochs 6.",
        "--epochs",
    )


def test_units_stay_with_their_numbers():
    lines = report(columns={"int64": 1, "str": 1, "float64": 1}, examples=4_000_000, batches=31_250).to_text()
    assert lines.splitlines()[:2] == [
        "4,000,000 examples (1 int64, 1 str, 1 float64) in 31,250 batches, 5.0 MB,",
        "10.00 s",
    ]


@pytest.mark.parametrize(
    ("columns", "words"), [({"bytes": 1}, "bytes"), ({"image": 1}, "images"), ({"str": 1}, "1 str")]
)
def test_examples_with_one_value(columns, words):
    assert report(columns=columns).to_text().startswith(f"1,000 examples ({words}) in 100 batches, ")


def test_long_lines_are_wrapped():
    made = report(bytes=5_000_000_000_000, examples=10**9, batches=10**7, interrupted=True, seconds=12345.678)
    columns = {"int64": 128, "float64": 64, "bytes": 12}
    assert max(map(len, made._replace(columns=columns).to_text().splitlines())) <= 80


@pytest.mark.parametrize(
    ("does", "form", "helps"),
    [("", "files", "smaller files"), ("", "images", "smaller images"), (", waiting for I/O", "files", "faster files")],
)
def test_all_processors_have_a_thread(does, form, helps):
    settings = {**report().settings, "threads": 8, "format": form}
    text = f"Bottleneck: `read` (8 workers, 99% busy{does}). Try x."
    got = report(settings=settings, text=text).bottleneck()["text"]
    assert got.endswith(f"). All 4 processors have a thread: {helps} help.")


def test_no_more_threads_than_processors_read_files_in_memory():
    settings = {**report().settings, "format": "files", "threads": 4}
    text = "Bottleneck: `read` (4 workers, 96% busy). Try x."
    assert report(settings=settings, text=text).bottleneck()["knob"] == "--threads"
    assert report(settings=settings, text=text, cached=True).bottleneck()["knob"] is None


@pytest.mark.parametrize("processors", [1, 2])
def test_no_more_workers_than_processors_decode(processors):
    settings = {**report().settings, "format": "tar"}
    made = report("source", text="Bottleneck: `tar` (90% of the time).", settings=settings, columns={"uint8": 1})
    got = made._replace(run=replace(made.run, processors=processors)).bottleneck()["text"]
    assert ("workers=2" in got) == (processors == 2)


@pytest.mark.parametrize(("seconds", "epochs"), [(0.12, 30), (0.5, 6)])
def test_a_short_run_says_how_many_epochs_are_enough(seconds, epochs):
    """In two lines, and the advice."""
    made = report("short", text="Too short to judge.", seconds=seconds)
    got, advice = made.bottleneck(), f"Too short to judge ({seconds:.2f} s): try --epochs {epochs}."
    assert (got["text"], got["knob"]) == (advice, "--epochs")
    assert made.to_text().splitlines()[2:] == [advice]


def test_a_very_short_run_has_no_rate():
    """Most of it was the start."""
    got = report("short", text="Too short to judge.", seconds=0.006).bottleneck()
    assert got["text"] == "Too short to judge (0.01 s): try --epochs 0, and press Ctrl-C after 3 s."
    assert got["knob"] == "--epochs"


def test_nothing_came_through():
    assert report(examples=0).bottleneck()["kind"] == "start"
    assert report(verdicts=()).bottleneck()["kind"] == "start"
    empty = report(examples=0, seconds=0.0, bytes=0)
    assert empty.to_dict()["examples_per_s"] == 0
    assert empty._replace(columns={}).to_text().startswith("0 examples in 100 batches, 0 B, ")


def test_text():
    text = report().to_text()
    assert text.startswith("1,000 examples (3 int64, 1 bytes) in 100 batches, 5.0 MB, 10.00 s\n")
    assert "\n100 examples/s, 500.0 kB/s, first batch after 0.100 s\n" in text
    assert "\n\nBottleneck: `decode` (90% of the time). Try --threads 8: up to 2 times as fast.\n\nstep " in text
    row = next(line for line in text.splitlines() if line.startswith("prefetch(5000) "))
    assert row.endswith(" full 50%")
    assert " of 5,000" not in row
    assert "\nbatches counted " in text


def test_interruption_is_said():
    assert "10.00 s, interrupted\n" in report(interrupted=True).to_text()


def test_dict_has_everything_for_machines():
    got = report().to_dict()
    assert (got["examples_per_s"], got["bytes_per_s"]) == (100.0, 500_000.0)
    ((name, mean, count),) = [(queue["name"], queue["mean_size"], queue["enqueued"]) for queue in got["queues"]]
    assert (name, mean, count) == ("prefetch(5000)", 40, 7)
    assert set(got["bottleneck"]) == {"stage", "kind", "cause", "advice", "knob", "gain", "least", "text"}
