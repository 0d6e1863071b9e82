"""The verdict comes first, and the table fits every terminal."""

import io
from dataclasses import replace

import pytest

import pipeline
from pipeline.reports.live_table import lines
from pipeline.reports.model import Edge, Level, Progress, Stage, Tank, Verdict
from pipeline.reports.report import Report
from pipeline.reports.show import line
from pipeline.reports.words import cells

Console = pytest.importorskip("rich.console", reason="the extra monitor is not installed").Console

TEXT = "decode takes 100% of the time of 4 threads: num_threads=16: about 4.0 times as fast."


def tank(size, capacity=200, min_after_dequeue=0, levels=()):
    stats = pipeline.FIFOQueue(9, "float32", shapes=[()]).stats()
    return Tank(stats._replace(size=size, capacity=capacity), min_after_dequeue, size, 0.0, 0.5, levels)


def report(queues=1, name="shuffle_batch"):
    progress = Progress(40, 100, 1, 1, 3.0)
    stages = [Stage(1, "producer", "names", tank=tank(3), rate=0.5, progress=progress)]
    stages += [Stage(10 + i, "queue", f"{name} {i}", tank=tank(50), rate=1070, elements=5) for i in range(queues)]
    stages += [Stage(2, "function", "decode", threads=4, busy=1.0, rate=1071), Stage(3, "loop", name, rate=1070)]
    return Report(1.0, True, tuple(stages), (Edge(10, 3),), 2, 0.1, (Verdict(3, 2, "waiting", TEXT),))


def console(width, height=30, **settings):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=settings.pop("encoding", "utf-8"))
    return Console(file=stream, force_terminal=True, width=width, height=height, color_system=None, **settings)


@pytest.mark.parametrize("width", [40, 41, 60, 80, 100, 132, 200])
@pytest.mark.parametrize("name", ["shuffle_batch", "\N{CJK UNIFIED IDEOGRAPH-6F22}" * 30, "\x1b[2J\r\n"])
def test_every_width(width, name):
    drawn = lines(report(name=name), console(width))
    assert max(map(cells, drawn)) < width
    assert all(each.isprintable() for each in drawn)
    assert " ".join(drawn).startswith(TEXT)
    assert sum("decode" in each for each in drawn) >= 2
    assert any(each.startswith("> decode") for each in drawn)
    assert "40%, 3 s left" in " ".join(drawn)  # in a column, or below if there is no room for one


def test_wide_terminals_show_more():
    drawn = [lines(report(), console(width)) for width in (40, 80, 200)]
    heads = [next(line.split() for line in each if line.startswith("step ")) for each in drawn]
    assert heads[0] == ["step", "throughput"]
    assert set(heads[0]) < set(heads[1]) <= set(heads[2])
    assert {"runs", "holds", "busy", "level"} <= set(heads[2])


@pytest.mark.parametrize("height", [1, 4, 10, 25])
def test_many_queues_on_a_small_screen(height):
    drawn = lines(report(queues=90), console(100, height))
    assert len(drawn) <= max(2, height - 1)
    assert drawn[0].startswith(TEXT[:40])
    if height >= 10:
        assert any("> decode" in each for each in drawn)
        assert any("more stages" in each for each in drawn)


def test_a_terminal_without_unicode():
    drawn = lines(report(), console(80, encoding="ascii"))
    assert any("##........" in each for each in drawn)


def test_a_pool_that_fills():
    levels = Level(2.0, 20), Level(0.0, 40)
    pool = Stage(4, "queue", "pool", tank=tank(40, min_after_dequeue=160, levels=levels))
    known = replace(report(), stages=(pool,), verdicts=())
    assert any("filling 25%, 12 s to go" in each for each in lines(known, console(120)))
    assert line(known) == "pool filling 25%, 12 s to go"


@pytest.mark.parametrize(
    ("size", "capacity", "bar", "ascii"),
    [
        (0, 200, "·····│····", ".....|...."),
        (50, 200, "██▌··│····", "##...|...."),
        (150, 200, "███████▌··", "########.."),
        (0, 100, "·········│", ".........|"),
        (0, 2**31 - 1, "··········", ".........."),
    ],
)
def test_the_mark_of_the_pool_in_the_bar(size, capacity, bar, ascii):
    pool = Stage(4, "queue", "pool", tank=tank(size, capacity, min_after_dequeue=100))
    known = replace(report(), stages=(pool,), verdicts=())
    assert any(bar in each for each in lines(known, console(120)))
    assert any(ascii in each for each in lines(known, console(120, encoding="ascii")))
    plain = replace(report(), stages=(replace(pool, tank=tank(0, capacity)),), verdicts=())
    assert not any("│" in each for each in lines(plain, console(120)))


def test_nothing_yet():
    nothing = Report(1.0, True, (), (), 2)
    assert lines(nothing, console(80)) == ["pipeline: nothing has begun yet"]
    assert line(nothing) == ""


def test_a_line():
    """It has the cause, not the advice, in at most 100 columns with its head."""
    assert line(replace(report(), verdicts=(Verdict(3, 2, "waiting", "A cause.", "Advice."),))) == (
        "names 40%, 3 s left; shuffle_batch 1,070 elements/s, 50 of 200 ready; A cause."
    )
    assert len(f"pipeline: {line(report())}") == 100
