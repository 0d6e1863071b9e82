"""`queue-runner completion`: completions offered by shells after running the script, and the program's own name."""

import shlex
import shutil
import subprocess
import sys

import pytest
from helpers import LIMIT

from pipeline import __version__
from pipeline.command.cli import main

# Asks a shell for completions of the last word; the words are in $QUEUE_RUNNER_WORDS.
BASH = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$(({count} - 1))
COMP_LINE="${{COMP_WORDS[*]}}"
$(complete -p queue-runner | sed -E 's/.*-F ([^ ]+).*/\\1/')
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
FISH = "source {script}; complete --do-complete {line}"


def script(tmp_path, capsys, shell):
    assert main(["completion", shell]) == 0
    path = tmp_path / f"completion.{shell}"
    path.write_text(capsys.readouterr().out)
    return path


def run(shell, *arguments, **kwargs):
    """Run a shell without its user's settings; return its output."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not here")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=LIMIT, check=False, **kwargs)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(params=["bash", "fish"])
def offered(request, tmp_path, capsys):
    """Return a function that lists a shell's completions for the last word."""
    path = script(tmp_path, capsys, request.param)

    def complete(*words):
        if request.param == "bash":
            quoted = " ".join(map(shlex.quote, words))
            lines = run("bash", "--norc", "-c", BASH.format(script=path, words=quoted, count=len(words)), cwd=tmp_path)
        else:
            text = FISH.format(script=path, line=shlex.quote(" ".join(words)))
            lines = run("fish", "--no-config", "-c", text, cwd=tmp_path)
        return [line.split("\t")[0] for line in lines.splitlines()]

    return complete


def test_commands(offered):
    assert offered("queue-runner", "f") == ["feed"]
    assert set(offered("queue-runner", "")) >= {"feed", "check", "completion"}


def test_options_of_a_command(offered):
    assert offered("queue-runner", "feed", "--min") == ["--min-after-dequeue"]


def test_files(offered, tmp_path):
    (tmp_path / "digits.csv").write_text("1\n")
    assert offered("queue-runner", "feed", "dig") == ["digits.csv"]
    assert offered("queue-runner", "feed", "--resume", "dig") == ["digits.csv"]


def test_choices(offered):
    assert offered("queue-runner", "completion", "z") == ["zsh"]


def test_zsh_reads_its_script(tmp_path, capsys):
    path = script(tmp_path, capsys, "zsh")
    assert path.read_text().startswith("#compdef queue-runner")
    run("zsh", "-f", "-n", path)


def test_another_shell(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["completion", "csh"])
    assert "invalid choice: 'csh'" in capsys.readouterr().err


def test_without_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert capsys.readouterr().err == ("pipeline completion: completion needs shtab: pip install shtab\n")


@pytest.mark.parametrize(
    ("started", "program"),
    [("/usr/bin/queue-runner", "queue-runner"), ("/somewhere/pipeline/__main__.py", "python -m pipeline")],
)
def test_it_calls_itself_as_it_was_called(monkeypatch, capsys, started, program):
    monkeypatch.setattr(sys, "argv", [started])
    with pytest.raises(SystemExit, match="2"):
        main(["feed"])
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"{program} feed: error: ")
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"queue-runner {__version__}\n"
