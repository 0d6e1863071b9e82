"""monitor and trace reject invalid arguments by name, before they begin."""

import socket

import pytest

import pipeline

NUMBER, PATH = "must be a number of seconds, got", "must be a path, as text or os.PathLike, got"


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ({"interval": "1"}, TypeError, f"interval {NUMBER} str '1'"),
        ({"interval": None}, TypeError, f"interval {NUMBER} NoneType None"),
        ({"interval": 1j}, TypeError, f"interval {NUMBER} complex 1j"),
        ({"interval": float("nan")}, ValueError, "interval must be above 0 seconds, and .* got nan"),
        ({"logdir": 1}, TypeError, f"logdir {PATH} int 1"),
        ({"logdir": ["logs"]}, TypeError, f"logdir {PATH} list"),
        ({"logdir": ""}, ValueError, "logdir must be a path, got ''"),
        ({"logdir": "a\0b"}, ValueError, r"logdir: no file can have the name 'a\\x00b': it holds a zero byte"),
        ({"port": "8000"}, TypeError, "port must be an integer, got str '8000'"),
        ({"port": 1.5}, TypeError, "port must be an integer, got float 1.5"),
        ({"port": 0, "host": None}, TypeError, "host must be a name or an address as text, got NoneType None"),
        ({"port": 0, "host": b"::1"}, TypeError, "host must be a name or an address as text, got bytes b'::1'"),
    ],
)
def test_monitor(tmp_path, monkeypatch, given, kind, text):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=f"^{text}"):
        pipeline.monitor(**{"show": False, "logdir": "logs", **given})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ({"path": 1}, TypeError, f"trace: path {PATH} int 1"),
        ({"path": ""}, ValueError, "trace: path must be a path, got ''"),
        ({"interval": "1"}, TypeError, f"trace: interval {NUMBER} str '1'"),
        ({"interval": float("inf")}, ValueError, "trace: interval must be above 0 seconds, and .* got inf"),
        ({"max_bytes": "1"}, TypeError, "trace: max_bytes must be an integer, got str '1'"),
    ],
)
def test_trace(tmp_path, monkeypatch, given, kind, text):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=f"^{text}"):
        pipeline.trace(**{"path": "run.json", **given})
    assert not list(tmp_path.iterdir())


def test_paths_may_be_bytes(tmp_path):
    with pipeline.monitor(show=False, logdir=bytes(tmp_path / "logs")), pipeline.trace(bytes(tmp_path / "run.json")):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "run.json"]


def test_a_directory_that_is_a_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    monitor = pipeline.monitor(show=False, logdir=path)
    with pytest.raises(
        pipeline.errors.FailedPreconditionError, match=r"logdir must be a directory, and .*file is a file"
    ):
        monitor.start()
    with pytest.raises(pipeline.errors.OpError, match=r"^logdir .*file/logs; Not a directory"):
        pipeline.monitor(show=False, logdir=path / "logs").start()


def test_a_port_in_use_leaves_no_directory(tmp_path):
    pytest.importorskip("prometheus_client")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monitor = pipeline.monitor(show=False, port=taken.getsockname()[1], logdir=tmp_path / "logs")
        with pytest.raises(OSError, match="cannot serve metrics on"):
            monitor.start()
    assert not list(tmp_path.iterdir())
