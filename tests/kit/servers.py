"""Real Redis, PostgreSQL and RabbitMQ for the tests; ``server_process`` starts and stops them.

Each is set up as in production where that matters: it syncs its writes, so that a test may kill and restart
it. ``with RedisProcess() as server:`` starts one with options; for an empty database in a running server, see
the fixtures in ``conftest``.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self

import pytest

from kit.server_process import START_S, Process, free_port, program, said

SYNCED = ("--appendfsync", "always")
"""Options of a Redis that writes before it answers, so that the loss at a power cut is known."""


def on_servers(*names: str) -> list[Any]:
    """Parameters of a test that needs a server for each of them."""
    return [pytest.param(name, marks=pytest.mark.server) for name in names]


class RedisProcess(Process):
    """A Redis with an append-only file that is synced every second, as it is in production."""

    name = "redis"

    def __init__(
        self,
        *,
        password: str = "",
        maxmemory: str = "",
        policy: str = "noeviction",
        is_durable: bool = True,
        options: Sequence[str] = (),
    ) -> None:
        self._binary = program("redis-server", "redis-server")
        super().__init__()
        self.password = password
        self._options = [
            *("--maxmemory-policy", policy, "--appendonly", "yes" if is_durable else "no"),
            *(("--maxmemory", maxmemory) if maxmemory else ()),
            *(("--requirepass", password) if password else ()),
            *options,
        ]

    @property
    def url(self) -> str:
        """Where it is: its first database."""
        return f"redis://{f':{self.password}@' if self.password else ''}127.0.0.1:{self.port}/0"

    def command(self) -> Sequence[str]:
        """Nothing here that only some versions know."""
        fixed = f"--bind 127.0.0.1 --port {self.port} --daemonize no --appendfsync everysec".split()
        return [self._binary, *fixed, "--dir", str(self.folder), "--save", "", *self._options]

    def answers(self) -> bool:
        """Return whether its data is loaded; a client without a password gets an answer as well."""
        return self.is_running and said(self.port, b"PING\r\n").startswith((b"+PONG", b"-NOAUTH"))

    def written(self) -> int:
        """How many bytes its append-only file has. With ``SYNCED`` all that was answered is in it."""
        return self._append_only_file().stat().st_size

    def cut_power(self, length: int) -> None:
        """End it as a loss of power would, after which its file has ``length`` bytes; and start it again."""
        self.kill()
        os.truncate(self._append_only_file(), length)
        self.start()

    def ask(self, *words: str) -> bytes:
        """Return the output of `redis-cli`. Raises if it fails."""
        return subprocess.run([*self.cli(), *words], check=True, capture_output=True, timeout=START_S).stdout

    def cli(self) -> Sequence[str]:
        """The prefix of a command line that sends commands to it."""
        login = ("-a", self.password, "--no-auth-warning") if self.password else ()
        return ["redis-cli", "-p", str(self.port), *login]

    def _append_only_file(self) -> Path:
        folder = self.folder / "appendonlydir"  # since Redis 7
        (found,) = folder.glob("*.incr.aof") if folder.exists() else self.folder.glob("*.aof")
        return found

    def freeze(self) -> None:
        """Let it hang: connections stay open and nothing comes."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it continue."""
        os.kill(self.pid, signal.SIGCONT)


@contextmanager
def redis_cluster(make: Callable[..., RedisProcess] = RedisProcess) -> Iterator[list[RedisProcess]]:
    """Three nodes of a Redis Cluster that share the slots."""
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "5000", *SYNCED)
    nodes: list[RedisProcess] = []
    try:
        nodes += [make(options=options).start() for _ in range(3)]
        addresses = [f"127.0.0.1:{node.port}" for node in nodes]
        nodes[0].ask("--cluster", "create", *addresses, "--cluster-yes")
        deadline = time.monotonic() + START_S
        while not all(is_complete(node) for node in nodes):
            if time.monotonic() > deadline:
                raise TimeoutError("the cluster does not come together")
            time.sleep(0.1)
        yield nodes
    finally:
        for node in nodes:
            node.stop()


def is_complete(node: RedisProcess) -> bool:
    """Whether a node of a cluster sees all three, and every slot served."""
    state = node.ask("cluster", "info")
    return b"cluster_state:ok" in state and b"cluster_known_nodes:3" in state


