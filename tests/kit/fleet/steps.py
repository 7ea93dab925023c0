"""Common steps and waits of the tests of a fleet's processes."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from kit.fleet.processes import Fleet, Member

SLOW_S = 1.0
"""How long a page of the slow site takes."""
STOPPED = 3


def until(what: Callable[[], Any], within_s: float, told: str) -> float:
    """Wait for a condition; how many seconds that took."""
    begun = time.monotonic()
    while not what():
        assert time.monotonic() - begun < within_s, f"not in {within_s:g} s: {told}"
        time.sleep(0.01)
    return time.monotonic() - begun


def told(member: Member, number: signal.Signals) -> None:
    os.kill(member.pid, number)


def told_until_it_drains(member: Member, number: signal.Signals) -> None:
    """Two signals of one kind that come together are one, so the second has to wait for an answer."""
    before = member.log.read_text().count("draining")
    told(member, number)
    until(lambda: member.log.read_text().count("draining") > before, 5, f"a {member.name} that drains")


def ended(member: Member, within_s: float) -> tuple[int, float]:
    """The exit code of a process, and how long it took to end."""
    process = member._process
    assert process is not None
    took_s = until(lambda: process.poll() is not None, within_s, f"the end of a {member.name}")
    return process.returncode, took_s


def status(fleet: Fleet, job: str) -> dict[str, Any]:
    done = fleet.run("status", job, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def shown_fleet(fleet: Fleet) -> dict[str, Any]:
    """Return the output of `fleet --json`."""
    done = fleet.run("fleet", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
