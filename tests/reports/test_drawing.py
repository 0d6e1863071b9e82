"""Pictures of a run: queues, loops and reports, in notebooks and as files."""

import re
import sys
import xml.etree.ElementTree as ET

import pytest
from helpers import wait_until

import pipeline
from pipeline.reports.report import Report


@pytest.fixture
def loop():
    def example():
        return 1.0

    with pipeline.shuffle_batch(example, 10, capacity=60, min_after_dequeue=20, name="<b>pool</b>") as loop:
        next(loop)
        wait_until(lambda: queue_of(loop).tank.stats.size == 4, "a full queue")
        yield loop


def queue_of(loop):
    (queue,) = [stage for stage in loop.report().stages if stage.tank is not None]
    return queue


def titles(svg):
    return [each.text for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}title")]


def test_a_loop_is_drawn_with_what_leads_to_it(loop):
    other = pipeline.FIFOQueue(5, "int32", shapes=[()], name="other")
    assert titles(pipeline.draw(loop).svg) == [
        "source example",
        "step shuffle(min_after_dequeue=20)",
        "step batch(10)",
        "step prefetch(4)",
        "loop <b>pool</b>",
    ]
    assert "queue other" in titles(pipeline.draw().svg)
    assert titles(pipeline.draw(other).svg) == ["FIFOQueue other"]


def test_a_report_is_drawn_as_it_was(loop):
    report = loop.report()
    next(loop)
    before = pipeline.draw(report).svg
    assert "4 of 4" in before
    assert pipeline.draw(report).svg == before


def test_a_picture_of_nothing():
    assert "Nothing to report" in pipeline.draw(Report(1.0, False, (), (), 2)).svg


def test_before_the_start_and_after_the_end():
    loop = pipeline.batch([[1, 2, 3]], 1, name="short")
    assert titles(re.search("<svg.*</svg>", loop._repr_html_(), re.DOTALL)[0])[-1] == "loop short"
    list(loop)
    assert "ended" in pipeline.draw(loop).svg


def test_in_a_notebook(loop):
    for thing in (loop, loop.report()):
        html = thing._repr_html_()
        assert "<b>" not in html
        assert "&lt;b&gt;pool" in html
        ET.fromstring(html)
    drawing = pipeline.draw(loop)
    assert drawing._repr_svg_() == str(drawing) == drawing.svg


def test_a_producer_and_a_queue_without_end():
    files = pipeline.string_input_producer(["a"], name="names", collection=[])
    assert "names" in files._repr_html_()
    queue = pipeline.FIFOQueue(2**31 - 1, "int32", shapes=[()])
    queue.enqueue_many([[1, 2, 3]])
    assert "3 of unbounded" in queue._repr_html_()


def test_save(loop, tmp_path):
    pytest.importorskip("resvg_py", reason="the extra draw is not installed")
    drawing = pipeline.draw(loop)
    drawing.save(tmp_path / "run.svg")
    assert (tmp_path / "run.svg").read_text() == drawing.svg
    drawing.save(str(tmp_path / "run.PNG"))
    data = (tmp_path / "run.PNG").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width = int(ET.fromstring(drawing.svg).get("width"))
    assert int.from_bytes(data[16:20], "big") == 2 * width
    assert drawing.png(zoom=1.0) != data


def test_what_cannot_be_drawn_or_saved(loop, tmp_path, monkeypatch):
    with pytest.raises(TypeError, match="expected an iterator, a queue, a report or None, got list"):
        pipeline.draw([])
    drawing = pipeline.draw(loop)
    with pytest.raises(ValueError, match=r"run\.pdf: a drawing is saved as \.svg or \.png"):
        drawing.save(tmp_path / "run.pdf")
    with pytest.raises(ValueError, match="zoom must be above 0, got 0"):
        drawing.png(zoom=0)
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ImportError, match=r"pip install resvg_py"):
        drawing.save(tmp_path / "run.png")
    assert list(tmp_path.iterdir()) == []


def test_names_cannot_command_a_terminal():
    with pipeline.batch([[1, 2, 3]], 1, name="\x1b[2J") as loop:
        next(loop)
        assert "\x1b" not in str(loop.report())
