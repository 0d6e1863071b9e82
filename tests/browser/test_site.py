"""The documentation site in a real browser: it fits narrow screens, links resolve, and dark mode is dark."""

import html.parser
import re
import urllib.parse
from pathlib import Path

import pytest
from test_pictures import luminance

SITE = Path(__file__).parents[2] / "build" / "docs"
PAGES = [path.relative_to(SITE).as_posix() for path in sorted(SITE.rglob("*.html")) if "_static" not in path.parts]

pytestmark = pytest.mark.skipif(not PAGES, reason="the site is not built: see make docs")


@pytest.fixture(scope="module")
def page(browser):
    return browser.new_page()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_does_not_scroll_sideways(page, name):
    page.goto((SITE / name).as_uri(), wait_until="domcontentloaded")
    over = {}
    for width in (360, 768, 1400):
        page.set_viewport_size({"width": width, "height": 800})
        over[width] = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert max(over.values()) <= 0, over


class Page(html.parser.HTMLParser):
    """Return a page's links and its link targets."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.links += [found[name] for name in ("href", "src") if found.get(name)]
        self.places |= {found[name] for name in ("id", "name") if found.get(name)}


def test_every_link_within_the_site_leads_somewhere():
    """Links resolve, except from source files back to names: viewcode assumes one public module."""
    pages = {name: Page((SITE / name).read_text()) for name in PAGES}
    broken = []
    for name, page in pages.items():
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            path = (SITE / name).parent / urllib.parse.unquote(url.path) if url.path else SITE / name
            target = path.resolve().relative_to(SITE.resolve()).as_posix()
            place = urllib.parse.unquote(url.fragment)
            back = name.startswith("_modules/") and not target.startswith("_modules/")
            if not path.exists() or (target in pages and not back and place not in pages[target].places):
                broken.append(f"{name}: {link}")
    assert broken == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_and_drawings_follow_the_scheme(browser, scheme, tmp_path):
    """Pages follow the system's colour scheme; drawings follow the page's, also after its switch is clicked."""
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1400, "height": 900})
    page.goto((SITE / "how" / "index.html").as_uri())
    dark = [scheme == "dark", _is_dark(page, "body"), _drawing_is_dark(page, tmp_path)]
    assert dark in ([True] * 3, [False] * 3)
    page.evaluate(f"document.documentElement.dataset.theme = {'light' if scheme == 'dark' else 'dark'!r}")
    assert [_is_dark(page, "body"), _drawing_is_dark(page, tmp_path)] == [not dark[0]] * 2


def _is_dark(page, selector):
    return luminance(page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).backgroundColor")) < 0.5


def _drawing_is_dark(page, folder):
    """Check one pixel in its card."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    page.locator("img[src$='.svg']").first.screenshot(path=folder / "drawing.png")
    with image.open(folder / "drawing.png") as drawing:
        return sum(drawing.convert("RGB").getpixel((20, 20))) < 3 * 128


def test_search_finds_a_name(browser):
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto((SITE / "search.html").as_uri() + "?q=bucket_by_sequence_length")
    page.get_by_role("link", name="bucket_by_sequence_length").first.wait_for()


def test_every_page_is_in_the_list_of_the_guides_or_of_the_project():
    """The article itself has the choices; the sidebar lists all pages in a section anyway."""
    listed = Page((SITE / "guides.html").read_text().partition("<article")[2]).links
    project = Page((SITE / "project" / "index.html").read_text().partition("<article")[2]).links
    own = {f"{path.stem}.html" for path in (SITE.parents[1] / "docs").glob("*.md")}
    listed = {*listed, *(link.removeprefix("../") for link in project)}
    assert own - listed == {"index.html", "guides.html", "install.html", "quickstart.html"}  # these are at the top


def test_the_first_screen_has_a_program_and_its_report(browser):
    """The columns fit next to each other on a screen with 1,280 x 800 pixels."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((SITE / "index.html").as_uri())
    install, program, report = page.locator("article pre").all()[:3]
    assert "pip install" in install.inner_text()
    assert "print(batches.report())" in program.inner_text()
    assert "Bottleneck" in report.inner_text()
    boxes = [block.bounding_box() for block in (program, report)]
    assert all(box["y"] + box["height"] <= 800 for box in boxes)
    assert boxes[0]["y"] == boxes[1]["y"]
    assert all(block.evaluate("block => block.scrollWidth <= block.clientWidth") for block in (program, report))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_of_the_chart_can_be_seen(browser, scheme):
    """The page fits a phone; the chart keeps its own size."""
    page = browser.new_page(color_scheme=scheme, viewport={"width": 390, "height": 800})
    page.set_content((SITE.parents[1] / "docs" / "img" / "speed.svg").read_text())
    names = {"chart-ours", "chart-other", "pipeline-card"}
    fill = {name: page.evaluate(f"getComputedStyle(document.querySelector('.{name}')).fill") for name in names}
    card, *bars = (luminance(fill[name]) for name in sorted(names, reverse=True))
    for bar in bars:
        low, high = sorted((bar, card))
        assert (high + 0.05) / (low + 0.05) >= 3
    page.goto((SITE / "index.html").as_uri())
    chart = page.locator("img[src*='speed']")
    assert chart.evaluate("image => image.clientWidth === image.naturalWidth")
    assert chart.bounding_box()["x"] + chart.bounding_box()["width"] <= 390


def test_the_list_for_language_models_is_at_the_root():
    text = (SITE / "llms.txt").read_text()
    assert all((SITE / target).exists() for target in re.findall(r"\]\((.*?)\)", text))
