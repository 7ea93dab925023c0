"""A server as a process of the tests: on a free port of 127.0.0.1, in a folder of its own.

It is gone when the tests end, however they end: a watcher, one small shell for each server, reads a pipe
that this process holds. When the pipe closes, by ``stop()`` or because the tests were killed, the watcher
ends the server's process group and removes its folder. (The kernel's parent-death signal would not do: it
comes when the *thread* that started the server ends.)

Without the programs a test is skipped with a hint, but in continuous integration it fails: a check that
silently does not run protects nothing.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from glob import glob
from pathlib import Path
from typing import IO, NoReturn, Self

import pytest

START_S = 60.0
"""How long a server may take to answer; on an idle machine 0.1 s, and RabbitMQ 5 s."""

WATCHER = """
while read -r line; do group=$line; done
if [ -n "$group" ]; then
  kill -s "$2" -- "-$group" 2>/dev/null
  kill -s CONT -- "-$group" 2>/dev/null
  tries=0
  while kill -s 0 -- "-$group" 2>/dev/null && [ "$tries" -lt 40 ]; do sleep 0.05; tries=$((tries + 1)); done
  kill -s KILL -- "-$group" 2>/dev/null
fi
rm -rf "$1" || { sleep 0.5; rm -rf "$1"; }
"""

PLACES = ("/usr/lib/postgresql/*/bin", "/usr/lib/rabbitmq/bin", "/usr/lib/erlang/bin", "/usr/sbin")


def program(name: str, package: str) -> str:
    """The path of a server's program, also outside PATH; the highest version when there are several."""
    if os.environ.get("TEST_SERVERS") == "none":
        pytest.fail(f"this run has no servers: mark the test that starts {name} with pytest.mark.server")
    if found := shutil.which(name):
        return str(Path(found).resolve()) if package == "postgresql" else found
    candidates = [path for place in PLACES for path in glob(f"{place}/{name}")]
    if not candidates:
        missing(f"{name} is not installed; on Debian: scripts/servers.sh, or apt-get install {package}")
    return max(candidates, key=lambda path: [int(part) for part in path.split("/") if part.isdigit()])


def missing(reason: str) -> NoReturn:
    """Skip the test; in continuous integration, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on, for now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def said(port: int, hello: bytes, size: int = 64) -> bytes:
    """Return a server's answer to a first message; empty if it does not listen or does not answer."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.settimeout(1)
            connection.sendall(hello)
            return connection.recv(size)
    except OSError:
        return b""


class Process:
    """The common base of our own servers. Also a context manager: ``with RedisProcess() as server:``."""

    name: str
    account: str | None = None
    """The account that runs it when the tests run as root."""
    farewell = "KILL"
    """The signal that ends it at once without leaving anything behind."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"gossamer-{self.name}-"))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._spawned: list[subprocess.Popen[bytes]] = []
        self._group = 0  # a new one for each process
        self._watcher = subprocess.Popen(
            ["sh", "-c", WATCHER, "watcher", str(self.folder), self.farewell],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if user := self._user():
            shutil.chown(self.folder, user)

    # Overridden by each kind of server.

    def command(self) -> Sequence[str]:
        """The command line; it stays in the foreground."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Whether it can be worked with."""
        raise NotImplementedError

    def environment(self) -> Mapping[str, str] | None:
        """Its environment; None is ours."""
        return None

    def prepare(self) -> None:
        """Prepare the first start."""

    # Used by tests.

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        assert self._process is not None, f"{self.name} is not running"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Start it, and come back when it answers; nothing when it runs already."""
        if self.is_running:
            return self
        is_first = not self.log.exists()
        if is_first:
            self.prepare()
        deadline = time.monotonic() + START_S
        while not self._try_to_start(deadline):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} did not start in {START_S:.0f} s:\n{self.tail()}")
            if is_first:  # another process may have taken the port in the meantime
                self.port = free_port()
            time.sleep(0.05)
        return self

    def _try_to_start(self, deadline: float) -> bool:
        """Whether it came up; False when the process ended or did not answer in time."""
        with self.log.open("ab") as log:
            self._process = self._spawn(self.command(), log)
        while self._process.poll() is None and time.monotonic() < deadline:
            if self._listens() and self.answers():
                return True
            time.sleep(0.02)
        self._end(signal.SIGKILL)
        return False

    def _listens(self) -> bool:
        """Whether the port is this process's: another server that was quicker would answer as well."""
        wanted = f"0100007F:{self.port:04X}"
        sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
        inodes = {f"socket:[{row[9]}]" for row in sockets if row[1] == wanted and row[3] == "0A"}
        try:
            return any(os.readlink(entry) in inodes for entry in Path(f"/proc/{self.pid}/fd").iterdir())
        except OSError:  # it has just ended, or closed one of its files
            return False

    def _spawn(self, command: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        user = self._user()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=self.folder,
            env=self.environment(),
            process_group=self._group,  # not ours: Ctrl-C is for the tests
            user=user,
            group=pwd.getpwnam(user).pw_gid if user else None,
            extra_groups=[] if user else None,
        )
        self._spawned.append(process)
        assert self._watcher.stdin is not None
        self._watcher.stdin.write(b"%d\n" % (self._group or process.pid))
        self._watcher.stdin.flush()
        return process

    def kill(self) -> None:
        """End it as a loss of power would: SIGKILL."""
        self._end(signal.SIGKILL)

    def restart(self) -> Self:
        """Start it again, after a kill or instead of one, with the same folder and port."""
        self.kill()
        return self.start()

    def stop(self) -> None:
        """End it for good and remove its folder."""
        if self._watcher.stdin and not self._watcher.stdin.closed:
            self._watcher.stdin.close()
        for process in (*self._spawned, self._watcher):
            process.wait(START_S)
        self._process = None

    def tail(self) -> str:
        """Return the last lines of its log."""
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-15:])

    @property
    def log(self) -> Path:
        """Its log."""
        return self.folder / "server.log"

    def _user(self) -> str | None:
        return self.account if os.geteuid() == 0 else None

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(how)
        self._process.wait(START_S)
        self._process = None

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *exc: object) -> None:
        self.stop()
