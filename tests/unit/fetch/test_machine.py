"""What becomes of fetches when this machine is out of something: nobody else is to blame."""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import socket
import ssl
import subprocess
import sys
import tracemalloc

import pytest
import trustme

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.fetch import machine
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.machine import (
    LONGEST_PAUSE_S,
    LocalErrorThrottle,
    max_idle_connections,
    open_files_allowed,
)
from gossamer.testing.badsite import BadSite
from gossamer.testing.clock import ManualClock

CHILD = """
import asyncio, os, resource, socket, sys
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.testing.clock import ManualClock
from gossamer.core.errors import FetchError
from gossamer.core.requests import Request

class Names:
    async def resolve(self, host, port):
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))]

async def main():
    hosts = [f"h{number}.example" for number in range(int(sys.argv[2]))]
    options = HttpOptions(local_pause_s=0.0)
    fetcher = HttpFetcher(options, clock=ManualClock(), guard=AddressGuard(hosts), resolver=Names())
    async def fetch(host):
        try:
            return (await fetcher.fetch(Request(f"http://{host}:{sys.argv[1]}/good"))).status
        except FetchError as error:
            return error.fault.value
    print(*[await fetch(host) for host in hosts[3:]])
    kept = []
    def fill():
        try:
            while True:
                kept.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            pass
    fill()
    print(await fetch(hosts[0]))  # idle connections make room
    await fetcher.close()
    fill()
    print(await fetch(hosts[1]))
    for number in kept:
        os.close(number)
    print(await fetch(hosts[2]))
    await fetcher.close()

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
asyncio.run(main())
"""


@pytest.mark.slow
async def test_more_hosts_than_open_files() -> None:
    """Idle connections leave room for new ones, make more when there is none, and nobody else is blamed."""
    async with BadSite() as site:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CHILD, str(site.port), "103",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        out, err = await asyncio.wait_for(child.communicate(), 30)
    assert child.returncode == 0, err.decode()
    first, *rest = out.decode().splitlines()
    assert first.split() == ["200"] * 100
    assert rest == ["200", "local", "200"]
    assert err.decode().count("this machine cannot open connections") == 1


def test_a_quarter_of_the_open_files_may_idle() -> None:
    assert [max_idle_connections(files) for files in (0, 64, 1024, 65_536)] == [1, 16, 256, 1000]


def test_open_files_are_raised_as_far_as_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(1024, 4096)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.append(pair))
    machine.raise_open_files()
    machine.raise_open_files()
    assert limits == [(1024, 4096), (4096, 4096)]
    limits[:] = [(1024, resource.RLIM_INFINITY)]
    machine.raise_open_files()
    assert limits[-1] == (machine.MAX_OPEN_FILES, resource.RLIM_INFINITY)
    limits[:] = [(resource.RLIM_INFINITY, resource.RLIM_INFINITY)]
    assert open_files_allowed() == (machine.MAX_OPEN_FILES, machine.MAX_OPEN_FILES)


@pytest.mark.parametrize("number", [errno.ENETUNREACH, errno.ENOBUFS, errno.EADDRNOTAVAIL, errno.ENOMEM])
async def test_a_machine_without_a_network_blames_no_host(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connect(*_: object, **__: object) -> socket.socket:
        raise OSError(number, "no way")

    monkeypatch.setattr("gossamer.fetch.http.dialer.start_connection", connect)
    options = HttpOptions(local_pause_s=0.0)
    fetcher = HttpFetcher(options, clock=ManualClock(), guard=AddressGuard({"127.0.0.1"}))
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch(Request("http://127.0.0.1:9/"))
    assert caught.value.fault is Fault.LOCAL
    await fetcher.close()


@pytest.mark.parametrize(
    ("host", "way", "fault"),
    [("[::1]", True, Fault.CONNECT), ("[::1]", False, Fault.LOCAL), ("127.0.0.1", True, Fault.LOCAL)],
)
async def test_a_host_of_ipv6_alone_is_not_waited_for_where_there_is_none(
    host: str, way: bool, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connect(*_: object, **__: object) -> socket.socket:
        raise OSError(errno.ENETUNREACH, "no way")

    monkeypatch.setattr("gossamer.fetch.http.dialer.start_connection", connect)
    monkeypatch.setattr("gossamer.fetch.http.dialer.has_ipv4", lambda: way)
    options = HttpOptions(local_pause_s=0.0)
    fetcher = HttpFetcher(options, clock=ManualClock(), guard=AddressGuard({"127.0.0.1", "::1"}))
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch(Request(f"http://{host}:9/"))
    assert caught.value.fault is fault
    await fetcher.close()


def test_whether_there_is_a_way_to_ipv4_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.has_ipv4() in (True, False)

    class Lost(socket.socket):
        def connect(self, address: object) -> None:
            raise OSError(errno.ENETUNREACH, "no way")

    monkeypatch.setattr(socket, "socket", Lost)
    assert not machine.has_ipv4()


def test_trouble_is_told_once_per_kind_and_waited_out_longer_each_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    trouble = LocalErrorThrottle(1.0)
    with caplog.at_level(logging.WARNING):
        pauses = [trouble.report_error(OSError(errno.EMFILE, ""), now) for now in (0.0, 1.0, 6.0, 600.0)]
        trouble.report_error(OSError(errno.ENETUNREACH, ""), 600.0)
    assert pauses == [1.0, 1.0, 3.0, LONGEST_PAUSE_S]
    assert [record.message.count("ulimit -n") for record in caplog.records] == [1, 0]
    trouble.reset_pause()
    assert trouble.report_error(OSError(errno.EMFILE, ""), 700.0) == 1.0


async def test_what_an_idle_connection_with_tls_holds() -> None:
    """In Python: OpenSSL's own 40 kB come on top. asyncio's own buffer alone would be 256 kB."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    client = ssl.create_default_context()
    authority.configure_trust(client)
    async with BadSite(tls=context) as site:
        fetcher = HttpFetcher(
            HttpOptions(), clock=ManualClock(), guard=AddressGuard({"127.0.0.1"}), tls=client
        )
        tracemalloc.start(8)
        try:
            await asyncio.gather(*(fetcher.fetch(Request(site.url(f"good/{n}"))) for n in range(8)))
            taken = tracemalloc.take_snapshot()
        finally:
            tracemalloc.stop()
        assert site.connections == 8
        await fetcher.close()
    ours = taken.filter_traces([tracemalloc.Filter(True, "*/gossamer/fetch/*", all_frames=True)])
    assert sum(trace.size for trace in ours.traces) / 8 < 60_000
