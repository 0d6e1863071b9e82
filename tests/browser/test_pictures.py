"""Pictures of tanks as a real browser draws them, on light and on dark pages."""

import re

import pytest

import pipeline


@pytest.fixture
def svg():
    names = pipeline.string_input_producer(
        ["a"] * 30, num_epochs=1, name="<script>document.title='harm'</script>", collection=[]
    )
    with pipeline.shuffle_batch(names.dequeue, 2, capacity=20, min_after_dequeue=10, name="pool") as loop:
        list(loop)
        return pipeline.draw(loop).svg


def luminance(colour):
    parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


COLOURS = """() => Object.fromEntries(["card", "text", "dim", "shell"].map(
    name => [name, getComputedStyle(document.querySelector(".pipeline-" + name)).fill]))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_picture_in_a_page(browser, svg, scheme):
    page = browser.new_page(color_scheme=scheme, viewport={"width": 900, "height": 400})
    page.set_content(f"<title>page</title><body>{svg}</body>")
    assert page.title() == "page"
    fill = {name: luminance(colour) for name, colour in page.evaluate(COLOURS).items()}
    for word in ("text", "dim"):
        low, high = sorted((fill[word], fill["card"]))
        assert (high + 0.05) / (low + 0.05) >= 4.5
    assert (fill["card"] > 0.5) == (scheme == "light")


@pytest.mark.parametrize("width", [900, 320])
def test_texts_stay_within_the_picture(browser, svg, width):
    page = browser.new_page(viewport={"width": width, "height": 400})
    page.set_content(svg)
    card = page.locator("rect.pipeline-card").bounding_box()
    assert card["width"] <= width
    for text in page.locator("text").all():
        box = text.bounding_box()
        assert box["x"] >= card["x"]
        assert box["x"] + box["width"] <= card["x"] + card["width"]
        assert box["y"] + box["height"] <= card["y"] + card["height"]


def test_an_image_of_its_own(browser, svg, tmp_path):
    """An SVG file parses as XML and shows at its size, as in a README."""
    (tmp_path / "run.svg").write_text(svg)
    (tmp_path / "page.html").write_text("<img src='run.svg'>")
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    assert page.evaluate("document.images[0].naturalWidth") > 300
