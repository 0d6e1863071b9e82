"""tf.app: run, which parses the flags and calls a program's main function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import pipeline.compat.platform.flags as flags
from pipeline.compat.platform.flag_values import FLAGS, Error


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Parse the command line's flags, call `main` with the rest, and exit with what it returns.

    Args:
        main: The function; None is `main` of the program.
        argv: The command line; None is sys.argv. `main` gets its undefined flags too.

    Raises:
        SystemExit: Always.
    """
    main = main or sys.modules["__main__"].main
    argv = list(sys.argv if argv is None else argv)
    if any(arg in ("--help", "-help", "--helpfull", "--helpshort", "-?") for arg in argv[1:]) and "help" not in FLAGS:
        print(f"\n       USAGE: {argv[0]} [flags]\nflags:\n\n{FLAGS.get_help()}")
        sys.exit(1)
    try:
        rest = FLAGS(argv, known_only=True)
    except Error as error:
        sys.stderr.write(f"FATAL Flags parsing error: {error}\nPass --helpshort or --helpfull to see help on flags.\n")
        sys.exit(1)
    sys.exit(main(rest))


__all__ = ["flags", "run"]
