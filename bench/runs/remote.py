"""Read files from a web server with delay and limited bandwidth, with each streaming library: `make bench-remote`.

The server is another process: each answer arrives after 50 ms, and all connections share 1 Gbit/s. The table has the
wall time and the requests for one pass per format, and the fraction of the bandwidth used: file bytes divided by the
time. "in order" reads the same files with `fsspec.open`, as a handwritten loop does; "datasets" is a Hugging Face
Datasets stream; and "webdataset" is WebDataset, which reads with curl. Missing libraries are left out.
"""

import argparse
import functools
import http.server
import importlib.util
import io
import multiprocessing
import os
import re
import sys
import tarfile
import tempfile
import threading
import time

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pipeline
from pipeline.files.tfrecord_writer import TFRecordWriter

DELAY, RATE = 0.05, 125_000_000  # seconds; bytes per second
PIECE = 1 << 16
FILES = 4


class Link:
    """A line whose bytes take turns. Up to 5 ms of them are ready on the server, as in its kernel."""

    def __init__(self):
        self.free = time.monotonic()
        self.lock = threading.Lock()
        self.requests = 0

    def wait(self, size):
        with self.lock:
            self.free = max(self.free, time.monotonic() - 0.005) + size / RATE
            free = self.free
        if (left := free - time.monotonic()) > 0:
            time.sleep(left)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, with_body):
        link = self.server.link
        if self.path == "/requests":
            body, first, size = str(link.requests).encode(), 0, None
        else:
            link.requests += 1
            time.sleep(DELAY)
            path = os.path.join(self.server.folder, os.path.basename(self.path))
            size = os.path.getsize(path)
            match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
            first, last = 0, size - 1
            if match is not None:
                first = int(match[1]) if match[1] else max(0, size - int(match[2]))
                last = min(int(match[2] or last), last) if match[1] else last
            with open(path, "rb") as file:
                file.seek(first)
                body = memoryview(file.read(last + 1 - first))
        self.send_response(200 if size is None or not self.headers.get("Range") else 206)
        if size is not None:
            self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{size}")
            self.send_header("ETag", f'"{size}"')
            self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for at in range(0, len(body) if with_body else 0, PIECE):
            piece = body[at : at + PIECE]
            link.wait(len(piece))
            self.wfile.write(piece)

    def log_message(self, *args):
        pass


def serve(folder, pipe):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.folder, server.link = True, folder, Link()
    pipe.send(server.server_port)
    server.serve_forever()


def write(folder, size):
    """Write files in each format, with about `size` bytes each; return their names by format."""
    rng = np.random.default_rng(0)
    found = {}
    line = bytes(rng.integers(97, 122, 500, dtype=np.uint8))
    for i in range(FILES):
        contents = {
            "text": b"".join(b"%d %s\n" % (k, line) for k in range(size // 510)),
            "csv": b"a,b\n" + b"".join(b"%d,%s\n" % (k, line) for k in range(size // 510)),
            "jsonl": b"".join(b'{"a": %d, "b": "%s"}\n' % (k, line) for k in range(size // 525)),
        }
        file = io.BytesIO()
        rows = size // 1008
        column = pa.FixedSizeListArray.from_arrays(pa.array(rng.random(rows * 125)), 125)
        pq.write_table(
            pa.table({"x": column, "y": np.arange(rows)}), file, row_group_size=rows // 8, compression="none"
        )
        contents["parquet"] = file.getvalue()
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w") as tar:
            for k in range(size // 100_000):
                member = tarfile.TarInfo(f"{k:06}.bin")
                member.size = 98_000
                tar.addfile(member, io.BytesIO(bytes(98_000)))
        contents["webdataset"] = file.getvalue()
        for kind, content in contents.items():
            with open(os.path.join(folder, f"{kind}-{i}"), "wb") as out:
                out.write(content)
            found.setdefault(kind, []).append(f"{kind}-{i}")
        with TFRecordWriter(os.path.join(folder, f"tfrecord-{i}")) as writer:
            for _ in range(size // 100_000):
                writer.write(bytes(99_900))
        found.setdefault("tfrecord", []).append(f"tfrecord-{i}")
    return found


SOURCES = {
    "text": lambda urls: pipeline.text(urls).batch(1024),
    "csv": lambda urls: pipeline.csv(urls).batch(1024),
    "jsonl": lambda urls: pipeline.jsonl(urls).batch(1024),
    "parquet": lambda urls: pipeline.parquet(urls).batch(1024),
    "webdataset": pipeline.webdataset,
    "tfrecord": pipeline.tfrecord,
}


def streamed(kind, urls):
    """Make one pass over a Hugging Face Datasets stream."""
    import datasets

    builder = {"jsonl": "json"}.get(kind, kind)
    data = datasets.load_dataset(builder, data_files={"train": urls}, split="train", streaming=True)
    return sum(1 for _ in data)


def by_webdataset(urls):
    import webdataset

    return sum(1 for _ in webdataset.WebDataset(urls, shardshuffle=False))


def peers(kind):
    """Return other readers for a format's files, by name. Datasets 5.2 fails to stream texts by HTTP."""
    if kind == "webdataset":
        return {"webdataset": by_webdataset} if importlib.util.find_spec("webdataset") else {}
    if kind in ("text", "tfrecord") or not importlib.util.find_spec("datasets"):
        return {}
    return {"datasets": functools.partial(streamed, kind)}


def in_order(urls):
    for url in urls:
        with fsspec.open(url, "rb") as file:
            while file.read(1 << 18):
                pass


def counted(make, files):
    return sum(1 for _ in make(files))


def requests(at):
    with fsspec.open(f"{at}/requests", "rb", block_size=0) as file:
        return int(file.read())


def measured(at, total, function, *args):
    """Return a line with the time for a function to read `total` bytes, and its number of requests."""
    before, begin, busy = requests(at), time.perf_counter(), time.process_time()
    function(*args)
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    asked = requests(at) - before
    return f"{seconds:5.2f} s, {total / RATE / seconds:4.0%} of the link, {asked} requests, CPU {busy:.2f} s"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--size", type=int, default=64 << 20, help="bytes of each file")
    size = arguments.parse_args().size
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        names = write(folder, size)
        mine, its = context.Pipe()
        server = context.Process(target=serve, args=(folder, its), daemon=True)
        server.start()
        at = f"http://127.0.0.1:{mine.recv()}"

        link = f"{FILES} files of {size / 1e6:.0f} MB; {DELAY * 1e3:.0f} ms, {RATE * 8 / 1e9:g} Gbit/s"
        print(link, flush=True)
        for kind, make in SOURCES.items():
            urls = [f"{at}/{name}" for name in names[kind]]
            paths = [os.path.join(folder, name) for name in names[kind]]
            total = sum(map(os.path.getsize, paths))
            ours = measured(at, total, counted, make, urls)
            print(f"{kind:10} {ours}; in order {measured(at, total, in_order, urls)}", flush=True)
            for name, read in peers(kind).items():
                print(f"{'':10} {name} {measured(at, total, read, urls)}", flush=True)
            print(f"{'':10} from the disk {measured(at, total, counted, make, paths)}", flush=True)
        server.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
