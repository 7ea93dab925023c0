"""Redis and PostgreSQL for the cluster's benchmark: on free local ports, durable, stopped with the block.

Redis syncs its append-only file every second and evicts nothing; PostgreSQL has ``initdb``'s defaults and
syncs its commits. Each starts with an empty folder, so runs do not affect each other.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster_processes import running
from servers import free_ports, wait_for


@dataclass(frozen=True)
class Server:
    """A running server."""

    pid: int
    url: str


def program(name: str) -> str:
    """Return a program's path; Debian keeps PostgreSQL's versions side by side, outside of the PATH."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    found = str(versions[-1]) if versions else shutil.which(name)
    return found or sys.exit(f"{name} is not installed; scripts/servers.sh does it")


@contextlib.contextmanager
def redis_server(output: Path) -> Iterator[Server]:
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory(prefix="bench-redis-") as folder:
        command = [
            program("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--dir", folder,
            "--save", "", "--appendonly", "yes", "--appendfsync", "everysec",
            "--maxmemory-policy", "noeviction",
        ]  # fmt: skip
        with running(command, output) as process:
            wait_for(port)
            yield Server(process.pid, f"redis://127.0.0.1:{port}/0")


@contextlib.contextmanager
def postgres_server(output: Path) -> Iterator[Server]:
    """Run PostgreSQL with the superuser ``bench`` (no password) and the empty database ``postgres``."""
    (port,) = free_ports(1)
    rights = {}
    with tempfile.TemporaryDirectory(prefix="bench-postgres-") as folder:
        if os.geteuid() == 0:  # as which it refuses to run; Debian's package has made a user for it
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
            rights = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        data = f"{folder}/data"
        make = [program("initdb"), "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
        with output.open("ab") as log:
            subprocess.run(make, check=True, cwd=folder, timeout=60, stdout=log, stderr=log, **rights)
        serve = [program("postgres"), "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", folder]
        with running(serve, output, cwd=folder, **rights) as process:
            wait_until_ready(Path(data, "postmaster.pid"))
            yield Server(process.pid, f"postgresql://bench@127.0.0.1:{port}/postgres")


def wait_until_ready(status: Path, seconds: float = 30.0) -> None:
    """Wait until it serves, which the last line of its status file says; it listens before that."""
    end = time.monotonic() + seconds
    while not status.is_file() or not status.read_text().rstrip().endswith("ready"):
        if time.monotonic() > end:
            raise TimeoutError(f"PostgreSQL was not ready within {seconds:.0f} s")
        time.sleep(0.05)
