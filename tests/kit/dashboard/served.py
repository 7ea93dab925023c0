"""The dashboard as its users start it: a process of its own over a data directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from kit.fleet.steps import until
from kit.programs import free_port, start


@contextmanager
def serve_dashboard(folder: Path, *options: str, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """Serve a dashboard for a folder, or for the back ends in the environment; yield its address."""
    port = free_port()
    process = start("dashboard", "--port", port, *options, cwd=folder, env=env)
    try:
        until(lambda: _answers(int(port)), 20, "the dashboard answers")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
