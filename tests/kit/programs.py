"""Runs of the command line as a user does: a separate process, and its output."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from kit.environment import environment


def command(*args: str | Path) -> list[str]:
    """The command line of ``gossamer ARGS`` in this interpreter."""
    return [sys.executable, "-m", "gossamer.cli.main", *map(str, args)]


def start(
    *args: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start it, its output thrown away; ``env``: its environment, by default a plain one."""
    return subprocess.Popen(
        command(*args),
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment() if env is None else env,
    )


def run(
    *args: str | Path,
    cwd: Path | None = None,
    timeout: float = 120,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run it to its end; ``env``: its environment, by default a plain one."""
    return subprocess.run(
        command(*args),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment() if env is None else env,
        check=False,
    )


def crawl(*args: str | Path, cwd: Path | None = None) -> dict[str, Any]:
    """Run ``crawl ARGS --json``; the object it prints."""
    done = run("crawl", *args, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def rows(data: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query on the database of a data directory."""
    with closing(sqlite3.connect(data / "gossamer.db")) as connection, connection:
        return connection.execute(query).fetchall()


def crawls_in(folder: Path) -> list[int]:
    """Return the processes that work in a folder or below it, from any parent."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (process / "cmdline").read_bytes().split(b"\0")
            if b"crawl" in line and (process / "cwd").resolve().is_relative_to(folder):
                found.append(int(process.name))
    return found


def end_crawls(folder: Path) -> None:
    """End them."""
    for number in crawls_in(folder):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def free_port() -> str:
    """A port of 127.0.0.1 that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
