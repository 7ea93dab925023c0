"""Tools of the tests of trouble: the log's text and length, a process's CPU, and disturbed servers."""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import redis

from kit.fleet.processes import Member
from kit.servers import RedisProcess

QUIET_S = 1.0
"""The seconds for which a waiting process is watched."""
PASSWORD = "hunter2secret"
SOON_S = 20.0


def execute(url: str, *statements: str) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(url)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(run())


def tell(server: RedisProcess, *words: str) -> None:
    """Say something to a Redis."""
    with redis.Redis.from_url(server.url) as client:
        client.execute_command(*words)


def until(what: Callable[[], object], within_s: float = SOON_S) -> None:
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, f"not in {within_s:.0f} s: {what}"
        time.sleep(0.02)


# --------------------------------------------------------------------------- log output


def clean(text: str) -> None:
    """Assert that a log has neither tracebacks nor secrets."""
    assert "Traceback" not in text, text
    assert "bug in Gossamer" not in text, text
    assert PASSWORD not in text, text


def refused(done: subprocess.CompletedProcess[str], code: int, *says: str) -> None:
    """A command that ended with a code, and one line that says all this."""
    assert (done.returncode, done.stdout) == (code, ""), done
    clean(done.stderr)
    assert done.stderr.count("gossamer: ") == done.stderr.count("\n") == 1, done.stderr
    for said in says:
        assert re.search(said, done.stderr), (said, done.stderr)


@dataclass
class Watched:
    """A process, with its output and CPU at the beginning of the watch."""

    member: Member
    said: int
    used_s: float

    @classmethod
    def begin(cls, member: Member) -> Watched:
        return cls(member, len(member.log.read_text()), seconds_used(member))

    def lines(self) -> list[str]:
        """Return its output since then."""
        return self.member.log.read_text()[self.said :].splitlines()

    def is_quiet(self, most_lines: int, seconds: float) -> None:
        """It has neither said much since, nor has it been busy."""
        assert len(self.lines()) <= most_lines, self.lines()
        used_s = seconds_used(self.member) - self.used_s
        assert used_s < 0.25 * seconds, f"{self.member.name} was busy for {used_s:.2f} of {seconds:.2f} s"


def seconds_used(member: Member) -> float:
    """Processor time so far."""
    user, system = Path(f"/proc/{member.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / 100


def rest(watched: list[Watched], most_lines: int) -> None:
    """Let a while pass, in which no process is busy."""
    time.sleep(QUIET_S)
    for each in watched:
        each.is_quiet(most_lines, QUIET_S)
