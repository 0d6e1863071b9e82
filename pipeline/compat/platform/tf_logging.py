"""tf.logging: messages through the logger "tensorflow" of the standard library."""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARN, logging.ERROR, logging.FATAL

_lock = threading.Lock()
_loggers: list[logging.Logger] = []
_counts: dict[Any, int] = {}


def get_logger() -> logging.Logger:
    """The logger; at first it writes warnings and worse to standard error, if the program has not configured any."""
    if not _loggers:
        with _lock:
            if not _loggers:
                logger = logging.getLogger("tensorflow")
                logger.setLevel(logging.WARN if logger.level == logging.NOTSET else logger.level)
                if not logging.getLogger().handlers and not logger.handlers:
                    interactive = hasattr(sys, "ps1") or bool(sys.flags.interactive)
                    handler = logging.StreamHandler(sys.stdout if interactive else sys.stderr)
                    handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
                    logger.addHandler(handler)
                    if interactive:
                        logger.setLevel(logging.INFO)
                _loggers.append(logger)
    return _loggers[0]


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at a level."""
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log what helps to find errors."""
    get_logger().debug(msg, *args, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log what is good to know."""
    get_logger().info(msg, *args, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log what may be wrong."""
    get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log what went wrong."""
    get_logger().error(msg, *args, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log what a program cannot go on with; it goes on."""
    get_logger().fatal(msg, *args, **kwargs)


def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at a level."""
    get_logger().log(level, msg, *args, **kwargs)


def TaskLevelStatusMessage(msg: Any) -> None:
    """Log as an error."""
    error(msg)


def flush() -> None:
    """Taken, and without effect: messages are not kept back."""


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Log at a level if the condition is true."""
    if condition:
        vlog(level, msg, *args)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log at a level, the first `n` times that this line of the program is reached."""
    log_if(level, msg, _count(sys._getframe(1)) < n, *args)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log at a level, the first time that this line of the program is reached and every `n`-th from then on."""
    log_if(level, msg, _count(sys._getframe(1)) % n == 0, *args)


def _count(frame: Any) -> int:
    """How often a line was here before."""
    key = frame.f_code.co_filename, frame.f_lineno
    with _lock:
        _counts[key] = _counts.get(key, -1) + 1
        return _counts[key]


def get_verbosity() -> int:
    """The lowest level of messages that are shown."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int) -> None:
    """Show messages of a level and above."""
    get_logger().setLevel(v)
