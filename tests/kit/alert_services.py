"""Services that alerts are sent to, on loopback: a webhook and a mail server, each in a thread of its own."""

from __future__ import annotations

import contextlib
import json
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gossamer.testing.contracts.alert_target import ServiceState


@dataclass
class AlertService:
    """The state of the receiving service."""

    port: int = 0
    state: ServiceState = ServiceState.WELL
    received: list = field(default_factory=list)  # documents of a webhook, messages of a mail server
    log_ins: list[str] = field(default_factory=list)
    is_over_tls: list[bool] = field(default_factory=list)
    let_go: threading.Event = field(default_factory=threading.Event)
    close: object = None

    def set_state(self, state: ServiceState) -> None:
        self.state = state
        if state is ServiceState.AWAY:
            self.close()


@contextmanager
def _serving(server: socketserver.TCPServer, service: AlertService) -> Iterator[AlertService]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()

    def close() -> None:
        server.shutdown()
        server.server_close()

    service.port, service.close = server.server_address[1], close
    try:
        yield service
    finally:
        service.let_go.set()
        with contextlib.suppress(OSError):
            close()
        thread.join(5)


@contextmanager
def serve_webhook() -> Iterator[AlertService]:
    """A server that takes JSON at any path."""
    service = AlertService()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if service.state is ServiceState.STUCK:
                service.let_go.wait(10)
                return
            service.log_ins.append(self.headers.get("Authorization", ""))
            is_well = service.state is ServiceState.WELL
            if is_well:
                service.received.append(json.loads(body))
            self.send_response(204 if is_well else 302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    ThreadingHTTPServer.daemon_threads = True
    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), Hook), service):
        yield service


@contextmanager
def serve_mail(tls: ssl.SSLContext | None = None, *, is_tls_first: bool = False) -> Iterator[AlertService]:
    """A mail server; with ``tls`` it offers STARTTLS, or speaks TLS from the beginning."""
    service = AlertService()

    class Session(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.is_tls = is_tls_first
            with contextlib.suppress(OSError, ssl.SSLError):
                if is_tls_first:
                    self.request = tls.wrap_socket(self.request, server_side=True)
                self.lines = self.request.makefile("rb")
                if service.state is ServiceState.STUCK:
                    service.let_go.wait(10)
                    return
                self.say("220 sink ready")
                while (line := self.lines.readline().strip()) and self.obey(line):
                    pass

        def finish(self) -> None:
            if lines := getattr(self, "lines", None):
                lines.close()
            self.request.close()

        def say(self, line: str) -> None:
            self.request.sendall(f"{line}\r\n".encode())

        def obey(self, line: bytes) -> bool:
            word = line[:4].upper()
            if word in (b"EHLO", b"HELO"):
                offers = ["250-sink"] + (["250-STARTTLS"] if tls and not self.is_tls else [])
                self.say("\r\n".join([*offers, "250 AUTH PLAIN"]))
            elif word == b"STAR":
                self.say("220 go on")
                self.lines.close()
                self.request = tls.wrap_socket(self.request, server_side=True)
                self.lines, self.is_tls = self.request.makefile("rb"), True
            elif word == b"AUTH":
                service.log_ins.append(line.decode())
                self.say("235 in")
            elif word == b"DATA":
                self.say("354 say it")
                self.take_message()
            elif word == b"MAIL" and service.state is ServiceState.REFUSING:
                self.say("550 no mail from you")
            else:
                self.say("221 bye" if word == b"QUIT" else "250 well")
            return word != b"QUIT"

        def take_message(self) -> None:
            lines = []
            while (line := self.lines.readline()) not in (b".\r\n", b""):
                lines.append(line)
            service.received.append(message_from_bytes(b"".join(lines), policy=policy.default))
            service.is_over_tls.append(self.is_tls)
            self.say("250 taken")

    socketserver.ThreadingTCPServer.daemon_threads = True
    with _serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session), service):
        yield service
