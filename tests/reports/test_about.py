"""show_config: its contents, as text and as a dict."""

import json
import platform
import re
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import pipeline
from pipeline.reports import about


def test_the_dict_is_plain_data_and_true():
    parts = pipeline.show_config("dicts")
    assert json.loads(json.dumps(parts)) == parts
    assert parts["queue-runner"] == {"version": pipeline.__version__, "path": str(Path(pipeline.__file__).parent)}
    assert parts["Python"]["version"] == platform.python_version()
    assert parts["Python"]["free-threaded"] == bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    assert parts["Python"]["GIL"] == (sys._is_gil_enabled() if sys.version_info >= (3, 13) else True)
    assert parts["NumPy"] == {"version": np.__version__}
    assert parts["system"]["platform"] == platform.platform()


def test_what_it_was_compiled_with():
    built = pipeline.show_config("dicts")["compiled with"]
    assert re.fullmatch(r"(gcc|clang) \d+\.\d+\.\d+", built["compiler"])
    assert built["standard"] == "C++17"
    assert re.fullmatch(r"\d+\.\d+\.\d+", built["Cython"])
    assert built["NumPy"].startswith("2.")
    assert built["simd"] == (["SSE2"] if platform.machine() in ("x86_64", "AMD64") else [])
    if platform.libc_ver()[0] == "glibc":
        here, there = platform.libc_ver()[1], built["C library"].removeprefix("glibc ")
        assert [int(part) for part in there.split(".")] <= [int(part) for part in here.split(".")]


def installed(monkeypatch, requirements, versions):
    """Let the package require this, and let these packages be installed."""

    def version(package):
        if package not in versions:
            raise metadata.PackageNotFoundError(package)
        return versions[package]

    def requires(package):
        if requirements is None:
            raise metadata.PackageNotFoundError(package)
        return requirements

    monkeypatch.setattr(about.metadata, "requires", requires)
    monkeypatch.setattr(about.metadata, "version", version)


REQUIREMENTS = [
    "numpy>=1.26",
    'pillow>=10; extra == "image"',
    'simplejpeg>=1.8; python_version < "4" and extra == "image"',
    "tqdm>=4.60 ; extra == 'progress'",
    'queue-runner[image,progress]; extra == "all"',
]


def test_the_extras(monkeypatch):
    installed(monkeypatch, REQUIREMENTS, {"pillow": "12.0", "tqdm": "4.67", "numpy": "2.4"})
    found = pipeline.show_config(mode="dicts")["extras"]
    assert found == {"image": {"pillow": "12.0", "simplejpeg": None}, "progress": {"tqdm": "4.67"}}


def test_sources_that_are_not_installed(monkeypatch):
    installed(monkeypatch, None, {})
    assert pipeline.show_config("dicts")["extras"] == {}


def test_the_text_has_all_that_the_dict_has(monkeypatch, capsys):
    installed(monkeypatch, REQUIREMENTS, {"pillow": "12.0"})
    assert pipeline.show_config() is None
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["queue-runner:", f"  version: {pipeline.__version__}"]
    simd = pipeline.show_config("dicts")["compiled with"]["simd"]
    assert f"  simd: {', '.join(simd) or 'none'}" in lines
    assert lines[-6:] == ["extras:", "  image:", "    pillow: 12.0", "    simplejpeg: not found"] + lines[-2:]
    assert lines[-2:] == ["  progress:", "    tqdm: not found"]


def test_another_mode():
    with pytest.raises(ValueError, match="mode must be 'stdout' or 'dicts', got 'json'"):
        pipeline.show_config("json")
