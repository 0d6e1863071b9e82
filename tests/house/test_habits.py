"""Automation matches the project: workflows call existing targets, forms ask for the essentials, hooks are linters."""

import importlib
import re
import shlex
from pathlib import Path

import pytest

import pipeline

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
MAKEFILE = (ROOT / "Makefile").read_text()
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
TARGETS = set(re.findall(r"^([a-z][\w-]*):", MAKEFILE, re.MULTILINE))
VARIABLES = set(re.findall(r"^([A-Z]+) *\??=", MAKEFILE, re.MULTILINE))

workflows = pytest.mark.parametrize("path", sorted(GITHUB.glob("workflows/*.yml")), ids=lambda path: path.stem)


def jobs(path):
    return yaml.safe_load(path.read_text())["jobs"].values()


def steps(path):
    return [step for job in jobs(path) for step in job.get("steps", [])]


@workflows
def test_workflows_call_make(path):
    """Workflows build and test only with make targets, so that people can run the same."""
    for job in jobs(path):
        script = "\n".join(step.get("run", "") for step in job.get("steps", []))
        assert not re.search(r"\b(pytest|setup\.py|cibuildwheel|pip)\b", script)
        for line in re.findall(r"\bmake\b(.*)", script):
            words = shlex.split(line)
            called = {word for word in words if "=" not in word}
            if "$TARGET" in called:
                called = called - {"$TARGET"} | set(job["strategy"]["matrix"]["target"])
            assert called
            assert called - TARGETS == set()
            assert {word.partition("=")[0] for word in words if "=" in word} - VARIABLES == set()


@workflows
def test_workflows_have_few_rights(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for job in jobs(path):
        assert set(job.get("permissions", {})) <= {"id-token"}
        assert "timeout-minutes" in job or "uses" in job
    for step in steps(path):
        assert re.fullmatch(r"[\w./-]+@(v\d+|release/v\d+)", step["uses"]) if "uses" in step else "run" in step
        assert "${{" not in step.get("run", "")  # names defined elsewhere, such as a branch, are not code
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False


def test_a_release_waits_for_tests_and_wheels():
    release = yaml.safe_load((GITHUB / "workflows" / "release.yml").read_text())["jobs"]
    assert release["publish"]["needs"] == ["tag", "tests", "wheels"]
    for name in ("tests", "wheels"):
        called = (ROOT / release[name]["uses"]).read_text()
        assert "workflow_call" in yaml.safe_load(called)[True]  # `on` is a bool in YAML


def test_a_release_uploads_wheels_and_sources_alone():
    """Workflows called by a release share its artifacts, such as the documentation's."""
    (download,) = [step for step in steps(GITHUB / "workflows" / "release.yml") if "download" in step.get("uses", "")]
    assert download["with"]["pattern"] == "dist-*"
    called = [step for name in ("tests", "wheels") for step in steps(GITHUB / "workflows" / f"{name}.yml")]
    uploads = [step["with"] for step in called if "upload-artifact" in step.get("uses", "")]
    assert {each["path"]: each["name"].startswith("dist-") for each in uploads} == {
        "dist/*.whl": True,
        "dist/*.tar.gz": True,
        "build/docs": False,
    }


def test_a_release_is_checked(monkeypatch, tmp_path):
    """The tag, the version, the changelog's date and the files agree."""
    monkeypatch.syspath_prepend(ROOT / ".ci")
    check = importlib.import_module("check_release")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    (tmp_path / "pipeline").mkdir()
    (tmp_path / "pipeline" / "__init__.py").write_text('import os\n\n__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 (not released)\n")
    assert len([*check.faults("v1.2.3", [])]) == 1
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 (2026-12-01)\n\n## 1.2.2\n")
    files = ["dist/queue_runner-1.2.3-cp314-cp314-manylinux_2_17_x86_64.whl", "dist/queue_runner-1.2.3.tar.gz"]
    assert [*check.faults("v1.2.3", files)] == []
    assert len([*check.faults("v1.2.4", ["dist/queue_runner-1.2.30.tar.gz"])]) == 2


def test_the_changelog_begins_with_the_version():
    """Its section is being written or has a date; notes for upgrading are on a page."""
    lines = [line for line in CHANGELOG.splitlines() if line.startswith("#")]
    assert lines[0] == "# Changelog"
    assert re.fullmatch(rf"## {re.escape(pipeline.__version__)} \((not released|\d{{4}}-\d\d-\d\d)\)", lines[1])
    kinds = {line for line in lines if line.startswith("### ")}
    assert kinds == {"### Added", "### Changed", "### Fixed", "### Removed"}
    version = pipeline.__version__.rpartition(".")[0]
    assert re.search(
        rf"^## From \S+ to {re.escape(version)}$", (ROOT / "docs" / "upgrade.md").read_text(), re.MULTILINE
    )


def test_the_changelog_has_one_short_line_for_each_change():
    section = CHANGELOG.split("\n## ")[1]
    lines = [line.removeprefix("- ") for line in section.splitlines() if line.startswith("- ")]
    assert [line for line in lines if len(line.split()) > 25] == []
    assert [line for line in lines if lines.count(line) > 1] == []


def test_every_python_is_tested_and_gets_a_wheel():
    project = pytest.importorskip("tomllib").loads((ROOT / "pyproject.toml").read_text())
    matrix = yaml.safe_load((GITHUB / "workflows" / "tests.yml").read_text())["jobs"]["tests"]["strategy"]["matrix"]
    tested = matrix["python"]
    built = project["tool"]["cibuildwheel"]["build"].split()
    assert [f"cp{version.replace('.', '')}-*" for version in tested] == built
    assert f"foreach version,{' '.join(tested)}," in MAKEFILE
    classified = [each.rpartition(" ")[2] for each in project["project"]["classifiers"] if ":: 3." in each]
    assert classified == [version for version in tested if not version.endswith("t")]


def test_the_page_about_installing_tells_of_every_extra():
    """It also lists the extras left out of `all`."""
    project = pytest.importorskip("tomllib").loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    table = re.search(r"\| extra \| for \|\n.*\n((?:\|.*\n)+)", (ROOT / "docs" / "install.md").read_text()).group(1)
    rows = [re.findall(r"`([\w-]+)`", row.split("|")[1]) for row in table.splitlines()]
    (everything,) = extras["all"]
    assert {extra for row in rows for extra in row} == set(extras)
    without = re.search(r"\| `all` \| every extra except the large frameworks: (.*?) \|", table).group(1).split(", ")
    assert set(re.findall(r"[\w-]+", everything.partition("[")[2])) == set(extras) - set(without) - {"all"}


def test_the_form_for_bugs_asks_for_the_installation():
    body = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / "bug.yml").read_text())["body"]
    (config,) = [each for each in body if "show_config()" in each["attributes"].get("description", "")]
    assert config["validations"] == {"required": True}


def test_hooks_are_the_linters():
    recipe = re.search(r"^lint: .*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE).group(1)
    linters = set(re.findall(r"\$\(BIN\)/([\w-]+ ?(?:check|format)?)", recipe)) - {"python "}
    (local,) = yaml.safe_load((ROOT / ".ci" / "pre-commit.yaml").read_text())["repos"]
    hooks = {
        re.search(r"\.venv/bin/([\w-]+ ?(?:check|format)?)(?: |$)", each["entry"]).group(1) for each in local["hooks"]
    }
    assert {each.strip() for each in hooks} == {each.strip() for each in linters}
