"""tf.app: run, which parses the flags and calls a program's main function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import pipeline.compat.platform.flags as flags


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Parse the command line's flags, call `main` with the rest, and exit with what it returns.

    Args:
        main: The function; None is `main` of the program.
        argv: The command line; None is sys.argv. `main` gets its undefined flags too.

    Raises:
        SystemExit: Always.
        ImportError: absl-py is not installed; the extra `tf1` has it.
    """
    from absl import app  # with the flags: platform.flags says what is missing

    main = main or sys.modules["__main__"].main
    app.run(
        main, argv=None if argv is None else list(argv), flags_parser=lambda args: flags.FLAGS(args, known_only=True)
    )


__all__ = ["flags", "run"]
