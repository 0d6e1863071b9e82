"""tf.logging, using the standard library's logger "tensorflow"."""

from __future__ import annotations

import logging
import sys
from typing import Any

from pipeline.locks import Lock

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARN, logging.ERROR, logging.FATAL

_lock = Lock()
_loggers: list[logging.Logger] = []
_counts: dict[Any, int] = {}
# Records show the program's line, not this file's.
_CALLER: dict[str, Any] = {"stacklevel": 2}


def get_logger() -> logging.Logger:
    """Return the logger. Unless the program configured logging, it writes warnings and worse to standard error."""
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
    get_logger().log(level, msg, *args, **_CALLER | kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level DEBUG."""
    get_logger().debug(msg, *args, **_CALLER | kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level INFO."""
    get_logger().info(msg, *args, **_CALLER | kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level WARN."""
    get_logger().warning(msg, *args, **_CALLER | kwargs)


warn = warning


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level ERROR."""
    get_logger().error(msg, *args, **_CALLER | kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level FATAL; the program continues."""
    get_logger().critical(msg, *args, **_CALLER | kwargs)


def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at a level."""
    get_logger().log(level, msg, *args, **_CALLER | kwargs)


def TaskLevelStatusMessage(msg: Any) -> None:
    """Log at level ERROR."""
    get_logger().error(msg, **_CALLER)


def flush() -> None:
    """Do nothing, because messages are not buffered."""


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Log at a level if `condition` is true."""
    if condition:
        get_logger().log(level, msg, *args, **_CALLER)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log at a level the first `n` times the program reaches this line."""
    if _count(sys._getframe(1)) < n:
        get_logger().log(level, msg, *args, **_CALLER)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log at a level the first time the program reaches this line, and every `n`-th time after it."""
    if _count(sys._getframe(1)) % n == 0:
        get_logger().log(level, msg, *args, **_CALLER)


def _count(frame: Any) -> int:
    """Return how often the program reached a line before."""
    key = frame.f_code.co_filename, frame.f_lineno
    with _lock:
        _counts[key] = _counts.get(key, -1) + 1
        return _counts[key]


def get_verbosity() -> int:
    """Return the lowest logged level."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int) -> None:
    """Log messages at this level and above."""
    get_logger().setLevel(v)
