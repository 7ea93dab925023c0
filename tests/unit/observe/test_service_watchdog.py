"""systemd is told that a process has begun, and its watchdog is fed only while the process is alive."""

from __future__ import annotations

import socket
import time

import pytest

from gossamer.core.health import PartHealth
from gossamer.observe.health import ProcessHealth
from gossamer.observe.service_watchdog import STATUS_S, ServiceWatchdog, report_to_systemd

WITHIN_S = 10.0


@pytest.fixture(params=["a path", "an abstract name"])
def listening(request, tmp_path):
    """A socket as systemd has it, and the variables that name it."""
    name = f"{tmp_path}/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as found:
        is_path = request.param == "a path"
        found.bind(name if is_path else f"\0{name}")
        found.settimeout(WITHIN_S)
        yield found, {"NOTIFY_SOCKET": name if is_path else f"@{name}", "WATCHDOG_USEC": "300000"}


def read_until(found, wanted):
    """The messages until one has a line."""
    read, ends_at = [], time.monotonic() + WITHIN_S
    while time.monotonic() < ends_at:
        read.append(found.recv(4096).decode().split("\n"))
        if wanted in read[-1]:
            return read
    raise AssertionError(read)


def test_it_says_when_it_begins_that_it_lives_and_when_it_ends(listening):
    found, variables = listening
    with report_to_systemd(ProcessHealth(), variables):
        assert found.recv(4096) == b"READY=1\nWATCHDOG=1"
        assert read_until(found, "WATCHDOG=1")[-1] == ["STATUS=at work", "WATCHDOG=1"]
    assert read_until(found, "STOPPING=1")


def test_the_watchdog_is_not_fed_while_a_part_stands_still(listening):
    found, variables = listening
    stands_still = []
    health = ProcessHealth()
    health.watch_life(lambda: stands_still)
    with report_to_systemd(health, variables):
        read_until(found, "STATUS=at work")
        stands_still.append(
            PartHealth(failure="a shift has been past its deadline", seen_at=time.monotonic(), within_s=0.0)
        )
        while not (said := found.recv(4096).decode()).startswith("STATUS=a shift has been past its deadline"):
            assert "at work" in said
        assert "WATCHDOG" not in said
        stands_still.clear()
        read_until(found, "STATUS=at work")


def test_a_server_that_is_away_is_told_and_does_not_end_the_process(listening):
    found, variables = listening
    health = ProcessHealth()
    health.watch_work(lambda: [PartHealth(failure="Redis has not answered", seen_at=0.0, within_s=1.0)])
    with report_to_systemd(health, variables):
        found.recv(4096)
        status, fed = found.recv(4096).decode().split("\n")
    assert status.startswith("STATUS=Redis has not answered for ")
    assert fed == "WATCHDOG=1"


@pytest.mark.parametrize("variables", [{}, {"NOTIFY_SOCKET": "vsock:2:1"}, {"NOTIFY_SOCKET": ""}])
def test_without_systemd_nothing_happens(variables):
    manager = ServiceWatchdog(variables)
    assert not manager.is_there
    manager.notify("READY=1")
    with report_to_systemd(ProcessHealth(), variables):
        pass


def test_a_socket_that_is_gone_is_nobodys_trouble(tmp_path):
    ServiceWatchdog({"NOTIFY_SOCKET": f"{tmp_path}/none"}).notify("READY=1")


def test_the_status_is_told_where_there_is_no_watchdog(tmp_path):
    assert ServiceWatchdog({"NOTIFY_SOCKET": f"{tmp_path}/none"}).every_s == STATUS_S
    assert ServiceWatchdog({"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "60000000"}).every_s == 20.0
