"""Connect to a Ray cluster: import Ray at its first use, and join the cluster."""

from __future__ import annotations

import atexit
import importlib
import os
import re
import socket
import sys
from typing import Any

from pipeline.errors import FailedPreconditionError, UnavailableError

OLDEST = (2, 40)

LEFT = "this process has left the Ray cluster"

# Timeout for a machine to answer, in seconds.
_ANSWER = 5.0

# The start of HTTP/2: the client sends both, and the server answers with a frame like the second.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_SETTINGS = b"\0\0\0\4\0\0\0\0\0"

_ADDRESS = re.compile(r"(?P<host>[^/]+):(?P<port>\d+)")


def connect(what: str, address: str | None = None) -> Any:
    """Join a cluster, unless this process has joined one already.

    Args:
        what: The public function's name for errors.
        address: As for `ray.init`: "host:port", "auto", "local" or None.

    Returns:
        The module `ray`.

    Raises:
        ImportError: Ray is not installed, or too old.
        TypeError, ValueError: `address` is not valid.
        UnavailableError: There is no cluster at the address.
        FailedPreconditionError: The cluster runs another version of Ray or Python, or this process is in another one.
    """
    ray = _ray(what)
    match = _checked(what, address)
    if ray.is_initialized():
        joined = ray.get_runtime_context().gcs_address
        if match is not None and address != joined:
            raise FailedPreconditionError(
                None, None, f"{what}: this process is in the cluster at {joined} already, not at {address}"
            )
        return ray
    where = "" if address is None else f" at {address!r}"
    try:
        if match is not None:
            _greet(match["host"], int(match["port"]))
        ray.init(address=address)
    except OSError as error:  # a ConnectionError is an OSError
        raise UnavailableError(
            None, None, f"{what}: there is no Ray cluster{where} ({error}). `ray start --head` starts one"
        ) from error
    except RuntimeError as error:
        if "ersion mismatch" not in str(error):
            raise
        raise FailedPreconditionError(None, None, f"{what}: the Ray cluster{where} does not fit: {error}") from error
    atexit.register(_leave, ray)
    return ray


def _greet(host: str, port: int) -> None:
    """Raise OSError unless the server speaks HTTP/2, as heads do. Ray itself would try for minutes."""
    with socket.create_connection((host, port), _ANSWER) as connection:
        if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
            return
        connection.sendall(_PREFACE + _SETTINGS)
        try:
            said = connection.recv(len(_SETTINGS), socket.MSG_WAITALL)
        except TimeoutError as error:
            raise TimeoutError(f"nothing answered there within {_ANSWER:g} s") from error
        if said[3:4] != _SETTINGS[3:4]:
            raise ConnectionError("the program that answers there is not Ray")


def _leave(ray: Any) -> None:
    """After Ctrl-C exit at once, because Ray's own exit waits half a second for worker output."""
    if issubclass(getattr(sys, "last_type", None) or object, KeyboardInterrupt):
        ray.shutdown()


def _ray(what: str) -> Any:
    try:
        ray = importlib.import_module("ray")  # an extra, and a second for the import
    except ImportError as error:
        raise ImportError(f"{what} needs Ray: pip install ray") from error
    found = tuple(int(each) for each in ray.__version__.split(".")[:2])
    if found < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ImportError(f"{what} needs Ray {oldest} or newer, not {ray.__version__}: pip install -U ray")
    return ray


def _checked(what: str, address: Any) -> re.Match[str] | None:
    """Return the address's host and port; None if it has none."""
    if address is None or address in ("auto", "local"):
        return None
    if not isinstance(address, str):
        raise TypeError(f"{what}: address must be a string such as '10.0.0.1:6379', not {address!r:.80}")
    match = _ADDRESS.fullmatch(address)
    if match is None:  # such as for Ray's client protocol, which cannot read in place
        raise ValueError(f"{what}: address must be 'host:port', 'auto' or 'local', got {address!r:.80}")
    return match


def member(ray: Any) -> str:
    """Return this process's membership id in a cluster, new for each join; "" after leaving."""
    return str(ray.get_runtime_context().get_worker_id()) if ray.is_initialized() else ""


def bare(function: Any) -> Any:
    """Unwrap a Ray function so it never makes a cluster: `ray.shutdown()` may run after any check."""
    return getattr(function, "__wrapped__", function)
