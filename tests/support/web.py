"""A web server in this process; a test controls its files, counts and faults."""

import contextlib
import hashlib
import http.server
import re
import threading


class Web:
    """A server's files, and the requests it received.

    Attributes:
        files: Contents by path.
        asked: Each request's method, path and range.
        faults: Functions by path that get the handler, the content, and the first and the last byte, and answer in
            some wrong way; each is used once, in order.
        ranges: Support ranges.
        tags: Send checksums.
        dated: Send the time of the last change.
    """

    def __init__(self):
        self.files, self.asked, self.faults = {}, [], {}
        self.ranges = self.tags = True
        self.dated = False
        self.lock = threading.Lock()

    def requests(self, path=None):
        """Return the request count."""
        return sum(path in (None, each[1]) for each in self.asked)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else heads and bodies wait for each other, 40 ms a reply

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, with_body):
        web, path = self.server.web, self.path
        asked = self.headers.get("Range")
        with web.lock:
            web.asked.append((self.command, path, asked))
            faults = web.faults.get(path, [])
            fault = faults.pop(0) if faults else None
        content = web.files.get(path)
        if content is None:
            self.send_error(404)
            return
        first, last, size = 0, len(content) - 1, len(content)
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", asked or "") if web.ranges else None
        if match is not None:
            if match[1]:
                first, last = int(match[1]), min(int(match[2] or size), size - 1)
            else:
                first = max(0, size - int(match[2]))
        if fault is not None:
            fault(self, content, first, last)
            return
        if match is not None and first >= size:
            self.send(416, b"", {"Content-Range": f"bytes */{size}"}, with_body)
            return
        headers = {"Content-Range": f"bytes {first}-{last}/{size}"} if match is not None else {}
        self.send(206 if match is not None else 200, content[first : last + 1], headers, with_body)

    def send(self, status, body, headers, with_body=True, length=None):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        if self.server.web.tags:
            self.send_header("ETag", hashlib.md5(self.server.web.files[self.path]).hexdigest())
        if self.server.web.dated:
            self.send_header("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if with_body:
            with contextlib.suppress(ConnectionError):  # the client has gone
                self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # such as a disconnected client


@contextlib.contextmanager
def serving():
    """Start a server; yield it and its address."""
    server = Server(("127.0.0.1", 0), Handler)
    server.web = Web()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.web, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
