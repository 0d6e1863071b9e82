"""Files behind a web server: read like local ones, in few requests, whatever the server does meanwhile."""

import contextlib
import gzip
import io
import tarfile
import threading

import numpy as np
import pytest
from helpers import LIMIT
from web import serving

import pipeline
from pipeline.errors import DataLossError, NotFoundError, OpError, PermissionDeniedError, StateMismatchError
from pipeline.files.tfrecord_writer import TFRecordWriter

fsspec = pytest.importorskip("fsspec")
aiohttp = pytest.importorskip("aiohttp")
MIB = 1 << 20
LARGE = 14 * MIB  # several ranges


@pytest.fixture(name="web")
def _web():
    with serving() as (web, at):
        web.at = at
        yield web


def lines_of(size, seed=0):
    """Return distinct lines with about this many bytes in total."""
    rng = np.random.default_rng(seed)
    width = 1000
    return [f"{seed} {i} ".encode() + b"x" * int(rng.integers(width)) for i in range(2 * size // width)]


def put_lines(web, path, lines):
    web.files[path] = b"".join(line + b"\n" for line in lines)
    return web.at + path


def read(dataset):
    return [as_bytes(each) for each in dataset]


def as_bytes(text):
    return text.encode() if isinstance(text, str) else text


def parquet_file():
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    rows = 400_000
    table = pyarrow.table({"x": np.arange(rows), "y": np.random.default_rng(1).random(rows)})
    parquet.write_table(table, file, row_group_size=rows // 10)
    return file.getvalue()


def tar_file():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for i in range(200):
            member = tarfile.TarInfo(f"{i:04}.bin")
            content = bytes([i]) * 50_000
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return file.getvalue()


def tfrecord_file(tmp_path):
    with TFRecordWriter(str(tmp_path / "f")) as writer:
        for i in range(300):
            writer.write(bytes([i % 256]) * 40_000)
    return (tmp_path / "f").read_bytes()


FORMATS = {
    "text": (pipeline.text, lambda _: b"".join(line + b"\n" for line in lines_of(LARGE))),
    "csv": (pipeline.csv, lambda _: b"a,b\n" + b"".join(b"%d,%s\n" % (i, b"y" * 200) for i in range(40_000))),
    "jsonl": (pipeline.jsonl, lambda _: b"".join(b'{"a": %d, "b": "%s"}\n' % (i, b"z" * 200) for i in range(40_000))),
    "tfrecord": (pipeline.tfrecord, tfrecord_file),
    "webdataset": (pipeline.webdataset, lambda _: tar_file()),
    "parquet": (pipeline.parquet, lambda _: parquet_file()),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_read_as_from_a_disk_by_few_requests(kind, web, tmp_path):
    source, content = FORMATS[kind]
    web.files["/f"] = content(tmp_path)
    local = tmp_path / "local"
    local.write_bytes(web.files["/f"])
    expected = [*source(str(local)).batch(1000)]
    found = [*source(web.at + "/f").batch(1000)]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_equal(one, other)
    blocks = -(-len(web.files["/f"]) // (4 * MIB)) + (10 if kind == "parquet" else 0)
    assert web.requests() <= 2 + blocks


def test_small_files_take_one_request_each(web):
    urls = [put_lines(web, f"/{i}", [b"%d" % i, b"end"]) for i in range(40)]
    assert read(pipeline.text(urls)) == [line for i in range(40) for line in (b"%d" % i, b"end")]
    assert web.requests() == 40
    assert read(pipeline.text(urls, shuffle=True, seed=1, num_epochs=2).filter(lambda line: as_bytes(line) != b"end"))
    assert web.requests() == 120


def test_files_that_come_next_are_fetched_while_one_is_read(web):
    urls = [put_lines(web, f"/{i}", [b"%d" % i]) for i in range(20)]
    answered, gate = [], threading.Event()

    def late(handler, content, first, last):
        """Answer only after the next file was requested."""
        answered.append(handler.path)
        assert gate.wait(LIMIT)
        handler.send(206, content, {"Content-Range": f"bytes 0-{last}/{len(content)}"})

    def next_one(handler, content, first, last):
        gate.set()
        handler.send(206, content, {"Content-Range": f"bytes 0-{last}/{len(content)}"})

    web.faults = {"/0": [late], "/3": [next_one]}
    assert read(pipeline.text(urls)) == [b"%d" % i for i in range(20)]
    assert answered == ["/0"]


def cut(handler, content, first, last):
    """Send half the announced bytes."""
    body = content[first : last + 1]
    headers = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
    handler.send(206, body[: len(body) // 2], headers, length=len(body))
    handler.close_connection = True


def busy(handler, content, first, last):
    handler.send(503, b"later", {})


def reset(handler, content, first, last):
    handler.close_connection = True
    handler.connection.close()


@pytest.mark.parametrize("fault", [cut, busy, reset])
def test_a_range_that_fails_is_fetched_again_and_each_byte_comes_once(fault, web):
    lines = lines_of(LARGE)
    url = put_lines(web, "/f", lines)
    web.faults["/f"] = [fault, fault]
    assert read(pipeline.text(url)) == lines
    web.faults["/f"] = [lambda *args: Handlers.right(*args), fault, fault]
    assert read(pipeline.text(url)) == lines


class Handlers:
    @staticmethod
    def right(handler, content, first, last):
        headers = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
        with contextlib.suppress(OSError):
            handler.send(206, content[first : last + 1], headers)


def test_a_server_that_stays_busy_is_an_error_with_the_url(web):
    url = put_lines(web, "/f", [b"a"])
    web.faults["/f"] = [busy] * 10
    with pytest.raises(OpError, match=f"{url}.*503"):
        read(pipeline.text(url))
    assert web.requests() == 4


@pytest.mark.parametrize(("status", "kind"), [(404, NotFoundError), (403, PermissionDeniedError)])
def test_refusals_are_not_tried_again(status, kind, web):
    url = put_lines(web, "/f", [b"a"])
    web.faults["/f"] = [lambda handler, *_: handler.send(status, b"", {})] * 9
    with pytest.raises(kind, match=url):
        read(pipeline.text(url))
    assert web.requests() == 1


def test_a_missing_file_among_others_is_skipped(web):
    urls = [put_lines(web, f"/{i}", [b"%d" % i]) for i in range(5)]
    del web.files["/2"]
    with pytest.raises(NotFoundError, match=urls[2]):
        read(pipeline.text(urls))


@pytest.fixture(name="impatient")
def _impatient(monkeypatch):
    """The user's own limit for a silent server."""
    timeout = aiohttp.ClientTimeout(total=None, sock_read=0.2)
    monkeypatch.setitem(fsspec.config.conf, "http", {"client_kwargs": {"timeout": timeout}})


@pytest.mark.usefixtures("impatient")
def test_a_half_open_connection_ends_with_the_url(web):
    url = put_lines(web, "/f", lines_of(LARGE))
    over = threading.Event()

    def silent(handler, content, first, last):
        body = content[first : last + 1]
        handler.send(206, body[:1000], {"Content-Range": f"bytes {first}-{last}/{len(content)}"}, length=len(body))
        over.wait(LIMIT)
        handler.close_connection = True

    web.faults["/f"] = [Handlers.right, *[silent] * 20]
    try:
        with pytest.raises(OpError, match=f"{url}; the server sent nothing for too long"):
            read(pipeline.text(url))
    finally:
        over.set()


def test_a_server_without_ranges(web):
    web.ranges = False
    small, large = put_lines(web, "/small", [b"a", b"b"]), put_lines(web, "/large", lines_of(LARGE))
    assert read(pipeline.text(small)) == [b"a", b"b"]
    assert web.requests() == 1
    assert read(pipeline.text(large)) == lines_of(LARGE)
    with iter(pipeline.text(large)) as lines:
        first = [as_bytes(next(lines)) for _ in range(1000)]
        state = lines.state_dict()
    with iter(pipeline.text(large)) as lines:
        lines.load_state_dict(state)
        assert first + read(lines) == lines_of(LARGE)


def test_compressed_and_empty_files(web):
    lines = lines_of(LARGE, 1)
    web.files["/f.gz"] = gzip.compress(b"".join(line + b"\n" for line in lines), 1)
    web.files["/empty"] = b""
    assert read(pipeline.text([web.at + "/f.gz", web.at + "/empty"])) == lines


def test_redirects(web):
    url = put_lines(web, "/old", [b"a"])
    put_lines(web, "/new", lines_of(LARGE))
    web.faults["/old"] = [lambda handler, *_: handler.send(302, b"", {"Location": "/new"})] * 9
    assert read(pipeline.text(url)) == lines_of(LARGE)


def test_a_file_that_changes_while_it_is_read_is_an_error(web):
    url = put_lines(web, "/f", lines_of(LARGE))
    with iter(pipeline.text(url)) as lines:
        next(lines)
        web.files["/f"] = web.files["/f"].replace(b"x", b"y")
        with pytest.raises(DataLossError, match=f"{url}; the file was changed while it was read"):
            read(lines)


def wrong_place(handler, content, first, last):
    Handlers.right(handler, content, first + 10, last)


def too_much(handler, content, first, last):
    headers = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
    handler.send(206, content[first : last + 1] + bytes(100), headers)


def too_short(handler, content, first, last):
    """Announce less than the file has, consistently."""
    headers = {"Content-Range": f"bytes {first}-{last - 100}/{len(content)}"}
    handler.send(206, content[first : last - 99], headers)


@pytest.mark.parametrize("lie", [wrong_place, too_much, too_short])
@pytest.mark.parametrize("late", [False, True])
def test_a_server_that_lies_is_an_error_and_never_wrong_data(lie, late, web):
    lines = lines_of(LARGE)
    url = put_lines(web, "/f", lines)
    web.faults["/f"] = [Handlers.right] * (2 * late) + [lie] * 20
    found = []
    with pytest.raises(OpError, match=url):
        found += read(pipeline.text(url))
    assert found == lines[: len(found)]


def test_a_resumed_run_fetches_what_is_left(web):
    lines = lines_of(LARGE)
    url = put_lines(web, "/f", lines)
    for taken in (1, len(lines) // 2, len(lines)):
        with iter(pipeline.text(url)) as before:
            first = [as_bytes(next(before)) for _ in range(taken)]
            state = before.state_dict()
        web.asked.clear()
        with iter(pipeline.text(url)) as after:
            after.load_state_dict(state)
            assert first + read(after) == lines
        starts = [int(asked.partition("=")[2].partition("-")[0]) for method, _, asked in web.asked if method == "GET"]
        left = sum(map(len, lines[taken:]))
        assert min(starts, default=LARGE) >= len(web.files["/f"]) - 3 * left - 20 * MIB * (taken < 2) - MIB


def test_a_file_that_was_replaced_is_told_from_the_one_of_the_state(web):
    url = put_lines(web, "/f", lines_of(LARGE))
    with iter(pipeline.text(url)) as lines:
        next(lines)
        state = lines.state_dict()
    web.files["/f"] = web.files["/f"].replace(b"x", b"y")
    with iter(pipeline.text(url)) as lines, pytest.raises(StateMismatchError, match="other contents"):
        lines.load_state_dict(state)


def test_iterators_of_several_threads_share_nothing(web):
    urls = [put_lines(web, f"/{i}", lines_of(MIB // 8, i)) for i in range(12)]
    expected = [line for i in range(12) for line in lines_of(MIB // 8, i)]
    dataset, found = pipeline.text(urls), {}

    def body(which):
        found[which] = read(dataset)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert [found[i] == expected for i in range(4)] == [True] * 4


def test_a_loop_that_is_left_asks_for_no_more(web):
    urls = [put_lines(web, f"/{i}", [b"%d" % i]) for i in range(100)]
    for line in pipeline.text(urls):
        assert as_bytes(line) == b"0"
        break
    assert web.requests() <= 10
    assert read(pipeline.text(urls)) == [b"%d" % i for i in range(100)]
