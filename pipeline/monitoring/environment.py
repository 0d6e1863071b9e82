"""PIPELINE_MONITOR: a program is watched without a change to it."""

from __future__ import annotations

import os
import sys

from pipeline.diagnostics import live

NAME = "PIPELINE_MONITOR"

_OFF = "", "0", "false", "no", "off"
_ON = "1", "true", "yes", "on"


def arm() -> None:
    """If the environment asks for it, let a monitor begin with the first threads that fill a queue, or the first
    iterator of a dataset."""
    value = os.environ.get(NAME, "").strip()
    if value.lower() not in _OFF:
        live.groups.on_next = live.loops.on_next = lambda: _start(value)


def _start(value: str) -> None:
    """Start a monitor until the program ends. What prevents that is told, and the program goes on."""
    live.groups.on_next = live.loops.on_next = None
    processes = sys.modules.get("multiprocessing.process")  # a worker has it; it shows nothing, its parent does
    if processes is not None and processes.parent_process() is not None:
        return
    options: dict[str, str] = {}
    if value.lower() == "plain":
        options["show"] = "plain"
    elif value.lower() not in _ON:
        if os.sep not in value and not os.path.isdir(value):
            _say(value, "must be 1, plain, a directory such as ./logs, or 0")
            return
        options["logdir"] = value
    # Only a program that is watched loads the views.
    from pipeline.monitoring.monitor import monitor

    try:
        monitor(**options).start()  # type: ignore[arg-type]  # names and values go together
    except Exception as error:
        _say(value, error)


def _say(value: str, text: object) -> None:
    """Say it to who set the variable: to stderr, as a program that does not know of it may have set up no logging."""
    if sys.stderr is not None:
        print(f"{NAME}={value}: {text}", file=sys.stderr)
