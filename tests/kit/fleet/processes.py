"""A fleet for tests: real servers, a supervisor and workers as processes, and the commands that a user types.

Everything that is started is ended, by its process id, when the block is left; when the test fails, its
report has the last lines of every process's log.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import asyncpg
import redis

from kit.environment import environment
from kit.fleet.stored import Stored, Tried
from kit.programs import command
from kit.server_process import Process
from kit.servers import PostgresProcess, RedisProcess

READY_S = 60.0
"""How long supervisor and workers may take to be at work; on an idle machine about 2 s."""

DEAD_LETTERS, MISSING = 1, 4
"""The exit codes of a job most of whose pages failed, and of a command that has not found its servers."""

TESTS = str(Path(__file__).parents[2])
"""Where the kit is."""

FULL = bool(os.environ.get("GOSSAMER_TEST_FULL"))
"""Sites of their full size, and many deeds (``make fleet``), or what continuous integration has time for."""

FAST: Mapping[str, str | float] = {"delay": 0, "per_host": 64, "concurrency": 16, "retry_backoff": 0.2}
"""For one's own servers; a short wait before a retry, so that tests do not wait for it."""


@dataclass(frozen=True)
class Servers:
    """Where a fleet keeps things. Both servers are the test's own and may be killed."""

    redis: RedisProcess
    postgres: PostgresProcess
    database: str  # URL of an empty database
    broker: str = ""  # URL; by default a database of the same Redis
    requests: str = ""  # URL; by default the first database of that Redis

    @property
    def broker_url(self) -> str:
        """Where the messages are: apart from the requests, so that all of them can be deleted."""
        return self.broker or self.redis.url.removesuffix("/0") + "/1"

    def with_broker(self, url: str) -> Servers:
        """The same with another broker."""
        return replace(self, broker=url)

    def empty(self) -> None:
        """Delete the traces of earlier crawls."""
        with redis.Redis.from_url(self.redis.start().url) as client:
            client.flushall()


class Member(Process):
    """A supervisor or a worker. It reports its readiness on stderr; its log continues over restarts."""

    def __init__(
        self, kind: str, args: Sequence[str], env: Mapping[str, str], ready: str, ahead_s: float = 0.0
    ) -> None:
        self.name = kind
        self._ahead_s = ahead_s  # by which its clock is wrong
        super().__init__()
        self._args = args
        self._env = env
        self._ready = ready
        self.starts = 0

    def command(self) -> Sequence[str]:
        words = command(self.name, *self._args)
        if self._ahead_s:
            words[words.index("-m") + 1 : words.index(self.name)] = [
                "kit.fleet.other_clock",
                f"{self._ahead_s}",
            ]
        return words

    def environment(self) -> Mapping[str, str]:
        return self._env

    def start(self) -> Self:
        """Start it and come back at once: many are started together, and `Fleet.ready` waits for them."""
        if not self.is_running:
            self.starts += 1
            with self.log.open("ab") as log:
                self._process = self._spawn(self.command(), log)
        return self

    def is_at_work(self) -> bool:
        """Whether it has said so since its last start."""
        return self.log.read_text("utf-8", "replace").count(self._ready) >= self.starts

    def freeze(self) -> None:
        """Let it hang, as on a machine that is suspended."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it continue."""
        os.kill(self.pid, signal.SIGCONT)


