"""``/metrics``, ``/healthz`` and ``/readyz`` of one process: a small server in threads of its own.

It answers also while the event loop is blocked, since it reports that. It serves a few readers at once, waits
a few seconds for each, and refuses the others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6, socket
from typing import Any, NamedTuple

from prometheus_client.exposition import choose_encoder

from gossamer.observe.exposition import make_registry
from gossamer.observe.health import ProcessHealth
from gossamer.observe.metrics import MetricSample
from gossamer.policy.origins import is_loopback

READERS = 8
"""Maximum connections at once."""
READER_S = 5.0
"""Seconds that a reader may take between two bytes."""
_TEXT = "text/plain; charset=utf-8"


class MetricsServer:
    """Serves the samples of ``read``, and the health of this process.

    Raises ``OSError`` where it cannot listen.
    """

    def __init__(
        self,
        host: str,
        port: int,
        read: Callable[[], Iterable[MetricSample]],
        health: ProcessHealth,
    ) -> None:
        self._registry = make_registry(read)
        self._health = health
        self._is_local = is_loopback(host)
        self._server = _BoundedServer((host, port), self.answer_request)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="gossamer-metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer_request(self, path: str, host: str, accept: str, reader: str) -> TextResponse:
        """Return the answer to a request, by its headers ``Host`` and ``Accept`` and the reader's address.

        The reason why a server does not answer may name other machines: only local readers see it.
        """
        if self._is_local and not is_loopback(host or "localhost"):  # a page in a browser that renamed itself
            return TextResponse(403, _TEXT, b"this address is for readers on this machine\n")
        path = path.partition("?")[0]
        if path == "/metrics":
            encode, content_type = choose_encoder(accept)
            return TextResponse(200, content_type, encode(self._registry))
        if path not in ("/healthz", "/readyz"):
            return TextResponse(404, _TEXT, b"there are /metrics, /healthz and /readyz\n")
        is_asked, is_detailed = path == "/readyz", is_loopback(reader)
        if failures := self._health.find_failures(is_work_asked=is_asked, is_detailed=is_detailed):
            return TextResponse(503, _TEXT, "".join(f"{line}\n" for line in failures).encode())
        return TextResponse(200, _TEXT, b"ok\n")


class TextResponse(NamedTuple):
    """An answer to a reader."""

    status: int
    content_type: str
    body: bytes


class _BoundedServer(ThreadingHTTPServer):
    """A thread for each reader, up to a number of them."""

    def __init__(self, address: tuple[str, int], answer: Callable[..., TextResponse]) -> None:
        self.answer = answer
        self._places = threading.BoundedSemaphore(READERS)
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        super().__init__(address, _AnswerHandler)

    def process_request(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Serve one reader, if there is a place."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Serve a reader in its thread, then free the place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Ignore readers that went away."""


class _AnswerHandler(BaseHTTPRequestHandler):
    timeout = READER_S
    server: _BoundedServer

    def do_GET(self) -> None:
        """Answer one request; the connection ends with it."""
        headers = self.headers
        said, reader = (headers.get("Host", ""), headers.get("Accept", "")), self.client_address[0]
        answer = self.server.answer(self.path, *said, reader)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called there
        """Log nothing."""

    def version_string(self) -> str:
        """Return the header ``Server``."""
        return "gossamer"
