"""The guard: which addresses are public, and that the check sits where the connection is made."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.guard import AddressGuard, GuardError, place_of, refusal_for
from gossamer.fetch.http.target import parse_target
from gossamer.spiders.generic import GenericSpider
from gossamer.spiders.spider import Spider
from gossamer.wiring.scope import trusted_places

PRIVATE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.8.8.8",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "::ffff:168.63.129.16",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::",
    "fc00::1",
    "fd12::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "3fff::1",
    "4000::1",
    "f000::1",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.0.1",
    "172.32.0.1",
    "192.0.1.1",
    "198.17.0.1",
    "198.20.0.1",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private(address: str) -> None:
    assert refusal_for(address)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    row = (family, socket.SOCK_STREAM, 0, "", (address, 80))
    with pytest.raises(GuardError, match="not a public address"):
        AddressGuard().open_to("x.example", 80, [row])
    public = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("8.8.8.8", 80))
    assert AddressGuard().open_to("x.example", 80, [row, public]) == [public]
    assert AddressGuard({"x.example"}).open_to("x.example", 80, [row]) == [row]


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address: str) -> None:
    assert refusal_for(address) == ""
    row = (socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 80))
    assert AddressGuard().open_to("x.example", 80, [row]) == [row]


@pytest.mark.parametrize(
    "address", ["", "localhost", "1.2.3", "0x7f.1", "2130706433", "1.2.3.4.5", ":::", "\u0661.1.1.1"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    assert refusal_for(address) == "no address"


@given(st.ip_addresses(v=4))
def test_an_address_within_an_address_is_judged_alike(address: object) -> None:
    plain = refusal_for(str(address))
    assert refusal_for(f"::ffff:{address}") == plain
    assert refusal_for(f"64:ff9b::{address}") == plain


@given(st.ip_addresses())
def test_never_laxer_than_the_standard_library(address: object) -> None:
    if not address.is_global and not refusal_for(str(address)):
        assert getattr(address, "ipv4_mapped", None) or address in __import__("ipaddress").ip_network(
            "2002::/16"
        )


def test_trust_is_by_exact_host() -> None:
    guard = AddressGuard({"Shop.example", "127.0.0.1", "[::1]"})
    for host in ("shop.example", "shop.example.", "127.0.0.1", "::1", "[::1]"):
        assert guard.is_named(host)
        assert guard.is_trusted(host, 9000)
    for host in ("www.shop.example", "example", "127.0.0.2", "xshop.example", ""):
        assert not guard.is_named(host)
        assert not guard.is_trusted(host, 80)
    assert not AddressGuard().is_trusted("127.0.0.1", 80)


# A URL that the operator names, one that a page leads to, and whether it is followed to a private address.
NEIGHBOURS = [
    ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/x", True),
    ("http://127.0.0.1:8000/", "http://127.0.0.1:8001/", False),
    ("http://127.0.0.1:8000/", "http://127.0.0.1/", False),
    ("http://127.0.0.1:8000/", "https://127.0.0.1:8000/", True),
    ("http://127.0.0.1:8000/", "http://localhost:8000/", False),
    ("http://127.0.0.1/", "http://127.0.0.1:8000/", False),
    ("http://127.0.0.1/", "https://127.0.0.1/", True),  # the two ports of the web are one site
    ("https://printer.local/", "http://printer.local/", True),
    ("https://printer.local/", "http://printer.local:631/", False),
    ("http://[::1]:8000/", "http://[::1]:8000/", True),
    ("http://[::1]:8000/", "http://[::1]:8001/", False),
    ("http://[::1]/", "http://[::1]:443/", True),
    ("http://0x7f.1:8000/", "http://127.0.0.1:8000/", True),
    ("http://Shop.Example.:8000/", "http://shop.example:8000/", True),
]


@pytest.mark.parametrize(("named", "linked", "is_open"), NEIGHBOURS)
def test_a_port_that_is_named_is_not_its_neighbours(named: str, linked: str, is_open: bool) -> None:
    guards = [AddressGuard({place_of(named)}), AddressGuard()]
    guards[1].trust_place(place_of(named))
    guards.append(AddressGuard(guards[0].trusted_places))  # as another process is told
    origin = parse_target(linked).origin
    row = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", origin.port))
    for guard in guards:
        if is_open:
            assert guard.open_to(origin.host, origin.port, [row]) == [row]
        else:
            with pytest.raises(GuardError, match="to allow the host and port"):
                guard.open_to(origin.host, origin.port, [row])


@pytest.mark.parametrize(
    ("domains", "start_urls", "places"),
    [
        (["127.0.0.1"], ["http://127.0.0.1:8000/"], {"127.0.0.1", "127.0.0.1:8000"}),
        (["127.0.0.1:8000"], [], {"127.0.0.1:8000"}),
        ([], ["http://127.0.0.1:8000/", "https://a.example/"], {"127.0.0.1:8000", "a.example:80"}),
        (["[::1]:8000", "::1"], ["http://[::1]/"], {"[::1]:8000", "[::1]", "[::1]:80"}),
    ],
)
def test_a_spider_names_places(domains: list[str], start_urls: list[str], places: set[str]) -> None:
    spider = type("Named", (Spider,), {"name": "n", "allowed_domains": domains, "start_urls": start_urls})()
    assert AddressGuard(trusted_places(spider)).trusted_places == places


def test_the_built_in_spider_names_the_port_of_its_url() -> None:
    fields = {"allowed_domains": ["intranet"], "start_urls": ["http://intranet/"]}
    spider = type("Site", (GenericSpider,), fields)()
    assert AddressGuard(trusted_places(spider)).trusted_places == {"intranet:80"}


def test_ports_of_other_services_are_open_one_by_one() -> None:
    guard = AddressGuard({"mine.example:6000"})
    guard.check_port("mine.example", 6000)
    with pytest.raises(GuardError, match="port 6667"):
        guard.check_port("mine.example", 6667)
    with pytest.raises(GuardError, match="loopback"):
        AddressGuard({"127.0.0.1:8000"}).check_target("127.0.0.1", 8001)
    AddressGuard({"127.0.0.1:8000"}).check_target("127.0.0.1", 8000)


@pytest.mark.parametrize("port", [0, 22, 25, 2049, 6000, 6667, 10080])
def test_ports_of_other_services_are_for_hosts_that_the_operator_named(port: int) -> None:
    guard = AddressGuard({"mine.example"})
    with pytest.raises(GuardError, match=f"port {port} belongs to a service other"):
        guard.check_port("other.example", port)
    guard.check_port("mine.example", port)


@pytest.mark.parametrize("port", [80, 443, 8080, 8443, 3000, 65535])
def test_ports_of_the_web_are_open(port: int) -> None:
    AddressGuard().check_port("other.example", port)


def test_a_strict_guard_trusts_nobody():
    guard = AddressGuard(["printer.local"], is_strict=True)
    guard.trust_place("localhost:80")
    assert not guard.trusted_places
    for host in ("printer.local", "localhost"):
        with pytest.raises(GuardError, match="loopback"):
            guard.open_to(host, 80, [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 80))])
