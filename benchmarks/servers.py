"""The servers of the benchmark, on free ports of this machine only, and their access log.

All figures about answers come from the log: it is the same for every crawler.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import trustme
from sites import CACHE, DOCS, ROBOTS, SITES

HOSTS = [f"127.0.1.{number}" for number in range(1, 201)]
CATALOGUES = 8
"""Hosts that serve the same catalogue: a crawl of half a minute."""
LOG = CACHE / "access.log"
AUTHORITY = CACHE / "authority.pem"
FLUSH_S = 0.5
REQUESTS_PER_CONNECTION = 10
"""For the hosts over TLS: a broad crawl has few pages of a host at a time."""

_CONFIG = """
{user}
daemon off;
worker_processes 1;
pid {cache}/nginx.pid;
error_log {cache}/nginx-error.log warn;
events {{ worker_connections 4096; }}
http {{
  types {{ text/html html; text/plain txt py; text/css css; application/javascript js; image/png png;
    application/json json; font/woff2 woff2; }}
  default_type application/octet-stream;
  charset utf-8;
  log_format bench '$msec $server_addr $status $request_uri';
  access_log {log} bench buffer=64k flush={flush_ms}ms;
  client_body_temp_path {cache}/tmp; proxy_temp_path {cache}/tmp; fastcgi_temp_path {cache}/tmp;
  uwsgi_temp_path {cache}/tmp; scgi_temp_path {cache}/tmp;
  sendfile on; tcp_nopush on; gzip off; keepalive_requests 1000000;
  server {{
    listen 127.0.0.1:{docs}; root {docs_root};
    location = /robots.txt {{ return 200 "{robots}"; }}
  }}
  server {{ listen 127.0.0.1:{catalogue}; {listen_catalogues} root {sites}/catalogue; }}
  server {{ listen 127.0.0.1:{scripted}; root {sites}/scripted; }}
  server {{ {listen_hosts} root {sites}/hosts; }}
  ssl_certificate {cache}/tls.pem; ssl_certificate_key {cache}/tls.pem; ssl_protocols TLSv1.2 TLSv1.3;
  server {{
    listen 127.0.0.1:{tls_gzip} ssl; root {sites}/catalogue-gzip; add_header Content-Encoding gzip;
  }}
  server {{
    listen 127.0.0.1:{tls_br} ssl; root {sites}/catalogue-br; add_header Content-Encoding br;
  }}
  server {{
    listen 127.0.0.1:{h2_gzip} ssl http2; root {sites}/catalogue-gzip; add_header Content-Encoding gzip;
  }}
  server {{
    listen 127.0.0.1:{h2_br} ssl http2; root {sites}/catalogue-br; add_header Content-Encoding br;
  }}
  server {{
    {listen_tls_hosts} root {sites}/hosts-gzip; add_header Content-Encoding gzip;
    keepalive_requests {requests_per_connection};
  }}
}}
"""


@dataclass(frozen=True)
class Answer:
    """A line of the access log."""

    at: float  # seconds since the epoch, to the millisecond
    address: str
    status: int
    path: str


@contextlib.contextmanager
def serve() -> Iterator[dict[str, list[str]]]:
    """Serve every site; yield the start URLs by workload."""
    docs, catalogue, hosts, slow, scripted = free_ports(5)
    tls = dict(zip(("tls_gzip", "tls_br", "h2_gzip", "h2_br", "tls_hosts"), free_ports(5), strict=True))
    write_certificate()
    (CACHE / "tmp").mkdir(parents=True, exist_ok=True)
    LOG.write_text("")
    config = CACHE / "nginx.conf"
    config.write_text(
        _CONFIG.format(
            user="user root;" if os.geteuid() == 0 else "",  # else its workers could not read a checkout
            cache=CACHE,
            log=LOG,
            flush_ms=int(FLUSH_S * 1000),
            docs=docs,
            docs_root=DOCS,
            robots=ROBOTS.replace("\n", "\\n"),
            catalogue=catalogue,
            scripted=scripted,
            sites=SITES,
            listen_catalogues=" ".join(f"listen {host}:{catalogue};" for host in HOSTS[:CATALOGUES]),
            listen_hosts=" ".join(f"listen {host}:{hosts};" for host in HOSTS),
            listen_tls_hosts=" ".join(f"listen {host}:{tls['tls_hosts']} ssl;" for host in HOSTS),
            requests_per_connection=REQUESTS_PER_CONNECTION,
            **{name: port for name, port in tls.items() if name != "tls_hosts"},
        )
    )
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if nginx is None:
        sys.exit("nginx is not installed; scripts/bench-setup.sh does it")
    slow_server = [sys.executable, str(Path(__file__).with_name("slow_server.py")), str(SITES / "slow")]
    commands = [
        [nginx, "-e", str(CACHE / "nginx-error.log"), "-p", str(CACHE), "-c", str(config)],
        [*slow_server, str(slow), str(LOG)],
    ]
    running = [subprocess.Popen(command) for command in commands]
    try:
        for port in (docs, catalogue, slow):
            wait_for(port)
        yield {
            "docs": [f"http://127.0.0.1:{docs}/"],
            "catalogue": [f"http://127.0.0.1:{catalogue}/"],
            "catalogues": [f"http://{host}:{catalogue}/" for host in HOSTS[:CATALOGUES]],
            "slow": [f"http://127.0.0.1:{slow}/"],
            "scripted": [f"http://127.0.0.1:{scripted}/"],
            "hosts": [f"http://{host}:{hosts}/" for host in HOSTS],
            **{name.replace("_", "-"): [f"https://127.0.0.1:{port}/"] for name, port in tls.items()},
            "tls-hosts": [f"https://{host}:{tls['tls_hosts']}/" for host in HOSTS],
        }
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(timeout=10)


def write_certificate() -> None:
    """Write one certificate for all hosts, and its authority."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(AUTHORITY))
    names = ("127.0.0.1", *HOSTS)
    authority.issue_cert(*names).private_key_and_cert_chain_pem.write_to_path(str(CACHE / "tls.pem"))


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait_for(port: int, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def log_position() -> int:
    """Return the position of the log's end."""
    time.sleep(FLUSH_S * 1.5)
    return LOG.stat().st_size


def answers_since(position: int) -> list[Answer]:
    """Return the answers since then, in the order of time."""
    time.sleep(FLUSH_S * 1.5)
    with LOG.open() as log:
        log.seek(position)
        rows = [line.rstrip("\n").split(" ", 3) for line in log]
    return sorted(
        (Answer(float(at), address, int(status), path) for at, address, status, path in rows),
        key=lambda answer: answer.at,
    )
