"""A webhook on the loopback that keeps what it was sent."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hook(ThreadingHTTPServer):
    """A webhook that keeps what it was sent and answers as it is set to."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got, self.answers = [], []

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/hook/secret"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.got.append((content, dict(self.headers)))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 200)
        self.end_headers()

    def log_message(self, *_):
        """Nothing on the console."""


@contextmanager
def served(server):
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
