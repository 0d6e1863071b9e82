"""Errors detected before there is a cluster."""

import contextlib
import socket
import subprocess
import sys
import threading
import types

import pytest

import pipeline
from pipeline.cluster import connect


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"count": 0}, ValueError, "count must be at least 1, got 0"),
        ({"count": 1.5}, TypeError, "count"),
        ({"retries": -1}, ValueError, "retries must not be negative"),
        ({"setup": 3}, TypeError, "setup must be callable, not 3"),
    ],
)
def test_workers(arguments, error, text):
    with pytest.raises(error, match=text):
        pipeline.cluster.workers(**arguments)


def test_ray_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"cluster\.workers needs Ray: pip install ray"):
        pipeline.cluster.workers(2)


def test_an_old_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace(__version__="2.9.3"))
    with pytest.raises(ImportError, match=r"needs Ray 2\.40 or newer, not 2\.9\.3"):
        pipeline.cluster.workers(2)


class _Ray(types.SimpleNamespace):
    __version__ = "2.40.0"

    @staticmethod
    def is_initialized():
        return False

    @staticmethod
    def init(address):
        raise RuntimeError("Version mismatch: The cluster was started with: Ray: 2.39.0")


@pytest.mark.parametrize(
    ("address", "error", "text"),
    [
        (5, TypeError, "address must be a string"),
        ("ray://head:10001", ValueError, "address must be 'host:port', 'auto' or 'local', got 'ray://head:10001'"),
        ("127.0.0.1:1", pipeline.errors.UnavailableError, r"there is no Ray cluster at '127\.0\.0\.1:1' .*ray start"),
        ("auto", pipeline.errors.FailedPreconditionError, r"the Ray cluster at 'auto' does not fit: Version mismatch"),
    ],
)
def test_an_address(monkeypatch, address, error, text):
    monkeypatch.setitem(sys.modules, "ray", _Ray())
    with pytest.raises(error, match=text):
        pipeline.cluster.workers(2, address=address)


def answers(said):
    """Yield an address whose machine sends something else, or nothing, and then waits."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with listener, listener.accept()[0] as connection:
            connection.sendall(said)
            with contextlib.suppress(ConnectionError):
                while connection.recv(1000):
                    pass

    threading.Thread(target=serve, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b"SSH-2.0-OpenSSH_9.9\r\n", "the program that answers there is not Ray"),
        (b"", "nothing answered there within 0.1 s"),
    ],
)
def test_an_address_of_something_else(monkeypatch, said, text):
    monkeypatch.setitem(sys.modules, "ray", _Ray())
    # If it sends nothing, a longer wait is pointless.
    monkeypatch.setattr(connect, "_ANSWER", 0.1 if not said else connect._ANSWER)
    with pytest.raises(pipeline.errors.UnavailableError, match=rf"there is no Ray cluster at .*{text}"):
        pipeline.cluster.workers(2, address=answers(said))


ENDS = """
import atexit, sys, types
from pipeline.cluster.connect import connect

class Ray(types.SimpleNamespace):
    __version__ = "2.40.0"
    is_initialized = staticmethod(lambda: False)
    init = staticmethod(lambda address: None)
    shutdown = staticmethod(lambda: print("left"))

atexit.register(print, "Ray's own end")
sys.modules["ray"] = Ray()
connect("test")
{}
"""


@pytest.mark.parametrize(
    ("end", "said"), [("raise KeyboardInterrupt", "left\nRay's own end\n"), ("", "Ray's own end\n")]
)
def test_ctrl_c_does_not_wait_for_the_output_of_workers(end, said):
    done = subprocess.run([sys.executable, "-c", ENDS.format(end)], capture_output=True, text=True, timeout=60)
    assert done.stdout == said