class Fleet:
    """Supervisors and workers on some servers. A context manager: they work within the block."""

    def __init__(
        self,
        folder: Path,
        servers: Servers,
        *,
        workers: int = 2,
        clocks: Sequence[float] = (),  # of the workers: by how many seconds each is ahead
        slots: int = 2,
        supervisors: int = 1,
        settings: Mapping[str, str | float] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.servers = servers
        self.slots = slots
        self.settings = {**FAST, **(settings or {})}
        places = {
            "frontier.url": servers.requests or servers.redis.url,
            "store.url": servers.database,
            "broker.url": servers.broker_url,
            "data": str(folder / "data"),
        }
        self._env = environment() | variables(places | self.settings) | dict(env or {})
        self.supervisors = [self._member("supervisor", (), "supervisor ") for _ in range(supervisors)]
        self.workers = [
            self._member("worker", ("--slots", str(slots)), "takes shifts", ahead_s)
            for ahead_s in clocks or [0.0] * workers
        ]

    def _member(self, kind: str, args: Sequence[str], ready: str, ahead_s: float = 0.0) -> Member:
        return Member(kind, args, self._env | {"PYTHONPATH": TESTS} if ahead_s else self._env, ready, ahead_s)

    @property
    def members(self) -> list[Member]:
        """Every process."""
        return [*self.supervisors, *self.workers]

    @property
    def in_flight(self) -> int:
        """The leases that one worker may hold, which is the cost of a kill in pages."""
        return self.slots * int(self.settings["concurrency"])

    def add_worker(self, *args: str) -> Member:
        """Start one more, with options of its own; `ready` waits for it."""
        worker = self._member("worker", ("--slots", str(self.slots), *args), "takes shifts").start()
        self.workers.append(worker)
        return worker

    # ----------------------------------------------------------------- commands of a user

    def run(self, *args: str | Path, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Run ``gossamer ARGS`` on the fleet's servers."""
        return subprocess.run(
            command(*args), capture_output=True, text=True, timeout=timeout_s, env=self._env, check=False
        )

    def submit(self, target: str | Path, *args: str | Path) -> str:
        """Hand a crawl to the fleet; the job."""
        done = self.run("submit", target, *args, "--json")
        assert done.returncode == 0, f"submit {target}: {done.stderr}"
        job: str = json.loads(done.stdout)["job"]
        return job

    def wait(self, job: str, *, timeout_s: float = 120, may_fail: bool = False) -> dict[str, Any]:
        """Wait for the end of a job; the object that ``wait --json`` prints."""
        deadline = time.monotonic() + timeout_s
        while True:
            left_s = max(deadline - time.monotonic(), 1.0)
            told = ("wait", job, "-q", "--json", "--timeout", f"{left_s:.0f}s")
            done = self.run(*told, timeout_s=left_s + 60)
            if done.returncode != MISSING or time.monotonic() > deadline:
                break  # a command that finds a server away when it begins says so; a nemesis may be at it
        is_expected = done.returncode == 0 or (may_fail and done.returncode == DEAD_LETTERS)
        assert is_expected, f"wait {job} ended with {done.returncode}: {done.stdout}{done.stderr}"
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def crawl(self, target: str | Path, *args: str | Path, timeout_s: float = 120) -> dict[str, Any]:
        """Submit a crawl and wait for its end."""
        return self.wait(self.submit(target, *args), timeout_s=timeout_s)

    def stored(self, job: str) -> Stored:
        """Return a job's stored results: its items as exported, the rest straight from the database."""
        exported = self.run("export", job, timeout_s=120)
        assert exported.returncode == 0, f"export {job}: {exported.stderr}"
        return asyncio.run(from_postgres(self.servers.database, job, exported.stdout))

    def ledger(self, job: str) -> Sequence[Tried]:
        """Return the recorded attempts of a job at this moment; quicker than `stored`."""
        return asyncio.run(from_postgres(self.servers.database, job, "")).ledger

    # ----------------------------------------------------------------- life

    def __enter__(self) -> Self:
        try:
            for member in self.members:
                member.start()
            self.ready()
        except BaseException as error:
            error.add_note(self.logs())
            self.end()
            raise
        return self

    def ready(self) -> None:
        """Wait until every process is at work."""
        deadline = time.monotonic() + READY_S
        while late := [member for member in self.members if not member.is_at_work()]:
            gone = [f"{member.name} ended:\n{member.tail()}" for member in late if not member.is_running]
            assert not gone, "\n".join(gone)
            names = ", ".join(member.name for member in late)
            assert time.monotonic() < deadline, f"not at work in {READY_S:.0f} s: {names}"
            time.sleep(0.02)

    def all_alive(self) -> None:
        """Assert that all processes still run."""
        gone = [f"{member.name} ended:\n{member.tail()}" for member in self.members if not member.is_running]
        assert not gone, "\n".join(gone)

    def kill_leader(self) -> None:
        """Kill the supervisor that leads, without a restart."""
        shown = self.run("fleet", "--json")
        assert shown.returncode == 0, shown.stderr
        leader = json.loads(shown.stdout)["leader"]
        (member,) = [member for member in self.supervisors if f":{member.pid}:" in leader]
        member.kill()

    def logs(self) -> str:
        """The last lines of every process."""
        return "\n".join(
            f"--- {member.name} {number}{'' if member.is_running else ' (ended)'}\n{member.tail()}"
            for number, member in enumerate(self.members, 1)
            if member.log.exists()
        )

    def end(self) -> None:
        """End every process for good."""
        for member in self.members:
            member.kill()
        for member in self.members:
            member.stop()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(self.logs())
        self.end()


def variables(settings: Mapping[str, str | float]) -> dict[str, str]:
    """Settings by their names as environment variables."""
    return {f"GOSSAMER_{name.replace('.', '__').upper()}": str(value) for name, value in settings.items()}


async def from_postgres(url: str, job: str, exported: str) -> Stored:
    """The store of a fleet, without the crawler's own code."""
    connection = await asyncpg.connect(url, server_settings={"search_path": "gossamer"})
    try:
        number = await connection.fetchval("select id from job where name = $1", job)
        assert number is not None, f"the database has no job {job}"
        pages = await connection.fetch("select url from page where job = $1", number)
        tried = await connection.fetch(
            "select url, verdict, status, reason, worker, rung from attempt where job = $1 order by at, id",
            number,
        )
        return Stored([url for (url,) in pages], exported.splitlines(), [Tried(*row) for row in tried])
    finally:
        await connection.close()