class PostgresProcess(Process):
    """A PostgreSQL that syncs its commits; its superuser is `gossamer`, its first database `postgres`."""

    name = "postgres"
    account = "postgres"
    farewell = "QUIT"

    def __init__(self, *, password: str = "", options: Mapping[str, str] | None = None) -> None:
        self._postgres = program("postgres", "postgresql")
        super().__init__()
        self._password = password
        self._options = {
            "fsync": "on",
            "shared_buffers": "32MB",
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "dynamic_shared_memory_type": "mmap",  # in the folder: nothing stays in /dev/shm
            **(options or {}),
        }

    def url_of(self, database: str) -> str:
        """Where one of its databases is."""
        secret = f":{self._password}" if self._password else ""
        return f"postgresql://gossamer{secret}@127.0.0.1:{self.port}/{database}"

    @property
    def url(self) -> str:
        """Where its first database is."""
        return self.url_of("postgres")

    def prepare(self) -> None:
        """Make the cluster; its empty files need no sync."""
        initdb = [str(Path(self._postgres).with_name("initdb")), "--no-sync", "--locale=C", "--encoding=UTF8"]
        initdb += ["--username=gossamer", f"--pgdata={self.folder / 'data'}"]
        if self._password:
            secret = self.folder / "password"
            secret.write_text(self._password)
            initdb += ["--auth=scram-sha-256", f"--pwfile={secret}"]
        else:
            initdb += ["--auth=trust"]
        with self.log.open("ab") as log:
            if self._spawn(initdb, log).wait(START_S) != 0:
                raise RuntimeError(f"initdb failed:\n{self.tail()}")

    def command(self) -> Sequence[str]:
        """Everything in the command line: the configuration file is the shipped one."""
        settings = [part for name, value in self._options.items() for part in ("-c", f"{name}={value}")]
        return [self._postgres, "-D", str(self.folder / "data"), "-p", str(self.port), *settings]

    def answers(self) -> bool:
        """Whether it asks who we are, or lets us in; while it recovers it says that it does not."""
        parameters = b"user\0gossamer\0database\0postgres\0\0"
        hello = (8 + len(parameters)).to_bytes(4) + (196608).to_bytes(4) + parameters
        return self.is_running and said(self.port, hello).startswith(b"R")

    def kill(self) -> None:
        """End all of its processes: one that serves a connection may answer after the first has ended."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text() if self.is_running else ""
        super().kill()
        for child in children.split():
            with suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)

    def restart(self, mode: Literal["immediate", "fast", "kill"] = "immediate") -> Self:
        """As `pg_ctl restart -m MODE`; `kill` is SIGKILL."""
        if mode == "kill":
            self.kill()
        else:
            self._end({"immediate": signal.SIGQUIT, "fast": signal.SIGINT}[mode])
        return self.start()


class RabbitProcess(Process):
    """A RabbitMQ node of its own, with a port mapper (epmd) of its own: neighbours do not see one another."""

    name = "rabbit"

    def __init__(self) -> None:
        self._server = program("rabbitmq-server", "rabbitmq-server")
        if not self._server.startswith("/usr/lib/"):  # the one in PATH changes the user and the folder
            inner = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
            self._server = str(inner) if inner.exists() else self._server
        self._epmd = program("epmd", "erlang-base")
        super().__init__()
        self._node = f"gossamer-{secrets.token_hex(4)}@localhost"
        self._mapper_port = 0
        self._dist_port = free_port()
        self._mapper: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where its first virtual host is; the guest may come from this machine only."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def prepare(self) -> None:
        """Start the port mapper, in whose process group the server will be; no plugins."""
        (self.folder / "plugins").write_text("[].\n")
        deadline = time.monotonic() + START_S
        while self._mapper is None or self._mapper.poll() is not None:
            assert time.monotonic() < deadline, self.tail()
            self._group, self._mapper_port = 0, free_port()
            with self.log.open("ab") as log:
                self._mapper = self._spawn([self._epmd], log)
            while self._mapper.poll() is None and not said(self._mapper_port, b"\0\1n"):
                time.sleep(0.02)
        self._group = self._mapper.pid

    def environment(self) -> Mapping[str, str]:
        """All that is its own; nothing of a RabbitMQ that is installed as a service."""
        folder = str(self.folder)
        ours = {
            name: value for name, value in os.environ.items() if not name.startswith(("RABBITMQ_", "ERL_"))
        }
        return {
            **ours,
            "HOME": folder,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._mapper_port),
            "RABBITMQ_NODENAME": self._node,
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._dist_port),
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/none",
            "RABBITMQ_CONFIG_FILE": f"{folder}/none",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{folder}/none",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_LOG_BASE": folder,
            "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+sbwt none -start_epmd false "
            "-kernel inet_dist_use_interface {127,0,0,1}",
            "RUNNING_UNDER_SYSTEMD": "true",  # no shell around it: what we started is the server
        }

    def command(self) -> Sequence[str]:
        """The rest is in the environment."""
        self._dist_port = free_port()  # another one for each try
        return [self._server]

    def answers(self) -> bool:
        """Whether it begins the handshake of AMQP; it listens only when everything else is up."""
        return self.is_running and said(self.port, b"AMQP\x00\x00\x09\x01").startswith(b"\x01")


class BucketProcess(Process):
    """A service that speaks S3 (moto), whose buckets are in its memory."""

    name = "s3"

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        """Return the command of one process, which needs no keys."""
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]

    def answers(self) -> bool:
        """Whether it lists its buckets."""
        return self.is_running and b"200" in said(
            self.port, b"GET / HTTP/1.0\r\nHost: s3.amazonaws.com\r\n\r\n"
        )

    def make_bucket(self) -> str:
        """The name of a bucket in which nothing is."""
        name = f"test-{secrets.token_hex(6)}"
        request = f"PUT /{name} HTTP/1.0\r\nHost: 127.0.0.1:{self.port}\r\nContent-Length: 0\r\n\r\n"
        assert b" 200 " in said(self.port, request.encode()), self.tail()
        return name


class MongoProcess(Process):
    """A server that speaks MongoDB's protocol (`mongo_server`), whose documents are in its memory."""

    name = "mongo"

    def url_of(self, database: str) -> str:
        """Where one of its databases is."""
        return f"mongodb://127.0.0.1:{self.port}/{database}"

    def command(self) -> Sequence[str]:
        """A program of its own."""
        return [sys.executable, str(Path(__file__).with_name("mongo_server.py")), str(self.port)]

    def answers(self) -> bool:
        """Whether it listens: it has nothing to load."""
        return self.is_running
