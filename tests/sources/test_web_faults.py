"""Web servers and lines that fail at each request, for each format: the data is the same, or there is an error."""

import contextlib
import functools
import gzip
import hashlib
import os
import signal
import threading

import formats
import numpy as np
import pytest
from helpers import LIMIT, plain
from web import serving

import pipeline
from pipeline.files import ranges, remote

pytest.importorskip("fsspec")
aiohttp = pytest.importorskip("aiohttp")


@pytest.fixture(name="web")
def _web(monkeypatch):
    """A server whose files are read in ranges of a few KiB; else all faults would need files of many MiB."""
    for name, size in (("_FIRST", 4096), ("_RANGE", 8192), ("_AHEAD", 16384), ("_END", 1024), ("_PASSED", 4096)):
        monkeypatch.setattr(remote, name, size)  # private
    monkeypatch.setattr(ranges, "_PAUSE", 0.001)  # private: seconds before another try
    with serving() as (web, at):
        web.at = at
        yield web


# Files ----------------------------------------------------------------------------------------------------------------


def large_parquet(folder):
    """Its index is in the last 64 KiB, and its rows are before them."""
    pyarrow, _ = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    numbers = pyarrow.table({"x": np.random.default_rng(1).random(20_000)})
    pyarrow.parquet.write_table(numbers, folder / "parquet", row_group_size=5000, compression=None)
    return (folder / "parquet").read_bytes()


def written(form, folder):
    """Return the contents of a file of 30 KB."""
    form.write(folder / "f", range(30 if form.ending == "tar" else 300))
    return (folder / "f").read_bytes()


FORMATS = {
    name: (f"f.{form.ending}", form.read, functools.partial(written, form))
    for name, form in formats.FORMATS.items()
    if form.web
}


# Faults: how the server answers a request for the bytes from `first` to `last` of a file ------------------------------


