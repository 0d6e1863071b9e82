"""Pictures of stages: levels, positions, escaped texts, and how much fits in n columns."""

import re
import sys
import xml.etree.ElementTree as ET

import pytest

from pipeline import QueueStats
from pipeline.reports.drawing import Drawing
from pipeline.reports.model import Stage, Tank
from pipeline.reports.picture import BOX_HEIGHT, COLUMN, ROW, of_queue, picture
from pipeline.reports.words import cells, cut, duration, escaped, printable

SVG = "{http://www.w3.org/2000/svg}"
STATS = QueueStats(100, 0, False, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0)


def queue(number=1, name="q", size=50, least=0):
    return Stage(number, "queue", name, tank=Tank(STATS._replace(size=size), least, size, 0.0, 0.0))


def function(number, name="f", **more):
    return Stage(number, "function", name, **more)


def drawn(svg, name):
    """Return the elements with a class, each as its attribute dict."""
    return [each.attrib for each in ET.fromstring(svg).iter() if each.get("class") == f"pipeline-{name}"]


def texts(svg):
    return [each.text for each in ET.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize(("size", "share"), [(25, 0.25), (100, 1.0), (200, 1.0)])
def test_water_is_as_deep_as_the_queue_is_full(size, share):
    (water,) = drawn(picture([queue(size=size)]), "water")
    (shell,) = drawn(picture([queue(size=size)]), "shell")
    assert float(water["height"]) == pytest.approx(share * (BOX_HEIGHT - 4))
    bottom = [float(each["y"]) + float(each["height"]) for each in (water, shell)]
    assert bottom[1] - bottom[0] == 2


def test_an_empty_tank_has_no_water():
    assert drawn(picture([queue(size=0)]), "water") == []
    assert drawn(picture([function(1)]), "busy") == []


def test_the_mark_of_a_shuffle_queue_is_where_its_elements_begin_to_come():
    (mark,) = drawn(picture([queue(least=25)]), "mark")
    (shell,) = drawn(picture([queue(least=25)]), "shell")
    at = float(re.search(r"M\d+ ([\d.]+)h", mark["d"])[1])
    assert at == pytest.approx(float(shell["y"]) + 2 + 0.75 * (BOX_HEIGHT - 4))
    assert drawn(picture([queue()]), "mark") == []


def test_a_queue_alone():
    svg = of_queue("FIFOQueue", "q", STATS._replace(size=3, dequeued=7), 0)
    assert {"FIFOQueue", "q", "3 of 100", "7 taken"} <= set(texts(svg))


def test_only_the_slow_stage_is_outlined():
    svg = picture([function(1), queue(2)], [(1, 2)], {1})
    (slow,) = drawn(svg, "slow")
    assert slow["x"] == drawn(svg, "shell")[0]["x"]


def test_what_feeds_a_stage_stands_left_of_it():
    """One queue with two sources, one below the other; an edge for each."""
    svg = picture([function(1, "a"), function(2, "b"), queue(3)], [(1, 3), (2, 3)])
    places = [(float(each["x"]), float(each["y"])) for each in drawn(svg, "shell")]
    assert places[1] == (places[0][0], places[0][1] + ROW)
    assert places[2] == (places[0][0] + COLUMN, places[0][1])
    assert len(drawn(svg, "line")) == 2


def test_a_circle_of_stages_is_drawn():
    svg = picture([function(1), queue(2)], [(1, 2), (2, 1)])
    assert len(drawn(svg, "shell")) == 2
    assert len(drawn(svg, "line")) == 1


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\0b", "\ud800", "\x1b[2J"]
)
def test_no_name_leaves_its_place(name):
    svg = picture([queue(name=name)], caption=name)
    kinds = {each.tag.removeprefix(SVG) for each in ET.fromstring(svg).iter()}  # it parses, so it is well-formed XML
    assert kinds == {"svg", "style", "rect", "g", "title", "text"}
    svg.encode()


def test_long_names_are_cut_and_whole_in_the_title():
    name = "\N{CJK UNIFIED IDEOGRAPH-6F22}" * 40
    svg = picture([queue(name=name)])
    shown = next(text for text in texts(svg) if text.startswith(name[0]))
    assert cells(shown) <= 18
    assert f"<title>queue {name}</title>" in svg


@pytest.mark.parametrize("width", [1, 2, 5, 9])
def test_cut(width):
    text = "ab\N{CJK UNIFIED IDEOGRAPH-6F22}\N{CJK UNIFIED IDEOGRAPH-5B57}cd"
    assert cells(cut(text, width)) <= width
    assert cut(text, 8) == text


def test_printable_keeps_text_and_shows_codes():
    assert printable("queue \N{LATIN SMALL LETTER A WITH DIAERESIS}") == "queue \N{LATIN SMALL LETTER A WITH DIAERESIS}"
    assert printable("\x1b[31mred\r\n") == "\\x1b[31mred\\r\\n"
    assert escaped("a<b\x1b") == "a&lt;b\\x1b"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.4, "1 s"),
        (99, "99 s"),
        (200, "3:20 min"),
        (3599, "59:59 min"),
        (3600, "1:00 h"),
        (7500, "2:05 h"),
    ],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def contrast(first, second):
    """Return the contrast between two colours such as #1f2328, by the WCAG rule."""

    def luminance(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * each for each in colour[1:])
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_texts_can_be_read_on_light_and_dark():
    style = re.search(r"<style>(.*?)</style>", picture([]))[1]
    light, dark = style.split("@media (prefers-color-scheme:dark)")
    for rules in (light, dark):
        fill = dict(re.findall(r"\.pipeline-(\w+){fill:(#\w+)", rules))
        for background in ("card", "shell", "water", "busy"):
            assert contrast(fill["text"], fill[background]) >= 4.5
        assert contrast(fill["dim"], fill["card"]) >= 4.5


def test_png_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ImportError, match=r"pip install resvg_py"):
        Drawing(picture([])).png()
