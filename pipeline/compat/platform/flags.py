"""tf.app.run, tf.flags and tf.app.flags: absl's flags, parsed when `FLAGS` is first read."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pipeline.compat.platform.flags as flags

try:
    from absl import flags as absl_flags
except ImportError as error:
    raise ImportError("tf.flags and tf.app.run need absl-py: pip install absl-py") from error

from absl.flags import *  # noqa: F403

absl_flags.disclaim_key_flags()  # flags belong to the module that calls a function of this one

# Argument names in TensorFlow before 1.5.
_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _with_old_names(define: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(define)
    def function(*args: Any, **options: Any) -> Any:
        return define(*args, **{_OLD_NAMES.get(name, name): value for name, value in options.items()})

    return function


DEFINE_string = _with_old_names(absl_flags.DEFINE_string)
DEFINE_boolean = DEFINE_bool = _with_old_names(absl_flags.DEFINE_boolean)
DEFINE_integer = _with_old_names(absl_flags.DEFINE_integer)
DEFINE_float = _with_old_names(absl_flags.DEFINE_float)


class _Flags:
    """absl's FLAGS, parsed from `sys.argv` on first access unless that was done before."""

    def __getattr__(self, name: str) -> Any:
        flags = absl_flags.FLAGS
        if name in flags and not flags.is_parsed():
            flags(sys.argv)
        return getattr(flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(absl_flags.FLAGS, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(absl_flags.FLAGS, name)

    def __getitem__(self, name: str) -> Any:
        return absl_flags.FLAGS[name]

    def __setitem__(self, name: str, flag: Any) -> None:
        absl_flags.FLAGS[name] = flag

    def __contains__(self, name: str) -> bool:
        return name in absl_flags.FLAGS

    def __iter__(self) -> Iterator[str]:
        return iter(absl_flags.FLAGS)

    def __len__(self) -> int:
        return len(absl_flags.FLAGS)

    def __dir__(self) -> list[str]:
        return dir(absl_flags.FLAGS)

    def __str__(self) -> str:
        return str(absl_flags.FLAGS)

    def __call__(self, argv: Any, known_only: bool = False) -> list[str]:
        return absl_flags.FLAGS(argv, known_only)


FLAGS: Any = _Flags()  # type: ignore[no-redef]


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Parse the command line's flags, call `main` with the rest, and exit with its result.

    Args:
        main: The function; None means the program's `main`.
        argv: The command line; None means sys.argv. `main` also gets its undefined flags.

    Raises:
        SystemExit: Always.
        ImportError: absl-py is not installed; the extra `tf1` has it.
    """
    from absl import app  # imported with the flags: platform.flags names the missing library

    main = main or sys.modules["__main__"].main
    app.run(
        main, argv=None if argv is None else list(argv), flags_parser=lambda args: flags.FLAGS(args, known_only=True)
    )


__all__ = ["flags", "run"]
