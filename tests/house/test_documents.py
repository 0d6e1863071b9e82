"""Documents are correct as far as a program can check: code runs, and targets, paths, links and tables exist."""

import ast
import importlib
import inspect
import json
import operator
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "tests" / "README.md",
    *sorted((ROOT / "tests").glob("*/README.md")),
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
    *sorted((ROOT / ".github").glob("*.md")),
]
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def run(*command):
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=120, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_the_reference():
    """Return the names with a page."""
    for path in (ROOT / "docs" / "api").glob("*.md"):
        for part in path.read_text().split(".. currentmodule:: ")[1:]:
            module = part.split()[0]
            yield from (f"{module}.{name}" for name in re.findall(r"^   (\w+)$", part, re.MULTILINE))


def test_every_public_name_is_in_the_reference():
    """Each name is in exactly one docs/api group, including public modules whose libraries are missing here."""
    listed = list(in_the_reference())
    modules = {f"pipeline.{name}" for name in ("errors", "cluster", "image", "proto", "queues", "types")}
    public = {f"pipeline.{name}" for name in pipeline.__all__} - modules
    for module in (
        "cluster/__init__",
        "errors",
        "image",
        "proto/__init__",
        "testing",
        "types",
        "torch",
        "jax",
        "keras",
    ):
        tree = ast.parse((ROOT / "pipeline" / f"{module}.py").read_text())
        (names,) = [node.value for node in tree.body if ast.unparse(node).startswith("__all__")]
        classes = module == "errors"  # its codes and functions are TensorFlow's
        found = {name for name in ast.literal_eval(names) if name.endswith("Error") or not classes}
        if classes:
            found -= {"InternalError", "UnauthenticatedError", "UnknownError"}  # named by a sentence
        public |= {f"pipeline.{module.removesuffix('/__init__')}.{name}" for name in found}
    assert sorted(listed) == sorted(public), "each public name is in one list in docs/api/*.md"


def test_guides_tell_of_every_source_and_transformation():
    """Each source has a line in the table of docs/sources.md; each dataset method is on one of its three pages."""
    sources = re.findall(r"^   (\w+)$", (ROOT / "docs" / "api" / "sources.md").read_text(), re.MULTILINE)
    told = (ROOT / "docs" / "sources.md").read_text()
    assert [name for name in sources if f"\n| `pipeline.{name}` |" not in told] == [], "docs/sources.md"
    methods = [name for name in dir(pipeline.Dataset) if not name.startswith("_")]
    told = "".join((ROOT / "docs" / f"{page}.md").read_text() for page in ("datasets", "batching", "iterators"))
    assert [name for name in methods if not re.search(rf"[.`]{name}[(`]", told)] == [], (
        "docs/datasets.md, batching.md or iterators.md"
    )


def test_every_page_of_the_reference_names_related_ones(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    site = importlib.import_module("docstrings")
    without = {name for name in in_the_reference() if not site.SEE.get(name.removeprefix("pipeline."))}
    alone = {name for name in without if "See Also:" not in inspect.getdoc(operator.attrgetter(name[9:])(pipeline))}
    assert alone == set(), "each is alone in its list in docs/api: give it a line in docs/site/docstrings.py: RELATED"
    assert {each for others in site.SEE.values() for each in others} - site.NAMES.keys() == set()


def test_every_example_is_listed():
    listed = re.findall(r"^\| \[(.*?)\]\(\1\) \| \w", (ROOT / "examples" / "README.md").read_text(), re.MULTILINE)
    there = [path.name for path in (ROOT / "examples").iterdir() if path.suffix in (".py", ".ipynb")]
    assert sorted(listed) == sorted(there)


FOLDERS = sorted(path for path in (ROOT / "tests").iterdir() if path.is_dir() and not path.name.startswith((".", "_")))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_folder_of_tests_says_which_promise_is_where(folder):
    """Each README has about ten lines, and every file it names exists."""
    text = (folder / "README.md").read_text()
    assert text.startswith("# ")
    assert "\n- " in text
    assert len(text.splitlines()) <= 18
    missing = []
    for name in re.findall(r"`([\w./]+\.(?:py|txt)|[\w/]+/)`", text):
        if not (folder / name).exists() and not (ROOT / name).exists():
            missing.append(name)
    assert missing == []


@pages
def test_make_targets_are_there(page):
    named = set(re.findall(r"(?:`|^    )make ([a-z][\w-]*)", page.read_text(), re.MULTILINE))
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert named - targets == set()


@pages
def test_paths_are_there(page):
    """Paths in code spans start at the project's root; `*` matches anything."""
    named = re.findall(r"`((?:pipeline|pyx|tests|bench|docs|examples)/[\w./*-]*)`", page.read_text())
    assert [path for path in named if not list(ROOT.glob(path.rstrip("/")))] == []


@pages
def test_links_lead_somewhere(page):
    text, broken = page.read_text(), []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            broken.append(target)
    assert broken == []


def anchors(text):
    """Return link anchors as GitHub derives them from headings."""
    titles = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_measured_numbers_are_those_of_the_results():
    """Pages use the words of the generator, so that they agree with each other and with `make bench-peers`."""
    script = (
        "import json, sys; sys.path[:0] = ['bench/peers', 'bench/runs']; import pages, show; "
        "print(json.dumps([pages.blocks(), f'{show.INTRODUCTION}\\n\\n{show.tables(pages.results())}\\n']))"
    )
    blocks, full = json.loads(run("-c", script))
    assert (ROOT / "bench" / "results" / "peers.md").read_text() == full
    for name, text in blocks.items():
        begin, end = f"<!-- {name}: written by the bench -->\n", f"\n<!-- end of {name} -->"
        found = [page.read_text().partition(begin)[2].partition(end)[0] for page in PAGES if begin in page.read_text()]
        assert found == [text] * len(found) != [], name


MEASURED = re.compile(
    r"\d[\d,.]* ?(?:%|times|µs|ns|ms|[MGk]B/s|[Mk] (?:rows|images|examples|tokens|samples|records)/s)"
)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/comparison.md", "docs/performance.md"])
def test_pages_for_everybody_have_no_measured_number_of_their_own(page):
    """Only blocks generated from bench/results have measurements; a program's output does not count."""
    text = (ROOT / page).read_text()
    text = re.sub(r"<!-- (.*?): written by the bench -->.*?<!-- end of \1 -->|```.*?```", "", text, flags=re.DOTALL)
    assert MEASURED.findall(text) == []


@pages
def test_percentages_are_written_as_reports_write_them(page):
    if page.name != "CHANGELOG.md":
        assert re.findall(r".*\d %.*", page.read_text()) == []


def test_the_list_for_language_models_leads_to_pages():
    """Each file has a description, and each description has a file."""
    text = (ROOT / "docs" / "site" / "extra" / "llms.txt").read_text()
    assert text.startswith("# queue-runner\n\n> ")
    targets = re.findall(r"\]\((.*?)\)", text)
    assert len(targets) > 20
    sources = [ROOT / "docs" / target.removeprefix("_sources/").removesuffix(".txt") for target in targets]
    assert [path for path in sources if not path.exists() or "made by" in path.read_text()[:20]] == []
