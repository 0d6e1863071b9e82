"""Other programs' text appears above the picture, unchanged; the picture stays at the lower end."""

import contextlib
import logging
import sys
import threading

import pytest

pytest.importorskip("pyte", reason="pyte is not installed")
from terminals import Terminal

from pipeline.reports.screen import Screen


@pytest.fixture
def terminal(monkeypatch):
    terminal = Terminal(40, 12)
    monkeypatch.setattr("pipeline.reports.screen.SOONEST", 0.0)
    yield terminal
    terminal.close()


@contextlib.contextmanager
def shown(terminal):
    """Open a screen with the body's stderr: not a fixture, because pytest replaces stderr for each phase of a test."""
    with contextlib.redirect_stderr(terminal.stream):
        screen = Screen(terminal.stream)
        screen.open()
        try:
            yield screen
        finally:
            screen.close()


def test_text_goes_above(terminal):
    with shown(terminal) as screen:
        screen.show(["picture 1", "verdict 1"])
        print("hello", file=sys.stderr)
        screen.show(["picture 2", "verdict 2"])
        print("two\nlines", file=sys.stderr)
        assert terminal.lines() == ["hello", "two", "lines", "picture 2", "verdict 2"]


def test_a_line_without_an_end(terminal):
    """As progress bars write it: over itself."""
    with shown(terminal) as screen:
        screen.show(["picture"])
        sys.stderr.write("\r 10%")
        sys.stderr.write("\r 20%\x1b[K")
        assert terminal.lines() == [" 20%", "picture"]
        print(" done", file=sys.stderr)
        assert terminal.lines() == [" 20% done", "picture"]
        sys.stderr.write("half")
        screen.close()
        assert terminal.lines() == [" 20% done", "half", "picture"]


def test_what_comes_too_fast_is_drawn_later(terminal, monkeypatch):
    with shown(terminal) as screen:
        screen.show(["picture"])
        monkeypatch.setattr("pipeline.reports.screen.SOONEST", 1e9)
        print("one\ntwo", file=sys.stderr)
        assert terminal.lines() == ["one", "two"]
        screen.refresh()
        assert terminal.lines() == ["one", "two", "picture"]


def test_pictures_grow_and_shrink(terminal):
    with shown(terminal) as screen:
        for length in (3, 9, 1, 5):
            screen.show([f"row {i}" for i in range(length)])
            assert terminal.lines() == [f"row {i}" for i in range(length)]


def test_a_terminal_that_becomes_wider(terminal):
    with shown(terminal) as screen:
        print("above", file=sys.stderr)
        screen.show(["x" * 30, "y" * 30])
        terminal.lines()
        terminal.resize(80, 12)
        screen.show(["x" * 70, "y" * 70])
        assert terminal.lines() == ["above", "x" * 70, "y" * 70]


def test_the_end(terminal):
    with shown(terminal) as screen:
        real = terminal.stream
        assert sys.stderr is not real
        assert sys.stderr.isatty()
        screen.show(["picture"])
        screen.close()
        assert sys.stderr is real
        print("below", file=sys.stderr)
        assert terminal.lines() == ["picture", "below"]
        assert not terminal.screen.cursor.hidden


def test_logging(terminal):
    """Handlers installed before, meanwhile, during and after."""
    with contextlib.redirect_stderr(terminal.stream):
        logger = logging.getLogger("test_screen")
        logger.propagate = False
        before = logging.StreamHandler(sys.stderr)
        logger.addHandler(before)
        screen = Screen(terminal.stream)
        screen.open()
        meanwhile = logging.StreamHandler()
        try:
            screen.show(["picture"])
            logger.error("one")
            logger.removeHandler(before)
            logger.addHandler(meanwhile)
            logger.error("two")
            screen.close()
            assert terminal.lines() == ["one", "two", "picture"]
            logger.error("three")
            assert terminal.lines()[-1] == "three"
            assert meanwhile.stream is terminal.stream
        finally:
            logger.removeHandler(before)
            logger.removeHandler(meanwhile)


def test_what_goes_elsewhere_is_let_alone(terminal, capsys):
    with shown(terminal):
        print("to a file, or a pipe")
        assert capsys.readouterr().out == "to a file, or a pipe\n"
        assert terminal.lines() == []


def test_many_threads(terminal):
    with shown(terminal) as screen:

        def write(name):
            for i in range(20):
                sys.stderr.write(f"{name} {i}\n")  # print would write the end apart
                screen.show([f"picture {i}"])

        threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        written = [line for line in terminal.lines() if line[0] in "abc"]
        assert sorted(written) == sorted(f"{name} {i}" for name in "abc" for i in range(20))


def test_a_terminal_that_is_gone(terminal):
    with contextlib.redirect_stderr(terminal.stream):
        screen = Screen(terminal.stream)
        screen.open()
        screen.show(["picture"])
        terminal.stream.close()
        screen.close()
        assert sys.stderr is terminal.stream