def answer(handler, status, body, length=None, **headers):
    """Send what a server says, whether it is true or not."""
    handler.send_response(status)
    for key, value in headers.items():
        handler.send_header(key.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    if handler.command == "GET":
        with contextlib.suppress(ConnectionError):
            handler.wfile.write(body)


def part(handler, content, first, last, body=None, said=None, length=None, **headers):
    """Send a part, with something else in its place."""
    body = content[first : last + 1] if body is None else body
    said = f"bytes {first}-{last}/{len(content)}" if said is None else said
    answer(handler, 206, body, length, Content_Range=said, **headers)


def closing(function):
    def closed(handler, *args):
        function(handler, *args)
        handler.close_connection = True

    return closed


def reset(handler, content, first, last):
    handler.close_connection = True
    handler.connection.close()


def chunked_and_cut(handler, content, first, last):
    """Without a length, and without the chunk that ends it."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    body = content[: len(content) // 2]
    handler.wfile.write(b"%x\r\n%b\r\n" % (len(body), body))
    handler.close_connection = True


def packed(content):
    return gzip.compress(content)


# Those that the next try gets over.
PASSING = {
    "the body is cut": closing(lambda h, c, a, b: part(h, c, a, b, c[a : (a + b) // 2], length=b + 1 - a)),
    "the connection is reset": reset,
    "500": lambda h, c, a, b: answer(h, 500, b"sorry"),
    "503": lambda h, c, a, b: answer(h, 503, b"later"),
    "429": lambda h, c, a, b: answer(h, 429, b"slowly", Retry_After="0"),
}
LYING = {
    "a shorter Content-Length": lambda h, c, a, b: part(h, c, a, b, c[a:b]),
    "a longer Content-Length": closing(lambda h, c, a, b: part(h, c, a, b, length=b + 11 - a)),
    "another Content-Range": lambda h, c, a, b: part(h, c, a, b, said=f"bytes {a + 1}-{b + 1}/{len(c)}"),
    "no Content-Range": lambda h, c, a, b: answer(h, 206, c[a : b + 1]),
    "a Content-Range that is none": lambda h, c, a, b: part(h, c, a, b, said="bytes"),
    "a shorter range": lambda h, c, a, b: part(h, c, a, b, c[a:b], f"bytes {a}-{b - 1}/{len(c)}"),
    "a shorter range of unknown size": lambda h, c, a, b: part(h, c, a, b, c[a:b], f"bytes {a}-{b - 1}/*"),
    "a size that is too small": lambda h, c, a, b: part(h, c, a, b, said=f"bytes {a}-{b}/{b + 1}"),
    "a size that is too large": lambda h, c, a, b: part(h, c, a, b, said=f"bytes {a}-{b}/{len(c) + 100}"),
    "the whole file": lambda h, c, a, b: answer(h, 200, c),
    "the whole file, cut": closing(lambda h, c, a, b: answer(h, 200, c[: len(c) // 2], length=len(c))),
    "an empty file": lambda h, c, a, b: answer(h, 200, b""),
    "204": lambda h, c, a, b: answer(h, 204, b""),
    "chunks without an end": chunked_and_cut,
    "416": lambda h, c, a, b: answer(h, 416, b""),
    "416 with the size": lambda h, c, a, b: answer(h, 416, b"", Content_Range=f"bytes */{len(c)}"),
    "416 with a size of 0": lambda h, c, a, b: answer(h, 416, b"", Content_Range="bytes */0"),
    "404": lambda h, c, a, b: answer(h, 404, b"gone"),
    "a redirect to what is gone": lambda h, c, a, b: answer(h, 302, b"", Location="/gone"),
    "a redirect to itself": lambda h, c, a, b: answer(h, 302, b"", Location=h.path),
    "gzip that is none": lambda h, c, a, b: part(h, c, a, b, Content_Encoding="gzip"),
    "a part in gzip": lambda h, c, a, b: part(h, c, a, b, packed(c[a : b + 1]), Content_Encoding="gzip"),
    "all in gzip, cut": lambda h, c, a, b: answer(h, 200, packed(c)[:-20], Content_Encoding="gzip"),
    "all in gzip, broken": lambda h, c, a, b: answer(h, 200, packed(c)[:200] + b"x" * 200, Content_Encoding="gzip"),
    "another file": lambda h, c, a, b: part(h, c, a, b, bytes(b + 1 - a), ETag="another"),
    "another file without an ETag": lambda h, c, a, b: part(
        h, c, a, b, bytes(b + 1 - a), Last_Modified="Thu, 01 Jan 2026 00:00:00 GMT"
    ),
}


def epoch(source, url):
    return [plain(batch) for batch in source(url).batch(50)]


# What nobody can tell from another file, if it is said from the first request on.
CONSISTENT = {"a size that is too small", "an empty file", "416 with a size of 0", "another file"}
CONSISTENT |= {"another file without an ETag"}


def outcome(web, source, url, faults):
    """What an epoch gives, or the error, and how many faults there were."""
    web.faults = {"/" + url.rpartition("/")[2]: list(faults)}
    try:
        found = epoch(source, url)
    except (pipeline.OpError, OSError, ValueError) as error:
        found = error
    used = sum(map(bool, faults)) - sum(map(bool, web.faults.popitem()[1]))
    return found, used


@pytest.mark.parametrize("name", FORMATS)
def test_what_passes_is_tried_again(name, web, tmp_path):
    file, source, content = FORMATS[name]
    web.files["/" + file] = content(tmp_path)
    url = f"{web.at}/{file}"
    expected = epoch(source, url)
    for called, fault in PASSING.items():
        for nth in range(30):
            found, used = outcome(web, source, url, [*[None] * nth, fault])
            assert isinstance(found, list), f"{called}, request {nth}: {found!r}"
            assert found == expected, f"{called}, request {nth}"
            if not used:
                break
        assert nth, called


@pytest.mark.parametrize("name", FORMATS)
def test_a_server_that_lies(name, web, tmp_path):
    file, source, content = FORMATS[name]
    web.files["/" + file] = content(tmp_path)
    url = f"{web.at}/{file}"
    expected, wrong, errors = epoch(source, url), [], set()
    for called, fault in LYING.items():
        web.tags, web.dated = "ETag" not in called, True
        for lasting in (1, 30):
            if name == "csv" and called in CONSISTENT:  # it is opened twice, the first time for its types
                continue
            for nth in range(called in CONSISTENT, 30) if lasting == 1 else (2,):
                found, used = outcome(web, source, url, [*[None] * nth, *[fault] * lasting])
                if not isinstance(found, list):
                    errors.add(called)
                    assert url in str(found) or "/gone" in str(found), f"{called}: {found!r}"
                elif found != expected:
                    wrong.append(f"{called}, {lasting} times from request {nth} on: {len(found)} of {len(expected)}")
                if not used:
                    break
    assert not wrong, "\n".join(wrong)
    assert len(errors) > len(LYING) // 2, errors
    assert epoch(source, url) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:lance is not fork-safe")  # of a fork with threads
@pytest.mark.parametrize("name", ["parquet", "text"])
def test_requests_that_are_pending_at_a_fork_stay_with_the_parent(name, tmp_path):
    """The child fetches anew, or gets fsspec's error that it is not fork-safe; the parent loses nothing.

    Ranges have their usual sizes, so that the parent's first example does not need the request that is held.
    """
    file, source, content = FORMATS[name]
    content = large_parquet if name == "parquet" else content
    asked, answered = threading.Event(), threading.Event()

    def held(handler, content, first, last):
        asked.set()
        assert answered.wait(LIMIT)
        part(handler, content, first, last, ETag=hashlib.md5(content).hexdigest())

    with serving() as (web, at):
        for number in range(3):
            web.files[f"/{number}.{file}"] = content(tmp_path)
        web.faults[f"/1.{file}"] = [None, held] if name == "parquet" else [held]
        dataset = source([f"{at}/{number}.{file}" for number in range(3)])
        stays_with_the_parent(dataset, asked, answered)


def stays_with_the_parent(dataset, asked, answered):
    with iter(dataset) as examples:
        first = plain(next(examples))
        assert asked.wait(LIMIT)
        child = os.fork()
        if child == 0:
            signal.alarm(int(LIMIT))
            try:
                found = [plain(example) for example in dataset]
                os._exit(
                    0 if len(found) % 3 == 0 and found[0] == first and found[: len(found) // 3] * 3 == found else 2
                )
            except (pipeline.OpError, RuntimeError, OSError) as error:
                os._exit(0 if "fork" in str(error) else 3)
            except BaseException:
                os._exit(4)
        status = os.waitpid(child, 0)[1]
        answered.set()
        rest = [plain(example) for example in examples]
    assert status == 0
    expected = [first, *rest]
    assert expected[: len(expected) // 3] * 3 == expected
