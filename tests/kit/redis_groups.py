"""Redis as clouds give it: over TLS, and behind Sentinels that put another server in its place."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import trustme

from kit.server_process import START_S
from kit.servers import RedisProcess


class OverTls(RedisProcess):
    """A server that is reached over TLS alone; its clients check it by ``authority``, a file."""

    authority: Path

    def command(self) -> Sequence[str]:
        """The same with another port for TLS, and none without."""
        command, folder = super().command(), self.authority.parent
        at = command.index("--port")
        tls = [
            "--tls-replication",
            "yes",
            "--tls-auth-clients",
            "no",
            "--tls-ca-cert-file",
            str(self.authority),
        ]
        tls += ["--tls-cert-file", str(folder / "served.pem"), "--tls-key-file", str(folder / "key.pem")]
        return [*command[:at], "--port", "0", "--tls-port", *command[at + 1 :], *tls]

    def answers(self) -> bool:
        """Whether it answers over TLS."""
        done = subprocess.run([*self.cli(), "PING"], check=False, capture_output=True, timeout=5)
        return self.is_running and done.stdout.startswith((b"PONG", b"NOAUTH"))

    def cli(self) -> Sequence[str]:
        """Over TLS."""
        return [*super().cli(), "--tls", "--cacert", str(self.authority)]


class TlsRedisProcess(OverTls):
    """A Redis over TLS, also between the nodes of a cluster."""

    def __init__(self, folder: Path, *, options: Sequence[str] = ()) -> None:
        self.authority = folder / "authority.pem"
        if not self.authority.exists():
            made = trustme.CA()
            made.cert_pem.write_to_path(self.authority)
            served = made.issue_cert("127.0.0.1")
            served.private_key_pem.write_to_path(folder / "key.pem")
            for part in served.cert_chain_pems:
                part.write_to_path(folder / "served.pem", append=True)
        super().__init__(options=("--tls-cluster", "yes", *options))

    @property
    def url(self) -> str:
        """Where it is, and what checks it."""
        return f"{super().url.replace('redis:', 'rediss:')}?ssl_ca_certs={self.authority}"


class SentinelProcess(RedisProcess):
    """A Sentinel that watches a Redis under the name `main`; its fail-over begins after half a second."""

    name = "sentinel"

    def __init__(self, primary: RedisProcess, *, quorum: int = 1, password: str = "") -> None:
        super().__init__(password=password)
        self._lines = [
            f"sentinel monitor main 127.0.0.1 {primary.port} {quorum}",
            "sentinel down-after-milliseconds main 500",
            "sentinel failover-timeout main 2000",
            *([f"sentinel auth-pass main {primary.password}"] if primary.password else ()),
            *([f"requirepass {password}"] if password else ()),
        ]

    def prepare(self) -> None:
        """Prepare its configuration, which also holds its state."""
        (self.folder / "sentinel.conf").write_text("\n".join(self._lines))

    def command(self) -> Sequence[str]:
        """The same program in another mode."""
        fixed = f"--sentinel --bind 127.0.0.1 --port {self.port} --daemonize no".split()
        return [self._binary, str(self.folder / "sentinel.conf"), *fixed]


class TlsSentinelProcess(OverTls, SentinelProcess):
    """A Sentinel that watches a Redis over TLS, and is reached over TLS."""

    def __init__(self, primary: TlsRedisProcess) -> None:
        self.authority = primary.authority
        SentinelProcess.__init__(self, primary)

    @property
    def url(self) -> str:
        """Where the first database of the primary is."""
        return f"rediss+sentinel://127.0.0.1:{self.port}/main/0?ssl_ca_certs={self.authority}"


class SentinelGroup:
    """A primary, its replica, and a Sentinel that makes the replica the primary when the primary is away."""

    def __init__(self, *, password: str = "", sentinel_password: str = "") -> None:
        self.password = password
        self._given = f"?sentinel_password={sentinel_password}" if sentinel_password else ""
        options = ("--repl-diskless-sync-delay", "0", *(("--masterauth", password) if password else ()))
        self.primary = RedisProcess(password=password, options=options)
        self.replica = RedisProcess(password=password, options=options)
        self._sentinel_password = sentinel_password
        self.sentinel: SentinelProcess | None = None

    @property
    def url(self) -> str:
        """Where the first database of the primary is."""
        return self.url_of(0)

    def url_of(self, database: int = 0) -> str:
        """Where the primary is, whichever server that is."""
        assert self.sentinel is not None
        login = f":{self.password}@" if self.password else ""
        return f"redis+sentinel://{login}127.0.0.1:{self.sentinel.port}/main/{database}{self._given}"

    def __enter__(self) -> Self:
        try:
            self.primary.start()
            self.replica.start()
            self.replica.ask("REPLICAOF", "127.0.0.1", str(self.primary.port))
            _until(
                lambda: b"master_link_status:up" in self._info(self.replica), "the replica does not follow"
            )
            self.sentinel = SentinelProcess(self.primary, password=self._sentinel_password).start()
            _until(lambda: b"slaves=1" in self._info(self.sentinel), "the Sentinel does not see the replica")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        for process in (self.sentinel, self.replica, self.primary):
            if process is not None:
                process.stop()

    def fail_over(self) -> None:
        """End the primary, and come back when the replica is the primary."""
        self.primary.kill()
        _until(lambda: b"role:master" in self._info(self.replica), "there is no fail-over")

    def _info(self, server: RedisProcess | None) -> bytes:
        """Return its INFO; empty when it closes the connection, as a Sentinel makes it do in a fail-over."""
        assert server is not None
        done = subprocess.run([*server.cli(), "INFO"], check=False, capture_output=True, timeout=START_S)
        return done.stdout


def _until(is_so: Callable[[], bool], failure: str) -> None:
    deadline = time.monotonic() + START_S
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(failure)
        time.sleep(0.05)
