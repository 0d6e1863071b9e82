"""Logger names match the docs, and repeated warnings are limited."""

import ast
import logging
import pathlib
import re

import pytest
from helpers import run_script

import pipeline
from pipeline import logs

ROOT = pathlib.Path(pipeline.__file__).parent
PAGE = pathlib.Path(__file__).parents[1] / "docs" / "monitoring.md"
FILES = [path for path in ROOT.rglob("*.py") if path != ROOT / "logs.py"]


def calls(name):
    """Return the first arguments in all calls to a named function, with their files."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name:
                yield path.relative_to(ROOT).as_posix(), ast.unparse(node.args[0]) if node.args else ""


def test_the_page_lists_what_the_code_uses():
    section = PAGE.read_text().partition("## Logging\n")[2].partition("\n## ")[0]
    listed = dict(re.findall(r"^\| `(pipeline\.\w+)` \| (.*) \|$", section, re.MULTILINE))
    assert listed == logs.NAMES
    assert {ast.literal_eval(name) for _, name in calls("logger")} == set(logs.NAMES)


def test_nobody_has_a_logger_of_another_name():
    own = {path for path, _ in calls("getLogger")}
    assert own == {"compat/platform/tf_logging.py"}  # TensorFlow's own logger
    with pytest.raises(ValueError, match=r"no public logger: 'pipeline\.other'"):
        logs.logger("pipeline.other")


def test_a_place_that_warns_again_and_again_is_held_back(caplog, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(logs.time, "monotonic", lambda: now[0])
    log = logs.logger("pipeline.monitoring")

    def warn(number):
        log.warning("element %d is odd", number)

    for i in range(1000):
        warn(i)
    log.warning("another place")
    for _ in range(20):
        log.error("an error")
    texts = [record.getMessage() for record in caplog.records]
    assert texts == [*(f"element {i} is odd" for i in range(5)), "another place", *["an error"] * 20]
    now[0] += logs.SECONDS
    caplog.clear()
    warn(1000)
    warn(1001)
    assert caplog.messages == ["element 1000 is odd (995 more of these were left out)", "element 1001 is odd"]


def test_several_loggers_of_a_name_count_together(caplog):
    assert (
        logs.logger("pipeline.monitoring")
        is logs.logger("pipeline.monitoring")
        is logging.getLogger("pipeline.monitoring")
    )
    assert logs.logger("pipeline.monitoring").filters.count(logs.limit) == 1


SCRIPT = """
import logging, sys
import pipeline
{configure}
with pipeline.batch(range(5), 2) as loop:
    assert len(list(loop)) == 2
"""


def test_a_program_that_does_not_ask_for_the_log_gets_none():
    """As libraries should; with a handler it gets all."""
    done = run_script(SCRIPT.format(configure=""))
    assert (done.returncode, done.stderr) == (0, "")
    configure = "logging.basicConfig(format='%(name)s %(levelname)s %(message)s', level=logging.INFO)"
    done = run_script(SCRIPT.format(configure=configure))
    assert done.returncode == 0
    assert done.stderr.startswith("pipeline.batches INFO batch: the last 1 of 5 examples do not fill a batch")
