"""Serves a made site on loopback, with and without TLS, for whatever host is asked for."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trustme

from kit.side_by_side.site import Site


@dataclass(frozen=True)
class Place:
    """Where a site is served."""

    plain_port: int
    tls_port: int
    authority: Path  # a PEM file; a client that trusts it accepts the certificate of every host


@lru_cache(maxsize=1)
def _authority() -> trustme.CA:
    return trustme.CA()


@lru_cache(maxsize=512)
def _context_for(host: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _authority().issue_cert(host or "localhost").configure_cert(context)
    return context


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # a site is closed when all its connections are
    request_queue_size = 128
    site: Site
    scheme = "http"
    hits: list[str]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client went away: nothing to tell."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    timeout = 30

    def setup(self) -> None:
        super().setup()
        self._scheme = self.server.scheme

    def do_GET(self) -> None:
        url = self.path
        if not url.startswith("http"):
            host = (self.headers.get("Host") or "localhost").removesuffix(":80").removesuffix(":443")
            url = f"{self._scheme}://{host}{self.path}"
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size) if size else b""
        self.server.hits.append(f"{self.command} {url}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.site(url, headers, body)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_POST = do_PUT = do_HEAD = do_DELETE = do_PATCH = do_OPTIONS = do_GET

    def do_CONNECT(self) -> None:
        """Open a proxy's tunnel; its target is here too."""
        self.send_response(200)
        self.end_headers()
        context = _context_for(self.path.rpartition(":")[0])
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)
        self._scheme = "https"
        self.close_connection = False

    def finish(self) -> None:
        super().finish()
        if isinstance(self.connection, ssl.SSLSocket):
            self.connection.close()

    def log_message(self, *args: object) -> None:
        """No log."""


class _TlsServer(_Server):
    scheme = "https"

    def finish_request(self, request: Any, client_address: Any) -> None:
        with suppress(OSError), _wrap(_context_for("localhost"), request) as secured:
            super().finish_request(secured, client_address)


def _wrap(context: ssl.SSLContext, request: Any) -> ssl.SSLSocket:
    def choose(sock: Any, name: str | None, _: object) -> None:
        sock.context = _context_for(name or "localhost")

    context.sni_callback = choose
    request.settimeout(30)
    return context.wrap_socket(request, server_side=True)


@contextmanager
def serve_site(site: Site, folder: Path) -> Iterator[tuple[Place, list[str]]]:
    """Serve the site; the requests are added to the list."""
    pem = folder / "authority.pem"
    pem.write_bytes(_authority().cert_pem.bytes())
    hits: list[str] = []
    servers = [_Server(("127.0.0.1", 0), _Handler), _TlsServer(("127.0.0.1", 0), _Handler)]
    threads = []
    for server in servers:
        server.site, server.hits = site, hits
        threads.append(threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True))
        threads[-1].start()
    try:
        yield Place(servers[0].server_address[1], servers[1].server_address[1], pem), hits
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
