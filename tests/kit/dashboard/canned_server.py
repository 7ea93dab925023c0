"""The page of the dashboard over answers that a test makes up: for states that a real crawl seldom has.

Nothing of Gossamer's server is in here: only its files, its headers, and whatever ``answers`` says.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import gossamer
from gossamer.policy.sentences.outages import describe_outage

STATIC = Path(gossamer.__file__).parent / "web" / "static"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
Answer = Callable[[str, dict[str, str]], Any]


@dataclass
class CannedServer:
    """Prepared answers, the requests received, and the actions ordered."""

    answers: Answer
    port: int = 0
    status: dict[str, int] = field(default_factory=dict)  # by the beginning of a path: refused with this
    slow: dict[str, float] = field(
        default_factory=dict
    )  # by the beginning of a path: seconds before an answer
    told: list[tuple[str, str, Any]] = field(default_factory=list)  # method, path, document
    after: dict[str, Any] = field(default_factory=dict)  # the reported outcome of an action
    has_stream: bool = True
    is_away: bool = False  # connections end without an answer
    events: list[bytes] = field(default_factory=list)  # that streams tell

    def tell(self, kind: str, document: Any) -> None:
        """Tell all streams something."""
        self.events.append(
            f"event: {kind}\nid: e-{len(self.events)}\ndata: {json.dumps(document)}\n\n".encode()
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: CannedServer

    def log_message(self, *args: Any) -> None: ...

    def do_GET(self) -> None:
        if self.site.is_away:
            self.close_connection = True
            return
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        if path.startswith("/static/"):
            self._send_file(STATIC / path.removeprefix("/static/"))
        elif not path.startswith("/api/v1/"):
            self._send_file(STATIC / "index.html")
        elif path == "/api/v1/stream":
            self._stream()
        else:
            self._answer("GET", path.removeprefix("/api/v1"), dict(parse_qsl(parts.query)), None)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        self._answer(self.command, urlsplit(self.path).path.removeprefix("/api/v1"), {}, body)

    do_DELETE = do_POST

    def _answer(self, method: str, path: str, query: dict[str, str], body: Any) -> None:
        if method != "GET":
            self.site.told.append((method, path, body))
        for start, seconds in self.site.slow.items():
            if path.startswith(start):
                time.sleep(seconds)
        for start, status in self.site.status.items():
            if path.startswith(start):
                what, way = describe_outage("Redis at queue:6379 is away", is_fleet=True)
                why = "Redis at queue:6379 does not answer in time"
                self._send_json({"error": {"what": what, "why": why, "way": way}}, status)
                return
        if method == "GET":
            found = self.site.answers(path, query)
        else:
            found = {"action": 1, "undo_until": time.time() + 600, "after": self.site.after}
        self._send_json(
            {"error": f"nothing is at {path}"} if found is None else found, 404 if found is None else 200
        )

    def _send_json(self, document: Any, status: int) -> None:
        self._send(json.dumps(document).encode(), "application/json", status)

    def _send_file(self, path: Path) -> None:
        if not path.is_file():
            self._send(b"", "text/plain", 404)
            return
        self._send(path.read_bytes(), TYPES[path.suffix], 200)

    def _send(self, body: bytes, kind: str, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def _stream(self) -> None:
        if not self.site.has_stream:
            self._send(b"{}", "application/json", 503)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        told = 0
        while not self.site.is_away:
            new, told = self.site.events[told:], len(self.site.events)
            try:
                self.wfile.write(b"".join([b": beat\n\n", *new]))
                self.wfile.flush()
            except OSError:
                break
            time.sleep(0.1)
        self.close_connection = True


@contextmanager
def serve_canned(answers: Answer) -> Iterator[CannedServer]:
    """The page on a free port of this machine."""
    site = CannedServer(answers)
    handler = type("Handler", (_Handler,), {"site": site})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
