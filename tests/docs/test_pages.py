"""The Python programs in the README and on every documentation page run."""

import ast
import re

import page_programs
import pytest
from page_programs import ROOT

from pipeline.command import cli

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text() for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
}

FIRST = ["README.md", "docs/index.md"]

# Expected output, for pages that describe it in words.
SAID = {
    "README.md:page": r"(?s).*decode.*",
}

# Programs run elsewhere, more than once.
ELSEWHERE = {
    "docs/reproducibility.md:page": "tests/resume/test_recipes.py",
}


def cases():
    """Each program, and the reason for each block left out."""
    for page, text in sorted(PAGES.items()):
        runnable, left_out = page_programs.programs(text)
        for chosen in runnable:
            name = f"{page}:{chosen[0].word or 'page'}"
            if name not in ELSEWHERE:
                yield pytest.param(chosen, SAID.get(name, "(?s:.*)"), id=name)
        for block in left_out:
            reason = pytest.mark.skip(reason=f"needs {', '.join(block.missing)}")
            yield pytest.param([block], "", id=f"{page}:{block.line}", marks=reason)


@pytest.mark.parametrize(("chosen", "said"), list(cases()))
def test_a_program(chosen, said, tmp_path):
    """It runs, and prints the page's output, in a text block right after the code."""
    printed = page_programs.run(page_programs.script(chosen, mark=True), tmp_path)
    *parts, rest = printed.split(page_programs.MARK)
    assert len(parts) == len(chosen)
    shown = [(block.line, block.shown) for block in chosen if block.shown is not None]
    assert shown == [(block.line, part) for block, part in zip(chosen, parts, strict=True) if block.shown is not None]
    assert re.fullmatch(said, "".join(parts) + rest)


def imported(code):
    """Return the names bound by imports in a piece of code, in functions too."""
    imports = [each for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name.partition(".")[0] for each in imports for alias in each.names}


@pytest.mark.parametrize("page", PAGES)
def test_imports_are_shown(page):
    """A reader who types the shown code has the modules it uses."""
    shown = re.findall(r"^```python.*?\n(.*?)^```", PAGES[page], re.DOTALL | re.MULTILINE)
    hidden = re.findall(r"<!-- python\n(.*?)-->", PAGES[page], re.DOTALL)
    used = {each.id for code in shown for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Name)}
    assert used & set().union(*map(imported, hidden)) - set().union(*map(imported, shown)) == set()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_others_run_what_is_left_to_them(name):
    assert name.partition(":")[0] in (ROOT / ELSEWHERE[name]).read_text()


def test_what_programs_print_is_looked_at():
    assert SAID.keys() <= {case.id for case in cases()}


def test_the_first_page_of_the_site_shows_the_program_and_report_of_the_readme():
    shown = [re.findall(r"^```(?:python|text)\n.*?^```", PAGES[page], re.DOTALL | re.MULTILINE) for page in FIRST]
    assert shown[0][:2] == shown[1][:2]


# Command lines for this package, indented or after a prompt.
COMMANDS = [
    (page, line)
    for page, text in sorted(PAGES.items())
    for line in re.findall(r"^(?:    |\$ )(?:python -m pipeline|queue-runner) (.*?)(?: +#.*)?$", text, re.MULTILINE)
]


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_command_runs(page, line, tmp_path, monkeypatch):
    """With one epoch, and a program to check; states are saved before other commands resume from them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")  # as in a cloned repository
    (tmp_path / "train.py").write_text("import pipeline.compat.v1 as tf\n")
    arguments = re.sub(r"--epochs \d+", "--epochs 1", line).split()
    if "--resume" in arguments:
        assert cli.main([each.replace("--resume", "--save-state") for each in arguments]) == 0
    assert cli.main(arguments) == 0


# How programs are found on a page -------------------------------------------------------------------------------------


def page(*parts):
    return "\n".join(["# Title", *parts, ""])


def test_the_blocks_of_a_page_are_one_program(tmp_path):
    text = page("<!-- python\nx = 2\n-->", "Twice that:", "```python\nprint(2 * x)\n```", "```\nnot python\n```")
    [[*chosen]], left_out = page_programs.programs(text)
    assert left_out == []
    assert page_programs.run(page_programs.script(chosen), tmp_path) == "4\n"


def test_text_after_a_block_is_what_it_prints(tmp_path):
    text = page("```python\nprint(1)\n```", "```text\n1\n```", "```python\nprint(2)\n```", "words", "```text\n3\n```")
    [chosen], _ = page_programs.programs(text)
    assert [block.shown for block in chosen] == ["1\n", None]
    printed = page_programs.run(page_programs.script(chosen, mark=True), tmp_path)
    assert printed.split(page_programs.MARK) == ["1\n", "2\n", ""]


def test_errors_name_the_line_of_the_page(tmp_path):
    [chosen], _ = page_programs.programs(page("```python\nx = 1\n```", "words", "```python\nx.y\n```"))
    with pytest.raises(AssertionError, match=r"page\.py\", line 7, in <module>\n +x\.y"):
        page_programs.run(page_programs.script(chosen), tmp_path)


def test_a_block_with_a_word_is_a_program_by_itself():
    runnable, _ = page_programs.programs(page("```python\nx = 1\n```", "```python other\ny = 1\n```"))
    assert [[block.code for block in chosen] for chosen in runnable] == [["x = 1\n"], ["y = 1\n"]]


def test_what_is_not_installed_is_left_out_with_what_needs_it():
    text = page(
        "```python\nimport nowhere.part as there\na = b = 1\n```",
        "```python\nprint(there)\nc = 1\n```",
        "```python\nb = 2\n```",
        "```python\nprint(b)\n```",
        "```python\nprint(c)\n```",
        "```python\ndef local(c):\n    return c\n```",
        "```python\nimport math\na = 1\n```",
        "```python\nimport math\nimport nowhere\na = 2\n```",
        "```python\nprint(math)\n```",
        "```python\ndef outer():\n    return a\n```",
    )
    [chosen], left_out = page_programs.programs(text)
    assert [block.line for block in chosen] == [11, 14, 20, 24, 33]
    assert [(block.line, block.missing) for block in left_out] == [
        (3, ["nowhere"]),
        (7, ["nowhere"]),
        (17, ["nowhere"]),
        (28, ["nowhere"]),
        (36, ["nowhere"]),
    ]
